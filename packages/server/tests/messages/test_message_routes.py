"""Sending and reading messages over HTTP (spec: createMessage, getMessage)."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import httpx2
import pytest

from tests.e2e.caller import Caller, kinds
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer
from tests.waiting import PROMPT, eventually

Hold = Callable[..., Future[httpx2.Response]]


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(turn_reply_seconds=30)


@pytest.fixture
def hold(caller: Caller) -> Iterator[Hold]:
    """`hold(message_id, tag)` begins a read with ``wait=45``."""
    with ThreadPoolExecutor() as pool:

        def begin(message_id: str, tag: str | None = None) -> Future[httpx2.Response]:
            headers = {"If-None-Match": tag} if tag else {}
            path = f"/v1/messages/{message_id}?wait=45"
            return pool.submit(caller.call, "GET", path, headers=headers)

        yield begin


# --- the answer to POST ---------------------------------------------------------------------------
@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("What the service does 2", "Message.created_at")
def test_a_direct_answer_is_final_at_once(caller: Caller) -> None:
    message = caller.send("  hello  ")

    assert message["status"] == "completed"
    assert message["final"] is True
    assert message["reply"] == "You said: hello"
    assert message["jobs"] == message["files"] == message["notes"] == []
    assert message["reason"] is message["question"] is None
    assert message["created_at"] < message["updated_at"]
    assert caller.get(message["id"]) == message


@pytest.mark.rule("Message.reply")
def test_several_replies_are_joined_by_a_blank_line(caller: Caller) -> None:
    assert caller.send([["reply", "one"], ["reply", "two"]])["reply"] == "one\n\ntwo"


@pytest.mark.rule("Message.question", "Errors outcomes")
def test_a_question_is_asked_and_the_reply_shown(caller: Caller) -> None:
    message = caller.send([["reply", "Well."], ["ask", "Which one?"]])

    assert (message["status"], message["final"]) == ("needs_input", True)
    assert message["question"] == "Which one?"
    assert message["reply"] == "Well.\n\nWhich one?"


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule(
    "What the service does 1",
    "What the service does 2",
    "Message.updated_at",
    "Job.job_id",
    "Job.kind",
    "Job.link",
    "Job.started_at",
    "Job.settled_at",
    "Transitions 1",
    "Transitions 7",
)
def test_work_goes_on_after_the_answer(caller: Caller, server: AgentServer) -> None:
    job = [["progress", "Counting"], ["gate", "counted"], ["return", "It is 42."]]
    message = caller.send([["start", "Count", job]])

    assert (message["status"], message["final"]) == ("processing", False)
    assert message["reply"] == "Count: running"
    running = message["jobs"][0]
    assert running["status"] == "running"
    assert running["role"] == running["kind"] == "execution"
    assert running["job_id"].startswith("exe_")
    assert running["link"].endswith(f"/chat/{running['work_id']}")
    assert running["queued"] is running["resume_by"] is running["settled_at"] is None
    assert message["created_at"] <= running["started_at"] <= message["updated_at"]

    server.open_gate("counted")
    done = caller.final(message["id"])
    assert done["status"] == "completed"
    assert done["jobs"][0]["status"] == "completed"
    assert done["jobs"][0]["final"] is True
    assert done["jobs"][0]["started_at"] == running["started_at"] < done["jobs"][0]["settled_at"]
    assert done["updated_at"] == message["updated_at"], "the turn's end, not the job's"
    assert caller.work(running["work_id"])["text"] == "It is 42."


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Message.question")
def test_a_job_may_ask(caller: Caller) -> None:
    message = caller.send([["start", "Ask", [["ask", "a?"], ["ask", "b?"], ["return", ""]]]])

    done = caller.final(message["id"])
    assert (done["status"], done["question"]) == ("needs_input", "b?")
    assert done["jobs"][0]["status"] == "completed"


def test_the_answer_waits_for_a_turn_that_ends_in_time(caller: Caller, server: AgentServer) -> None:
    threading.Timer(0.2, server.open_gate, ["in-time"]).start()
    message = caller.send([["gate", "in-time"], ["reply", "done"]])

    assert message["reply"] == "done"
    assert caller.log(message["id"])[-1]["delivered_sync"] is True


@pytest.mark.rule("What the service does 2", "Message.updated_at")
def test_a_longer_turn_is_answered_for_when_the_window_closes(
    caller: Caller, server: AgentServer
) -> None:
    began = time.monotonic()
    message = caller.send([["gate", "late"], ["reply", "done"]], wait=1)

    assert 0.9 < time.monotonic() - began < PROMPT
    assert (message["status"], message["final"], message["reply"]) == ("processing", False, None)
    assert message["updated_at"] == message["created_at"]
    server.open_gate("late")
    assert caller.final(message["id"])["reply"] == "done"
    assert caller.log(message["id"])[-1]["delivered_sync"] is False


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions metadata")
def test_metadata_comes_back_unchanged(caller: Caller) -> None:
    metadata = {"customer": "Zoë ✓", "empty": ""}
    message = caller.send([["see"]], metadata=metadata)

    assert message["metadata"] == metadata
    assert '"metadata": {"customer": "Zo\\u00eb \\u2713", "empty": ""}' in message["reply"]
    assert "metadata" not in caller.send("none")


@pytest.mark.rule("Additions conversation")
def test_conversations_do_not_see_each_other(caller: Caller) -> None:
    caller.send("my name is Ada", conversation="ada")
    caller.send('[["remember", "k", "v"], ["reply", "ok"]]', conversation="ada")

    same = caller.send([["see"]], conversation="ada")["reply"]
    other = caller.send([["see"]], conversation="eve")["reply"]
    assert '["user", "my name is Ada"], ["agent", "You said: my name is Ada"]' in same
    assert '"state": {"k": "v"}' in same
    assert "Ada" not in other
    assert '"state": {}' in other


def test_unknown_fields_and_null_are_ignored(caller: Caller) -> None:
    message = caller.send("x", files=None, upload_ids=None, conversation=None, metadata=None, y=1)
    assert message["reply"] == "You said: x"


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("createMessage.message", "Limits message-text")
def test_the_longest_message_is_taken(caller: Caller) -> None:
    text = "ü" * 20_000
    assert caller.send(f"  {text}\n")["reply"] == f"You said: {text}"


# --- reading --------------------------------------------------------------------------------------
@pytest.mark.rule("createMessage 6", "Authentication 4")
def test_only_the_sending_key_reads_a_message(caller: Caller, server: AgentServer) -> None:
    message = caller.send("secret")
    made = server.command("keys", "create", "--account", "owner@localhost", "--name", "second")
    other = Caller(server, made["key"])

    path = f"/v1/messages/{message['id']}"
    same = other.refusal(404, "not_found", "GET", path)
    unknown = other.refusal(404, "not_found", "GET", f"{path[:-4]}0000")
    assert same["message"] == unknown["message"]
    other.refusal(404, "not_found", "GET", f"{path}/events")
    cursor = caller.events(message["id"])["cursor"]
    other.refusal(404, "not_found", "GET", f"{path}/events?cursor={cursor}")
    other.close()


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("getMessage.held")
@pytest.mark.parametrize("has_a_tag", [False, True])
def test_a_held_read_answers_when_the_job_ends_and_not_on_progress(
    caller: Caller, server: AgentServer, hold: Hold, has_a_tag: bool
) -> None:
    gates = [f"held {n} {has_a_tag}" for n in range(2)]
    said = [["progress", "a"], ["charge", 1], ["progress", "b"]]
    job = [["gate", gates[0]], *said, ["gate", gates[1]], ["return", ""]]
    message = caller.send([["start", "Held", job]])
    server.await_gate(gates[0])
    version = caller.get(message["id"])["version"]
    waiting = hold(message["id"], f'"v{version}"' if has_a_tag else None)
    with pytest.raises(TimeoutError):
        waiting.result(0.2)  # it is held by now
    server.open_gate(gates[0])
    server.await_gate(gates[1])
    assert len(caller.log(message["id"])) == 3, "the progress is there"
    with pytest.raises(TimeoutError):
        waiting.result(0.3)

    server.open_gate(gates[1])
    assert waiting.result(PROMPT).json()["status"] == "completed"


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Message.reply", "getMessage.held")
def test_a_held_read_answers_when_the_reply_is_there(
    caller: Caller, server: AgentServer, hold: Hold
) -> None:
    message = caller.send(
        [["start", "Keep", [["gate", "kept"]]], ["gate", "reply"], ["ask", "?"]], wait=1
    )
    assert message["reply"] is None
    eventually(lambda: server.has_reached("kept"))
    # With what we have seen: the read may begin before or after the reply is there.
    waiting = hold(message["id"], f'"v{caller.get(message["id"])["version"]}"')
    server.open_gate("reply")

    answer = waiting.result(PROMPT).json()
    assert answer["reply"] == "Keep: running\n\n?"
    assert answer["status"] == "processing", "the job still runs"
    server.open_gate("kept")
    assert caller.final(message["id"])["status"] == "needs_input"


@pytest.mark.rule("getMessage.held")
def test_a_held_read_of_a_final_message_answers_at_once(caller: Caller) -> None:
    message = caller.send("x")
    began = time.monotonic()
    assert caller.get(message["id"], wait=45) == message
    assert time.monotonic() - began < PROMPT


@pytest.mark.rule("getMessage.held")
def test_a_held_read_ends_unchanged_after_its_wait(caller: Caller, server: AgentServer) -> None:
    message = caller.send([["start", "Wait", [["gate", "waited"]]]])
    began = time.monotonic()
    assert caller.get(message["id"], wait=1)["status"] == "processing"
    assert 0.9 < time.monotonic() - began < PROMPT
    server.open_gate("waited")


# --- the version as an entity tag -----------------------------------------------------------------
@pytest.mark.rule("Additions version")
def test_the_etag_says_whether_there_is_news(caller: Caller) -> None:
    answer = caller.post("x")
    message, tag = answer.json(), answer.headers["ETag"]
    assert tag == f'"v{message["version"]}"'
    same = caller.call("GET", f"/v1/messages/{message['id']}", headers={"If-None-Match": tag})
    assert (same.status_code, same.content, same.headers["ETag"]) == (304, b"", tag)


@pytest.mark.parametrize(
    ("tags", "status"),
    [
        (['"other", {}'], 304),
        (['{},"other"'], 304),
        (['W/"other" , W/{}'], 304),
        (['"v1"', "{}"], 304),  # in a header each
        (["*"], 304),
        (['"other"'], 200),
        (['"v99"'], 200),
        (['"other,{}"'], 200),
        (["v2"], 200),
        (['"'], 200),
        ([""], 200),
    ],
)
def test_entity_tags_are_read_as_http_says(caller: Caller, tags: list[str], status: int) -> None:
    """Of a final message, whether or not the call may wait."""
    answer = caller.post("x")
    path = f"/v1/messages/{answer.json()['id']}"
    headers = [("If-None-Match", tag.format(answer.headers["ETag"])) for tag in tags]
    for wait in (0, 30):
        answered = caller.call("GET", f"{path}?wait={wait}", headers=headers)
        assert answered.status_code == status


@pytest.mark.parametrize("tag", ['"of something else"', '"v0"', '"v99"'])
def test_a_client_that_has_another_version_is_answered_at_once(
    caller: Caller, server: AgentServer, hold: Hold, tag: str
) -> None:
    gate = f"unseen {tag}".replace('"', "")
    message = caller.send([["start", "Unseen", [["gate", gate]]]])
    assert hold(message["id"], tag).result(PROMPT).json()["status"] == "processing"
    server.open_gate(gate)


@pytest.mark.rule("Additions version")
def test_a_change_between_two_polls_is_answered_at_once(
    caller: Caller, server: AgentServer, hold: Hold
) -> None:
    job = [["gate", "gap"], ["progress", "a"], ["gate", "gap2"], ["return", ""]]
    first = caller.post([["start", "Gap", job]])
    message = first.json()
    server.open_gate("gap")
    server.await_gate("gap2")

    missed = hold(message["id"], first.headers["ETag"]).result(PROMPT)
    assert missed.json()["version"] > message["version"]
    waiting = hold(message["id"], missed.headers["ETag"])
    server.open_gate("gap2")
    assert waiting.result(PROMPT).json()["final"] is True


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Message event log result")
def test_the_log_of_a_whole_job(caller: Caller) -> None:
    job = [["progress", "Drawing"], ["write", "out/a.txt", "text"], ["return", "Done."]]
    message = caller.send([["start", "Log", job]])
    caller.final(message["id"])

    entries = caller.log(message["id"])
    assert kinds(entries[:1]) in (["agent_reply"], ["progress"])
    by_type = {entry["type"]: entry for entry in entries}
    assert sorted(kinds(entries)) == ["agent_reply", "progress", "progress", "result"]
    result = by_type["result"]
    assert (result["title"], result["text"], result["outcome"]) == ("Log", "Done.", "completed")
    assert [file["name"] for file in result["files"]] == ["a.txt"]
    assert result["job_id"] == message["jobs"][0]["job_id"]
    assert result["work_id"] == message["jobs"][0]["work_id"]
    assert result["message_id"] == message["id"]
