"""Which models a setting may name, and what is said when something is missing."""

from typing import Any, cast

import pytest

from agentpost.agents.llm import models
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
