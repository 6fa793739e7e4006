"""`listen`, `trigger`, `requests` and `webhooks` against a real server, each as it is typed."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentpost.cli import profiles
from tests import forking
from tests.cli.scripted import run
from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker, caller, new_database, start_server
from tests.e2e.receivers import Receiver, receiving
from tests.e2e.server import KEY, AgentServer
from tests.servers import free_port
from tests.waiting import PATIENCE, eventually

__all__ = ["caller", "new_database", "start_server"]
SIGNED = ("webhook-id", "content-type", "traceparent")
"""Headers that are the same for whoever sends an event."""


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(egress_allow="127.0.0.1/32")


@pytest.fixture(autouse=True)
def environment(server: AgentServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPOST_URL", server.url)
    monkeypatch.setenv("AGENTPOST_KEY", KEY)


def json_of(*arguments: str) -> Any:
    """What the command prints with ``--json``."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


class Running:
    """A command that runs until it is stopped, and what it has printed."""

    def __init__(self, file: Path, process: forking.Process) -> None:
        self._file = file
        self.process = process

    @property
    def output(self) -> str:
        return self._file.read_text()

    def await_text(self, text: str) -> None:
        eventually(lambda: text in self.output, what=f"{text!r} in the output")

    def interrupt(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@contextmanager
def running(tmp_path: Path, *arguments: str) -> Iterator[Running]:
    file = tmp_path / f"{arguments[0]}-{free_port()}.txt"
    with file.open("wb") as output:
        process = forking.start(arguments, env=os.environ, cwd=tmp_path, output=output)
    try:
        yield Running(file, process)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(PATIENCE)


def listening(tmp_path: Path, receiver: Receiver, *more: str) -> Any:
    return running(tmp_path, "listen", "--forward-to", receiver.url, *more)


def test_events_come_as_webhooks_and_the_next_run_continues(caller: Caller, tmp_path: Path) -> None:
    secret = run("listen", "--print-secret").stdout.strip()
    same = profiles.Profile(os.environ["AGENTPOST_URL"], KEY)
    profiles.save(profiles.Profiles("same", {"same": same}))
    assert run("listen", "--print-secret", "--profile", "same").stdout.strip() == secret
    headers = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    body = {"message": json.dumps([["start", "Job", [["write", "a.txt", "é"]]]])}
    with receiving() as real, receiving() as local:
        made = caller.call("POST", "/v1/webhooks", json={"url": real.url}).json()
        with listening(tmp_path, local) as listener:
            listener.await_text("Ctrl-C ends it")
            assert f"Signing secret: {secret}" in listener.output
            sent = caller.call("POST", "/v1/messages", json=body, headers=headers).json()
            webhooks, forwarded = real.await_count(2), local.await_count(2)
            for each in forwarded:
                each.verified(secret)
            as_sent = {each.id: each for each in webhooks}
            for each in forwarded:
                other = as_sent[each.id]
                assert _without_links(each.body) == _without_links(other.body)
                assert [each.headers.get(name) for name in SIGNED] == [
                    other.headers.get(name) for name in SIGNED
                ]
            listener.await_text(forwarded[1].id)
            assert "message.completed" in listener.output
            assert listener.interrupt() == 130
        caller.call("DELETE", f"/v1/webhooks/{made['id']}")
        caller.final(sent["id"])
        missed = caller.send("while nobody listens")
        with listening(tmp_path, local) as again:
            again.await_text("first, the events since the last run")
            *_, third = local.await_count(3)
            assert third.verified(secret)["data"]["id"] == missed["id"]
            again.await_text(third.id)
        with listening(tmp_path, local, "--from-start") as anew:
            anew.await_text(third.id)
            assert [each.id for each in local.await_count(6)[3:]] == [
                each.id for each in local.got[:3]
            ]


def _without_links(body: bytes) -> bytes:
    """The bytes, but for the links' expiry and signature, which are made when they are given."""
    event = json.loads(body)
    for holder in (event["data"], *event["data"].get("jobs", ())):
        for file in holder["files"]:
            body = body.replace(file["url"].encode(), b"LINK")
    return body


def test_what_is_away_is_waited_for(server: AgentServer, caller: Caller, tmp_path: Path) -> None:
    """First the receiver, then the server; the commands say so, and no event is lost."""
    port = free_port()
    target = f"http://127.0.0.1:{port}/hook"
    earlier = caller.post("before both").headers["Request-Id"]
    eventually(lambda: caller.http.get(f"/v1/requests/{earlier}").status_code == 200)
    with (
        running(tmp_path, "listen", "--forward-to", target) as listener,
        running(tmp_path, "requests", "tail", "-n", "1", "--method", "post") as tail,
    ):
        listener.await_text("Ctrl-C ends it")
        tail.await_text("/v1/messages")  # so it has begun
        sent = caller.send("hello")
        listener.await_text(f"retrying in 1 s ({target} does not answer): message.completed evt_")
        eventually(lambda: tail.output.count("POST") == 2, what="the request in the tail")
        server.kill()
        tail.await_text("(server unreachable)")
        server.start()
        with receiving(port=port) as receiver:
            (first,) = receiver.await_count(1)
            assert json.loads(first.body)["data"]["id"] == sent["id"]
            later = caller.send("hello again")
            _, second = receiver.await_count(2)
            assert json.loads(second.body)["data"]["id"] == later["id"]
        tail.await_text("connected again")
        eventually(lambda: tail.output.count("POST") == 3, what="both requests in the tail")


def test_a_revoked_key_ends_it_with_a_reason(
    server: AgentServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = ("keys", "create", "--account", "owner@localhost", "--name", "revoked")
    made = server.command(*create)
    monkeypatch.setenv("AGENTPOST_KEY", made["key"])
    with running(tmp_path, "listen") as listener:
        listener.await_text("Ctrl-C ends it")
        server.command("keys", "revoke", made["id"])
        assert listener.process.wait(PATIENCE) == 7
        assert "AGENTPOST_KEY is unknown, expired or revoked" in listener.output
        assert "Traceback" not in listener.output


def test_a_sample_goes_where_events_were_forwarded_to(tmp_path: Path, caller: Caller) -> None:
    nowhere = run("trigger", "message.completed")
    assert nowhere.exit_code == 2
    assert "--forward-to" in nowhere.output
    secret = run("listen", "--print-secret").stdout.strip()
    with receiving() as receiver:
        here = json_of("trigger", "job.failed", "--forward-to", receiver.url)
        with listening(tmp_path, receiver) as listener:
            listener.await_text("Ctrl-C ends it")
        json_of("trigger", "message.blocked")
        first, second = (each.verified(secret) for each in receiver.await_count(2))
        assert (first["type"], first["test"], here["status_code"]) == ("job.failed", True, 200)
        assert (second["type"], second["data"]["resume"]) == ("message.blocked", "add_credits")
        caller.contract.check_shape("MessageEventShape", second)
        receiver.status = 503
        refused = run("trigger", "message.blocked")
        assert refused.exit_code == 1
        assert "it answered with HTTP status 503: ok" in refused.stdout
    gone = run("trigger", "message.blocked")
    assert (gone.exit_code, "does not answer" in gone.stdout) == (1, True)


def test_every_operation_of_endpoints(tmp_path: Path) -> None:
    with receiving() as receiver:
        text = run(
            "webhooks", "create", receiver.url, "--events", "job.failed", "--description", "a"
        )
        assert text.exit_code == 0
        secret = text.stdout.rpartition("secret: ")[2].strip()
        (listed,) = json_of("webhooks", "list")["data"]
        whe = listed["id"]
        assert (listed["events"], listed["description"]) == (["job.failed"], "a")
        assert secret not in run("webhooks", "list").output + run("webhooks", "show", whe).output

        assert json_of("webhooks", "update", whe, "--events", "*")["events"] == ["*"]
        assert json_of("webhooks", "disable", whe)["disabled_reason"] == "manual"
        refused = run("webhooks", "test", whe)
        assert (refused.exit_code, "enable it first" in refused.output) == (2, True)
        assert json_of("webhooks", "enable", whe)["disabled_at"] is None

        tested = json_of("webhooks", "test", whe)
        assert (tested["event"], tested["status"]) == ("webhook.test", "delivered")
        sample = json_of("trigger", "job.expired", "--endpoint", whe)
        assert (sample["event"], sample["status"]) == ("job.expired", "delivered")
        assert [each.verified(secret)["type"] for each in receiver.await_count(2)] == [
            "webhook.test",
            "job.expired",
        ]
        shown = json_of("webhooks", "deliveries", whe, "--status", "delivered", "--limit", "1")
        assert [each["id"] for each in shown["data"]] == [sample["id"]]
        assert (shown["has_more"], shown["next_before"]) == (True, sample["id"])
        assert sample["id"] in run("webhooks", "deliveries", whe, "--attempts").stdout

        rotated = json_of("webhooks", "rotate-secret", whe, "--grace", "1h")
        assert rotated["old_secret_until"] is not None
        receiver.status = 500
        again = run("webhooks", "redeliver", whe, sample["id"])
        assert (again.exit_code, "HTTP status 500" in again.stdout) == (1, True)
        receiver.status = 200
        resent = json_of("events", "resend", sample["id"])
        assert (resent["id"], resent["status"]) == (sample["id"], "delivered")
        assert json_of("webhooks", "replay", whe, "--since", "1h")["deliveries"] == 2
        receiver.await_count(6)
        assert json_of("webhooks", "delete", whe)["deleted"] is True
    none = run("events", "resend", sample["id"])
    assert (none.exit_code, "no endpoint that is enabled was sent" in none.output) == (2, True)


def test_events_are_listed_from_the_first_call_on(caller: Caller) -> None:
    first = run("events", "list", "--events", "message.completed")
    assert (first.exit_code, "events are stored from now on" in first.stderr) == (0, True)
    sent = [caller.send("hello", conversation=name)["id"] for name in ("a", "b", "b")]
    page = json_of("events", "list")
    listed = [event["data"]["id"] for event in page["data"]]
    assert [each for each in listed if each in sent] == sent  # others may end meanwhile
    one = json_of("events", "list", "-c", "b", "--events", "message.completed", "-n", "1")
    assert ([event["data"]["id"] for event in one["data"]], one["has_more"]) == (sent[1:2], True)
    rest = run("events", "list", "-c", "b", "--after", one["cursor"])
    assert sent[2] in rest.stdout
    cursor = rest.stderr.partition("--after ")[2].split()[0]
    for place in (cursor, page["cursor"]):  # others may end meanwhile, these come no second time
        later = run("events", "list", "--after", place)
        assert (later.exit_code, [each for each in sent if each in later.stdout]) == (0, [])
    assert run("events", "list", "--events", "no.event").exit_code == 2
    assert run("events", "list", "--after", "nowhere").exit_code == 2


def test_earlier_requests_are_shown_without_reads_of_the_log(
    tmp_path: Path, caller: Caller
) -> None:
    caller.http.get("/v1/work?before=the-reads")
    read = caller.http.get("/v1/requests").headers["Request-Id"]
    eventually(lambda: caller.http.get(f"/v1/requests/{read}").status_code == 200)
    with running(tmp_path, "requests", "tail", "--limit", "1") as tail:
        tail.await_text("the-reads")
        assert "/v1/requests" not in tail.output


def test_a_request_is_shown_with_its_bodies_and_as_a_command(
    start_server: ServerMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a server of its own: of a key that made many calls in this minute no bodies are kept."""
    with closing(Caller(start_server())) as caller:
        monkeypatch.setenv("AGENTPOST_URL", caller.server.url)
        sent = caller.post("What is in it?")
        request_id = sent.headers["Request-Id"]
        eventually(lambda: caller.http.get(f"/v1/requests/{request_id}").status_code == 200)
        shown = run("requests", "show", request_id).stdout
        assert "POST" in shown
        assert '"message": "What is in it?"' in shown
        command = run("requests", "show", request_id, "--curl").stdout
        assert command.startswith(f"curl -s -X POST {caller.server.url}/v1/messages \\\n")
        assert KEY not in command
        assert json_of("requests", "show", request_id)["status"] == 201
