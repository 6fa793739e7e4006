"""What a person reads when a setting is wrong: one line that names it, and no secret."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentpost.cli import app
from agentpost.settings import load_settings, unknown_variables

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


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_setting_is_one_clear_line(case: str, tmp_path: Path) -> None:
    settings, wanted = WRONG[case]
    environment = {**os.environ, "AGENTPOST_DATA_DIR": str(tmp_path / "data")}
    environment.update({f"AGENTPOST_{name}": value for name, value in settings.items()})
    ended = subprocess.run(
        [sys.executable, "-m", "agentpost", "serve", "--port", "0"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    lines = [line for line in ended.stderr.splitlines() if line.startswith("agentpost: ")]
    assert ended.returncode == 1, ended.stderr
    assert len(lines) == 1
    assert wanted in lines[0]
    assert "Traceback" not in ended.stderr
    assert "hush" not in ended.stderr + ended.stdout


def test_a_mistyped_name_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the file it is an error; in the environment it may be a later version's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTPOST_PROT", "9")
    monkeypatch.setenv("AGENTPOST_URL", "http://127.0.0.1:8080")
    assert unknown_variables() == ["AGENTPOST_PROT"]
    (tmp_path / "agentpost.toml").write_text("prot = 9\n")
    with pytest.raises(ValueError, match=r"agentpost\.toml: there is no setting prot"):
        load_settings()


def test_a_new_database_is_said_and_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command in the wrong folder must not look as if all were well."""
    monkeypatch.setenv("AGENTPOST_DATA_DIR", str(tmp_path))
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            app(["accounts", "list"])
        assert ended.value.code == 0
    assert capsys.readouterr().err == f"agentpost: made a new database in {tmp_path}\n"
    assert {oct(path.stat().st_mode & 0o777) for path in tmp_path.glob("agentpost.db*")} == {
        "0o600"
    }


def test_a_backup_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTPOST_DATA_DIR", str(tmp_path))
    with pytest.raises(SystemExit):
        app(["accounts", "list"])
    with pytest.raises(SystemExit) as ended:
        app(["backup", str(tmp_path / "nowhere" / "x.db")])
    assert ended.value.code == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("agentpost: ")
    assert "nowhere" in last
