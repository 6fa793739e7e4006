"""Typed questions and outputs of agents that a framework has made, with the real packages.

Approvals and choices are asked at the door (`test_agents_elsewhere` of the server).
"""

import importlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from agentpost.testing import Conversation, run
from tests.agents.llm.openai_stub import Calls, OpenAIStub, Reply, Says
from tests.agents.wishes import COLOURS, RIGHT, WEIGHT, WRONG


@pytest.fixture(scope="module")
def made() -> Any:
    """The agents. Only here: the frameworks take seconds to import, in each process that collects
    the tests."""
    return importlib.import_module("tests.agents.framework_agents")


def answering(framework: str, stub: OpenAIStub) -> Any:
    """An agent whose model is the stub."""
    return getattr(importlib.import_module("tests.agents.framework_answers"), framework)(stub.url)


OUTPUTS: dict[str, Callable[[str], Reply]] = {
    "pydantic_ai": lambda value: Calls([("final_result", value)]),
    "openai_agents": lambda value: Says([value]),
}


@pytest.mark.parametrize("framework", OUTPUTS)
def test_an_output_that_does_not_fit_is_asked_for_again(framework: str, stub: OpenAIStub) -> None:
    stub.tell(*(OUTPUTS[framework](json.dumps(weight)) for weight in (WRONG, RIGHT)))
    done = run(answering(framework, stub), "weigh it", response_schema=WEIGHT)
    assert (done.status, done.output) == ("completed", RIGHT)
    first, second = stub.requests
    assert '"kilograms": {"type": "number"}' in json.dumps(first)
    assert "Give it again" in second["messages"][-1]["content"]


# --- pydantic-ai ----------------------------------------------------------------------------------
def test_a_message_that_wants_an_output_joins_nothing(made: Any) -> None:
    with Conversation(made.waiting(), replay=False) as talk:
        talk.send("begin", wait=False)
        done = talk.send("how heavy?", response_schema=WEIGHT)
    assert (done.status, done.output, done.jobs) == ("completed", RIGHT, ())


def test_a_text_is_the_output_where_the_schema_is_no_object(stub: OpenAIStub) -> None:
    stub.tell(Says(["Two kilograms."]))
    agent = answering("pydantic_ai", stub)
    assert run(agent, "weigh it", response_schema={"type": "string"}).output == "Two kilograms."


@pytest.mark.parametrize(
    ("metadata", "choices", "answer", "said"),
    [
        ({"choices": COLOURS}, ("Red", "Blue"), "blue", "It is Blue."),
        ({"schema": WEIGHT}, None, RIGHT, "It is {'kilograms': 2}."),
    ],
)
def test_a_deferred_call_of_pydantic_ai_asks_for_a_typed_answer(
    made: Any, metadata: dict[str, Any], choices: tuple[str, ...] | None, answer: Any, said: str
) -> None:
    with Conversation(made.asking(metadata)) as talk:
        asked = talk.send("begin")
        done = talk.send(answer=answer)
    assert (asked.question, asked.choices) == ("Which one?", choices)
    assert (done.status, done.text) == ("completed", said)


def test_choices_that_cannot_be_asked_for_leave_the_answer_open(made: Any) -> None:
    with Conversation(made.asking({"choices": ["Red", "red"]})) as talk:
        asked = talk.send("begin")
        done = talk.send("green")
    assert (asked.status, asked.choices) == ("needs_input", None)
    assert done.text == "It is green."


# --- LangGraph ------------------------------------------------------------------------------------
def test_an_interrupt_of_langgraph_asks_for_a_typed_answer(made: Any) -> None:
    with Conversation(made.weighing_graph()) as talk:
        asked = talk.send("begin", response_schema=WEIGHT)
        done = talk.send(answer=RIGHT, response_schema=WEIGHT)
    assert (asked.status, asked.question) == ("needs_input", "How heavy is it?")
    assert (done.text, done.output) == ("Weighed.", RIGHT)
