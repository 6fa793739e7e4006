"""Labels with numbers in a message are a table; what stands around them is the request."""

from __future__ import annotations

import pytest

from agentpost_offline.grammar.typed_data import typed_table


@pytest.mark.parametrize(
    ("language", "text", "rest", "rows"),
    [
        ("en", "tea 40, milk 25 and juice 12.5 - donut, title Drinks 2025",
         "- donut, title Drinks 2025", "tea 40|milk 25|juice 12.5"),
        ("en", "make a pie chart of tea 4, ice tea 5", "make a pie chart of", "tea 4|ice tea 5"),
        ("en", "A=3, B=4 column chart", "column chart", "A 3|B 4"),
        ("en", "Mon 3\nTue 5\nWed 9\nbar chart please", "bar chart please", "Mon 3|Tue 5|Wed 9"),
        ("en", "rent: 900 €, food $35, fun 1,200 as bars", "as bars",
         "rent 900 €|food $35|fun 1,200"),
        ("de", "Miete 900, Strom 80,50 und Gas 70 als Torte", "als Torte",
         "Miete 900|Strom 80,50|Gas 70"),
        ("es", "pastel con uvas 40, peras 25 y pan 12", "pastel con", "uvas 40|peras 25|pan 12"),
        ("fr", "camembert : Paul 12, Anne 8 et Luc 4", "camembert", "Paul 12|Anne 8|Luc 4"),
        ("zh", "画饼图：茶40、水25和果汁12", "画饼图", "茶 40|水 25|果汁 12"),
        ("ar", "شاي 40، ماء 25 وعصير 12 رسم دائري", "رسم دائري", "شاي 40|ماء 25|عصير 12"),
        ("en", "top 5 products and last 3 months", "top 5 products and last 3 months", ""),
        ("en", "revenue q2 2025 vs q2 2024", "revenue q2 2025 vs q2 2024", ""),
        ("en", "tea 40, tea 30 as a pie", "tea 40, tea 30 as a pie", ""),
    ],
)  # fmt: skip
def test_labels_with_numbers_are_a_table(language: str, text: str, rest: str, rows: str) -> None:
    request, data = typed_table(text, language)
    assert request == rest
    lines = [line.rpartition("\t") for line in data.splitlines()[1:]]
    assert "|".join(f"{label} {value}" for label, _, value in lines) == rows
