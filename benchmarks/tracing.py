"""A server in this process, and which functions of agentpost it enters."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

KEY: Final = "svc_key_" + "f" * 40
READY_SECONDS: Final = 60
_PACKAGE: Final = "/src/agentpost/"
_COMPREHENSIONS: Final = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")


class Recorder:
    """The functions that any thread enters while `is_on`.

    Args:
        begun_only: a coroutine that goes on is not recorded, only one that begins.
    """

    def __init__(self, *, begun_only: bool = False) -> None:
        self.is_on = False
        self._begun_only = begun_only
        self._codes: dict[CodeType, None] = {}

    def install(self) -> None:
        """Watch this thread and those that begin later."""
        threading.setprofile(self._enter)
        sys.setprofile(self._enter)

    def _enter(self, frame: FrameType, event: str, _argument: Any) -> None:
        if not self.is_on or event != "call":
            return
        code = frame.f_code
        # The argument of RESUME: 0 where a function begins, else a coroutine goes on.
        if not self._begun_only or code.co_code[frame.f_lasti + 1] & 3 == 0:
            self._codes[code] = None

    def take(self) -> list[str]:
        """What was entered since the last call, each once and in order: ``file::function``."""
        codes, self._codes = self._codes, {}
        return [
            f"{code.co_filename.rpartition(_PACKAGE)[2]}::{code.co_qualname}"
            for code in codes
            if _PACKAGE in code.co_filename and code.co_name not in _COMPREHENSIONS
        ]


class _Companion:
    """Tells the port as soon as the server listens; see `agentpost.serving.process`."""

    def __init__(self) -> None:
        self.port = 0
        self.ready = threading.Event()

    def greeting(self, _server: Any, settings: Any) -> str:
        """Called with the settings when the server is ready."""
        self.port = settings.port
        self.ready.set()
        return ""

    async def attend(self, _server: Any) -> None:
        """There is nothing to do beside the server."""


def _wait_until_listening(port: int) -> None:
    """The companion is called a moment before the socket listens."""
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
    raise TimeoutError("the server does not listen")


def serve(
    folder: Path, recorder: Recorder, play: Callable[[int], None], **settings: object
) -> None:
    """Run a server until ``play``, which gets its port on a thread that is not recorded, returns.

    Args:
        folder: where its data go.
        settings: of the server, besides those.
    """
    from agentpost.serving import process

    os.environ["AGENTPOST_BOOTSTRAP_API_KEY"] = KEY
    os.environ["AGENTPOST_LOG_LEVEL"] = "error"
    companion = _Companion()

    def run() -> None:
        sys.setprofile(None)  # the client is not a part of the server
        try:
            assert companion.ready.wait(READY_SECONDS), "the server did not start"
            _wait_until_listening(companion.port)
            play(companion.port)
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=run, daemon=True).start()
    recorder.install()
    process.run({"port": 0, "data_dir": str(folder / "data"), **settings}, companion)
    sys.setprofile(None)
