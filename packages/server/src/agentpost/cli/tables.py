"""Tables: as wide as the terminal on one, else lines of values with a tab between them.

On a terminal moments are shown as their age, states are coloured, and a text that has no room is
cut; ids never are. Everywhere else values are whole and moments exact, for `cut`, `sort` and
spreadsheets. Both have a line of headings.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal

from agentpost.cli.errors import one_line, say
from agentpost.cli.given import current_time

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
    from rich.text import Text

    now = now or current_time()
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, len(GAP), 0, 0))
    left, drawn = console.width, list[list[Text]]()
    for n, (name, heading) in enumerate(zip(columns, headings, strict=True)):
        cells = [Text(heading), *(_cell(row[n], now) for row in rows)]
        width = max(cell.cell_len for cell in cells)
        may_shrink = not name.endswith(_WHOLE) and width > _SHORT
        left -= _SHORT if may_shrink else width
        if left < 0 and n:
            break  # neither this column nor a later one has room
        left -= len(GAP)
        if width > console.width and not may_shrink:
            table.width = width  # an id is whole, though the terminal is not as wide
        for cell in cells:
            cell.no_wrap, cell.overflow = True, "ellipsis"
        is_number = all(isinstance(row[n], int | float) for row in rows)
        justify: Literal["right", "left"] = "right" if is_number else "left"
        table.add_column(cells[0], no_wrap=not may_shrink, justify=justify)
        drawn.append(cells[1:])
    for line in zip(*drawn, strict=True):
        table.add_row(*line)
    console.print(table, soft_wrap=True)


def _cell(value: object, now: datetime) -> Text:
    from rich.text import Text

    if isinstance(value, datetime):
        return Text(age(value, now), style="dim")
    text = _plain(value)
    return Text(text, style=STATUS_STYLES.get(text, "dim" if text == NOTHING else ""))
