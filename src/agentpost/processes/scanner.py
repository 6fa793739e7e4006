"""The operator's malware scanner: a program that is run for each file (design: Scanning files)."""

from __future__ import annotations

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
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

_CLEAN: Final = 0
_INFECTED: Final = 1
_WAITING_MAX: Final = 64
"""Files that wait for a scanner; what comes beyond that has failed at once."""
_SAID_CHARACTERS: Final = 300


class Verdict(Enum):
    """What the scanner found."""

    CLEAN = "clean"
    INFECTED = "infected"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Scanned:
    """``said``: the beginning of what the program printed, or why it failed; for the log."""

    verdict: Verdict
    said: str


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

    async def scan(self, path: Path) -> Scanned:
        """Scan a file that this process can read. Never raises for what the program does."""
        if not self._places.acquire(blocking=False):
            return Scanned(Verdict.FAILED, "too many files wait for the scanner")
        answer: Future[Scanned] = Future()
        answer.set_running_or_notify_cancel()

        def run() -> None:
            try:
                answer.set_result(self._scan(path))
            except BaseException as error:
                answer.set_exception(error)
            finally:
                self._places.release()

        try:
            # A daemon: the end of the server waits for no scanner.
            threading.Thread(target=run, name="scanner", daemon=True).start()
        except RuntimeError:  # the system has no more threads
            self._places.release()
            return Scanned(Verdict.FAILED, "no thread could be started")
        return await asyncio.wrap_future(answer)

    async def scan_bytes(self, data: bytes) -> Scanned:
        """`scan` of a file with these bytes."""
        with tempfile.TemporaryDirectory(prefix="agentpost-scan-") as folder:
            path = Path(folder) / "file"
            await asyncio.to_thread(path.write_bytes, data)
            return await self.scan(path)

    def _scan(self, path: Path) -> Scanned:
        if not self._free.acquire(timeout=self._seconds):
            return Scanned(Verdict.FAILED, f"no scanner was free within {self._seconds:g} seconds")
        try:
            with tempfile.TemporaryFile() as said:
                return self._run(path, said.fileno())
        except OSError as error:
            return Scanned(Verdict.FAILED, f"it could not be started: {error.strerror or error}")
        finally:
            self._free.release()

    def _run(self, path: Path, said: int) -> Scanned:
        process = subprocess.Popen(  # noqa: S603 - the operator's own program
            [*self._argv, str(path)],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env=self._environment,
            start_new_session=True,  # one group to kill
        )
        try:
            code = process.wait(self._seconds)
        except subprocess.TimeoutExpired:
            return Scanned(Verdict.FAILED, f"it took over {self._seconds:g} seconds")
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        text = os.pread(said, 4 * _SAID_CHARACTERS, 0).decode("utf-8", "replace")
        text = " ".join(text.split())[:_SAID_CHARACTERS]
        verdict = {_CLEAN: Verdict.CLEAN, _INFECTED: Verdict.INFECTED}.get(code, Verdict.FAILED)
        return Scanned(verdict, text if verdict is not Verdict.FAILED else f"exit {code}: {text}")


def parse_command(command: str) -> list[str]:
    """The program and its arguments; raises `ValueError` when there is no such program."""
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"AGENTPOST_SCAN_COMMAND cannot be read: {error}") from None
    if not argv or shutil.which(argv[0]) is None:
        named = argv[0] if argv else command
        raise ValueError(f"AGENTPOST_SCAN_COMMAND: there is no program {named!r} to run")
    return argv
