"""Handle Ctrl-C and SIGTERM in a command that must clean up before it ends."""

from __future__ import annotations

import signal
from threading import current_thread, main_thread
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""SIGTERM too: it is what a CI system sends to a run that it cancels."""


class Interruption:
    """A context in which the signals to end raise `KeyboardInterrupt`, and are remembered.

    An exception that is raised between two lines of somebody else's code can be lost there (in a
    finalizer, for one), so what decides is ``pressed``. After `hold_off` the first further signal
    is only remembered: cleaning up goes on. The next one raises again.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._spared = 0
        self._before: dict[signal.Signals, Any] = {}

    def hold_off(self) -> None:
        """Let one more signal pass without an exception."""
        self._spared = 1

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True
        if self._spared:
            self._spared -= 1
            return
        raise KeyboardInterrupt

    def __enter__(self) -> Self:
        if current_thread() is not main_thread():  # only that one may set handlers
            return self
        for name in SIGNALS:
            before = signal.getsignal(name)
            if before is not signal.SIG_IGN:  # a shell's background job; it is to stay ignored
                self._before[name] = before
                signal.signal(name, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, before in self._before.items():
            signal.signal(name, before)
