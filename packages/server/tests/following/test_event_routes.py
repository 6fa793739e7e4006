"""The event log over HTTP (spec: listMessageEvents, Message event log; design: Entries and events;
The event log).
"""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.e2e.caller import Caller, Json, kinds
from tests.e2e.fixtures import ServerMaker
from tests.e2e.raw import connect, head, raw
from tests.e2e.server import AgentServer
from tests.waiting import PROMPT, eventually


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(turn_reply_seconds=30)


def expect_error(caller: Caller, code: str, path: str) -> Json:
    return caller.refusal(409 if code == "poll_in_progress" else 400, code, "GET", path)


# --- what is in it --------------------------------------------------------------------------------
@pytest.mark.rule(
    "EventList.object", "EventList.done", "listMessageEvents.done", "Message event log agent_reply"
)
def test_a_reply_is_one_entry_and_the_message_is_done(caller: Caller) -> None:
    message = caller.send("hello")
    page = caller.events(message["id"])

    assert page["object"] == "list"
    assert (page["has_more"], page["done"]) == (False, True)
    assert "cursor_expired" not in page
    [entry] = page["data"]
    assert entry["type"] == "agent_reply"
    assert entry["text"] == "You said: hello"
    assert entry["delivered_sync"] is True
    assert entry["files"] == []
    assert entry["message_id"] == message["id"]


@pytest.mark.rule("Message event log agent_reply", "Message event log progress")
def test_files_of_a_reply_are_reported_when_they_land_and_with_the_reply(caller: Caller) -> None:
    message = caller.send([["write", "a/b.txt", "text"], ["reply", "Here."]])
    landed, reply = caller.log(message["id"])

    assert (landed["type"], landed["status"]) == ("progress", "done")
    assert landed["file_names"] == ["b.txt"]
    assert [file["file_id"] for file in reply["files"]] == [message["files"][0]["file_id"]]
    assert message["files"][0]["file_id"].endswith("/a/b.txt")


@pytest.mark.rule("Errors outcomes")
def test_a_failed_job(caller: Caller) -> None:
    failed = caller.send([["start", "Fail", [["fail", "No such street."]]]])
    done = caller.final(failed["id"])
    assert (done["status"], done["reason"]) == ("failed", "execution_failed")
    entry = caller.log(failed["id"])[-1]
    assert (entry["type"], entry["outcome"]) == ("result", "failed")
    assert entry["text"] == "No such street."


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Job.role", "Message event log own", "createMessage 5")
def test_a_message_that_joins_copies_the_log_from_then_on(
    caller: Caller, server: AgentServer
) -> None:
    job = [["progress", "before"], ["gate", "joined"], ["inbox", 5], ["return", "Both."]]
    first = caller.send([["start", "Joint", job]], conversation="join")
    server.await_gate("joined")
    second = caller.send([["join"]], conversation="join")

    assert second["status"] == "processing"
    [joined] = second["jobs"]
    assert joined["role"] == "follow_up"
    assert joined["job_id"] == first["jobs"][0]["job_id"]
    server.open_gate("joined")
    assert caller.final(first["id"])["status"] == "completed"
    assert caller.final(second["id"])["status"] == "completed"

    own, copied = caller.log(first["id"]), caller.log(second["id"])
    assert [e.get("step") for e in own if e["type"] == "progress"][:1] == ["before"]
    assert "before" not in [e.get("step") for e in copied]
    assert sorted(kinds(copied)) == ["agent_reply", "progress", "result"]
    heard = next(e for e in copied if e["type"] == "progress")
    assert heard["step"].startswith("heard: [[")
    assert {e["message_id"] for e in copied} == {second["id"]}
    assert {e["message_id"] for e in own} == {first["id"]}
    assert kinds(own).count("agent_reply") == 1, "not that of the message that joined"
    assert {e.get("job_id") for e in copied if e["type"] != "agent_reply"} == {joined["job_id"]}


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule(
    "EventList.data",
    "EventList.has_more",
    "EventList.cursor",
    "listMessageEvents.cursor",
    "listMessageEvents.order",
    "listMessageEvents.has_more",
)
def test_a_log_of_more_than_a_page(caller: Caller) -> None:
    message = caller.send([["start", "Many", [["many_progress", 230], ["return", ""]]]])
    caller.final(message["id"])

    page = caller.events(message["id"])
    assert (len(page["data"]), page["has_more"], page["done"]) == (100, True, False)
    again = caller.events(message["id"], page["cursor"])
    assert (len(again["data"]), again["has_more"], again["done"]) == (100, True, False)
    assert again["data"][0]["seq"] == 101
    steps = [e["step"] for e in caller.log(message["id"]) if e["type"] == "progress"]
    assert steps == [f"step {n}" for n in range(230)]


# --- waiting --------------------------------------------------------------------------------------
@pytest.mark.rule("listMessageEvents.wait")
def test_an_empty_answer_takes_a_second_also_when_the_message_is_done(caller: Caller) -> None:
    message = caller.send("x")
    page = caller.events(message["id"])
    for wait in (0, 45):
        began = time.monotonic()
        empty = caller.events(message["id"], page["cursor"], wait)
        assert 1 <= time.monotonic() - began < PROMPT
        assert (empty["data"], empty["done"], empty["has_more"]) == ([], True, False)


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("EventList.done", "listMessageEvents.done")
def test_a_held_call_answers_with_the_next_entry(caller: Caller, server: AgentServer) -> None:
    job = [["gate", "next"], ["progress", "now"], ["gate", "last"], ["return", ""]]
    message = caller.send([["start", "Next", job]])
    cursor = caller.events(message["id"])["cursor"]
    with ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        page = pool.submit(caller.events, message["id"], cursor, 45)
        server.open_gate("next")
        assert [entry["step"] for entry in page.result()["data"]] == ["now"]
        assert time.monotonic() - began < PROMPT
        rest = pool.submit(caller.events, message["id"], page.result()["cursor"], 20)
        server.open_gate("last")
        assert kinds(rest.result()["data"]) == ["result"]
        assert rest.result()["done"] is True


def hold(caller: Caller, message_id: str, cursor: str) -> Json:
    """A held call, made again as long as another one waits."""
    while True:
        path = f"/v1/messages/{message_id}/events?cursor={cursor}&wait=20"
        answer = caller.call("GET", path)
        if answer.status_code == 200:
            page: Json = answer.json()
            return page


@pytest.mark.rule(
    "listMessageEvents.cursor",
    "listMessageEvents.one-wait",
    "Errors cursor",
    "Errors poll_in_progress",
)
def test_one_call_at_a_time_waits(caller: Caller, server: AgentServer) -> None:
    message = caller.send([["start", "One", [["gate", "one"]]]])
    path = f"/v1/messages/{message['id']}/events"
    cursor = caller.events(message["id"])["cursor"]
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(hold, caller, message["id"], cursor)

        def second() -> httpx2.Response | None:
            answer = caller.call("GET", f"{path}?cursor={cursor}&wait=0")
            return answer if answer.status_code == 409 else None

        refusal = eventually(second)
        assert refusal is not None
        assert refusal.json()["error"] == "poll_in_progress"
        assert refusal.json()["cursor"] == cursor, "the caller's own"
        start = expect_error(caller, "poll_in_progress", path)["cursor"]
        server.open_gate("one")
        assert kinds(held.result()["data"]) == ["result"]
    assert kinds(caller.events(message["id"], start)["data"])[0] == "agent_reply"


def test_a_client_that_hangs_up_frees_its_wait(caller: Caller, server: AgentServer) -> None:
    message = caller.send([["start", "Hang", [["gate", "hang"]]]])
    path = f"/v1/messages/{message['id']}/events"
    cursor = caller.events(message["id"])["cursor"]

    def held_by(connection: socket.socket) -> socket.socket | None:
        connection.sendall(head("GET", f"{path}?wait=45&cursor={cursor}"))
        if raw(server, head("GET", f"{path}?cursor={cursor}")).status == 409:
            return connection
        connection.close()  # ours came second and was refused
        return None

    held = eventually(lambda: held_by(connect(server)))
    assert held is not None
    held.close()
    began = time.monotonic()
    eventually(lambda: caller.call("GET", f"{path}?cursor={cursor}").status_code == 200)
    assert time.monotonic() - began < PROMPT, "not the 45 seconds of the wait"
    server.open_gate("hang")


@pytest.mark.rule("listMessageEvents.one-wait")
def test_two_messages_are_waited_for_at_once(caller: Caller, server: AgentServer) -> None:
    ids = [caller.send([["start", "Two", [["gate", "two"]]]], conversation=c)["id"] for c in "ab"]
    cursors = [caller.events(i)["cursor"] for i in ids]
    barrier = threading.Barrier(3)

    def follow(n: int) -> Json:
        barrier.wait()
        return caller.events(ids[n], cursors[n], 20)

    with ThreadPoolExecutor(2) as pool:
        pages = [pool.submit(follow, n) for n in range(2)]
        barrier.wait()
        server.open_gate("two")
        assert [kinds(page.result()["data"]) for page in pages] == [["result"], ["result"]]


# --- cursors --------------------------------------------------------------------------------------
@pytest.mark.rule("Errors bad_cursor")
def test_a_cursor_that_is_not_ours_is_refused(caller: Caller) -> None:
    message, other = caller.send("a"), caller.send("b")
    path = f"/v1/messages/{message['id']}/events"
    cursor = caller.events(message["id"])["cursor"]
    foreign = caller.events(other["id"])["cursor"]
    flipped = cursor[:-1] + ("A" if cursor[-1] != "A" else "B")
    forged = ["x", "0", "%00", "%ff", "%F0%9F%92%A9", "=" * 8, "A" * 5000, cursor + "A", flipped]
    for text in [*forged, cursor[1:], foreign]:
        expect_error(caller, "bad_cursor", f"{path}?cursor={text}")
    expect_error(caller, "invalid_request", f"{path}?cursor={cursor}&cursor={cursor}")
    assert caller.events(message["id"], "")["data"], "an empty one is none"


@pytest.mark.rule("Errors bad_cursor")
def test_a_cursor_belongs_to_its_key(caller: Caller, server: AgentServer) -> None:
    made = server.command("keys", "create", "--account", "owner@localhost", "--name", "second")
    other = Caller(server, made["key"])
    mine, theirs = caller.send("a"), other.send("b")
    cursor = caller.events(mine["id"])["cursor"]
    expect_error(other, "bad_cursor", f"/v1/messages/{theirs['id']}/events?cursor={cursor}")
    other.close()


@pytest.mark.rule("EventList.cursor_expired", "listMessageEvents.expired")
def test_an_old_cursor_is_replaced(start_server: ServerMaker) -> None:
    server = start_server(entry_retention_seconds=1)
    caller = Caller(server)
    job = [["gate", "old"], ["progress", "kept"], ["gate", "end"]]
    message = caller.send([["start", "Old", job]])
    cursor = caller.events(message["id"])["cursor"]

    def replaced() -> str | None:
        """The new cursor, once it can be used: on a slow machine it may be old, too."""
        page = caller.events(message["id"], cursor)
        if not page.get("cursor_expired") or page["cursor"] == cursor:
            return None
        fresh = caller.events(message["id"], page["cursor"])
        return None if "cursor_expired" in fresh else str(page["cursor"])

    instead = eventually(replaced, what="a cursor instead of the expired one")
    assert instead is not None
    server.open_gate("old")
    assert kinds(caller.events(message["id"], instead, wait=45)["data"]) == ["progress"]
    server.open_gate("end")
    caller.close()
