"""Libraries that speak an API of OpenAI, in their default mode: three turns, one conversation, of
which each call sends back what was said before."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest

from tests.doors.test_responses import MODEL, script
from tests.e2e.server import KEY, AgentServer
from tests.libraries import openai
from tests.node import run_official
from tests.other_clients.turns import MESSAGES, REPORT, check_turns

Said = list[str]
APIS = ("chat", "responses")


@pytest.fixture
async def client(server: AgentServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{server.url}/openai/v1", api_key=KEY) as made:
        yield made


def of_pydantic_ai(client: openai.AsyncOpenAI, api: str) -> Any:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    kind = OpenAIChatModel if api == "chat" else OpenAIResponsesModel
    return Agent(kind(MODEL, provider=OpenAIProvider(openai_client=client)))


async def by_pydantic_ai(client: openai.AsyncOpenAI, api: str) -> Said:
    agent, texts = of_pydantic_ai(client, api), Said()
    history: Sequence[Any] = []
    for message in MESSAGES:
        run = await agent.run(message, message_history=history)
        history = run.all_messages()
        texts.append(run.output)
    return texts


async def by_pydantic_ai_streamed(client: openai.AsyncOpenAI, api: str) -> Said:
    agent, texts = of_pydantic_ai(client, api), Said()
    history: Sequence[Any] = []
    for message in MESSAGES:
        async with agent.run_stream(message, message_history=history) as stream:
            texts.append(await stream.get_output())
            history = stream.all_messages()
    return texts


async def by_openai_agents(client: openai.AsyncOpenAI, api: str) -> Said:
    from agents import (
        Agent,
        OpenAIChatCompletionsModel,
        OpenAIResponsesModel,
        RunConfig,
        Runner,
        set_tracing_disabled,
    )

    set_tracing_disabled(True)
    kind = OpenAIChatCompletionsModel if api == "chat" else OpenAIResponsesModel
    agent, texts = Agent(name="caller", model=kind(MODEL, openai_client=client)), Said()
    history: list[Any] = []
    for message in MESSAGES:
        history.append({"role": "user", "content": message})
        run = await Runner.run(agent, history, run_config=RunConfig(tracing_disabled=True))
        history = run.to_input_list()
        texts.append(str(run.final_output))
    return texts


def check(api: str, texts: Said) -> None:
    """The agent has seen two turns with what they brought, and nothing else."""
    if api == "chat":
        check_turns(texts)
        return
    assert texts[0] == "You said: hello"
    assert texts[1].endswith("It is done.")
    assert json.loads(texts[2].strip())["history"] == [
        ["user", "hello"],
        ["agent", "You said: hello"],
        ["user", REPORT[:80]],
        ["agent", "Report: running"],
        ["job", "It is done."],
    ]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("library", [by_pydantic_ai, by_pydantic_ai_streamed, by_openai_agents])
async def test_three_turns_are_one_conversation(
    client: openai.AsyncOpenAI,
    library: Callable[[openai.AsyncOpenAI, str], Awaitable[Said]],
    api: str,
) -> None:
    check(api, await library(client, api))


async def test_openai_agents_stream_with_instructions(client: openai.AsyncOpenAI) -> None:
    from agents import Agent, RunConfig, Runner
    from agents.models.openai_responses import OpenAIResponsesModel

    model = OpenAIResponsesModel(MODEL, openai_client=client)
    agent = Agent(name="Anna", instructions="Be kind.", model=model)
    result = Runner.run_streamed(agent, "hello", run_config=RunConfig(tracing_disabled=True))
    assert "raw_response_event" in [event.type async for event in result.stream_events()]
    assert result.final_output.endswith("[Message]\nhello")


def test_javascript_clients_of_chat_completions(server: AgentServer) -> None:
    """The official client, and the AI SDK by both of its providers, streamed and not."""
    said = run_official("chat_completions.js", AGENTPOST_URL=server.url, AGENTPOST_KEY=KEY)
    assert said.count("three turns") == 6


def test_javascript_clients_of_responses(server: AgentServer) -> None:
    """The official one and the AI SDK, which refers to answers by the ids of their items."""
    job = [["fail", "The file has no column 'price'."]]
    printed = run_official(
        "responses.mjs",
        BASE_URL=f"{server.url}/openai/v1",
        API_KEY=KEY,
        TURNS=json.dumps(MESSAGES),
        FAILING=script(["start", "Sums", job]),
    )
    reported = json.loads(printed)
    for client in ("openai", "generateText", "streamText"):
        check("responses", reported[client])
    assert "The file has no column 'price'." in reported["failed"]
    assert "The file has no column 'price'." in reported["failedStream"]
