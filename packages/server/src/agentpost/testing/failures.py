"""Prints why an agent failed in a test: the lines of its code, and nothing of the server's log."""

from __future__ import annotations

import sys
from typing import Any, Final

import structlog

from agentpost.author.causes import author_traceback

_SERVER: Final = "agentpost."
_FAILURES: Final = ("turn_failed", "job_failed")
_CRASH: Final = "run_interrupted"
_shown_owners: set[str] = set()


def configure() -> None:
    """Set structlog up for tests, unless the tests have done so.

    The server's own lines below a warning are dropped, and those about the crashes that a test asks
    for; an exception of the agent's code is printed
    once, although the replay check runs the code again. The log of other code stays as it is.
    """
    if not structlog.is_configured():
        structlog.configure(
            processors=[_drop_server_lines, *structlog.get_config()["processors"]],
            logger_factory=_logger,
        )


class _ServerLogger(structlog.PrintLogger):
    """The logger of a module of the server."""


def _logger(*names: Any) -> structlog.PrintLogger:
    # For each line, because pytest replaces the streams with each test.
    is_server = bool(names) and str(names[0]).startswith(_SERVER)
    return _ServerLogger(sys.stderr) if is_server else structlog.PrintLogger(sys.stdout)


def _drop_server_lines(
    logger: Any, method: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    if not isinstance(logger, _ServerLogger):
        return event
    if method in ("debug", "info") or event["event"] == _CRASH:
        raise structlog.DropEvent
    if event["event"] not in _FAILURES:
        return event
    ids = structlog.contextvars.get_contextvars()
    owner = str(ids.get("job_id") or ids.get("message_id"))
    if owner not in _shown_owners:
        _shown_owners.add(owner)
        error = event.get("exc_info")
        reason = author_traceback(error) if isinstance(error, BaseException) else event["error"]
        logger.msg(f"{event['event']}:\n{reason}")
    raise structlog.DropEvent
