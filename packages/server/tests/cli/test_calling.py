"""The caller's commands against one real server, each as a person or a script calls them."""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from agentpost.cli import app
from agentpost.cli.commands import PLACES, Commands
from agentpost.cli.show import Screen
from agentpost.following import watching
from agentpost.following.watching import TimeUp, within
from tests.e2e.server import ACCOUNT, KEY, AgentServer
from tests.waiting import PATIENCE, PROMPT, eventually

SECONDS_MAX = 60.0
CHART = [["write", "out/a.csv", "x"], ["charge", 2], ["return", "12 rows"]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    made = AgentServer(tmp_path_factory.mktemp("server")).start()
    yield made
    if made.process is not None:
        made.stop()


@pytest.fixture(autouse=True)
def _address(server: AgentServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTPOST_URL", server.url)
    monkeypatch.setenv("AGENTPOST_KEY", KEY)


def run(*arguments: str, stdin: str | None = None, code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(arguments), input=stdin)
    assert result.exit_code == code, f"{result.output}\n{result.exception}"
    return result


def record(*arguments: str, code: int = 0) -> Any:
    return json.loads(run(*arguments, "--json", code=code).stdout)


def script(*operations: list[Any]) -> str:
    return json.dumps(operations)


def test_a_message_from_its_sending_to_its_deletion(tmp_path: Path) -> None:
    text = script(["reply", "On it."], ["start", "Chart", CHART])
    options = ("-c", "cust", "--metadata", "order=1=2", "--max-credits", "5", "--busy", "queue")
    sent = record("send", text, *options)
    assert (sent["conversation"], sent["metadata"]) == ("cust", {"order": "1=2"})
    assert (sent["status"], sent["max_credits"]) == ("completed", 5)
    message_id, work_id = sent["id"], sent["jobs"][0]["work_id"]

    found = ("--status", "completed", "-c", "cust", "--metadata", "order=1=2", "--since", "1h")
    assert [item["id"] for item in record("messages", "list", *found)["data"]] == [message_id]
    assert record("messages", "list", *found, "--until", "1h")["data"] == []
    heading, line = run("messages", "list", *found).stdout.splitlines()
    assert heading.split("\t") == ["ID", "STATUS", "SENT", "CONVERSATION", "MESSAGE"]
    assert line.split("\t")[:2] == [message_id, "completed"]
    shown = run("messages", "show", message_id).stdout
    assert "On it." in shown
    assert "12 rows" in shown
    assert record("messages", "show", message_id)["id"] == message_id

    (file,) = record("files", "list", message_id)["data"]
    (of_work,) = record("files", "list", work_id)["data"]
    assert {**of_work, "url": ""} == {**file, "url": ""}, "links are signed for each answer"
    assert run("files", "get", message_id, "-o", str(tmp_path)).stdout.startswith("saved ")
    (again,) = record("files", "get", message_id, "-o", str(tmp_path))
    assert again["path"] == str(tmp_path / "out" / "a-2.csv")
    assert (tmp_path / "out" / "a.csv").read_text() == "x"

    assert record("recover", message_id)["work"] == [{"work_id": work_id, "state": "settled"}]
    assert run("recover", message_id).stdout.split("\t")[-1] == "settled\n"
    assert run("messages", "cancel", message_id).stdout.startswith("completed · ")
    by_key = record("usage", "--by", "key")["data"]
    assert (by_key[0]["messages"] >= 1, by_key[0]["credits"] >= 2) == (True, True)
    assert "DAY\tMESSAGES" in run("usage", "--since", "1d").stdout
    assert run("work", "delete", work_id).stdout == f"✓ {work_id} is deleted\n"
    assert record("messages", "delete", message_id)["deleted"] is True
    assert "[not_found]" in run("messages", "show", message_id, code=2).stderr


def list_commands() -> list[tuple[str, ...]]:
    """The words of every command that lists what the API has."""
    named = [(name, "list") for name, place in PLACES.items() if not place.operates]
    lists = [words for words in named if "list" in getattr(Commands()[words[0]], "commands", {})]
    return [*(words for words in lists if words[0] != "profiles"), ("usage",)]


def test_every_list_says_whether_there_is_more() -> None:
    sent = record("send", script(["start", "Chart", CHART]), "-c", "lists")
    run("send", script(["start", "Table", CHART]), "-c", "lists")
    for _ in range(2):
        run("schedules", "create", "Report", "--cron", "0 8 * * 1")
    assert {words[0] for words in list_commands()} >= {"messages", "files", "work", "events"}
    for words in list_commands():
        command = Commands()[words[0]]
        command = command.commands["list"] if len(words) > 1 else command
        owner = [sent["id"]] if words[0] == "files" else []
        page = record(*words, *owner)
        assert page["object"] == "list", words
        assert isinstance(page["has_more"], bool), words
        assert {"next_before", "cursor"} & page.keys(), words
        options = {name for each in command.params for name in each.opts}
        if "--before" in options and words[0] != "usage":  # all was used today
            first = record(*words, "-n", "1")
            assert first["has_more"] is True, words
            assert f"--before {first['next_before']}" in run(*words, "-n", "1").stderr
            following = record(*words, "-n", "1", "--before", first["next_before"])
            assert len(following["data"]) == 1, words
            assert following["data"] != first["data"], words
            assert "before" in run(*words, "--before", "nonsense", code=2).stderr
    for schedule in record("schedules", "list")["data"]:
        run("schedules", "delete", schedule["id"])


def test_schedules() -> None:
    times = ("--cron", "0 8 * * 1", "--timezone", "Asia/Tokyo")
    made = record("schedules", "create", "Report", *times)
    assert (made["cron"], made["timezone"], made["status"]) == ("0 8 * * 1", "Asia/Tokyo", "active")
    paused = run("schedules", "pause", made["id"]).stdout
    assert paused.startswith(f"paused · {made['id']} · 0 8 * * 1 (Asia/Tokyo)\nmessage: Report\n")
    assert record("schedules", "resume", made["id"])["status"] == "active"
    assert "next run: " in run("schedules", "show", made["id"]).stdout
    day = (datetime.now(UTC) + timedelta(days=300)).strftime("%Y-%m-%d")
    once = record("schedules", "create", "Once", "--at", f"{day}T09:00+01:00")
    assert [s["id"] for s in record("schedules", "list")["data"]] == [once["id"], made["id"]]
    assert f"\tonce\t{day}T08:00:00Z\tOnce" in run("schedules", "list").stdout
    for schedule in (made, once):
        assert run("schedules", "delete", schedule["id"]).stdout.endswith(" is deleted\n")
    assert "no schedule yet" in run("schedules", "list").stderr
    run("schedules", "create", "Report", code=2)


@pytest.mark.parametrize("options", [(), ("--stream",)])
def test_waiting_ends_in_time_and_the_work_does_not(
    server: AgentServer, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    gate = f"timeout{len(options)}"
    text = script(["start", "Long", [["gate", gate], ["return", "done"]]])
    shown = threading.Event()
    show = Screen.part

    def part(*arguments: Any, **named: Any) -> None:
        show(*arguments, **named)
        shown.set()

    monkeypatch.setattr(Screen, "part", part)
    with time_is_up_after(monkeypatch, shown.wait):
        result = run("send", text, "--timeout", "60", *options, code=7)
    assert "timed out; the work continues: agentpost follow msg_" in result.stderr
    words = result.stderr.split()
    message_id, after = words[words.index("follow") + 1], words[words.index("--after") + 1]
    assert int(after) > 0
    server.open_gate(gate)
    followed = run("follow", message_id, "--after", after, *options).stdout
    assert followed.splitlines()[:2] == ["✓ Long", "done"]


def test_no_answer_in_time_says_how_to_ask_for_it(
    server: AgentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = script(["gate", "turn"], ["reply", "late"])
    with time_is_up_after(monkeypatch, lambda: server.await_gate("turn")):
        result = run("send", text, "--timeout", "60", "-c", "late", code=7)
    assert "no answer in 60 s" in result.stderr
    key = result.stderr.split()[-1]
    server.open_gate("turn")
    again = record("send", text, "-c", "late", "--idempotency-key", key)
    assert again["reply"] == "late"
    assert len(record("messages", "list", "-c", "late")["data"]) == 1


def test_the_time_to_wait_is_counted() -> None:
    with pytest.raises(TimeUp), within(0.01):
        threading.Event().wait(60)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_end_that_falls_into_a_finaliser_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_RAISED_AGAIN_SECONDS", 0.05)

    class Slow:
        def __del__(self) -> None:
            ended_in.append(time.monotonic())
            while time.monotonic() < ended_in[0] + PROMPT:
                time.sleep(0.01)  # until the end is raised here, where it is ignored

    def wait_long() -> None:
        slow = Slow()
        del slow
        time.sleep(PATIENCE)

    ended_in: list[float] = []
    with pytest.raises(TimeUp), within(0.01):
        wait_long()
    assert time.monotonic() - ended_in[0] < PROMPT


@contextmanager
def time_is_up_after(
    monkeypatch: pytest.MonkeyPatch, happened: Callable[[], object]
) -> Iterator[None]:
    """The timer of the block rings when this has happened, not by the clock; and again, as the
    real one does."""
    monkeypatch.setattr("signal.setitimer", lambda *_: None)
    main, ended = threading.main_thread().ident, threading.Event()
    assert main is not None

    def ring() -> None:
        happened()
        signal.pthread_kill(main, signal.SIGALRM)
        while not ended.wait(watching._RAISED_AGAIN_SECONDS):
            signal.pthread_kill(main, signal.SIGALRM)

    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)  # where the block has ended already
    thread = threading.Thread(target=ring, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(SECONDS_MAX)
        signal.signal(signal.SIGALRM, before)


def test_text_is_shown_while_it_is_written(server: AgentServer) -> None:
    text = script(["gate", "before"], ["delta", "Hel", "lo"], ["gate", "after"], ["reply", "Hello"])
    released = release(server, "before", "after")
    result = run("send", text, "--stream", "-c", "live")
    released.join()
    assert result.stdout.count("Hello") == 1
    assert result.stdout.splitlines()[-1].startswith("completed · msg_")
    (sent,) = record("messages", "list", "-c", "live")["data"]
    entries = run("follow", sent["id"], "--stream", "--json").stdout.splitlines()
    assert [json.loads(line)["type"] for line in entries] == ["agent_reply"]


def release(server: AgentServer, *gates: str) -> threading.Thread:
    """Open each gate when the agent has come to it, beside the test."""

    def open_all() -> None:
        for gate in gates:
            server.await_gate(gate)
            server.open_gate(gate)

    thread = threading.Thread(target=open_all)
    thread.start()
    return thread


def test_a_chat_from_a_pipe(server: AgentServer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("from the file")
    lines = [
        "hello",
        f"/file {tmp_path / 'a.txt'}",
        script(["read"]),
        script(["ask", "Which one?"]),
        script(["start", "Chart", CHART]),
        "/file ~no-user-of-this-name/a.txt",
        "/file",
        "",
        script(["fail", "no"]),
        "bye",
    ]
    result = run("chat", "-c", "piped", stdin="\n".join(lines))
    out = result.stdout
    assert "You said: hello" in out
    assert "from the file" in out
    assert "Which one?" in out
    assert "✓ Chart\n12 rows\n" in out
    assert "You said: bye" in out
    assert [line.partition(": ")[2] for line in result.stderr.splitlines()] == [
        "there is no file '~no-user-of-this-name/a.txt'",
        "give the path of a file: /file PATH",
    ]
    records = run("chat", "-c", "piped", "--json", stdin="hi\n").stdout.splitlines()
    assert [json.loads(line)["reply"] for line in records] == ["You said: hi"]


def test_a_key_that_may_only_send_talks_and_sees_no_text_on_its_way(
    server: AgentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = ("--account", ACCOUNT, "--name", "sending", "--scopes", "send")
    monkeypatch.setenv("AGENTPOST_KEY", server.command("keys", "create", *named)["key"])
    assert "You said: hello" in run("chat", stdin="hello\n").stdout
    refused = run("send", "hello", "--stream", code=7)
    assert " is sent, but this key may not read it\n" in refused.stderr


def test_work_that_waits_for_credits_is_not_waited_for(
    server: AgentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither when it is queued at its start: nothing comes of it before somebody adds credits."""
    server.command("accounts", "create", "--email", "poor@example.com")
    named = ("--account", "poor@example.com", "--name", "poor")
    monkeypatch.setenv("AGENTPOST_KEY", server.command("keys", "create", *named)["key"])
    shown = run("send", script(["start", "Chart", CHART]), "--stream", code=4)
    assert "blocked (out of credits) · msg_" in shown.stdout


def test_a_choice_is_answered_by_its_number(server: AgentServer) -> None:
    ask = script(["ask", "Which?", {"choices": ["red", "blue"]}])
    out = run("chat", stdin=f"{ask}\n2\n").stdout
    assert "  1. red\n  2. blue\n" in out
    assert "blue" in out.rpartition("2. blue\n")[2]


def test_send_answers_a_question_as_the_chat_does(server: AgentServer) -> None:
    """A number is a choice, nothing else than a choice or fitting JSON is taken, and only once."""
    schema = {"type": "object", "required": ["rows"]}
    for question, good, answer, wrong in (
        ({"choices": ["red", "blue"]}, "2", "blue", "3"),
        ({"choices": ["5", "2"]}, "2", "2", "blue"),
        ({"schema": schema}, '{"rows": 3}', {"rows": 3}, "three"),
        ({}, "2", "2", None),
    ):
        asked = record("send", script(["ask", "Which?", question]), code=3)["id"]
        if wrong is not None:
            assert "invalid_request" in run("send", wrong, "--answer-to", asked, code=2).stderr
        sent = record("send", good, "--answer-to", asked)
        assert json.loads(sent["reply"]) == [asked, answer]
        again = run("send", good, "--answer-to", asked, code=2)
        assert "that question has been answered" in again.stderr


def test_a_key_that_may_only_send_answers_with_its_text(
    server: AgentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = ("--account", ACCOUNT, "--name", "sender", "--scopes", "send")
    monkeypatch.setenv("AGENTPOST_KEY", server.command("keys", "create", *of)["key"])
    asked = record("send", script(["ask", "Which?", {}]), "--no-wait", code=3)["id"]
    sent = record("send", "2", "--answer-to", asked, "--no-wait")
    assert sent["reply"] == "You said: 2"


def test_a_server_that_was_killed_is_waited_for(server: AgentServer) -> None:
    """kill -9 while a log is followed: it says so, continues, and repeats nothing."""
    text = script(["start", "Long", [["progress", "one"], ["gate", "kill"], ["return", "done"]]])
    sent = record("send", text, "--no-wait")
    got: list[str] = []
    reported: list[str] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            "agentpost.cli.printing.print_json", lambda entry: got.append(entry["type"])
        )
        patched.setattr("agentpost.cli.connection.say", reported.append)
        with ThreadPoolExecutor(1) as beside:
            follower = beside.submit(run, "follow", sent["id"], "--json")
            eventually(lambda: "progress" in got, what="the first entries")
            server.await_gate("kill")
            server.kill()
            eventually(lambda: reported, what="a line about the retry")
            server.open_gate("kill")
            server.start()
            follower.result()
    assert reported[0].startswith("retrying in ")
    assert "server unreachable" in " ".join(reported) or "stream ended" in " ".join(reported)
    assert got == ["agent_reply", "progress", "result"]
