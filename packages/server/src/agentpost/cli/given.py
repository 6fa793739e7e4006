"""Arguments that are texts with a form: pairs, moments, cursors. What is wrong is a wrong call."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import typer

_AGE: Final = re.compile(r"([0-9]{1,6})(s|m|h|d|w)")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """``["order=7"]`` as a mapping; a value may have further ``=``."""
    values = {}
    for text in texts or ():
        name, sign, value = text.partition("=")
        if not (name and sign):
            raise typer.BadParameter(f"{option} takes NAME=VALUE, not {text[:40]!a}")
        values[name] = value
    return values


def moment(
    text: str | None, option: str, now: datetime | None = None, *, ahead: bool = False
) -> datetime | None:
    """An ISO 8601 time or day, in UTC unless it says otherwise, or an age: ``90m``, ``3d``. With
    ``ahead`` it is no age, but the time from now on."""
    if text is None:
        return None
    if match := _AGE.fullmatch(text):
        span = timedelta(**{_UNITS[match[2]]: int(match[1])})
        return (now or current_time()) + (span if ahead else -span)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        what = "a time from now" if ahead else "an age"
        raise typer.BadParameter(
            f"{option} takes a time such as 2026-11-20T08:00Z, a day, or {what} such as 2h or 3d"
        ) from None
    return when if when.tzinfo is not None else when.replace(tzinfo=UTC)


def span(text: str | None, option: str) -> int | None:
    """Seconds of a length of time: ``90s``, ``30m``, ``12h``, ``7d``."""
    if text is None:
        return None
    match = _AGE.fullmatch(text)
    if match is None:
        raise typer.BadParameter(f"{option} takes a length of time such as 30m, 12h or 7d")
    return round(timedelta(**{_UNITS[match[2]]: int(match[1])}).total_seconds())


def place(text: str | None) -> tuple[str | None, int]:
    """Where to read on in a log: a cursor of the API and no number, or the number of an entry."""
    if text is None:
        return None, 0
    return (None, int(text)) if text.isdecimal() and len(text) < 16 else (text, 0)


def json_object(file: Path | None, option: str) -> dict[str, Any] | None:
    """The JSON object in a file."""
    if file is None:
        return None
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise typer.BadParameter(f"{option}: {file}: {error.strerror}") from None
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise typer.BadParameter(f"{option}: {file} has no JSON object")
    return value


def names(text: str | None) -> tuple[str, ...] | None:
    """What stands in a list with commas."""
    return None if text is None else tuple(filter(None, map(str.strip, text.split(","))))


def event_names(events: str | None) -> tuple[str, ...] | None:
    """The names of webhook events in a list with commas."""
    from agentpost.record.events import EventName

    event_list = names(events)
    if event_list is None:
        return None
    unknown = next((name for name in event_list if name not in set(EventName)), None)
    if unknown is not None or not event_list:
        all_names = ", ".join(EventName)
        raise typer.BadParameter(f"there is no event {unknown or events!r}; events: {all_names}")
    return event_list


def positive(seconds: float | None, option: str) -> float | None:
    """A number of seconds above 0, or None."""
    if seconds is not None and not seconds > 0:
        raise typer.BadParameter(f"{option} takes a number of seconds above 0")
    return seconds


def current_time() -> datetime:
    """By the one clock there is."""
    from agentpost.clock import SystemClock
    from agentpost.domain.times import SECOND

    return datetime.fromtimestamp(SystemClock().now() / SECOND, UTC)
