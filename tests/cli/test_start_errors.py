"""What a person reads when a setting is wrong: one line that names it, and no secret."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
