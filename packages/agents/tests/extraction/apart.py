"""Runs a function in a process of its own, and says how much memory it took.

The process is forked from one that has imported the readers and nothing else: importing them costs
ten times what reading a small file does, and a process that has run tests has had memory of its
own. Run as a program, this module is the process that is forked.
"""

import atexit
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[4]
SECONDS_MAX = 120
"""A bound for a test that hangs; what is measured is memory."""
IMPORTED = (
    "agentpost_offline.data.dataset",
    "agentpost_offline.documents.reading",
    "duckdb",
    "openpyxl.styles.numbers",
)


def run_apart(
    work: Callable[..., Any], *arguments: object, folder: Path, seconds: int = SECONDS_MAX
) -> tuple[Any, int]:
    """What a function of a module makes of its arguments, and the most memory in MB that its
    process had, or one that it started. Arguments and value are JSON.

    Fails when the function raises or writes to stderr: an unforeseen exception would be logged.
    """
    errors, answer = folder / "errors", folder / "answer"
    request = [work.__module__, work.__qualname__, arguments, str(errors), str(answer), seconds]
    parent = _parent()
    assert parent.stdin
    assert parent.stdout
    parent.stdin.write(json.dumps(request) + "\n")
    parent.stdin.flush()
    code, peak = json.loads(parent.stdout.readline())
    assert code != -signal.SIGALRM, f"{work.__qualname__} took more than {seconds} seconds"
    said = errors.read_text()
    assert code == 0, said
    assert not said, said
    return json.loads(answer.read_text()), peak * (1 if sys.platform == "darwin" else 1024) // 2**20


@cache
def _parent() -> subprocess.Popen[str]:
    """The process that is forked, one for each process that runs tests."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.communicate)
    return process


def _become(
    module: str, name: str, arguments: list[Any], errors: str, answer: str, seconds: int
) -> int:
    """Run the function in this process; the exit code."""
    signal.alarm(seconds)
    handle = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(handle, stream)
    try:
        value = getattr(importlib.import_module(module), name)(*arguments)
        Path(answer).write_text(json.dumps(value))
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def main() -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            os._exit(_become(*json.loads(line)))
        _, status, used = os.wait4(pid, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_maxrss]), flush=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    main()
