"""Which models a setting may name, what their tokens cost, and what is said when something is
missing or wrong."""

from pathlib import Path
from typing import Any, cast

import pytest

from agentpost.agents.adapters.recording import Usage
from agentpost.agents.llm import models, prices
from agentpost.agents.registry import UnknownAgent, resolve
from agentpost.bootstrap import surroundings, way_out
from agentpost.extras import MODULES, MissingExtra
from agentpost.settings import load_settings


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in models.PROVIDERS.values():
        for name in provider.variables:
            monkeypatch.delenv(name, raising=False)


def attach(spec: str, **settings: Any) -> None:
    agent = resolve(spec)
    made = load_settings(**settings)
    assert agent.attach is not None
    agent.attach(surroundings(made, way_out(made)))


@pytest.mark.parametrize(
    ("spec", "variable"),
    [
        ("llm:openai:gpt-5.1", "OPENAI_API_KEY"),
        ("llm:anthropic:claude-opus-4-5", "ANTHROPIC_API_KEY"),
        ("llm:google:gemini-3-pro", "GOOGLE_API_KEY"),
    ],
)
def test_each_provider_needs_its_key(
    spec: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=variable):
        attach(spec)
    monkeypatch.setenv(variable, "sk-test")
    attach(spec)
    assert resolve(spec).name == "llm"


def test_another_service_needs_no_key() -> None:
    attach("llm:openai:qwen3:8b", llm_base_url="http://127.0.0.1:11434/v1")


@pytest.mark.parametrize(
    ("spec", "reported"),
    [
        ("llm:ollama:qwen3", "'ollama' is none of the providers openai, anthropic, google"),
        ("llm:openai", "the name of the model is missing"),
        ("llm:openai:", "the name of the model is missing"),
    ],
)
def test_a_wrong_name_is_told(spec: str, reported: str) -> None:
    with pytest.raises(UnknownAgent, match=reported):
        resolve(spec)


def test_a_missing_extra_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cast("dict[str, Any]", MODULES), "llm", ("nobody_has_this",))
    with pytest.raises(MissingExtra, match=r"pip install 'agentpost\[llm\]'"):
        resolve("llm:openai:gpt-5.1")


def test_a_tool_that_is_not_there_is_told() -> None:
    service = {"llm_base_url": "http://127.0.0.1:11434/v1"}
    attach("llm:openai:qwen3:8b", **service, llm_tools=["write_file"])
    with pytest.raises(ValueError, match=r"AGENTPOST_LLM_TOOLS: there is no make_tea, but .*write"):
        attach("llm:openai:qwen3:8b", **service, llm_tools=["write_file", "make_tea"])


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


def cost(found: prices.Price | None, **further: int) -> float | None:
    used: Usage = {"input_tokens": 1_000_000, "output_tokens": 120_000, **further}
    return None if found is None else round(found.credits(used), 6)


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
    assert cost(price(model, llm_price_file=str(path)), cached_tokens=400_000) == expected


@pytest.mark.parametrize(("of_input", "expected"), [(0, 1.2), (2, 3.2)])
def test_all_tokens_have_the_price_of_the_settings(of_input: float, expected: float) -> None:
    assert cost(price(llm_input_credits=of_input, llm_output_credits=10)) == expected
    assert price(llm_input_credits=0, llm_output_credits=0) is None


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
