"""Where log lines go: a queue and a thread, so that a slow terminal or pipe holds up nobody."""

import contextlib
import io
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TextIO

Event = Mapping[str, Any]

LINES_MAX: Final = 10_000
"""Lines that may wait to be written; further ones are counted and dropped."""
GATHER_SECONDS: Final = 0.02
"""How long lines below a warning wait for others, so that one write takes many of them."""
_BATCH_LINES: Final = 256
_EXIT_SECONDS: Final = 1.0
_ATOMIC_BYTES: Final = 4096
"""What can be written to a pipe that is ready without blocking (PIPE_BUF on Linux)."""
_READY_MILLISECONDS: Final = 1000


class Sink:
    """Writes events to a stream as lines; the end of structlog's chain, which has a method for each
    level. Safe on any thread; never raises, never blocks.

    Lines are lost when the stream cannot take them: when the disk is full, when the reader is gone,
    or when more than `LINES_MAX` wait because the reader is slow. The last case is reported.

    Args:
        render: makes the line of an event, without its newline.
        make_dropped_event: makes the event that reports how many lines were dropped.
    """

    def __init__(
        self,
        stream: TextIO,
        render: Callable[[Event], str],
        make_dropped_event: Callable[[int], Event],
    ) -> None:
        self._stream = stream
        self._fd = _descriptor(stream)
        self._render = render
        self._dropped_event = make_dropped_event
        self._queue: deque[Event] = deque()
        self._rest = b""  # rendered, not written yet; belongs to who holds `_writing`
        self._dropped = 0
        self._writing = threading.Lock()
        self._wake = threading.Event()
        threading.Thread(target=self._run, name="log-writer", daemon=True).start()

    def put(self, event: Event, *, urgent: bool) -> None:
        """Take a line. An urgent one is written before this returns, with all before it, unless the
        stream is not ready for it."""
        if len(self._queue) >= LINES_MAX:
            self._dropped += 1
            return
        self._queue.append(event)
        if urgent and self._write(blocking=False):
            return
        if not self._wake.is_set():
            self._wake.set()

    def info(self, event: Event) -> None:
        """A line that may wait for others."""
        self.put(event, urgent=False)

    def error(self, event: Event) -> None:
        """A line that is written at once: the process may be about to end."""
        self.put(event, urgent=True)

    debug = info
    warning = warn = exception = critical = fatal = error

    def flush(self, seconds: float = _EXIT_SECONDS) -> None:
        """Write what waits, for at most that long."""
        until = time.monotonic() + seconds
        while not self._write(blocking=False) and time.monotonic() < until:
            time.sleep(0.005)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            time.sleep(GATHER_SECONDS)
            self._wake.clear()  # before looking: what comes from here on sets it again
            self._write(blocking=True)

    def _write(self, *, blocking: bool) -> bool:
        """Write what waits; True when nothing is left. Another thread may be writing already: a
        call that may not block leaves the rest to that thread."""
        if not self._writing.acquire(blocking=blocking):
            return False
        try:
            while self._rest or self._queue or self._dropped:
                self._rest = self._rest or self._next()
                if not self._write_some(blocking=blocking):
                    return False
            return True
        finally:
            self._writing.release()

    def _next(self) -> bytes:
        """The next lines as bytes."""
        events: list[Event] = []
        with contextlib.suppress(IndexError):
            while len(events) < _BATCH_LINES:
                events.append(self._queue.popleft())
        if self._dropped:
            count, self._dropped = self._dropped, 0
            events.append(self._dropped_event(count))
        return "".join(self._lines(events)).encode("utf-8", "backslashreplace")

    def _lines(self, events: Iterable[Event]) -> Iterable[str]:
        for event in events:
            try:
                yield f"{self._render(event)}\n"
            except Exception as error:  # a value whose `repr` raises
                yield f"a log line could not be rendered: {type(error).__name__}\n"

    def _write_some(self, *, blocking: bool) -> bool:
        """Write a part of the rest; False when the stream is not ready for it."""
        try:
            if self._fd is None:
                self._stream.write(self._rest.decode())
                self._stream.flush()
                self._rest = b""
                return True
            if not _ready(self._fd, _READY_MILLISECONDS if blocking else 0):
                return blocking  # the writer thread goes on trying
            size = os.write(self._fd, self._rest[:_ATOMIC_BYTES])
            self._rest = self._rest[size:]
        except BlockingIOError:
            return blocking
        except (OSError, ValueError):
            self._rest = b""
        return True


def _descriptor(stream: TextIO) -> int | None:
    """Its file descriptor; None for a stream in memory."""
    try:
        return stream.fileno()
    except (AttributeError, OSError, io.UnsupportedOperation):
        return None


def _ready(fd: int, milliseconds: int) -> bool:
    waiting = select.poll()
    waiting.register(fd, select.POLLOUT)
    return bool(waiting.poll(milliseconds))
