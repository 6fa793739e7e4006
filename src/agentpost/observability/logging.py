"""Logs: structlog, a console on a terminal and JSON otherwise. Secrets never get here."""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import TextIO

import structlog


def configure(log_format: str, level: str) -> None:
    """Set up logging of this process, to standard error."""
    console = log_format == "console" or (log_format == "auto" and sys.stderr.isatty())
    renderer: structlog.types.Processor = (
        # The default shows local variables beside a traceback: keys and messages among them.
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if console
        else structlog.processors.JSONRenderer()
    )
    processors: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if not console:
        processors.append(structlog.processors.format_exc_info)
    structlog.configure(
        processors=[*processors, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: _Lines(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)


class _Lines(structlog.PrintLogger):
    """Prints lines, or loses them: where something is logged, nothing may be raised for want of
    room on the disk the log is on."""

    def __init__(self, file: TextIO) -> None:
        super().__init__(file)

    def msg(self, message: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().msg(message)

    log = debug = info = warn = warning = fatal = failure = err = error = critical = exception = msg
