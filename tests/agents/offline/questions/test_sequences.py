"""Growth in tables without dates: along month names, weekdays and quarters, in four languages."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from agentpost.agents.offline.data.answers import stated
from agentpost.agents.offline.data.dataset import Dataset, opened
from agentpost.agents.offline.understanding import messages
from agentpost.agents.offline.understanding.reading import Reading
from tests.agents.offline.data.given import file

REVENUE = (120, 135, 128, 151, 170, 182)
RATES = [100 * (b / a - 1) for a, b in itertools.pairwise(REVENUE)]
BEST, WORST = RATES.index(max(RATES)) + 1, RATES.index(min(RATES)) + 1
"""The places of the entries that grew and fell most."""
REGIONS = {"North": (100, 110, 150, 120), "South": (200, 190, 260, 300)}

ENTRIES = {
    "months.csv": ("month", "Jan Feb Mar Apr May Jun"),
    "german.csv": ("Monat", "Januar Februar März April Mai Juni"),
    "fiscal.csv": ("month", "Oct Nov Dec Jan Feb Mar"),
    "numbers.csv": ("month", "1 2 3 4 5 6"),
    "weekdays.csv": ("weekday", "Sun Mon Tue Wed Thu Fri"),
}


def table(column: str, entries: list[str], values: tuple[int, ...] = REVENUE) -> str:
    """A table of a column of entries and one of revenue."""
    rows = (f"{entry},{value}\n" for entry, value in zip(entries, values, strict=True))
    return f"{column},revenue\n" + "".join(rows)


FILES = {name: table(column, said.split()) for name, (column, said) in ENTRIES.items()} | {
    "backwards.csv": table("month", ["Jun", "May", "Apr", "Mar", "Feb", "Jan"], REVENUE[::-1]),
    "quarters.csv": table("quarter", ["Q1", "Q2", "Q3", "Q4"], REVENUE[:4]),
    "gap.csv": table("month", ["Jan", "Feb", "Apr", "May"], REVENUE[:4]),
    "years.csv": table("month", ["Jan", "Feb", "Mar", "Jan", "Feb", "Mar"]),
    "places.csv": table("region", ["North", "South", "West"], REVENUE[:3]),
    "regions.csv": "month,region,revenue\n"
    + "".join(
        f"{month},{region},{values[at]}\n"
        for at, month in enumerate(("Jan", "Feb", "Mar", "Apr"))
        for region, values in REGIONS.items()
    ),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dataset]:
    folder = tmp_path_factory.mktemp("sequences")
    with opened([file(folder, name, text) for name, text in FILES.items()]) as found:
        yield found


def read(data: Dataset, name: str, text: str) -> Reading:
    """How a question about a table is understood."""
    asked = next(table for table in data.tables if table.name == name)
    [reading] = messages.read(text, [asked]).readings
    return reading


def answered(data: Dataset, name: str, text: str) -> str:
    """The answer to a question that is understood, spaces and figures in plain writing."""
    frame = read(data, name, text).frame
    assert not frame.unused
    said, _ = stated(data, frame.queries[0], frame.language)
    return said.replace("\xa0", " ").replace("\u202f", " ").replace(" %", "%").replace(" :", ":")


def rate(before: float, after: float, *, comma: bool = False) -> str:
    """A growth in percent, as answers write it."""
    said = f"{100 * (after / before - 1):.2f}".removesuffix(".00").replace("-", "−") + "%"
    return said.replace(".", ",") if comma else said


GREW = (
    "Which month grew most?", "Welcher Monat ist am stärksten gewachsen?", "¿Qué mes creció más?",
    "Quel mois a le plus augmenté ?",
)  # fmt: skip
FELL = (
    "Which month fell most?", "Welcher Monat ist am stärksten gefallen?", "¿Qué mes cayó más?",
    "Quel mois a le plus baissé ?",
)  # fmt: skip
CASES = [("months.csv", text, BEST) for text in GREW]
CASES += [("months.csv", text, WORST) for text in FELL]
CASES += [
    (name, text, at)
    for name in ("german.csv", "fiscal.csv", "numbers.csv")
    for text, at in ((GREW[0], BEST), (FELL[0], WORST))
]
CASES += [
    ("weekdays.csv", "Which weekday grew most?", BEST),
    ("weekdays.csv", "Which day fell most?", WORST),
    ("months.csv", "In which month did revenue grow most?", BEST),
]


@pytest.mark.parametrize(("name", "text", "at"), CASES)
def test_the_entry_that_grew_or_fell_most(data: Dataset, name: str, text: str, at: int) -> None:
    entry = ENTRIES[name][1].split()[at]
    growth = rate(REVENUE[at - 1], REVENUE[at], comma=not text.startswith(("Which", "In ")))
    assert answered(data, name, text).startswith(f"{entry}: {growth}")


@pytest.mark.parametrize(
    "text",
    [
        "Which quarter grew most?", "Welches Quartal ist am stärksten gewachsen?",
        "¿Qué trimestre creció más?", "Quel trimestre a le plus augmenté ?",
    ],
)  # fmt: skip
def test_quarters(data: Dataset, text: str) -> None:
    growth = rate(REVENUE[2], REVENUE[3], comma=not text.startswith("Which"))
    assert answered(data, "quarters.csv", text).startswith(f"Q4: {growth}")
    # Quarters of a table of months depend on where its year begins.
    assert read(data, "months.csv", text).frame.unused


@pytest.mark.parametrize(
    "text",
    [
        "Which region grew most?", "Welche Region ist am stärksten gewachsen?",
        "¿Qué región creció más?", "Quelle région a le plus augmenté ?",
    ],
)  # fmt: skip
def test_a_group_from_the_first_to_the_last_month(data: Dataset, text: str) -> None:
    rates = {name: rate(values[0], values[-1]) for name, values in REGIONS.items()}
    said = answered(data, "regions.csv", text)
    assert said.startswith("South")
    assert all(f"+{one}" in said for one in rates.values())
    assert "(Jan: 200 → Apr: 300)" in said
    assert read(data, "months.csv", text).frame.unused
    assert not any(figure.isdigit() for figure in answered(data, "places.csv", text).split("\n")[0])


@pytest.mark.parametrize(
    "text",
    [
        "How did revenue develop?", "Wie hat sich der Umsatz entwickelt?",
        "¿Cómo evolucionó revenue?",
    ],
)  # fmt: skip
def test_a_development_is_shown_in_order(data: Dataset, text: str) -> None:
    lines = answered(data, "fiscal.csv", text).split("\n")[1:-1]
    months = ENTRIES["fiscal.csv"][1].split()
    assert lines == [f"- {m}: {v}" for m, v in zip(months, REVENUE, strict=True)]


@pytest.mark.parametrize(
    "text",
    [
        "How much did revenue grow?", "Wie stark ist der Umsatz gewachsen?",
        "¿Cuánto creció revenue?", "Comment revenue a-t-il évolué ?",
    ],
)  # fmt: skip
def test_a_growth_without_a_group_is_from_the_first_to_the_last(data: Dataset, text: str) -> None:
    said = answered(data, "months.csv", text).replace(",", ".")
    assert rate(REVENUE[0], REVENUE[-1]) in said
    assert "120 (Jan)" in said
    assert "182 (Jun)" in said


@pytest.mark.parametrize(
    ("name", "text", "truth"),
    [
        ("months.csv", "growth in Mar", f"fell by {rate(135, 128)[1:]}, from 135 (Feb) to 128 (Ma"),
        ("months.csv", "growth in Jan", "There is no period before it to compare with."),
        ("months.csv", "growth from Jan to Apr", f"grew by {rate(120, 151)}, from 120 (Jan) to 15"),
        ("months.csv", "growth of revenue by month", f"- Jan: –\n- Feb: {rate(120, 135)}\n- Mar"),
        ("months.csv", "running total of revenue by month", "- Jan: 120\n- Feb: 255\n- Mar: 383"),
        ("months.csv", "which month lost the most revenue?", "Mar: −7 ("),
        ("backwards.csv", "Which month grew most?", f"Apr: {rate(128, 151)}"),
        ("gap.csv", "growth of revenue by month", f"- Apr: –\n- May: {rate(128, 151)}"),
        ("regions.csv", "Which month grew most in North?", f"Mar: {rate(110, 150)}"),
        ("regions.csv", "growth of revenue by region", "- North: Jan 100, Apr 120, +20 (+20%)"),
        ("regions.csv", "How did revenue develop by region?", "Jan: 200\n- South, Feb: 190\n- So"),
    ],
)
def test_an_answer(data: Dataset, name: str, text: str, truth: str) -> None:
    assert truth in answered(data, name, text)


@pytest.mark.parametrize("name", ["years.csv", "places.csv"])
@pytest.mark.parametrize(
    "text", ["How much did revenue grow?", "How did revenue develop?", "growth of revenue"]
)
def test_without_an_order_no_growth_is_said(data: Dataset, name: str, text: str) -> None:
    assert answered(data, name, text).startswith("No growth can be computed")


@pytest.mark.parametrize("text", [*GREW, *FELL])
def test_months_of_several_years_have_no_order(data: Dataset, text: str) -> None:
    first = answered(data, "years.csv", text).split("\n")[0]
    assert not any(letter.isdigit() for letter in first)
