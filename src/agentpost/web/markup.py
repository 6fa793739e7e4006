"""HTML by templates that escape: only what is marked as markup goes through as it is."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape

from agentpost.domain.text import displayable
from agentpost.domain.times import SECOND


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
    shown = displayable(text, "\N{REPLACEMENT CHARACTER}", lines=False)
    return markup("<bdi>{text}</bdi>", text=shown)


def moment(at: int) -> Html:
    """A time in microseconds, to the minute, in UTC."""
    when = datetime.fromtimestamp(at // SECOND, UTC)
    return markup(
        '<time datetime="{exact}">{shown}</time>',
        exact=when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        shown=when.strftime("%Y-%m-%d %H:%M UTC"),
    )
