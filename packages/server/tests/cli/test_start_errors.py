"""What a person reads when a setting is wrong: one line that names it, and no secret."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentpost.cli import app
from tests import forking
from tests.e2e.server import AgentServer
from tests.servers import empty_sqlite

WRONG = {
    "scheme": ({"DATABASE_URL": "mysql://u:hush@h/x"}, "AGENTPOST_DATABASE_URL: must be empty"),
    "syntax": ({"DATABASE_URL": "postgresql://u:hush%zz@h/x"}, "AGENTPOST_DATABASE_URL is not"),
    "nobody": (
        {"DATABASE_URL": "postgresql://u:hush@127.0.0.1:1/x"},
        "Connection refused. Check AGENTPOST_DATABASE_URL.",
    ),
    "redis": ({"REDIS_URL": "http://u:hush@h"}, "AGENTPOST_REDIS_URL: must be empty"),
    "storage": ({"STORAGE_URL": "gs://bucket"}, "AGENTPOST_STORAGE_URL: must be empty"),
    "links": ({"BASE_URL": "example.com"}, "AGENTPOST_BASE_URL: must be empty"),
    "folder": ({"DATA_DIR": "/dev/null/x"}, "AGENTPOST_DATA_DIR: /dev/null/x cannot be made"),
    "authority": ({"EGRESS_CA_FILE": "/nowhere"}, "AGENTPOST_EGRESS_CA_FILE: /nowhere: No such"),
    "network": ({"EGRESS_ALLOW": "300.1.1.1/8"}, "AGENTPOST_EGRESS_ALLOW: '300.1.1.1/8'"),
    "mail": ({"SMTP_URL": "http://u:hush@h"}, "AGENTPOST_SMTP_URL must"),
    "agent": ({"AGENT": "nowhere:agent"}, "AGENTPOST_AGENT='nowhere:agent': there is no module"),
    "number": ({"SWEEP_SECONDS": "0"}, "AGENTPOST_SWEEP_SECONDS: Input should be greater than 0"),
}


SERVE, SHOW = ["serve", "--port", "0"], ["config", "show"]
ONLY_SERVE = {"nobody", "folder", "agent"}
"""What only the disk, the network or the agent's own code can tell."""


def run(
    folder: Path, command: list[str], without: Sequence[str] = (), **settings: str
) -> "subprocess.CompletedProcess[str]":
    environment = {f"AGENTPOST_{name}": value for name, value in settings.items()}
    data = {"AGENTPOST_DATA_DIR": str(folder / "data")}
    return forking.run(
        command, env={**os.environ, **data, **environment}, cwd=folder, without=without
    )


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_setting_is_one_clear_line(case: str, tmp_path: Path) -> None:
    """When it is served and when it is shown."""
    settings, wanted = WRONG[case]
    for command in (SERVE,) if case in ONLY_SERVE else (SERVE, SHOW):
        ended = run(tmp_path, command, **settings)
        lines = [line for line in ended.stderr.splitlines() if line.startswith("agentpost: ")]
        assert ended.returncode == 1, ended.stderr
        assert len(lines) == 1
        assert wanted in lines[0]
        assert command == SERVE or ended.stderr.splitlines() == lines
        assert "Traceback" not in ended.stderr
        assert "hush" not in ended.stderr + ended.stdout


EXTRAS = {
    "offline": ({}, "typst", "AGENTPOST_AGENT is 'offline'"),
    "extraction": ({}, "pypdfium2", "AGENTPOST_AGENT is 'offline'"),
    "s3": ({"STORAGE_URL": "s3://bucket?region=eu-north-1"}, "obstore", "AGENTPOST_STORAGE_URL"),
    "redis": ({"REDIS_URL": "redis://u:hush@h/0"}, "redis", "AGENTPOST_REDIS_URL"),
    "postgres": ({"DATABASE_URL": "postgresql://u:hush@h/x"}, "psycopg", "AGENTPOST_DATABASE_URL"),
}


@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("command", [SERVE, ["accounts", "list"]])
def test_a_missing_extra_is_one_line_with_its_installation(
    extra: str, command: list[str], tmp_path: Path
) -> None:
    """The packages are made impossible to import, as if they were not installed."""
    settings, module, wanted = EXTRAS[extra]
    (tmp_path / "data").mkdir()
    shutil.copyfile(empty_sqlite(), tmp_path / "data" / "agentpost.db")
    ended = run(tmp_path, command, without=[module], **settings)
    if command[0] == "accounts" and extra in ("offline", "extraction"):
        assert ended.returncode == 0, "no agent is needed to list accounts: " + ended.stderr
        return
    lines = ended.stderr.splitlines()
    installed = "offline" if extra == "extraction" else extra
    assert ended.returncode == 1, ended.stderr
    assert len(lines) == 1
    assert lines[0].startswith(f"agentpost: {wanted}")
    assert f"({module})" in lines[0]
    assert lines[0].endswith(f"pip install 'agentpost[{installed}]', or in a clone: make setup")
    assert "hush" not in ended.stderr


def test_no_command_makes_a_database_by_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command in the wrong folder must not look as if all were well."""
    monkeypatch.setenv("AGENTPOST_DATA_DIR", str(tmp_path))
    for words in ("accounts list", "accounts create --email a@b.org", "explain msg_1", "backup x"):
        with pytest.raises(SystemExit) as ended:
            app(words.split())
        assert ended.value.code == 1
        assert f"there is no database in {tmp_path} →" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SystemExit):
        app(["db", "upgrade"])
    assert {oct(path.stat().st_mode & 0o777) for path in tmp_path.glob("agentpost.db*")} == {
        "0o600"
    }


def test_a_command_names_its_database_and_warns_of_another_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands for operators go by AGENTPOST_DATA_DIR, those for callers by AGENTPOST_URL."""
    shutil.copyfile(empty_sqlite(), tmp_path / "agentpost.db")
    monkeypatch.setenv("AGENTPOST_DATA_DIR", str(tmp_path))

    def errors(*words: str) -> list[str]:
        with pytest.raises(SystemExit):
            app(list(words))
        return capsys.readouterr().err.splitlines()

    named = f"agentpost: database: {tmp_path}"
    assert errors("accounts", "create", "--email", "a@b.org") == [named]
    with pytest.raises(SystemExit):
        app(["keys", "create", "--account", "a@b.org", "--name", "ci", "--expires", "30d"])
    created = capsys.readouterr()
    assert re.search(r"'ci' · send, read, admin · expires 20\d\d-", created.err)
    monkeypatch.setenv("AGENTPOST_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AGENTPOST_KEY", created.out.strip())
    assert errors("doctor") == [named]
    monkeypatch.setenv("AGENTPOST_KEY", "svc_key_of_another_server")
    warning = (
        "agentpost: warning: http://127.0.0.1:9 (AGENTPOST_URL and AGENTPOST_KEY) is another"
        " server: its key is not in this database"
    )
    for words in (["doctor"], ["keys", "list"], ["explain", "msg_1"]):
        assert errors(*words)[:2] == [named, warning]
    assert errors("keys", "list", "--json") == errors("keys", "list")[1:]
    for name in ("AGENTPOST_URL", "AGENTPOST_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AGENTPOST_PROFILE", "gone")
    assert errors("doctor") == [named]


def test_a_database_that_fails_during_the_start_is_one_line(tmp_path: Path) -> None:
    """As on a disk that is full: a service manager starts the server again."""
    (tmp_path / "data").mkdir()
    shutil.copyfile(empty_sqlite(), tmp_path / "data" / "agentpost.db")
    with closing(sqlite3.connect(tmp_path / "data" / "agentpost.db")) as database:
        database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON accounts BEGIN"
            " SELECT RAISE(ABORT, 'database or disk is full'); END"
        )
    ended = run(tmp_path, SERVE)
    assert ended.returncode == 1
    assert "agentpost: the database failed: database or disk is full\n" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_backup_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTPOST_DATA_DIR", str(tmp_path))
    shutil.copyfile(empty_sqlite(), tmp_path / "agentpost.db")
    (tmp_path / "nowhere").touch()
    for place, code, reported in (
        (str(tmp_path / "nowhere"), 1, "nowhere"),
        ("s3://bucket/prefix", 2, "name a folder"),
        ("copy.db", 2, "name a folder"),
    ):
        with pytest.raises(SystemExit) as ended:
            app(["backup", place])
        assert ended.value.code == code
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith("agentpost: ")
        assert reported in last


def test_settings_that_are_hardly_meant_are_reported_and_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTPOST_PROT", "9")
    monkeypatch.setenv("AGENTPOST_URL", "http://127.0.0.1:8080")  # of callers: no mistake
    monkeypatch.setenv("AGENTPOST_HOST", "0.0.0.0")
    shown = CliRunner().invoke(app, ["config", "show", "--json"])
    assert shown.exit_code == 0
    assert json.loads(shown.stdout)["host"] == "0.0.0.0"
    assert shown.stderr.splitlines() == [
        "agentpost: there is no setting AGENTPOST_PROT; did you mean AGENTPOST_PORT?",
        (
            "agentpost: links in answers lead to http://localhost:8080, which other machines cannot"
            " reach: set AGENTPOST_BASE_URL to the address that clients use"
        ),
    ]
    monkeypatch.delenv("AGENTPOST_PROT")
    monkeypatch.setenv("AGENTPOST_BASE_URL", "https://agents.example.com")
    assert CliRunner().invoke(app, ["config", "show"]).stderr == ""


def test_serve_warns_of_links_that_lead_nowhere(tmp_path: Path) -> None:
    """The warning is in the log, beside everything else the operator should know."""
    server = AgentServer(tmp_path, host="0.0.0.0").start()
    server.stop()
    reported = server.log_file.read_text()
    assert "links in answers lead to http://localhost:" in reported
    assert "set AGENTPOST_BASE_URL" in reported


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        (b"port = ", "agentpost.toml: Invalid value (at end of document)"),
        (b"agent = '\xff'", "agentpost.toml: 'utf-8' codec can't decode byte"),
        (b"prot = 9", "agentpost.toml: there is no setting prot"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    text: bytes, reported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agentpost.toml").write_bytes(text)
    result = CliRunner().invoke(app, ["config", "show"])
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"agentpost: {reported}")


@pytest.mark.parametrize(
    "url",
    ["http://", "https:///x", "http://h:99999", "http://a/?b", "http://u:hush@h", "http://[x"],
)
def test_an_address_that_makes_no_links_is_refused(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTPOST_BASE_URL", url)
    result = CliRunner().invoke(app, ["config", "show"])
    assert result.exit_code == 1
    assert result.stderr.startswith("agentpost: AGENTPOST_BASE_URL: ")
    assert "hush" not in result.stderr
