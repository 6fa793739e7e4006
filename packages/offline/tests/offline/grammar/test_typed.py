"""Questions as people write them, against truths that plain Python computes from the same rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agentpost_offline.data.answers import answer_query
from agentpost_offline.data.dataset import Dataset, open_tables
from agentpost_offline.frame import Cell, Frame
from agentpost_offline.grammar.reading import Reading
from agentpost_offline.grammar.requests import Surrounding, read
from agentpost_offline.grammar.suggesting import suggest
from agentpost_offline.grammar.vocabulary import language_of
from agentpost_offline.style.numbers import full as figure
from tests.offline.data.given import file
from tests.offline.grammar import sheets
from tests.offline.grammar.sheets import Row, Rows

_NEAR = 0.0051


class Question(NamedTuple):
    """A line of the table: a file, a question, the truth as Python over `TRUTHS`, and the
    ``outcome``."""

    on: str
    text: str
    truth: str
    outcome: str


def typed() -> list[Question]:
    """The lines of ``typed.txt``."""
    lines = (Path(__file__).parent / "typed.txt").read_text("utf-8").splitlines()
    rows = [line for line in lines if line.strip() and not line.startswith("#")]
    return [Question(*(part.strip() for part in line.split(" | "))) for line in rows]


def ranked(groups: dict[Any, float], *, low: bool = False) -> list[tuple[str, float]]:
    """Groups, the largest first."""
    found = sorted(groups.items(), key=lambda one: one[1] if low else -one[1])
    return [(str(name), value) for name, value in found]


def each(groups: dict[Any, float]) -> list[object]:
    """Every group with its value."""
    return [part for name, value in groups.items() for part in (str(name), value)]


def values(groups: dict[Any, float]) -> list[object]:
    """The values of groups, without their names."""
    return list(groups.values())


def best(groups: dict[Any, float], *, low: bool = False) -> list[object]:
    """The first group, which must lead the answer."""
    name, value = ranked(groups, low=low)[0]
    return [f"^{name}", value]


def top(groups: dict[Any, float], count: int = 1, *, low: bool = False) -> list[tuple[str, float]]:
    """The first groups with their values."""
    return ranked(groups, low=low)[:count]


def tops(groups: dict[Any, float], count: int) -> list[object]:
    """The first groups."""
    return [part for one in ranked(groups)[:count] for part in one]


def between(first: str, last: str) -> Callable[[dt.date], bool]:
    """Whether a day is in a range, both ends included."""
    begin, end = dt.date.fromisoformat(first), dt.date.fromisoformat(last)
    return lambda d: begin <= (d.date() if isinstance(d, dt.datetime) else d) <= end


def quarter(row: Row) -> str:
    """``2025Q1``."""
    return f"{row['d'].year}Q{(row['d'].month + 2) // 3}"


def month(row: Row) -> str:
    """``2025-01``."""
    return f"{row['d']:%Y-%m}"


def grew(key: str) -> dict[Any, float]:
    """What the revenue of each group grew by from 2024 to 2025, in percent."""
    years = [sheets.ORDERS.at(d=between(f"{y}-01-01", f"{y}-12-31")).by(key, "revenue")
             for y in (2024, 2025)]  # fmt: skip
    return {name: 100 * (years[1][name] / before - 1) for name, before in years[0].items()}


def profit(rows: Rows) -> float:
    """Revenue without cost."""
    return rows.sum("revenue") - rows.sum("cost")


TRUTHS: dict[str, Any] = {
    "O": sheets.ORDERS, "S": sheets.PEOPLE, "W": sheets.WEB, "K": sheets.STOCK,
    "V": sheets.SURVEY, "B": sheets.BANK, "E": sheets.POWER, "G": sheets.GRADES,
    "M": sheets.METER, "T": sheets.TICKETS, "Y": sheets.SALES,
    "Y24": between("2024-01-01", "2024-12-31"), "Y25": between("2025-01-01", "2025-12-31"),
    "each": each, "values": values, "best": best, "top": top, "tops": tops, "between": between,
    "WEEKDAYS": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "quarter": quarter, "month": month, "grew": grew, "profit": profit,
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dataset]:
    folder = tmp_path_factory.mktemp("asked")
    given = [file(folder, name, text) for name, text in sheets.FILES.items()]
    with open_tables(given) as found:
        yield found


@pytest.mark.parametrize("one", typed(), ids=lambda one: one.text)
def test_a_question_is_answered_with_the_truth_or_asked_about(data: Dataset, one: Question) -> None:
    assert outcome(data, one) == one.outcome


def outcome(data: Dataset, one: Question) -> str:
    """``answer`` with the truth, ``click`` where a choice leads to it, else ``ask``; ``WRONG``."""
    readings = over(data, one, one.text)
    if readings and all(reading.is_sure for reading in readings):
        return "answer" if is_true(data, one, frames(readings)) else "WRONG"
    choices = [c for reading in readings if reading.question for c in reading.question.choices]
    for reading in readings if one.truth != "?" else []:
        choices += suggest(reading, around(data, one))
    ways = [list(choice.frames) for choice in choices]
    for choice in choices:
        if choice.text and (again := over(data, one, choice.text)):
            ways += [frames(again)] if all(reading.is_sure for reading in again) else []
    if one.truth == "?":
        return "ask"
    return "click" if any(way and is_true(data, one, way) for way in ways) else "ask"


def over(data: Dataset, one: Question, text: str) -> list[Reading]:
    """A text, read over the table that the question is about."""
    return read(text, around(data, one))


def around(data: Dataset, one: Question) -> Surrounding:
    """The table that a question is about."""
    table = next(table for table in data.tables if table.name == one.on)
    kinds = frozenset({"table"})
    return Surrounding([table], kinds, today="2026-01-01", language=language_of(one.text))


def frames(readings: list[Reading]) -> list[Frame]:
    """The frames of readings."""
    return [reading.frame for reading in readings if reading.frame is not None]


def is_true(data: Dataset, one: Question, ways: list[Frame]) -> bool:
    """Whether the answers of frames hold all that is true."""
    if one.truth == "?":
        return False
    answers = [answer_query(data, query, way.language) for way in ways for query in way.queries]
    text = "\n".join(text for text, _ in answers)
    rows = [row for _, result in answers for row in result.rows]
    wanted = eval(one.truth, dict(TRUTHS))
    listed = wanted if isinstance(wanted, list) else [wanted]
    return all(stands(part, rows, text, ways[0].language) for part in listed)


def test_most_questions_are_answered_at_once_and_most_others_after_one_click() -> None:
    outcomes = [one.outcome for one in typed() if one.truth != "?"]
    assert outcomes.count("answer") / len(outcomes) >= 0.55
    assert outcomes.count("ask") / len(outcomes) <= 0.3


def stands(part: object, rows: list[tuple[Cell, ...]], text: str, language: str) -> bool:
    """Whether a name or a figure of the truth is in an answer; ``^`` marks what must lead it."""
    if isinstance(part, str):
        said = text.lower()
        return said.startswith(part[1:].lower()) if part[0] == "^" else part.lower() in said
    assert isinstance(part, (int, float))
    figures = [cell for row in rows for cell in row if isinstance(cell, (int, float))]
    near = any(abs(abs(part) - abs(cell)) < _NEAR for cell in figures)
    return near or figure(round(abs(part), 2), None, language) in text
