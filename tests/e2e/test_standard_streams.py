"""The server without standard streams, and a user without a home folder."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.caller import Caller
from tests.e2e.server import AgentServer

NOBODY = ("setpriv", "--reuid=54321", "--regid=54321", "--clear-groups")
"""A user whom the system does not know; it may read what root may, so that it finds Python."""
READS = ("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search")


def a_full_device() -> int:
    return os.open("/dev/full", os.O_WRONLY)


def a_pipe_that_nobody_reads() -> int:
    reads, writes = os.pipe()
    os.close(reads)
    return writes


@pytest.mark.parametrize("output", [None, a_full_device, a_pipe_that_nobody_reads])
def test_it_serves_without_an_output(
    tmp_path: Path, callers: Callable[..., Caller], output: Callable[[], int] | None
) -> None:
    server = AgentServer(tmp_path)
    if output is None:
        server.wrapped_by = ("bash", "-c", 'exec "$@" <&- >&- 2>&-', "bash")
    else:
        server.output = output
    with server.start():
        caller = callers(server)
        message = caller.send([["start", "Work", [["step", "one"], ["return", "ok"]]]])
        assert caller.final(message["id"])["status"] == "completed"
        assert server.stop() == 0


def test_a_user_without_a_home_is_told_to_name_a_folder() -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can become a user whom the system does not know, with setpriv")
    environment = {n: v for n, v in os.environ.items() if not n.startswith(("AGENTPOST", "XDG"))}
    environment.pop("HOME", None)
    done = subprocess.run(
        [*NOBODY, *READS, sys.executable, "-B", "-m", "agentpost", "serve"],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "agentpost: this user has no home folder: name a data folder with AGENTPOST_DATA_DIR or"
        " --data-dir\n"
    )
