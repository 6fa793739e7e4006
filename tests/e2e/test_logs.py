"""What a running server logs: each thing that happens, once, and what an author's code says."""

import json
from collections.abc import Callable

import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.hooks import Hooks
from tests.e2e.receivers import ReceiverMaker
from tests.e2e.server import AgentServer
from tests.waiting import eventually

Lines = list[Json]


SETTINGS = {
    "agent": "tests.e2e.talkative:agent",
    "egress_allow": "127.0.0.1/32",
    "webhook_retry_seconds": "0.2",
    "sweep_seconds": 0.05,
}


def lines(server: AgentServer, event: str | None = None, **fields: object) -> Lines:
    """The lines of the log with that event and those fields."""
    found = []
    for line in server.log_lines():
        if line.startswith("{"):
            read = json.loads(line)
            wanted = {"event": event, **fields} if event else fields
            if all(read.get(name) == value for name, value in wanted.items()):
                found.append(read)
    return found


def soon(server: AgentServer, event: str, count: int = 1, **fields: object) -> Lines:
    """The same, once there are so many; fails when there are more."""
    eventually(lambda: len(lines(server, event, **fields)) >= count, what=f"{event} {fields}")
    found = lines(server, event, **fields)
    assert len(found) == count, found
    return found


def job_of(caller: Caller, name: str, **fields: object) -> tuple[str, str]:
    """The ids of a message and its job, once that has ended."""
    message = caller.send(f"job {name}", **fields)
    ended = caller.final(message["id"])
    return message["id"], ended["jobs"][0]["job_id"]


def printed_lines(server: AgentServer, message_id: str, *, until_line: str) -> dict[str, Json]:
    """What the author's code printed for a message, once that line is there."""

    def found() -> dict[str, Json]:
        printed = lines(server, "agent_output", message_id=message_id)
        return {line["line"]: line for line in printed}

    eventually(lambda: until_line in found(), what=until_line)
    return found()


# --- what happens ---------------------------------------------------------------------------------
def test_a_message_and_its_turn(server: AgentServer, caller: Caller) -> None:
    """A repeated call is no message."""
    answer = caller.post("hello", key="once", metadata={"token": "tok_never_logged"})
    message_id = answer.json()["id"]
    again = caller.post("hello", key="once", metadata={"token": "tok_never_logged"})
    assert (answer.status_code, again.status_code) == (201, 200)
    (ended,) = soon(server, "turn_ended", message_id=message_id)
    (accepted,) = soon(server, "message_accepted", message_id=message_id)
    assert accepted["request_id"] == answer.headers["request-id"]
    assert not lines(server, request_id=again.headers["request-id"])
    assert accepted["level"] == ended["level"] == "info"
    assert accepted["account_id"] == ended["account_id"]
    assert accepted["key_id"].startswith("key_")
    assert accepted["files"] == 0
    assert ended["outcome"] == "replied"
    assert 0 <= ended["ms"] < 60_000
    text = server.log_file.read_text()
    assert "hello" not in text
    assert "tok_never_logged" not in text


def test_a_turn_that_fails_has_its_traceback_with_the_ids(
    server: AgentServer, caller: Caller
) -> None:
    message = caller.send("turn fails")
    (ended,) = soon(server, "turn_ended", message_id=message["id"])
    assert (ended["outcome"], ended["reason"]) == ("failed", "error")
    (failed,) = soon(server, "turn_failed", message_id=message["id"])
    assert "RuntimeError: the turn is broken" in failed["exception"]


def test_a_job_from_its_queue_to_its_end(
    server: AgentServer, callers: Callable[..., Caller]
) -> None:
    """The command that adds credits starts it: that logs nothing, since its output is its own."""
    server.command("accounts", "create", "--email", "poor@example.com")
    key = server.command("keys", "create", "--account", "poor@example.com", "--name", "first")
    poor = callers(server, key["key"])
    message = poor.send("job write")
    job_id = message["jobs"][0]["job_id"]
    (queued,) = soon(server, "job_queued", job_id=job_id)
    assert queued["reason"] == "out_of_credits"
    assert not lines(server, "job_started", job_id=job_id)
    server.command("credits", "add", "poor@example.com", "100")
    poor.final(message["id"])
    (ended,) = soon(server, "job_ended", job_id=job_id)
    (written,) = soon(server, "file_written", job_id=job_id)
    assert {line["message_id"] for line in (queued, ended, written)} == {message["id"]}
    assert (ended["outcome"], ended["reason"], ended["calls"]) == ("completed", None, 2)
    assert 0 <= ended["ms"] < 60_000
    assert (written["call"], written["bytes"]) == (2, 6)
    assert written["file_id"].endswith("/note.txt")


def test_a_job_that_is_stopped(server: AgentServer, caller: Caller) -> None:
    message = caller.send("job sleep")
    (job,) = message["jobs"]
    (started,) = soon(server, "job_started", job_id=job["job_id"])
    assert started["message_id"] == message["id"]
    assert started["function"] == "tests.e2e.talkative:work"
    caller.call("POST", f"/v1/work/{job['work_id']}/stop")
    (ended,) = soon(server, "job_ended", job_id=job["job_id"])
    assert (ended["outcome"], ended["reason"]) == ("stopped", "stopped")


def test_a_step_that_is_tried_again(server: AgentServer, caller: Caller) -> None:
    message_id, job_id = job_of(caller, "retried")
    retried = soon(server, "step_retried", count=2, job_id=job_id)
    assert [line["attempt"] for line in retried] == [1, 2]
    about = {(line["message_id"], line["call"], line["retries"]) for line in retried}
    assert about == {(message_id, 2, 3)}
    assert retried[0]["function"] == "tests.e2e.talkative:fail_twice"
    assert retried[0]["reason"] == "ConnectionError: the service is away"


def test_deliveries_that_fail_and_an_endpoint_that_is_disabled(
    server: AgentServer, caller: Caller, hooks: Hooks, receivers: ReceiverMaker
) -> None:
    receiver = receivers(503)
    endpoint = hooks.create(f"{receiver.url}?token=tok_never_logged")
    caller.send("hello")
    receiver.await_count(2)
    eventually(lambda: len(lines(server, "delivery_failed", endpoint_id=endpoint["id"])) >= 2)
    first, second = lines(server, "delivery_failed", endpoint_id=endpoint["id"])[:2]
    assert (first["attempt"], second["attempt"]) == (1, 2)
    assert (first["status_code"], first["event_name"]) == (503, "message.completed")
    assert first["event_id"] == second["event_id"] == receiver.got[0].id
    assert first["reason"] == "it answered with HTTP status 503"
    assert first["next_attempt_at"] > first["timestamp"]
    hooks.change(endpoint, enabled=False)
    (disabled,) = soon(server, "endpoint_disabled", endpoint_id=endpoint["id"])
    assert (disabled["reason"], disabled["dropped"]) == ("manual", 1)
    assert "tok_never_logged" not in server.log_file.read_text()


# --- what an author's code says -------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "where", "call", "other_ways", "last"),
    [
        ("turn", "turn", None, (), "turn without an end"),
        ("turn step", "turn step", 1, ("by descriptor",), "turn step by a child"),
        ("job body", "job", None, (), "job without an end"),
        ("job async step", "async step", 2, (), "async step without an end"),
        (
            "job plain step",
            "plain step",
            2,
            ("without an end", "by descriptor"),
            "plain step by a child",
        ),
    ],
)
def test_what_is_printed_and_logged(
    server: AgentServer,
    caller: Caller,
    text: str,
    where: str,
    call: int | None,
    other_ways: tuple[str, ...],
    last: str,
) -> None:
    """With what it belongs to: a job, unless a turn says it, and a call, if it is one."""
    message = caller.final(caller.send(text)["id"])
    job_id = message["jobs"][0]["job_id"] if message["jobs"] else None
    printed = printed_lines(server, message["id"], until_line=last)
    assert printed[f"{where} printed"]["stream"] == "stdout"
    assert printed[f"{where} to stderr"]["stream"] == "stderr"
    assert {f"{where} {way}" for way in other_ways} <= set(printed)
    (logged,) = soon(server, "agent_log", message_id=message["id"])
    assert (logged["level"], logged["logger"]) == ("info", "the.author")
    assert logged["message"] == f"{where} logged"
    about = {(line.get("job_id"), line.get("call")) for line in (logged, *printed.values())}
    assert about == {(job_id, call)}


def test_calls_beside_each_other_keep_their_numbers(server: AgentServer, caller: Caller) -> None:
    message_id, _ = job_of(caller, "beside")
    printed_lines(server, message_id, until_line="first in a thread")
    printed = printed_lines(server, message_id, until_line="second in a thread")
    calls = {line: about["call"] for line, about in printed.items()}
    assert calls["first printed"] == calls["first in a thread"] == 2
    assert calls["second printed"] == calls["second in a thread"] == 3
    of_no_call = "from a thread of its own"
    eventually(lambda: of_no_call in server.log_file.read_text(), what="a line of no call")
    assert not lines(server, "agent_output", message_id=message_id, line=of_no_call)


def test_an_exception_of_a_step_has_the_ids(server: AgentServer, caller: Caller) -> None:
    message_id, job_id = job_of(caller, "fails")
    (tried,) = soon(server, "agent_log", job_id=job_id)
    assert (tried["level"], tried["message"], tried["call"]) == ("error", "tried", 2)
    assert tried["exception"].endswith("LookupError: the first")
    (failed,) = soon(server, "job_failed", job_id=job_id)
    assert failed["message_id"] == message_id
    assert "ValueError: the second" in failed["exception"]
    assert "fail_below" in failed["exception"]


@pytest.mark.parametrize(
    ("name", "written"), [("flood", 100 * 1_001_001), ("flood here", 20_000 * 100)]
)
def test_a_flood_is_bounded(server: AgentServer, caller: Caller, name: str, written: int) -> None:
    before = server.log_file.stat().st_size
    _, job_id = job_of(caller, name)
    (dropped,) = soon(server, "agent_output_dropped", job_id=job_id, call=2)
    printed = lines(server, "agent_output", job_id=job_id)
    kept = sum(len(line["line"]) + 1 for line in printed)
    assert 60_000 < kept <= 70_000
    assert dropped["bytes"] + kept == written
    assert server.log_file.stat().st_size - before < 1_000_000


def test_a_long_line_is_cut(server: AgentServer, caller: Caller) -> None:
    message_id, job_id = job_of(caller, "long line")
    printed_lines(server, message_id, until_line="w" * 2048)
    (dropped,) = soon(server, "agent_output_dropped", job_id=job_id)
    assert dropped["bytes"] == 100_000 - 2048


def test_a_program_that_outlives_its_step_is_bounded_and_disturbs_no_other(
    server: AgentServer, caller: Caller
) -> None:
    message_id, job_id = job_of(caller, "child")
    printed_lines(server, message_id, until_line="still here")
    other, _ = job_of(caller, "plain step")
    printed_lines(server, other, until_line="plain step printed")
    assert {line["job_id"] for line in lines(server, "agent_output", line="still here")} >= {job_id}


# --- other settings -------------------------------------------------------------------------------
def test_the_level_of_the_setting_holds(
    start_server: ServerMaker, callers: Callable[..., Caller]
) -> None:
    server = start_server(agent="tests.e2e.talkative:agent", log_level="warning")
    quiet = callers(server)
    quiet.send("turn")
    message = quiet.send("turn fails")
    soon(server, "turn_failed", message_id=message["id"])
    assert {line["level"] for line in lines(server)} <= {"warning", "error"}


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_control_characters_are_data_in_a_log_for_programs_and_for_people(
    start_server: ServerMaker, callers: Callable[..., Caller], log_format: str
) -> None:
    server = start_server(agent="tests.e2e.talkative:agent", log_format=log_format)
    message_id, job_id = job_of(callers(server), "terminal")
    wanted = ("node_joined", "message_accepted", "agent_output", "job_ended")
    eventually(lambda: all(event in server.log_file.read_text() for event in wanted))
    assert server.stop() == 0
    text = server.log_file.read_text()
    (accepted,) = [line for line in text.splitlines() if "message_accepted" in line]
    assert message_id in accepted
    (printed,) = [line for line in text.splitlines() if "agent_output" in line]
    assert job_id in printed
    assert "\x1b" not in text
    assert ("\\x1b[31mred" if log_format == "console" else "\\u001b[31mred") in printed
    assert text.count("node_joined") == text.count("node_left") == 1
