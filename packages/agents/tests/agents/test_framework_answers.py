"""An answer that is not whole, or begins with reasoning, by the model of each framework's agent."""

import importlib
import re
from typing import Any

import pytest

from agentpost.agents.adapters.repairing import ThinkingFilter, without_thinking
from agentpost.domain.text import CUT_SHORT
from agentpost.testing import run
from tests.agents.llm.openai_stub import OpenAIStub, Says

CASES = {
    "broken off": ([Says(["Good "], finish=None), Says(["Good ", "day."])], "Good day."),
    "cut short": ([Says(["Good ", "day"], finish="length")], f"Good day\n\n{CUT_SHORT}"),
    "with reasoning": ([Says(["<thi", "nk>Well.</th", "ink>\n\nGood", " day."])], "Good day."),
    "with tokens": ([Says(["<think>", "Well.", "</think>", "Good day."])], "Good day."),
    "with halves": ([Says(["<think>", "Well.</th", "ink>", "Good day."])], "Good day."),
}


@pytest.fixture(scope="module", params=["pydantic_ai", "openai_agents", "langgraph"])
def agent(request: pytest.FixtureRequest, stub: OpenAIStub) -> Any:
    made = importlib.import_module("tests.agents.framework_answers")
    return getattr(made, request.param)(stub.url)


@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_whole_or_says_that_it_is_not(
    agent: Any, stub: OpenAIStub, case: str
) -> None:
    replies, answer = CASES[case]
    stub.tell(*replies)
    done = run(agent, "Hello")
    assert (done.status, done.text, len(stub.requests)) == ("completed", answer, len(replies))


@pytest.mark.parametrize("pieces", [["<thi"], ["<think>We", "ll, they"], ["<think>", "Well</th"]])
def test_reasoning_that_is_cut_short_is_not_shown(
    agent: Any, stub: OpenAIStub, pieces: list[str]
) -> None:
    stub.tell(*[Says(pieces, finish="length")] * 3)
    text = run(agent, "Hello").text
    assert text is not None
    assert "limit" in text
    assert not re.search("<|Well|they", text)


def test_an_answer_that_always_breaks_off_is_a_failure(agent: Any, stub: OpenAIStub) -> None:
    stub.tell(*[Says(["Good "], finish=None)] * 3)
    done = run(agent, "Hello")
    assert (done.status, len(stub.requests)) == ("failed", 3)
    assert "broke off" in str(done.text)


THOUGHT = "<think>\nIs it < 4?\n</think>\n\n"


@pytest.mark.parametrize(
    ("text", "answer", "answer_cut_short"),
    [
        (f"{THOUGHT}Four.", "Four.", "Four."),
        (f"\n{THOUGHT}{THOUGHT}Four.", "Four.", "Four."),
        ("Four.", "Four.", "Four."),
        ("\n Four", "\n Four", "\n Four"),
        ("A <think> tag\n</think> is", "A <think> tag\n</think> is", "A <think> tag\n</think> is"),
        ("<thinking> is a tag", "<thinking> is a tag", "<thinking> is a tag"),
        ("<think>It is", "", ""),
        ("<think>It is</thi", "", ""),
        (THOUGHT, "", ""),
        ("<thi", "<thi", ""),
        ("<", "<", ""),
        ("", "", ""),
    ],
)
def test_it_is_taken_out(text: str, answer: str, answer_cut_short: str) -> None:
    assert without_thinking(text, is_cut_short=False) == answer
    assert without_thinking(text, is_cut_short=True) == answer_cut_short
    for size in range(1, 9):
        reader = ThinkingFilter()
        pieces = [reader.feed(text[n : n + size]) for n in range(0, len(text), size)]
        assert "".join(pieces) + reader.end(is_cut_short=True) == answer_cut_short
