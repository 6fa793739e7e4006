"""What the tokens of a model cost, and what is wrong with a table of prices."""

from pathlib import Path
from typing import Any

import pytest

from agentpost.agents.adapters.recording import Usage
from agentpost.agents.llm import prices
from agentpost.bootstrap import surroundings, way_out
from agentpost.settings import load_settings

TABLE = """
["gpt-5.1"]
input = 2
cached = 0.5
output = 10

["qwen3:8b"]
input = 0
output = 0
"""
OTHERS = '["*"]\ninput = 1\noutput = 1\n'


def price(model: str = "gpt-5.1", **settings: Any) -> prices.Price | None:
    made = load_settings(**settings)
    return prices.of(surroundings(made, way_out(made)).llm, model)


@pytest.mark.parametrize(
    ("table", "model", "expected"),
    [
        (TABLE, "gpt-5.1", 2.6),
        (TABLE, "qwen3:8b", None),
        (TABLE + OTHERS, "another", 1.12),
        (OTHERS + '[gpt]\ninput = 3\noutput = 0\n', "gpt", 3.0),
    ],
)  # fmt: skip
def test_a_model_has_the_price_of_its_row(
    tmp_path: Path, table: str, model: str, expected: float | None
) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(table)
    found = price(model, llm_price_file=str(path))
    used: Usage = {"model": model, "input_tokens": 1_000_000, "output_tokens": 120_000}
    used["cached_tokens"] = 400_000
    assert (found and round(found.credits(used), 6)) == expected


@pytest.mark.parametrize(
    ("table", "reported"),
    [
        (TABLE, "has no price for the model 'another': add \\[\"another\"\\]"),
        (None, "No such file"),
        ("[", "prices.toml: "),
        ("[a]\ninput = 1\n", "a.output: Field required"),
        ("[a]\ninput = -1\noutput = 1\n", "a.input: Input should be greater"),
        ("[a]\ninput = 1\noutput = 1\ncache = 1\n", "a.cache: Extra"),
    ],
)
def test_a_wrong_table_is_reported(tmp_path: Path, table: str | None, reported: str) -> None:
    path = tmp_path / "prices.toml"
    if table is not None:
        path.write_text(table)
    with pytest.raises(ValueError, match="AGENTPOST_LLM_PRICE_FILE") as raised:
        price("another", llm_price_file=str(path))
    assert reported.replace("\\", "") in str(raised.value)


def test_there_is_one_kind_of_price(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="set one or the other"):
        price(llm_price_file=str(tmp_path / "prices.toml"), llm_input_credits=1)
