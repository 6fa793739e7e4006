"""Which requests of an account a list shows, and what people write to say so."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agentpost.domain import ids
from agentpost.domain.limits import REQUEST_FILTER_CHARACTERS_MAX
from agentpost.domain.times import DAY, HOUR, MINUTE

PERIODS: Final[Mapping[str, int]] = {
    "15m": 15 * MINUTE,
    "1h": HOUR,
    "24h": 24 * HOUR,
    "7d": 7 * DAY,
}
"""How far back a list goes, in microseconds; without one it goes back as far as rows are kept."""
METHODS: Final = ("GET", "POST", "PATCH", "PUT", "DELETE")
STATUSES: Final = ("2xx", "3xx", "4xx", "5xx", "failed")
"""What can be asked for besides a number; ``failed`` is 400 and above."""
_STATUS: Final = re.compile(r"([1-5])([0-9]{2}|xx)")
STATUS_PATTERN: Final = f"^(failed|{_STATUS.pattern})$"
"""What `status_range` takes."""


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """Which requests are wanted; None: all.

    Args:
        status: the least and the greatest one.
        path: a part of it, in small or capital letters.
        since: an id that sorts before those wanted.
        about: a message's id, in the path or in the response.
        messages: ids of messages that the request is about, an alternative to ``path``; empty: of
            no message. Without a path there is an index: all requests are searched.
        not_reading: only those that are no reads of this log.
        id: the request with that id.
    """

    key_id: str | None = None
    method: str | None = None
    status: tuple[int, int] | None = None
    path: str | None = None
    error: str | None = None
    since: str | None = None
    about: str | None = None
    not_reading: bool = False
    messages: tuple[str, ...] | None = None
    id: str | None = None


def status_range(text: str) -> tuple[int, int] | None:
    """``404``, ``4xx`` or ``failed`` as a range; None for anything else."""
    if text == "failed":
        return 400, 599
    match = _STATUS.fullmatch(text)
    if match is None:
        return None
    hundred, rest = match.groups()
    if rest == "xx":
        return int(hundred) * 100, int(hundred) * 100 + 99
    return int(text), int(text)


def request_filter(fields: Mapping[str, str], now: int) -> RequestFilter:
    """The filter of an address's query: ``key``, ``method``, ``status``, ``path``, ``error``,
    ``since`` (one of `PERIODS`). What cannot be meant filters nothing; ``now`` in microseconds. A
    message's id as ``path`` asks for what was about that message."""

    def text(name: str) -> str | None:
        return fields.get(name, "").strip()[:REQUEST_FILTER_CHARACTERS_MAX] or None

    method = (text("method") or "").upper()
    period = PERIODS.get(fields.get("since", ""))
    path = text("path")
    about = path if path and ids.is_id(ids.MESSAGE, path) else None
    return RequestFilter(
        key_id=text("key"),
        method=method if method in METHODS else None,
        status=status_range(text("status") or ""),
        path=None if about else path,
        error=text("error"),
        since=ids.at(ids.REQUEST, now - period) if period is not None else None,
        about=about,
    )
