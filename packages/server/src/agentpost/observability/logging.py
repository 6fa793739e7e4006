"""Logs: structlog, a console on a terminal and JSON otherwise. Secrets never get here.

Every line has an event, a name in snake_case; docs/logs.md lists them. Records of the standard
library's `logging` (from libraries, warnings and above) become ``library_log``.
"""

import atexit
import json
import logging
import sys
from collections.abc import Mapping
from contextvars import Context
from datetime import datetime
from functools import partial
from typing import Any, Final

import structlog

from agentpost.clock import SystemClock
from agentpost.domain.times import SECOND, iso
from agentpost.observability.sink import Event, Sink

_TEXTS: Final = frozenset({"exception", "stack"})
"""Fields of several lines."""
_CHATTY: Final = (
    "aiohttp",
    "asyncio",
    "botocore",
    "httpx2",
    "mcp",
    "psycopg",
    "uvicorn",
)
"""Libraries of the server: what they log below a warning is of no use to an operator, and would
pass as an agent's when it is logged in a call of one. Two of them log addresses with their keys."""
_CONTROLS: Final = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (9, 10)
}
_LINE_CONTROLS: Final = {**_CONTROLS, 9: "\\t", 10: "\\n"}

_clock = SystemClock()
_encode = json.JSONEncoder(default=repr).encode
_LEVELS: Final = ("debug", "info", "warning", "error")
_least: list[int] = [1]
"""The index of the least level that is logged."""
_sinks: list[Sink] = []
_processors: list[structlog.types.Processor] = []
log = structlog.get_logger(__name__)


def configure(log_format: str, level: str) -> None:
    """Set up logging of this process, to standard error.

    Args:
        log_format: ``console``, ``json`` or ``auto``: a console on a terminal, else JSON.
        level: the least level that is logged: ``debug``, ``info``, ``warning`` or ``error``.
    """
    console = log_format == "console" or (log_format == "auto" and sys.stderr.isatty())

    def make_dropped_event(lines: int) -> Event:
        event = {"event": "log_lines_dropped", "level": "warning", "lines": lines}
        return _add_timestamp(None, "", event)

    sink = Sink(sys.stderr, _ConsoleLine() if console else json_line, make_dropped_event)
    _sinks[:] = [sink]
    _processors[:] = [
        _left_out,
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        _add_timestamp,
        # Here and not by the thread that writes, since the exception goes on changing. Without
        # local variables: keys and messages are among them.
        structlog.processors.format_exc_info,
        _to_sink,
    ]
    structlog.configure(
        processors=_processors,
        wrapper_class=structlog.make_filtering_bound_logger("debug"),  # see `_left_out`
        logger_factory=lambda *_: sink,
        cache_logger_on_first_use=True,
    )
    set_level(level)


def set_level(level: str) -> None:
    """Log from now on what is of that level or above; after `configure`."""
    _least[:] = [_LEVELS.index(level)]
    root = logging.getLogger()
    root.handlers[:] = [_LibraryHandler(logging.WARNING)]
    root.setLevel(level.upper())
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)


def line(event: str, fields: Mapping[str, object]) -> None:
    """Log a line at info that has these fields and none that are bound to the context.

    A message has two such lines, written by the thread that commits: structlog's way to the sink
    takes four times as long.
    """
    processors = structlog.get_config()["processors"]
    if processors is not _processors or processors[-1] is not _to_sink:  # not ours, as in a test
        Context().run(partial(log.info, event, **fields))
    elif _least[0] <= _LEVELS.index("info"):
        entry = {**fields, "event": event, "level": "info", "timestamp": _clock.now()}
        _sinks[0].info(entry)


def configure_command() -> None:
    """Set up logging of a command that is no server: its output is its own, so only problems are
    logged, as lines for people on standard error."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            lambda _, __, event: _ConsoleLine()(event),
        ],
        wrapper_class=structlog.make_filtering_bound_logger("warning"),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )


def flush() -> None:
    """Write what was logged and still waits, for at most a second."""
    for sink in _sinks:
        sink.flush()


atexit.register(flush)


def _left_out(
    _: object, method: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    """Drop what is below the level. Not by structlog's own filter: each module keeps the one that
    it was first used with, and the level can change."""
    if method in _LEVELS and _LEVELS.index(method) < _least[0]:
        raise structlog.DropEvent
    return event


def _to_sink(_: object, __: str, event: structlog.types.EventDict) -> tuple[Any, dict[str, Any]]:
    """The arguments of the methods of `Sink`."""
    return (event,), {}


def _add_timestamp(
    _: object, __: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    """With the time, in microseconds: it becomes text on the thread that writes."""
    event["timestamp"] = _clock.now()
    return event


def json_line(event: Event) -> str:
    """An event as a line of JSON: time, level and name first."""
    first = {"timestamp": iso(event["timestamp"]), "level": event["level"], "event": event["event"]}
    return _encode({**first, **event, **first})


class _ConsoleLine:
    """Makes lines for people. What a client or an agent made may hold the control characters that
    move a terminal's cursor: they are shown, not sent."""

    def __init__(self) -> None:
        self._render = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            exception_formatter=structlog.dev.plain_traceback,
            pad_event_to=20,
            pad_level=False,
            sort_keys=False,
        )

    def __call__(self, event: Event) -> str:
        fields = {
            name: _printable(name, value) for name, value in event.items() if value is not None
        }
        if "timestamp" in fields:
            fields["timestamp"] = f"{datetime.fromtimestamp(fields['timestamp'] / SECOND):%H:%M:%S}"
        return self._render(None, "", fields)


def _printable(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return value.translate(_CONTROLS if name in _TEXTS else _LINE_CONTROLS)


# --- the standard library's logging ---------------------------------------------------------------


class _LibraryHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        try:
            about = {"logger": record.name, "message": record.getMessage()}
            level = logging.ERROR if record.levelno >= logging.ERROR else logging.WARNING
            log.log(level, "library_log", **about, exc_info=record.exc_info)
        except Exception:
            self.handleError(record)
