"""Three guards stand before any figure: equal periods, no sums of rates, rows only if asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentpost_offline.data.answers import stated
from agentpost_offline.data.dataset import opened
from agentpost_offline.grammar.requests import Surrounding, read
from tests.agents.offline.data.given import file

SALES = "day,shop,product,units,price,revenue\n" + "\n".join(
    f"{year}-{month:02}-10,{shop},{product},{month},{price},{month * price}"
    for year, last in ((2024, 12), (2025, 6)) for month in range(1, last + 1)
    for shop in ("North", "South") for product, price in (("Tea", 2), ("Milk", 3))
)  # fmt: skip
MARKS = "pupil,class,mark,words\n" + "\n".join(
    f"Pupil {n},{'8a' if n % 3 else '8b'},{1 + n % 5},{40 * n + n % 7}" for n in range(1, 25)
)
TABLES = {"sales.csv": SALES, "marks.csv": MARKS}
ASKED = "?"


@pytest.mark.parametrize(
    ("name", "text", "truth"),
    [
        # (a) Both periods are cut to what the data covers of each.
        ("sales.csv", "did revenue grow in 2025 compared to 2024?", "did not change"),
        ("sales.csv", "revenue 2024 vs 2025", "140 (2024) and 140 (2025)"),
        ("sales.csv", "which shop grew most?", ASKED),
        ("sales.csv", "how much did revenue grow?", ASKED),
        # (b) What is a rate by its name is averaged; what cannot be told is asked.
        ("marks.csv", "mark by class", "average Mark"),
        ("marks.csv", "total mark by class", ASKED),
        ("marks.csv", "is 8a better than 8b?", ASKED),
        ("marks.csv", "words by class", ASKED),
        ("sales.csv", "sum of price", ASKED),
        ("sales.csv", "price by product", "average Price"),
        # (c) Rows are counted when rows are asked for.
        ("sales.csv", "how many tea did we sell?", "198"),
        ("sales.csv", "how many rows are there for tea?", "36"),
        ("sales.csv", "how many were in the north?", ASKED),
        ("sales.csv", "tea and milk in the north", ASKED),
    ],
)
def test_no_figure_without_its_guard(tmp_path: Path, name: str, text: str, truth: str) -> None:
    with opened([file(tmp_path, name, TABLES[name])]) as data:
        readings = read(text, Surrounding(data.tables, frozenset({"table"}), today="2025-07-20"))
        if truth == ASKED:
            assert not any(one.is_sure for one in readings)
            return
        (frame,) = [one.frame for one in readings if one.is_sure and one.frame is not None]
        assert truth in stated(data, frame.queries[0], "en")[0]
