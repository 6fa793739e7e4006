"""Three turns through libraries that speak Chat Completions: each sends back what was said, and the
third turn needs the first two."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.e2e.server import KEY, AgentServer
from tests.libraries import openai
from tests.node import run_official
from tests.other_clients.turns import MESSAGES, check_turns


@pytest.fixture
async def client(server: AgentServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{server.url}/openai/v1", api_key=KEY) as made:
        yield made


async def test_pydantic_ai(client: openai.AsyncOpenAI) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    agent = Agent(OpenAIChatModel("agentpost", provider=OpenAIProvider(openai_client=client)))
    history: list[ModelMessage] = []
    texts = []
    for message in MESSAGES:
        run = await agent.run(message, message_history=history)
        history = run.all_messages()
        texts.append(run.output)
    check_turns(texts)
    history, texts = [], []
    for message in MESSAGES:
        async with agent.run_stream(message, message_history=history) as stream:
            texts.append(await stream.get_output())
            history = stream.all_messages()
    check_turns(texts)


async def test_openai_agents(client: openai.AsyncOpenAI) -> None:
    from agents import (
        Agent,
        OpenAIChatCompletionsModel,
        RunConfig,
        Runner,
        TResponseInputItem,
        set_tracing_disabled,
    )

    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("agentpost", client)
    agent = Agent(name="caller", model=model)
    history: list[TResponseInputItem] = []
    texts = []
    for message in MESSAGES:
        history.append({"role": "user", "content": message})
        run = await Runner.run(agent, history, run_config=RunConfig(tracing_disabled=True))
        history = run.to_input_list()
        texts.append(str(run.final_output))
    check_turns(texts)


def test_javascript_clients(server: AgentServer) -> None:
    """The official client, and the AI SDK by both of its providers, streamed and not."""
    said = run_official("chat_completions.js", AGENTPOST_URL=server.url, AGENTPOST_KEY=KEY)
    assert said.count("three turns") == 6
