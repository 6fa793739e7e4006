"""The caller's commands on files, works and the account, against a scripted server."""

import json
from pathlib import Path

import pytest

from tests.cli.scripted import FILE, Server, message, run, server
from tests.client.scripted import KEY

__all__ = ["server"]


def test_files_get(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    server.on("GET /v1/files/wrk_1/out/chart.png", {**FILE, "url": f"{server.url}/f"})
    server.on("GET /f", b"pixels")
    assert run("files", "get", "wrk_1/out/chart.png").stdout == "saved chart.png\n"
    assert run("files", "get", "wrk_1/out/chart.png").stdout == "saved chart-2.png\n"
    result = run("files", "get", "wrk_1/out/chart.png", "-o", "chart.png", "--json")
    assert json.loads(result.stdout)["path"] == "chart.png"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chart-2.png", "chart.png"]


def test_files_get_overwrites_nothing_in_a_folder(server: Server, tmp_path: Path) -> None:
    server.on("GET /v1/files/wrk_1/out/chart.png", {**FILE, "url": f"{server.url}/f"})
    server.on("GET /f", b"pixels")
    (tmp_path / "chart.png").write_text("mine")
    result = run("files", "get", "wrk_1/out/chart.png", "-o", str(tmp_path))
    assert result.stdout == f"saved {tmp_path / 'chart-2.png'}\n"
    assert result.stderr == (
        f"agentpost: {tmp_path / 'chart.png'} already exists and was not changed\n"
    )
    assert (tmp_path / "chart.png").read_text() == "mine"


def test_only_the_person_names_a_hidden_file(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server does not, whatever it calls a file or a folder."""
    monkeypatch.chdir(tmp_path)
    url = f"{server.url}/f"
    hidden = {**FILE, "file_id": "wrk_1/.ssh/.. /..rc", "name": "..rc", "url": url}
    server.on("GET /v1/files/wrk_1/.bashrc", {**FILE, "name": ".bashrc", "url": url})
    server.on("GET /v1/messages/msg_1", message(files=[hidden]))
    server.on("GET /f", b"evil")
    assert run("files", "get", "wrk_1/.bashrc").stdout == "saved bashrc\n"
    (tmp_path / "in").mkdir()
    assert run("files", "get", "wrk_1/.bashrc", "-o", "in").stdout == "saved in/bashrc\n"
    assert run("files", "get", "wrk_1/.bashrc", "-o", ".mine").stdout == "saved .mine\n"
    assert run("files", "get", "msg_1").stdout == "saved ssh/file/rc\n"


def test_work_commands(server: Server) -> None:
    work = {"work_id": "wrk_1", "title": "Chart", "status": "idle", "files": [], "link": "http://l"}
    item = {"work_id": "wrk_1", "title": "Chart", "preview": "1\n2", "status": "idle"}
    server.on("GET /v1/work", {"data": [{**item, "updated_at": "2026-11-20T10:00:00.000000Z"}]})
    server.on(
        "GET /v1/work/wrk_1",
        {**work, "text": "one ", "next_from_char": 4},
        {**work, "text": "two", "next_from_char": None},
    )
    server.on("POST /v1/work/wrk_1/stop", {**work, "text": "half"})
    assert run("work", "list").stdout.splitlines() == [
        "WORK ID\tSTATUS\tUPDATED\tTITLE\tRESULT",
        "wrk_1\tidle\t2026-11-20T10:00:00Z\tChart\t1 2",
    ]
    assert run("work", "show", "wrk_1").stdout == "Chart · idle · wrk_1\none two\nhttp://l\n"
    assert json.loads(run("work", "stop", "wrk_1", "--json").stdout)["text"] == "half"


def test_me(server: Server) -> None:
    server.on(
        "GET /v1/me",
        {
            "user_id": "usr_1",
            "email": "a@b.c",
            "name": "Ann",
            "credits": 98.5,
            "agent": {"name": "offline"},
            "key": {"id": "key_1", "name": "ci"},
            "limits": {"running_jobs": 5, "requests_per_minute": 600},
        },
    )
    result = run("me")
    assert "account: Ann <a@b.c> (usr_1)" in result.stdout
    assert "credits: 98.5" in result.stdout
    assert "key: ci (key_1)" in result.stdout
    assert KEY not in result.output


def test_the_tail_shows_each_request_once(server: Server) -> None:
    """What the list had may come again, over several pages."""

    def page(*numbers: int) -> dict[str, object]:
        seen = [{"id": f"req_{n}", "method": "POST", "path": "/x", "status": 200} for n in numbers]
        return {"data": seen, "has_more": False, "cursor": "c"}

    server.on("GET /v1/requests", page(2, 1), page(1), page(2, 3), page(), page(4))
    server.on("GET /v1/requests", {"error": "unauthorized", "message": "No."}, status=401)
    result = run("requests", "tail")
    assert result.exit_code == 7  # which is its end
    assert [line.split()[-1] for line in result.stdout.splitlines()] == [
        f"req_{n}" for n in range(1, 5)
    ]
