"""Write the author's prints and log records to the server's log, bounded for each call.

`Capture` names the call that runs in it: the ids stand in every line that is logged inside, by the
server and by the author's code. What that code prints (``agent_output``) or logs with the standard
library (``agent_log``) has them too. `install` redirects the standard streams of the server's
process; worker processes write to pipes that `agentpost.processes.worker` reads.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from functools import cached_property, partial
from typing import Any, Final, TextIO, TypeAlias, cast

import structlog

from agentpost.author.log_records import (
    EXCEPTION_BYTES_MAX,
    LINE_BYTES_MAX,
    MARK,
    parse_line,
    record_data,
)

_CALL_BYTES_MAX: Final = 64 * 1024
"""What one call may print and log; what is more is counted and dropped."""
CALL_LINES_MAX: Final = 1_000
_WINDOW_SECONDS: Final = 60.0
"""A call that lasts longer may print as much again: a job may run for days."""
_PARTIAL_BYTES_MAX: Final = 2 * EXCEPTION_BYTES_MAX
"""What is kept of a line whose end has not come: as much as a record of `log_records` has."""

log = structlog.get_logger(__name__)
_current: ContextVar[Output | None] = ContextVar("agent_output", default=None)
_Keep: TypeAlias = Callable[[int | None, str, str], None]


class Output:
    """The output of one call. Safe on any thread.

    Args:
        ids: fields of every line: which call of which message and job it is.
        keep: called with the number of the call, the level and the text of each line; without it,
            that of the `Capture` around this one.
    """

    def __init__(self, ids: Mapping[str, object], keep: _Keep | None = None) -> None:
        around = _current.get()
        self.keep: _Keep | None = around.keep if keep is None and around is not None else keep
        self._own_ids = ids
        self._context: Context | None = None
        self._lock = threading.Lock()
        self._partial: dict[str, bytes] = {}
        self._window_ends = 0.0
        self._bytes = self._lines = 0
        self._dropped_bytes = self._dropped_lines = 0

    def feed(self, stream: str, data: bytes) -> None:
        """Take what was written to ``stdout`` or ``stderr``; whole lines are logged."""
        with self._lock:
            self._renew()
            if self._full():
                self._drop(len(data), data.count(b"\n"))
                return
            *lines, partial_line = (self._partial.pop(stream, b"") + data).split(b"\n")
            for line in lines:
                self._line(stream, line, newline=1)
            if len(partial_line) > _PARTIAL_BYTES_MAX:
                self._drop(len(partial_line) - _PARTIAL_BYTES_MAX, 0)
            if partial_line:
                self._partial[stream] = partial_line[:_PARTIAL_BYTES_MAX]

    def record(self, record: Mapping[str, Any]) -> None:
        """Take a record of the standard library's logging, as `record_data` makes it."""
        with self._lock:
            self._renew()
            self._record(record)

    def end(self) -> None:
        """The call is over: log what has no line end, and how much was dropped."""
        if not self._window_ends:
            return  # nothing came
        with self._lock:
            partials, self._partial = self._partial, {}
            for stream, line in partials.items():
                self._line(stream, line, newline=0)
            self._report()

    def _line(self, stream: str, raw: bytes, *, newline: int) -> None:
        before, mark, after = raw.partition(MARK)
        record = parse_line(after) if mark else None
        if record is not None:
            self._record(record)
            raw = before
        raw = raw.rstrip(b"\r")
        cut = raw[:LINE_BYTES_MAX]
        if not raw or not self._has_room(len(cut) + newline, len(raw) + newline):
            return
        self._drop(len(raw) - len(cut), 0)
        text = cut.decode("utf-8", "replace")
        self._log("info", "agent_output", stream=stream, line=text)
        self._keep("info", text)

    def _record(self, record: Mapping[str, Any]) -> None:
        size = len(record["message"]) + len(record["exception"] or "")
        if self._has_room(size, size):
            self._log(
                record["level"],
                "agent_log",
                logger=record["logger"],
                message=record["message"],
                **({"exception": record["exception"]} if record["exception"] else {}),
            )
            self._keep(record["level"], record["message"])

    def _has_room(self, size: int, whole: int) -> bool:
        """Whether there is room for a line of that many bytes; one without is counted."""
        if self._full():
            self._drop(whole, 1)
            return False
        self._bytes += size
        self._lines += 1
        return True

    def _full(self) -> bool:
        return self._bytes >= _CALL_BYTES_MAX or self._lines >= CALL_LINES_MAX

    def _drop(self, size: int, lines: int) -> None:
        self._dropped_bytes += size
        self._dropped_lines += lines

    def _renew(self) -> None:
        now = time.monotonic()
        if now >= self._window_ends:
            self._report()
            self._window_ends = now + _WINDOW_SECONDS
            self._bytes = self._lines = 0

    def _report(self) -> None:
        if self._dropped_bytes:
            counts = {"bytes": self._dropped_bytes, "lines": self._dropped_lines}
            self._dropped_bytes = self._dropped_lines = 0
            self._log("warning", "agent_output_dropped", **counts)

    def _log(self, level: str, event: str, **fields: object) -> None:
        # In a context of its own: the call's ids and no others, on whichever thread this is.
        Context().run(partial(getattr(log, level), event, **{**self._ids, **fields}))

    def _keep(self, level: str, text: str) -> None:
        if self.keep is not None:
            self.keep(cast("int | None", self._ids.get("call")), level, text)

    @cached_property
    def _ids(self) -> dict[str, object]:
        """Looked up when the first line comes, since most calls print nothing."""
        context, ids = self._context, self._own_ids
        if context is not None:
            ids = context.run(structlog.contextvars.get_contextvars)
        # An author may have bound names of their own: these two are the logger's arguments.
        return {name: ids[name] for name in ids if name not in ("self", "event")}


def keep(call: int | None, level: str, text: str) -> None:
    """Keep a line that another process has logged, where a `Capture` around this keeps some."""
    around = _current.get()
    if around is not None and around.keep is not None:
        around.keep(call, level, text)


class Capture(Output):
    """Inside, lines of the log have these ids besides those of a block around this one, and what is
    printed or logged becomes such lines, bounded for this block.

    A class, since every step is in one: a generator takes three times as long.
    """

    def __enter__(self) -> None:
        self._bound = structlog.contextvars.bind_contextvars(**self._own_ids)
        self._context = copy_context()
        self._token = _current.set(self)

    def __exit__(self, *exc: object) -> None:
        _current.reset(self._token)
        self.end()
        structlog.contextvars.reset_contextvars(**self._bound)


def install() -> None:
    """Redirect what author's code in this process writes to `sys.stdout` and `sys.stderr`, and its
    records of the standard library's logging. Code outside `Capture` is left as it is."""
    sys.stdout = cast("TextIO", _StandardStream(sys.stdout, "stdout"))
    sys.stderr = cast("TextIO", _StandardStream(sys.stderr, "stderr"))
    root = logging.getLogger()
    for handler in root.handlers:
        handler.addFilter(lambda _: _current.get() is None)
    root.addHandler(_Handler())


class _PartialLine:
    """Text of one thread whose line has not ended; at the end of the thread the line ends."""

    def __init__(self, real: TextIO) -> None:
        self.text = ""
        self._real = real

    def __del__(self) -> None:
        if self.text:
            _write_through(self._real, self.text + "\n")


def _write_through(real: TextIO, text: str) -> None:
    if text:
        with suppress(OSError):  # full, or without a reader: no reason for the code to fail
            real.write(text)


class _StandardStream(threading.local):
    """A standard stream; what it does not say itself, the real one does.

    Each thread has its own: text outside a call waits for the end of its line, for `flush` or for
    the end of the thread, because `print` writes the end separately and a line of the log would
    come between the two.
    """

    def __init__(self, real: TextIO, name: str) -> None:
        self._real = real
        self._name = name
        self._partial = _PartialLine(real)

    def write(self, text: str) -> int:
        output = _current.get()
        if output is None:
            text_so_far = self._partial.text + text
            end = text_so_far.rfind("\n") + 1
            if len(text_so_far) - end > _PARTIAL_BYTES_MAX:
                end = len(text_so_far)
            self._partial.text = text_so_far[end:]
            _write_through(self._real, text_so_far[:end])
            return len(text)
        output.feed(self._name, text.encode("utf-8", "replace"))
        return len(text)

    def writelines(self, lines: Iterator[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        partial_line, self._partial.text = self._partial.text, ""
        _write_through(self._real, partial_line)
        with suppress(OSError):
            self._real.flush()

    @property
    def buffer(self) -> object:
        output = _current.get()
        return self._real.buffer if output is None else _Bytes(output, self._name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _Bytes:
    """The binary side of a redirected stream."""

    def __init__(self, output: Output, name: str) -> None:
        self._output = output
        self._name = name

    def write(self, data: bytes) -> int:
        self._output.feed(self._name, bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is kept here."""


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        output = _current.get()
        if output is None:
            return
        try:
            output.record(record_data(record))
        except Exception:
            self.handleError(record)
