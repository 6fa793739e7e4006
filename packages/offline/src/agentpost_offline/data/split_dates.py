"""Dates that are split over two columns: a year, and a month or quarter beside it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agentpost_offline.data import words
from agentpost_offline.data.casts import literals
from agentpost_offline.data.cells import Format
from agentpost_offline.data.model import Kind

_QUARTER = re.compile(r"[qt]?\s?([1-4])(?:\.? ?(?:quartal|trimestre|quarter))?")


@dataclass(frozen=True, slots=True)
class SplitDate:
    """The positions of the column of years and of the one of months or quarters, and the first
    month of each of its values in lower case."""

    year: int
    part: int
    months: Mapping[str, int]

    def sql(self, year: str, part: str) -> str:
        """The first day of the period, from the SQL of both cells."""
        cases = " ".join(f"when {literals([text])} then {month}"
                         for text, month in self.months.items())  # fmt: skip
        number = f"case lower(trim({part})) {cases} end"
        return f"make_timestamp(try_cast(left(trim({year}), 4) as bigint), {number}, 1, 0, 0, 0)"


def find(
    names: Sequence[str], forms: Sequence[Format | None],
    values_of: Callable[[int], Mapping[str, int]],
) -> SplitDate | None:  # fmt: skip
    """The two columns, when a table has one of years and one of months or quarters and no date.
    ``values_of``: the values of the column at a position."""
    dates = {at: form for at, form in enumerate(forms) if form and form.kind is Kind.DATE}
    if [form.years for form in dates.values()] != [True]:
        return None
    results = [
        (at, months) for at, name in enumerate(names)
        if at not in dates and (months := _months(name, values_of(at))) is not None
    ]  # fmt: skip
    return SplitDate(min(dates), *results[0]) if len(results) == 1 else None


def _months(name: str, values: Mapping[str, int]) -> dict[str, int] | None:
    """The month with which each value begins; None when they are no months or quarters."""
    texts = [value.strip().lower() for value in values]
    if len(texts) < 2:
        return None
    month_of = {text: words.months().get(text.rstrip("."), 0) for text in texts}
    if all(month_of.values()):
        return month_of
    if words.names(name, "month") and all(re.fullmatch(r"0?[1-9]|1[0-2]", t) for t in texts):
        return {text: int(text) for text in texts}
    quarters = [_QUARTER.fullmatch(text) for text in texts]
    if words.names(name, "quarter") and all(quarters):
        return {t: 3 * int(m[1]) - 2 for t, m in zip(texts, quarters, strict=True) if m}
    return None
