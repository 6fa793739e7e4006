"""Tables: as wide as the terminal on one, else lines of values with a tab between them.

On a terminal moments are shown as their age, states are coloured, and a text that has no room is
cut; ids never are. Everywhere else values are whole and moments exact, for `cut`, `sort` and
spreadsheets. Both have a line of headings.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from agentpost.cli.errors import one_line, say

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

NOTHING: Final = "-"
STATUS_STYLES: Final = {
    "active": "green",
    "blocked": "yellow",
    "completed": "green",
    "delivered": "green",
    "disabled": "red",
    "dropped": "red",
    "enabled": "green",
    "expired": "red",
    "failed": "red",
    "needs_input": "yellow",
    "partial": "yellow",
    "paused": "yellow",
    "pending": "cyan",
    "processing": "cyan",
    "running": "cyan",
}
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_AGE_SECONDS_MAX: Final = 99 * 86_400
_WHOLE: Final = ("id", "_id")
"""Ends of the names of columns that are never cut."""
_SHORT: Final = 12
"""A column this narrow is not made narrower."""
_WIDE: Final = 100
"""A terminal with so many columns has room for all of a table's."""
GAP: Final = "  "


def show_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    empty: str = "",
    extra: Collection[str] = (),
    console: Console | None = None,
    now: datetime | None = None,
) -> None:
    """Print the rows below their headings (``last_used_at`` as ``LAST USED AT``).

    Where the terminal is narrow, the columns in ``extra`` are left out, and then the last ones that
    have no room. None is shown as ``-``; a value may be text, a number or a `datetime`.
    ``empty`` is printed on standard error when there are no rows; a pipe then has the headings
    alone.
    """
    from rich.console import Console

    console = console or Console(highlight=False)
    if not rows and empty:
        say(empty)
        if console.is_terminal:
            return
    if extra and console.is_terminal and console.width < _WIDE:
        indexes = [n for n, name in enumerate(columns) if name not in extra]
        columns, rows = [columns[n] for n in indexes], [[row[n] for n in indexes] for row in rows]
    headings = [name.replace("_", " ").upper() for name in columns]
    if not console.is_terminal:
        for line in (headings, *([_plain(value) for value in row] for row in rows)):
            console.file.write("\t".join(line) + "\n")
        return
    _draw(console, columns, headings, rows, now)


def age(when: datetime, now: datetime) -> str:
    """How long ago, or in how long, such as ``5 min ago`` and ``in 2 h``; far off: the day."""
    seconds = (now - when).total_seconds()
    distance = abs(seconds)
    if distance > _AGE_SECONDS_MAX:
        return when.astimezone(UTC).strftime("%Y-%m-%d")
    unit, size = next(((u, s) for u, s in _UNITS if distance >= s), ("s", 1))
    amount = f"{distance // size:.0f} {unit}"
    return f"{amount} ago" if seconds >= 0 else f"in {amount}"


def moment(when: datetime) -> str:
    """A moment to the second, in UTC: ``2026-11-21T10:00:00Z``."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return NOTHING if value is None or value == "" else one_line(str(value))


def _draw(
    console: Console,
    columns: Sequence[str],
    headings: Sequence[str],
    rows: Sequence[Sequence[object]],
    now: datetime | None,
) -> None:
    from rich.table import Table

    from agentpost.clock import SystemClock
    from agentpost.domain.times import SECOND

    now = now or datetime.fromtimestamp(SystemClock().now() / SECOND, UTC)
    cells = [[_cell(value, now) for value in row] for row in rows]
    natural = [
        max(len(heading), *(line[n].cell_len for line in cells))
        for n, heading in enumerate(headings)
    ]
    may_shrink = [
        not name.endswith(_WHOLE) and width > _SHORT
        for name, width in zip(columns, natural, strict=True)
    ]
    number = number_fitting(natural, may_shrink, console.width)
    columns, headings = columns[:number], headings[:number]
    natural, may_shrink = natural[:number], may_shrink[:number]
    rows, cells = [row[:number] for row in rows], [line[:number] for line in cells]
    widths = fit_widths(natural, may_shrink, console.width - len(GAP) * (len(columns) - 1))
    table = Table(
        box=None,
        header_style="bold",
        pad_edge=False,
        padding=(0, len(GAP), 0, 0),
        width=sum(widths)
        + len(GAP) * (len(columns) - 1),  # may be wider than the terminal: ids are kept
    )
    for n, (heading, width) in enumerate(zip(headings, widths, strict=True)):
        is_number = all(isinstance(row[n], int | float) for row in rows)
        table.add_column(
            heading,
            width=width,
            no_wrap=True,
            overflow="ellipsis",
            justify="right" if is_number else "left",
        )
    for line in cells:
        table.add_row(*line)
    console.print(table, soft_wrap=True)


def number_fitting(natural: Sequence[int], may_shrink: Sequence[bool], width: int) -> int:
    """How many of the first columns have room, one at least, when each shrinks as far as it may."""
    number, used = 0, -len(GAP)
    for size, may in zip(natural, may_shrink, strict=True):
        used += len(GAP) + (_SHORT if may else size)
        if used > width:
            break
        number += 1
    return max(number, 1)


def fit_widths(natural: Sequence[int], may_shrink: Sequence[bool], room: int) -> list[int]:
    """The widths of columns in so much room: the widest that may shrink gives, one by one."""
    widths = list(natural)
    while sum(widths) > room:
        widest = max(
            (n for n, may in enumerate(may_shrink) if may and widths[n] > _SHORT),
            key=lambda n: widths[n],
            default=None,
        )
        if widest is None:
            break
        widths[widest] -= 1
    return widths


def _cell(value: object, now: datetime) -> Text:
    from rich.text import Text

    if isinstance(value, datetime):
        return Text(age(value, now), style="dim")
    text = _plain(value)
    return Text(text, style=STATUS_STYLES.get(text, "dim" if text == NOTHING else ""))
