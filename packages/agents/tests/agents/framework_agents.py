"""Agents of the real frameworks that ask, for the tests of typed questions and outputs.

To import the frameworks takes some seconds of CPU: only the process that runs those tests does.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent as OpenAIAgent, Model, ModelResponse, set_tracing_disabled
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseOutputMessage,
    ResponseOutputText,
)
from pydantic_ai import Agent, CallDeferred, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelResponse as Answer, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from typing_extensions import TypedDict

from tests.agents.wishes import RIGHT, WEIGHT, WRONG

set_tracing_disabled(True)


# --- pydantic-ai ----------------------------------------------------------------------------------
def weigh(messages: list[ModelMessage], info: AgentInfo) -> Answer:
    """Gives the wrong thing first, and text where no value is wanted."""
    if not info.output_tools:
        return Answer(parts=[TextPart("Two kilograms.")])
    given = RIGHT if "Give it again" in str(messages) else WRONG
    return Answer(parts=[ToolCallPart(info.output_tools[0].name, given)])


def weigher() -> Agent[None, str]:
    """An agent that weighs."""
    return Agent(FunctionModel(weigh))


def waiting() -> Agent[None, str]:
    """An agent that waits until it is asked for an output."""
    opened = asyncio.Event()

    def model(messages: list[ModelMessage], info: AgentInfo) -> Answer:
        if info.output_tools:
            opened.set()
            return Answer(parts=[ToolCallPart(info.output_tools[0].name, RIGHT)])
        last = messages[-1].parts[-1]
        if last.part_kind == "user-prompt":
            return Answer(parts=[ToolCallPart("wait", {})])
        return Answer(parts=[TextPart("Waited.")])

    made = Agent(FunctionModel(model))

    @made.tool_plain
    async def wait() -> str:
        await opened.wait()
        return "opened"

    return made


def call_once(name: str, **args: Any) -> FunctionModel:
    """A model that calls this tool, then says what it returned."""

    def model(messages: list[ModelMessage], _: AgentInfo) -> Answer:
        last = messages[-1].parts[-1]
        if last.part_kind == "user-prompt":
            return Answer(parts=[ToolCallPart(name, args)])
        return Answer(parts=[TextPart(f"It is {last.content}.")])  # type: ignore[union-attr]

    return FunctionModel(model)


def asking(metadata: dict[str, Any]) -> Agent[None, str | DeferredToolRequests]:
    """An agent whose only tool asks the user."""
    made: Agent[None, str | DeferredToolRequests]
    made = Agent(call_once("ask"), output_type=[str, DeferredToolRequests])

    @made.tool_plain
    async def ask() -> str:
        raise CallDeferred(metadata={"question": "Which one?", **metadata})

    return made


# --- LangGraph ------------------------------------------------------------------------------------
class State(TypedDict, total=False):
    """Of the graph below."""

    input: str
    output: str
    structured_response: dict[str, Any]


async def ask_weight(state: State) -> State:
    """Asks once."""
    answer = interrupt({"question": "How heavy is it?", "schema": WEIGHT})
    return {"output": "Weighed.", "structured_response": answer}


def weighing_graph() -> Any:
    """A graph that asks for a weight."""
    builder = StateGraph(State)
    builder.add_node("ask_weight", ask_weight)
    builder.add_edge(START, "ask_weight")
    return builder.compile()


# --- OpenAI Agents --------------------------------------------------------------------------------
class Clerk(Model):
    """Weighs, wrongly at first."""

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        raise AssertionError("it can stream")

    async def stream_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: A002 - the framework passes it by this name
        model_settings: Any,
        tools: Any,
        output_schema: Any,
        *_: Any,
        **__: Any,
    ) -> AsyncIterator[Any]:
        assert output_schema is not None
        weight = RIGHT if "Give it again" in str(input) else WRONG
        part = ResponseOutputText(type="output_text", text=json.dumps(weight), annotations=[])
        message = ResponseOutputMessage(
            id="m", type="message", role="assistant", status="completed", content=[part]
        )
        answer = Response(
            id="r",
            created_at=0,
            model="clerk",
            object="response",
            output=[message],
            parallel_tool_calls=False,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(type="response.completed", response=answer, sequence_number=1)


CLERK = OpenAIAgent(name="clerk", model=Clerk())
