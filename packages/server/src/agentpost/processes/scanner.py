"""The operator's malware scanner: a program that is run for each file (design: Scanning files)."""

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Final

from agentpost.daemon_threads import start_daemon

_CLEAN: Final = 0
_INFECTED: Final = 1
_WAITING_MAX: Final = 64
"""Files that wait for a scanner; what comes beyond that has failed at once."""
_DETAIL_CHARACTERS: Final = 300


class Verdict(Enum):
    """What the scanner found."""

    CLEAN = "clean"
    INFECTED = "infected"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ScanResult:
    """``detail``: the beginning of what the program printed, or why it failed; for the log."""

    verdict: Verdict
    detail: str


class Scanner:
    """Runs a program with a file's path as its last argument. Exit status 0: clean, 1: infected,
    any other: it failed. Safe on any event loop.

    Args:
        seconds: how long one run may take, and how long a file waits for its turn.
        at_once: how many run beside one another.
        environment: of the program.
    """

    def __init__(
        self, argv: Sequence[str], seconds: float, at_once: int, environment: Mapping[str, str]
    ) -> None:
        self._argv = list(argv)
        self._seconds = seconds
        self._environment = dict(environment)
        self._free = threading.Semaphore(at_once)
        self._places = threading.Semaphore(_WAITING_MAX + at_once)

    async def scan(self, path: Path) -> ScanResult:
        """Scan a file that this process can read. Never raises for what the program does."""
        if not self._places.acquire(blocking=False):
            return ScanResult(Verdict.FAILED, "too many files wait for the scanner")
        try:
            # The end of the server waits for no scanner.
            scanning = start_daemon("scanner", partial(self._scan, path), self._places.release)
        except RuntimeError:  # the system has no more threads
            self._places.release()
            return ScanResult(Verdict.FAILED, "no thread could be started")
        return await asyncio.wrap_future(scanning)

    async def scan_bytes(self, data: bytes) -> ScanResult:
        """`scan` of a file with these bytes."""
        with tempfile.TemporaryDirectory(prefix="agentpost-scan-") as folder:
            path = Path(folder) / "file"
            await asyncio.to_thread(path.write_bytes, data)
            return await self.scan(path)

    def _scan(self, path: Path) -> ScanResult:
        if not self._free.acquire(timeout=self._seconds):
            return ScanResult(
                Verdict.FAILED, f"no scanner was free within {self._seconds:g} seconds"
            )
        try:
            with tempfile.TemporaryFile() as output:
                return self._run(path, output.fileno())
        except OSError as error:
            return ScanResult(Verdict.FAILED, f"it could not be started: {error.strerror or error}")
        finally:
            self._free.release()

    def _run(self, path: Path, output: int) -> ScanResult:
        process = subprocess.Popen(  # noqa: S603 - the operator's own program
            [*self._argv, str(path)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=self._environment,
            start_new_session=True,  # one group to kill
        )
        try:
            code = process.wait(self._seconds)
        except subprocess.TimeoutExpired:
            return ScanResult(Verdict.FAILED, f"it took over {self._seconds:g} seconds")
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        text = os.pread(output, 4 * _DETAIL_CHARACTERS, 0).decode("utf-8", "replace")
        text = " ".join(text.split())[:_DETAIL_CHARACTERS]
        verdict = {_CLEAN: Verdict.CLEAN, _INFECTED: Verdict.INFECTED}.get(code, Verdict.FAILED)
        return ScanResult(
            verdict, text if verdict is not Verdict.FAILED else f"exit {code}: {text}"
        )


def parse_command(command: str) -> list[str]:
    """The program and its arguments; raises `ValueError` when there is no such program."""
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"AGENTPOST_SCAN_COMMAND cannot be read: {error}") from None
    if not argv or shutil.which(argv[0]) is None:
        program = argv[0] if argv else command
        raise ValueError(f"AGENTPOST_SCAN_COMMAND: there is no program {program!r} to run")
    return argv
