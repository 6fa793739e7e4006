"""Agents of the real frameworks that ask, for the tests of typed questions and outputs.

To import the frameworks takes some seconds of CPU: only the process that runs those tests does.
"""

import asyncio
from typing import Any

from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from pydantic_ai import Agent, CallDeferred, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelResponse as Answer, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from typing_extensions import TypedDict

from tests.agents.wishes import RIGHT, WEIGHT


# --- pydantic-ai ----------------------------------------------------------------------------------
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
