"""HTML by templates that escape: only what is marked as markup goes through as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from typing import Final

from agentpost.domain.times import SECOND

# Control characters, and the marks that reverse the direction of what follows: in a name they only
# serve to make one thing look like another ("exe.gpj" read backwards).
_DECEPTIVE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Html(str):
    """Text that is markup already. Made by `markup` and `join`, or of a constant."""

    __slots__ = ()


def markup(template: str, /, **values: object) -> Html:
    """Fill the ``{name}`` fields of a constant template; every value that is not `Html` is escaped.

    Safe in text and in attributes within double quotes, nowhere else.
    """
    safe = {
        name: value if isinstance(value, Html) else escape(str(value))
        for name, value in values.items()
    }
    return Html(template.format_map(safe))


def join(parts: Iterable[Html]) -> Html:
    """Markup after markup."""
    return Html("".join(parts))


def name(text: str) -> Html:
    """A title or file name: one line, and in whatever direction it is written, its neighbours keep
    their places."""
    return markup("<bdi>{text}</bdi>", text=_DECEPTIVE.sub("\N{REPLACEMENT CHARACTER}", text))


def moment(at: int) -> Html:
    """A time in microseconds, to the minute, in UTC."""
    when = datetime.fromtimestamp(at // SECOND, UTC)
    return markup(
        '<time datetime="{exact}">{shown}</time>',
        exact=when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        shown=when.strftime("%Y-%m-%d %H:%M UTC"),
    )
