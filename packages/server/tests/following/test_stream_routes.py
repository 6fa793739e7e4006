"""Event streams over HTTP: a message's log as it is written (design: Event streams)."""

import contextlib
import time
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import ACCOUNT, AgentServer
from tests.e2e.sse import ACCEPT, Event, stream
from tests.waiting import PROMPT, eventually

CallerMaker = Callable[..., Caller]


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(streams_max=3, turn_reply_seconds=30)


def path(message: Json) -> str:
    return f"/v1/messages/{message['id']}/stream"


def names_of(events: list[Event]) -> list[str]:
    return [event.name for event in events]


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions streamMessage-1", "Additions streamMessage-2")
def test_a_log_is_streamed_to_its_end(caller: Caller, server: AgentServer) -> None:
    job = [["progress", "one"], ["gate", "streamed"], ["write", "a.txt", "x"], ["return", "Done."]]
    message = caller.send([["start", "Work", job]])
    server.await_gate("streamed")
    with stream(caller, path(message)) as open_:
        assert names_of(open_.take(2)) == ["agent_reply", "progress"]
        server.open_gate("streamed")
        events = open_.rest()
    assert open_.retry
    assert names_of(events) == ["progress", "result", "end"]
    assert events[1].data["text"] == "Done."
    assert events[1].data["files"][0]["name"] == "a.txt"
    with stream(caller, path(message)) as again:
        everything = again.rest()
    log = caller.log(message["id"])
    assert names_of(everything) == [*(entry["type"] for entry in log), "end"]
    unlinked = [{**event.data, "files": None} for event in everything[:-1]]
    assert unlinked == [{**entry, "files": None} for entry in log]


@pytest.mark.rule("Additions streamMessage-3")
def test_a_stream_resumes_behind_its_last_event(caller: Caller) -> None:
    message = caller.send([["start", "Many", [["many_progress", 150], ["return", ""]]]])
    caller.final(message["id"])
    with stream(caller, path(message)) as open_:
        first = open_.take(120)
    with stream(caller, path(message), open_.id) as again:
        rest = again.rest()
    seqs = [event.data["seq"] for event in (*first, *rest[:-1])]
    assert seqs == list(range(1, len(seqs) + 1))
    assert rest[-1].name == "end"
    page = caller.events(message["id"], open_.id)
    assert page["data"][0]["seq"] == 121, "the id of an event is a cursor of the log"
    with stream(caller, f"{path(message)}?cursor={page['cursor']}") as by_cursor:
        assert names_of(by_cursor.rest()) == names_of(rest[len(page["data"]) :])
    with stream(caller, f"{path(message)}?cursor={page['cursor']}", open_.id) as by_header:
        assert len(by_header.rest()) == len(rest), "the header is the newer one"


@pytest.mark.rule("Additions streamMessage-4")
def test_what_is_no_stream(caller: Caller) -> None:
    message, other = caller.send("x"), caller.send("y")
    caller.refusal(404, "not_found", "GET", path({"id": "msg_0"}))
    for cursor in ("mine", caller.events(other["id"])["cursor"]):
        headers = {"Last-Event-ID": cursor}
        caller.refusal(400, "bad_cursor", "GET", path(message), headers=headers)
    answer = caller.http.head(path(message))
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.rule("Additions streamMessage-3")
def test_an_old_cursor_is_told(start_server: ServerMaker, callers: CallerMaker) -> None:
    server = start_server(entry_retention_seconds=1)
    caller = callers(server)
    message = caller.send([["start", "Work", [["gate", "old"], ["return", ""]]]])
    cursor = caller.events(message["id"])["cursor"]
    place = caller.call("GET", "/v1/events").json()["cursor"]
    eventually(lambda: "cursor_expired" in caller.call("GET", f"/v1/events?cursor={place}").json())
    with stream(caller, path(message), cursor) as open_:
        assert names_of(open_.take(2)) == ["cursor_expired", "reset"]
    with stream(caller, "/v1/events", place) as open_:
        assert next(open_).name == "cursor_expired"
    server.open_gate("old")


# --- text as it is written ------------------------------------------------------------------------
@pytest.mark.rule("Additions deltas-1", "Additions deltas-2")
def test_text_is_shown_while_it_is_written(caller: Caller, server: AgentServer) -> None:
    """Of a turn and of a job; it has no id, and the log does not know it."""
    job = [["gate", "shown"], ["delta", "Do", "ne. "], ["gate", "told"], ["return", "Done. é"]]
    message = caller.send([["start", "Work", job]])
    server.await_gate("shown")
    with stream(caller, path(message)) as open_:
        assert next(open_).name == "agent_reply"
        server.open_gate("shown")
        text = ""
        while text != "Done. ":
            before, delta = open_.id, next(open_)
            assert (delta.name, open_.id) == ("delta", before)
            assert delta.data["job_id"] == message["jobs"][0]["job_id"]
            assert delta.data["message_id"] == message["id"]
            assert delta.data["offset"] == len(text)
            text += delta.data["text"]
        server.open_gate("told")
        assert names_of(open_.rest()) == ["result", "end"]
    with stream(caller, path(message)) as again:
        assert names_of(again.rest()) == ["agent_reply", "result", "end"]
    assert [entry["type"] for entry in caller.log(message["id"])] == ["agent_reply", "result"]


@pytest.mark.rule("Additions deltas-1", "Additions wait-1")
def test_a_reply_is_shown_while_it_is_written(caller: Caller, server: AgentServer) -> None:
    script = [["gate", "replying"], ["delta", "He", "llo"], ["gate", "said"], ["reply", "Hello!"]]
    message = caller.post(script, wait=0).json()
    with stream(caller, path(message)) as open_:
        open_.begin()
        server.open_gate("replying")
        delta = next(open_)
        assert "job_id" not in delta.data
        assert "Hello".startswith(delta.data["text"])
        server.open_gate("said")
        reply, end = open_.rest()[-2:]
    assert (reply.name, reply.data["delivered_sync"], end.name) == ("agent_reply", False, "end")


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions streamMessage-3", "Additions deltas-3")
def test_a_stream_goes_on_after_a_crash(start_server: ServerMaker, callers: CallerMaker) -> None:
    """Without a lost or doubled entry; the text that was shown begins anew."""
    server = start_server()
    caller = callers(server)
    begin = [["progress", "one"], ["gate", "open"], ["delta", "On "], ["gate", "crash"]]
    job = [*begin, ["progress", "two"], ["delta", "again"], ["return", "Done."]]
    message = caller.send([["start", "Work", job]])
    entries: list[Event] = []
    with stream(caller, path(message)) as open_:
        entries += open_.take(2)
        server.open_gate("open")
        entries += open_.take(1)
        assert names_of(entries) == ["agent_reply", "progress", "delta"]
        server.kill()
        with contextlib.suppress(httpx2.TransportError):
            entries += open_.rest()
    place = open_.id
    server.start()
    with stream(caller, path(message), place) as again:
        assert next(again).name == "reset"
        server.open_gate("crash")
        entries += again.rest()
    recorded = [event.data["seq"] for event in entries if "seq" in event.data]
    assert recorded == [entry["seq"] for entry in caller.log(message["id"])]
    assert entries[-1].name == "end"


# --- ends -----------------------------------------------------------------------------------------
@pytest.mark.rule("Authentication 3", "Additions streamMessage-5")
@pytest.mark.parametrize("what", ["message", "account"])
def test_a_stream_ends_with_its_key(server: AgentServer, callers: CallerMaker, what: str) -> None:
    made: dict[str, Any] = server.command(
        "keys", "create", "--account", ACCOUNT, "--name", f"streams-{what}"
    )
    other = callers(server, made["key"])
    message = other.send([["start", "Work", [["gate", f"revoked-{what}"]]]])
    where = path(message) if what == "message" else "/v1/events"
    with stream(other, where) as open_:
        open_.begin()
        server.command("keys", "revoke", made["id"])
        assert "end" not in names_of(open_.rest())
        last = open_.id
    headers = {**ACCEPT, "Last-Event-ID": last} if last else ACCEPT
    other.refusal(401, "unauthorized", "GET", where, headers=headers)
    server.open_gate(f"revoked-{what}")


@pytest.mark.rule("Additions streamMessage-6")
def test_an_account_has_so_many_streams(server: AgentServer, callers: CallerMaker) -> None:
    caller = callers(server, server.new_key("many-streams"))
    message = caller.send([["start", "Work", [["gate", "many"]]]])
    with stream(caller, path(message)), stream(caller, path(message)):
        with stream(caller, "/v1/events"):
            answer = caller.call("GET", path(message))
            assert (answer.status_code, answer.json()["error"]) == (429, "rate_limited")
            assert answer.headers["Retry-After"] == "60"

        def opened() -> bool:
            with caller.http.stream("GET", path(message)) as again:
                return again.status_code == 200

        eventually(opened, what="room for another stream")
    server.open_gate("many")


@pytest.mark.rule("Additions streamMessage-6", "Limits waits")
def test_opening_a_stream_counts_as_a_wait(server: AgentServer, callers: CallerMaker) -> None:
    caller = callers(server, server.new_key("few-waits", waits_per_hour=2))
    message = caller.send("x")
    for _ in range(2):
        with stream(caller, path(message)) as open_:
            open_.rest()
    for where, headers in ((path(message), {}), ("/v1/events", ACCEPT)):
        caller.refusal(429, "rate_limited", "GET", where, headers=headers)


def test_a_stream_lets_the_server_stop(start_server: ServerMaker, callers: CallerMaker) -> None:
    server = start_server()
    caller = callers(server)
    with stream(caller, "/v1/events") as open_:
        open_.begin()
        began = time.monotonic()
        assert server.stop() == 0
        assert open_.rest() == []
        assert time.monotonic() - began < PROMPT
