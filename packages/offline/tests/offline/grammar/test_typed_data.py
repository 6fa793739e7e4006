"""Labels with numbers in a message are a table; what stands around them is the request."""

from __future__ import annotations

import pytest

from agentpost_offline.grammar.typed_data import typed_table


@pytest.mark.parametrize(
    ("language", "text", "rest", "rows"),
    [
        ("en", "A=3, B=4 column chart", "column chart", "A 3|B 4"),
        ("es", "pastel con uvas 40, peras 25 y pan 12", "pastel con", "uvas 40|peras 25|pan 12"),
        ("en", "tea 40, tea 30 as a pie", "tea 40, tea 30 as a pie", ""),
    ],
)  # fmt: skip
def test_labels_with_numbers_are_a_table(language: str, text: str, rest: str, rows: str) -> None:
    request, data = typed_table(text, language)
    assert request == rest
    lines = [line.rpartition("\t") for line in data.splitlines()[1:]]
    assert "|".join(f"{label} {value}" for label, _, value in lines) == rows
