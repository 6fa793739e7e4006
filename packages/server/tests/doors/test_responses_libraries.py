"""Libraries that call the Responses API in their default mode: three turns, one conversation."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from tests.doors.test_responses import JOB, MODEL, script
from tests.e2e.server import KEY, AgentServer
from tests.libraries import openai
from tests.node import run_official

Said = list[str]
OPENING = script(["start", "Report", JOB])
"""The second turn comes after an answer of two items, one with a file."""
TURNS = ["hello", OPENING, script(["see"])]


async def of_openai_agents(client: openai.AsyncOpenAI) -> Said:
    from agents import Agent, RunConfig, Runner
    from agents.models.openai_responses import OpenAIResponsesModel

    agent = Agent(name="Anna", model=OpenAIResponsesModel(MODEL, openai_client=client))
    quiet = RunConfig(tracing_disabled=True)
    texts: Said = []
    sent: list[Any] = []
    for text in TURNS:
        result = await Runner.run(
            agent, [*sent, {"role": "user", "content": text}], run_config=quiet
        )
        sent = result.to_input_list()
        texts.append(result.final_output)
    return texts


async def of_openai_agents_streamed(client: openai.AsyncOpenAI) -> Said:
    from agents import Agent, RunConfig, Runner
    from agents.models.openai_responses import OpenAIResponsesModel

    agent = Agent(
        name="Anna",
        instructions="Be kind.",
        model=OpenAIResponsesModel(MODEL, openai_client=client),
    )
    result = Runner.run_streamed(agent, "hello", run_config=RunConfig(tracing_disabled=True))
    kinds = [event.type async for event in result.stream_events()]
    assert "raw_response_event" in kinds
    return [result.final_output]


async def of_pydantic_ai(client: openai.AsyncOpenAI) -> Said:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIResponsesModel(MODEL, provider=OpenAIProvider(openai_client=client))
    agent = Agent(model)
    texts: Said = []
    history: Sequence[Any] = []
    for text in TURNS:
        result = await agent.run(text, message_history=history)
        history = result.all_messages()
        texts.append(result.output)
    return texts


def seen_in(text: str) -> list[list[str]]:
    history: list[list[str]] = json.loads(text.strip())["history"]
    return history


def check(texts: Said) -> None:
    """The agent has seen two turns with what they brought, and nothing else."""
    assert texts[0] == "You said: hello"
    assert texts[1].endswith("It is done.")
    assert seen_in(texts[2]) == [
        ["user", "hello"],
        ["agent", "You said: hello"],
        ["user", OPENING[:80]],
        ["agent", "Report: running"],
        ["job", "It is done."],
    ]


@pytest.mark.parametrize("library", [of_openai_agents, of_pydantic_ai])
async def test_three_turns_are_one_conversation(
    server: AgentServer, library: Callable[[openai.AsyncOpenAI], Awaitable[Said]]
) -> None:
    async with openai.AsyncOpenAI(base_url=f"{server.url}/openai/v1", api_key=KEY) as client:
        check(await library(client))


async def test_openai_agents_stream_with_instructions(server: AgentServer) -> None:
    async with openai.AsyncOpenAI(base_url=f"{server.url}/openai/v1", api_key=KEY) as client:
        (text,) = await of_openai_agents_streamed(client)
    assert text.endswith("[Message]\nhello")


def test_the_javascript_clients(server: AgentServer) -> None:
    """The official one and the AI SDK, which refers to answers by the ids of their items."""
    job = [["fail", "The file has no column 'price'."]]
    printed = run_official(
        "responses.mjs",
        BASE_URL=f"{server.url}/openai/v1",
        API_KEY=KEY,
        TURNS=json.dumps(TURNS),
        FAILING=script(["start", "Sums", job]),
    )
    reported = json.loads(printed)
    for client in ("openai", "generateText", "streamText"):
        check(reported[client])
    assert "The file has no column 'price'." in reported["failed"]
    assert "The file has no column 'price'." in reported["failedStream"]
