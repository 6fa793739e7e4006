"""Records of the standard library's logging on their way out of a worker process.

The worker writes each as one line to its standard error, between the lines that its functions
print; the server reads them there (`agentpost.author.output`).
"""

import json
import logging
import os
import sys
import traceback
from typing import Any, Final

MARK: Final = b"\x1eagentpost-log "
"""In front of a record. A function that prints it can only make lines of its own call."""
LINE_BYTES_MAX: Final = 2048
EXCEPTION_BYTES_MAX: Final = 8192
_LEVELS: Final = ("critical", "error", "warning", "info", "debug")


def level_name(level: int) -> str:
    """The name of the highest level that is not above ``level``."""
    numbers = logging.getLevelNamesMapping()
    return next((name for name in _LEVELS if level >= numbers[name.upper()]), "debug")


def record_data(record: logging.LogRecord) -> dict[str, Any]:
    """A record as data; long texts are cut, an exception's at its beginning."""
    exception = ""
    if record.exc_info and record.exc_info[0] is not None:
        exception = "".join(traceback.format_exception(*record.exc_info)).rstrip()
    return _cut(level_name(record.levelno), record.name, record.getMessage(), exception)


def parse_line(line: bytes) -> dict[str, Any] | None:
    """The record of a line without its mark; None when it is none."""
    try:
        read = json.loads(line)
        level, texts = read["level"], [read[name] for name in ("logger", "message", "exception")]
    except (ValueError, TypeError, KeyError, RecursionError):  # the last: nested too deeply
        return None
    if level not in _LEVELS or not all(isinstance(text, str) for text in texts):
        return None
    return _cut(level, *texts)


def _cut(level: str, logger: str, message: str, exception: str) -> dict[str, Any]:
    return {
        "level": level,
        "logger": logger[:LINE_BYTES_MAX],
        "message": message[:LINE_BYTES_MAX],
        "exception": exception[-EXCEPTION_BYTES_MAX:],
    }


def install(level: int) -> None:
    """Send the records of this process from that level up to standard error, for the server."""
    root = logging.getLogger()
    root.addHandler(_Handler())
    root.setLevel(level)


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = MARK + json.dumps(record_data(record)).encode() + b"\n"
            sys.stderr.flush()
            while line:
                line = line[os.write(2, line) :]
        except Exception:
            self.handleError(record)
