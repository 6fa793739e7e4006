"""The caller's commands against a real server that answers by a script."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentpost.cli import connection
from agentpost.following import watching
from agentpost_client import RetryPolicy
from tests.cli.scripted import (
    FILE,
    REPLY,
    RESULT,
    STALLED,
    STEP,
    Server,
    job,
    log,
    message,
    run,
    server,
)
from tests.client.scripted import KEY
from tests.servers import free_port

__all__ = ["server"]


def test_send_shows_the_whole_story_once_and_in_order(server: Server, tmp_path: Path) -> None:
    csv = tmp_path / "sales.csv"
    csv.write_text("a\n1\n")
    files = [{**FILE, "url": f"{server.url}/f/wrk_1/out/chart.png"}]
    done = message(reply="On it.", jobs=[job()], files=files, notes=["b.exe was skipped"])
    server.on("POST /v1/messages", message("processing", False, reply="On it.", jobs=[]))
    server.on("GET /v1/messages/msg_1/events", log(REPLY, STEP, done=False), log(RESULT))
    server.on("GET /v1/messages/msg_1", done)
    server.on("GET /f/wrk_1/out/chart.png", b"pixels")
    folder = tmp_path / "results"
    result = run("send", "Chart revenue", "-f", str(csv), "-c", "cust", "--save", str(folder))
    assert result.output.splitlines() == [
        "On it.",
        "• Drawing",
        "✓ Chart",
        "12 rows.",
        "completed · msg_1 · 1.5 credits",
        "note: b.exe was skipped",
        "file: wrk_1/out/chart.png (12.3 kB)",
        f"saved {folder / 'out' / 'chart.png'}",
    ]
    assert result.exit_code == 0
    assert (folder / "out" / "chart.png").read_bytes() == b"pixels"
    route, key, body = server.asked[0]
    assert (route, key) == ("POST /v1/messages", f"Bearer {KEY}")
    assert (body["message"], body["conversation"]) == ("Chart revenue", "cust")
    assert body["files"][0]["name"] == "sales.csv"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("completed", 0),
        ("failed", 1),
        ("needs_input", 3),
        ("blocked", 4),
        ("partial", 5),
        ("expired", 6),
        ("pondering", 1),
    ],
)
def test_the_exit_code_tells_how_it_ended(server: Server, status: str, code: int) -> None:
    server.on("POST /v1/messages", message(status))
    result = run("send", "Hi")
    assert result.exit_code == code
    assert f"{status} · msg_1" in result.output


def test_a_question_is_shown_once(server: Server) -> None:
    """The agent's reply may be the question, or end with it."""
    asked = message("needs_input", question="Which CSV?", reply="Hello. Which CSV?")
    server.on("POST /v1/messages", asked)
    shown = run("send", "Hi").stdout
    assert (shown.count("Which CSV?"), "answer with" in shown) == (1, True)
    server.on("GET /v1/messages/msg_1/events", log({**REPLY, "text": "Which CSV?"}))
    server.on("GET /v1/messages/msg_1", asked)
    assert run("follow", "msg_1").stdout.count("Which CSV?") == 1


def test_a_failed_turn_tells_why_and_where_to_look(server: Server) -> None:
    failed = {"seq": 1, "type": "turn_failed", "text": "The agent failed.", "reason": "error"}
    server.on("POST /v1/messages", message("failed", reason="turn_failed"))
    server.on("GET /v1/messages/msg_1/events", log(failed))
    server.on("GET /v1/messages/msg_1", message("failed", reason="turn_failed"))
    result = run("send", "Hi")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "✗ The agent failed.",
        "failed (the agent failed while answering) · msg_1 · 1.5 credits",
        "→ the server's log has the cause, with this id: msg_1",
    ]


def test_retries_are_reported(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "RETRY_NOTICE_SECONDS", 0)
    monkeypatch.setattr(RetryPolicy, "backoff", lambda *_: 0.0)
    server.on("GET /v1/me", {"error": "internal", "message": "Oh."}, status=500)
    server.on("GET /v1/me", {"user_id": "usr_1"})
    result = run("me")
    assert result.exit_code == 0
    (notice,) = result.stderr.splitlines()
    assert re.fullmatch(r"agentpost: retrying in \d\.\d s \(server error 500\)", notice)


def test_a_server_that_does_not_answer_is_reported_while_it_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGENTPOST_URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("AGENTPOST_KEY", KEY)
    monkeypatch.setattr(connection, "RETRY_NOTICE_SECONDS", 0)
    monkeypatch.setattr(RetryPolicy, "backoff", lambda *_: 0.0)
    result = run("send", "Hi")
    assert result.exit_code == 7
    *notices, last = result.stderr.splitlines()
    assert len(notices) == 4
    assert all(line.endswith(" s (server unreachable)") for line in notices)
    assert last.startswith("agentpost: No answer from ")
    assert "is the server running?" in last
    stopped = run("work", "stop", "wrk_1")  # which is asked for once
    assert (stopped.exit_code, len(stopped.stderr.splitlines())) == (7, 1)


def test_send_stops_where_only_credits_help(server: Server) -> None:
    blocked = message(
        "blocked",
        False,
        reason="out_of_credits",
        resume="add_credits",
        resume_by="2026-11-21T10:00:00.000000Z",
        jobs=[job("blocked", reason="out_of_credits", queued=True)],
    )
    server.on("POST /v1/messages", message("processing", False))
    server.on("GET /v1/messages/msg_1/events", log(STALLED, done=False))
    server.on("GET /v1/messages/msg_1", blocked)
    result = run("send", "Hi")
    assert result.exit_code == 4
    assert "‖ Chart" in result.stdout
    assert "waits for credits until 2026-11-21 10:00 UTC" in result.stdout
    assert "agentpost follow msg_1" in result.stdout


def test_refused_work_names_what_is_running(server: Server) -> None:
    running = [{"job_id": "exe_9", "message_id": "msg_9", "work_id": "wrk_9"}]
    refused = message(
        "blocked",
        reason="too_many_running",
        running=running,
        jobs=[job("blocked", kind="refusal", reason="too_many_running")],
    )
    server.on("POST /v1/messages", refused)
    server.on("GET /v1/messages/msg_1/events", log())
    server.on("GET /v1/messages/msg_1", refused)
    result = run("send", "Hi")
    assert result.exit_code == 4
    assert "running: work wrk_9, started by msg_9" in result.stdout
    assert "agentpost work stop" in result.stdout


def test_no_wait_says_how_to_watch(server: Server) -> None:
    server.on("POST /v1/messages", message("processing", False, reply="On it."))
    result = run("send", "Hi", "--no-wait")
    assert result.exit_code == 0
    assert "agentpost follow msg_1" in result.stdout
    assert len(server.asked) == 1


def test_json_prints_the_record_and_nothing_else(server: Server) -> None:
    final = message(reply="Häh?", jobs=[job()], created_at="2026-11-20T10:00:00.000000Z", new=[1])
    server.on("POST /v1/messages", message("processing", False, reply="On it."))
    server.on("GET /v1/messages/msg_1/events", log(RESULT))
    server.on("GET /v1/messages/msg_1", final)
    result = run("send", "Hi", "--json")
    assert json.loads(result.stdout) == final
    assert "Häh?" in result.stdout


def test_a_dash_reads_standard_input(server: Server) -> None:
    server.on("POST /v1/messages", message())
    run("send", "-", stdin="Line 1\nZeile ü\n")
    assert server.asked[0][2]["message"] == "Line 1\nZeile ü\n"


def test_saving_overwrites_nothing_and_stays_in_the_folder(server: Server, tmp_path: Path) -> None:
    url = f"{server.url}/f"
    files = [
        {"file_id": "wrk_1/../../a.txt", "name": "a.txt", "url": url},
        {"file_id": "wrk_2/b.txt", "name": "b.txt", "url": url},
        {"file_id": "wrk_3/b.txt", "name": "b.txt", "url": url},
    ]
    server.on("POST /v1/messages", message(files=files))
    server.on("GET /f", b"new")
    folder = tmp_path / "in" / "results"
    folder.mkdir(parents=True)
    (folder / "b.txt").write_text("mine")
    assert run("send", "Hi", "--save", str(folder)).exit_code == 0
    saved = {str(p.relative_to(tmp_path)): p.read_text() for p in tmp_path.rglob("*.txt")}
    assert saved == {
        "in/results/file/file/a.txt": "new",
        "in/results/b.txt": "mine",
        "in/results/b-2.txt": "new",
        "in/results/b-3.txt": "new",
    }


def test_follow_prints_entries_and_ends_like_the_message(server: Server) -> None:
    failed = {"seq": 4, "type": "turn_failed", "text": "The agent failed.", "reason": "error"}
    new = {"seq": 5, "type": "comet", "text": "Unseen before."}
    server.on("GET /v1/messages/msg_1/events", log(REPLY, STEP), log())
    server.on("GET /v1/messages/msg_1", message("failed", reason="turn_failed"))
    result = run("follow", "msg_1")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[:2] == ["On it.", "• Drawing"]
    server.on("GET /v1/messages/msg_1/events", log(failed, new))
    assert run("follow", "msg_1").exit_code == 1
    assert "✗ The agent failed.\n• Unseen before.\n" in run("follow", "msg_1").stdout


def test_follow_json_has_one_entry_per_line(server: Server) -> None:
    server.on("GET /v1/messages/msg_1/events", log(REPLY, STEP, done=False), log(RESULT))
    server.on("GET /v1/messages/msg_1", message())
    result = run("follow", "msg_1", "--json")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [REPLY, STEP, RESULT]


@pytest.mark.parametrize(
    ("status", "body", "texts"),
    [
        (401, {"error": "unauthorized", "message": "No."}, ["AGENTPOST_KEY is unknown", "req_7"]),
        (404, {"error": "not_found", "message": "Nothing."}, ["not_found", "req_7"]),
        (
            400,
            {"error": "invalid_request", "problems": [{"field": "x.0", "problem": "bad\nthing"}]},
            ["x.0: bad thing"],
        ),
        (502, b"<html>", ["502"]),
        (200, b"<html>", ["check AGENTPOST_URL"]),
    ],
)
def test_errors_are_one_line_that_says_what_to_do(
    server: Server, status: int, body: Any, texts: list[str]
) -> None:
    with_id = {**body, "request_id": "req_7"} if isinstance(body, dict) else body
    server.on("GET /v1/me", with_id, status=status)
    result = run("me")
    assert result.exit_code == (2 if status in (400, 404) else 7)
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("agentpost: ")
    for text in texts:
        assert text in result.stderr
    assert KEY not in result.stderr


@pytest.mark.parametrize("name", ["AGENTPOST_URL", "AGENTPOST_KEY"])
def test_missing_settings_are_reported(
    server: Server, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv(name)
    result = run("send", "Hi")
    assert (result.exit_code, result.stdout) == (7, "")
    assert f"set {name}" in result.stderr


def test_a_folder_that_cannot_be_written_is_reported(server: Server, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    server.on("GET /v1/files/w/a", {"file_id": "w/a", "name": "a", "url": f"{server.url}/f"})
    server.on("GET /f", b"x")
    result = run("files", "get", "w/a", "-o", str(tmp_path / "taken" / "a"))
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1


def test_interrupting_leaves_the_work_alone(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.on("POST /v1/messages", message("processing", False))

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watching.Watch, "to_the_end", interrupt)
    result = run("send", "Hi")
    assert result.exit_code == 130
    assert "agentpost follow msg_1" in result.stderr
