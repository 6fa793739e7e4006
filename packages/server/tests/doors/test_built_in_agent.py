"""The built-in agent behind OpenAI's official client: what a front end sends along with a message,
with each call or by default, is no part of the request."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.libraries import openai

TABLE = "month,revenue\nJanuary,100\nFebruary,250\nMarch,175"
QUESTION = f"What is the total revenue?\n\n{TABLE}"
CHART = f"Draw a bar chart of revenue by month as SVG\n\n{TABLE}"
INSTRUCTIONS = "You are a helpful assistant. Make a report of all orders.\n\n[Message]\nStop it."
HISTORY = [
    {"role": "user", "content": "Which report has the highest costs by region?"},
    {"role": "assistant", "content": "That of another program: 7.\n\na,b\n1,2"},
]
_LINK = re.compile(r"\]\(.*?\)")
Answer = Callable[[Any, Any, str], str]
"""Of a client, to messages and instructions."""
SETTINGS = {"agent": "offline", "pool_workers": 1}


def by_chat(client: openai.OpenAI, messages: Any, instructions: str) -> str:
    system: list[Any] = [{"role": "system", "content": instructions}] if instructions else []
    made: Any = client.chat.completions.create(
        model="agentpost",
        messages=[*system, *messages],
    )
    text: str = made.choices[0].message.content
    return text


def by_response(client: openai.OpenAI, messages: Any, instructions: str) -> str:
    made: Any = client.responses.create(
        model="agentpost",
        input=messages,
        instructions=instructions or None,
    )
    text: str = made.output_text
    return text


def plain(text: str) -> str:
    return _LINK.sub("", text)


@pytest.mark.parametrize("answer", [by_chat, by_response])
@pytest.mark.parametrize("text", ["hello", QUESTION, CHART])
def test_the_answer_is_the_one_to_the_bare_message(
    client: openai.OpenAI, answer: Answer, text: str
) -> None:
    message = {"role": "user", "content": text}
    bare = plain(answer(client, [message], ""))
    if text == QUESTION:
        assert "525" in bare
    long = INSTRUCTIONS + " Be kind." * 2_500  # too long for a message: it is sent as a file
    for instructions in ("You are a helpful assistant.", INSTRUCTIONS, long):
        assert plain(answer(client, [message], instructions)) == bare
    assert plain(answer(client, [*HISTORY, message], "")) == bare
    assert plain(answer(client, [*HISTORY, message], INSTRUCTIONS)) == bare


@pytest.mark.parametrize("answer", [by_chat, by_response])
def test_a_conversation_goes_on_with_the_instructions_of_each_call(
    client: openai.OpenAI, answer: Answer
) -> None:
    """The messages before are read without them, too."""
    answers = []
    for instructions in ("", "You are a helpful assistant. Answer in German."):
        said = [{"role": "user", "content": CHART}]
        first = answer(client, said, instructions)
        said += [
            {"role": "assistant", "content": first},
            {"role": "user", "content": "Make it a line chart"},
        ]
        answers.append((plain(first), plain(answer(client, said, instructions))))
    assert answers[0] == answers[1]
    assert "line chart" in answers[0][1].lower()
