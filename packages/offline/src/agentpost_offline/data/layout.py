"""Where a table begins in a grid of cells, and what its columns are called (pure): lines above it,
two header lines, names that repeat and periods as columns become one name for each column."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentpost_offline.data import words
from agentpost_offline.data.cells import is_missing, looks_typed, moment, parts
from agentpost_offline.frame import Grain

Row = Sequence[str | None]
NAME_CHARACTERS = 120
_SEASON = re.compile(r"(?<!\d)(?:19|20|21)\d\d[-_/]\d\d(?!\d)")
"""Two years, as in "2024-25"; the months of such a name may be of either."""
_YEAR = re.compile(r"(?<!\d)((?:19|20|21)\d\d)(?!\d)")


@dataclass(frozen=True, slots=True)
class Periods:
    """Columns that are periods of values: they become rows. ``columns``: the position of each, its
    period as text, and which value it holds; ``time`` and ``values`` are what the new columns are
    called; ``left_out``: totals over the periods, which would be counted twice; ``year_of_name``:
    the year of the months, where only the table's name says it."""

    columns: tuple[tuple[int, str, int], ...]
    time: str
    values: tuple[str, ...]
    left_out: tuple[int, ...] = ()
    year_of_name: str = ""


@dataclass(slots=True)
class Layout:
    """How a grid is read: the rows before ``first`` are no data; ``names`` has a name for each
    column of the grid, empty for a column to leave out."""

    first: int
    names: list[str]
    above: int = 0
    title: str = ""
    headless: bool = False
    renamed: list[str] = field(default_factory=list)
    periods: Periods | None = None


def blank(cell: str | None) -> bool:
    """Whether there is nothing in a cell."""
    return cell is None or not cell.strip()


def find(rows: Sequence[Row], name: str = "") -> Layout:
    """The layout of a grid by its first rows, which are as long as each other and none empty; its
    name may say which year its months are of."""
    head = [[(cell or "").strip() for cell in row] for row in rows]
    counts = [sum(map(bool, row)) for row in head]
    width = max(Counter(counts).items(), key=lambda item: (item[1], item[0]))[0]
    first = next(
        i
        for i, count in enumerate(counts)
        if count >= max(1, width - (width > 3)) or (width > 1 and _lacks_the_first(head[i], width))
    )
    # A heading over groups of columns has fewer cells than the table, but more than a title.
    if first > 0 and _is_group_line(head[first - 1], head[first]):
        first -= 1
    lines = _header_lines(head[first:])
    body = head[first + lines :]
    names = _join_lines(head[first : first + lines]) if lines else [""] * len(head[0])
    is_numbered = bool(lines) and not names[0] and _is_index(body)
    title = next((one[0] for row in head[:first] if len(one := list(filter(None, row))) == 1
                  and len(one[0]) <= NAME_CHARACTERS), "")  # fmt: skip
    names = [name.strip("*:# \ufeff")[:NAME_CHARACTERS] or f"Column {at}"
             for at, name in enumerate(names, 1)]  # fmt: skip
    layout = Layout(first + lines, unique(names), above=first, title=title, headless=not lines)
    layout.renamed = [one for one, other in zip(names, layout.names, strict=True) if one != other]
    if is_numbered:
        layout.names[0] = ""
    if lines:
        layout.periods = _periods(layout, body, name)
    return layout


def _lacks_the_first(row: Sequence[str], width: int) -> bool:
    """Whether only the first cell of a row of names is empty, as above numbers of rows."""
    return not row[0] and all(row[1:width])


def _is_index(body: Sequence[Sequence[str]]) -> bool:
    """Whether the first column only numbers the rows, as the index that programs write."""
    numbers = [row[0] for row in body]
    begin = 0 if numbers[:1] == ["0"] else 1
    return numbers == [str(begin + at) for at in range(len(numbers))] and len(numbers) > 1


def _is_group_line(above: Sequence[str], header: Sequence[str]) -> bool:
    cells = list(filter(None, above))
    if len(cells) < 2 or any(map(looks_typed, cells)):
        return False
    return len(list(filter(None, header))) > len(cells) and _is_header(header)


def _is_header(row: Sequence[str]) -> bool:
    return any(row) and not any(looks_typed(cell) or is_missing(cell) for cell in row if cell)


def _header_lines(head: Sequence[Sequence[str]]) -> int:
    """How many lines of names there are: 0, 1 or 2."""
    if not _is_header(head[0]):
        return 0
    if len(head) == 1:
        return 1
    if _is_header(head[1]) and _is_two_lined(head[0], head[1], head[2:50]):
        return 2
    return 1 if _differs(head[0], head[1:50]) else 0


def _is_two_lined(one: Sequence[str], two: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    if not any(looks_typed(cell) for row in body for cell in row):
        return False
    under = [i for i, cell in enumerate(two) if cell]
    # The names of the second line repeat, or stand under a gap of the first one, and none of them
    # is among the data below.
    has_gaps = not all(one[i] for i in under)
    names = [two[i] for i in under if not two[i].isdecimal()]  # "1000" twice is no name
    if any(row[i] == two[i] for row in body for i in under):
        return False
    repeats = len(set(names)) < len(names) or len({c for c in one if c}) < sum(map(bool, one))
    typed_below = [i for i in under if any(looks_typed(row[i]) for row in body)]
    return (has_gaps or repeats) and 2 * len(typed_below) >= len(under)


def _differs(header: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the first line is names: of another kind than what is below, or all different."""
    for i, cell in enumerate(header):
        below = [row[i] for row in body if row[i]]
        if cell and below and sum(map(looks_typed, below)) * 2 > len(below):
            return True
    names = [cell.lower() for cell in header if cell]
    below_all = {cell.lower() for row in body for cell in row}
    return len(set(names)) == len(names) and below_all.isdisjoint(names)


def _join_lines(lines: Sequence[Sequence[str]]) -> list[str]:
    upper, *others = [[" ".join(cell.split()) for cell in line] for line in lines]
    if not others:
        return upper
    (lower,) = others
    names, group = [], ""
    for at, (above, below) in enumerate(zip(upper, lower, strict=True)):
        group = above or (group if below else "")
        alone = at == 0 and len(upper) > 1 and bool(upper[1]) and below
        parts = (below,) if alone or group == below else (group, below)
        names.append(" ".join(part for part in parts if part))
    return names


def unique(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that were there before, whatever their case."""
    results: list[str] = []
    keys: set[str] = set()
    own_names = {name.lower() for name in names}
    for name in names:
        result, count = name, 1
        while result.lower() in keys or (count > 1 and result.lower() in own_names):
            count += 1
            result = f"{name} ({count})"
        keys.add(result.lower())
        results.append(result)
    return results


def _periods(layout: Layout, body: Sequence[Sequence[str]], table_name: str) -> Periods | None:
    """The columns that are periods of one or several values: ``2023 2024 2025``, ``Q1 2025 …``,
    ``Revenue 2024, Costs 2024, Revenue 2025 …``."""
    results: list[tuple[int, str, str]] = []
    totals: list[int] = []
    for index, name in enumerate(layout.names):
        period = _period(name)
        if period is not None:
            results.append((index, *period))
        elif name.lower() in words.every("totals"):
            totals.append(index)
    wide = len(results) == len(layout.names) - len(totals)
    if len(results) < 2 or wide or not _numeric(body, [index for index, _, _ in results]):
        return None
    rests = list(dict.fromkeys(rest for _, _, rest in results))
    by_period = Counter(period for _, period, _ in results)
    periods = list(by_period)
    if len(periods) < 2 or any(count != len(rests) for count in by_period.values()):
        return None
    if len({(period, rest) for _, period, rest in results}) != len(results):
        return None
    values = tuple(rest or _value_name(layout) for rest in rests)
    months = [words.months().get(period.lower().rstrip("."), 0) for period in periods]
    are_months = all(months) and sorted(months) in (months, months[::-1])  # "Oct … Feb" are of two
    title_year = _YEAR.search(layout.title)
    year_of_name = _only_year(table_name) if are_months and not title_year else ""
    year = title_year[1] if title_year else year_of_name
    suffix = f" {year}" if are_months and year else ""
    columns = tuple((index, period + suffix, rests.index(rest)) for index, period, rest in results)
    return Periods(columns, _time_name(periods[0]), values, tuple(totals), year_of_name)


def _only_year(name: str) -> str:
    """The year that a name has; empty for one with several, as "2024-25"."""
    years = {*_YEAR.findall(name)}
    return years.pop() if len(years) == 1 and not _SEASON.search(name) else ""


def _value_name(layout: Layout) -> str:
    title = re.sub(r"\b(19|20)\d\d\b.*", "", layout.title).strip(" ,:-–(")
    own_names = {name.lower() for name in layout.names}
    return title if 0 < len(title) <= 40 and title.lower() not in own_names else "Value"


def _time_name(period: str) -> str:
    result = moment(period, day_first=False)
    if _YEAR.fullmatch(period):
        return "Year"
    if result is None:
        return "Month"
    return {Grain.MONTH: "Month", Grain.QUARTER: "Quarter", Grain.YEAR: "Year"}.get(
        result[1], "Date"
    )


def _period(name: str) -> tuple[str, str] | None:
    """The period in a column's name and what is left of the name, else None."""
    low = name.lower().rstrip(".")
    if low in words.months() or moment(name, day_first=False):
        return name, ""
    tokens = name.split()
    for size in (2, 1):
        for at in range(len(tokens) - size + 1):
            piece = " ".join(tokens[at : at + size]).strip("(),:")
            rest = " ".join(tokens[:at] + tokens[at + size :]).strip(" ,:-–()")
            if _YEAR.fullmatch(piece) or (size == 2 and moment(piece, day_first=False)):
                return piece, rest
    return None


def _numeric(body: Sequence[Sequence[str]], columns: Sequence[int]) -> bool:
    present = [row[i] for row in body for i in columns if not is_missing(row[i])]
    typed = sum(looks_typed(cell) or parts(cell, ",") is not None for cell in present)
    return bool(present) and typed >= 0.8 * len(present)


def is_total(row: Row) -> bool:
    """Whether a row holds the totals of the rows above it."""
    first = next((cell for cell in row if not blank(cell)), None) or ""
    return first.strip().rstrip(":").lower() in words.every("totals")
