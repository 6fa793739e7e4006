"""A pydantic-ai agent whose model is a function."""

import json
from collections.abc import AsyncIterator

from pydantic_ai import Agent, CallDeferred, DeferredToolRequests
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from tests.conformance.elsewhere import brain


async def stream(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    users: list[str] = []
    results: list[str] = []
    for message in messages:
        for part in message.parts if isinstance(message, ModelRequest) else ():
            if isinstance(part, UserPromptPart):
                users.append(str(part.content))
                results = []
            elif isinstance(part, ToolReturnPart):
                results.append(str(part.content))
    decided = brain.decide("pydantic-ai", users, results)
    if isinstance(decided, brain.Call):
        call = json.dumps(decided.args)
        yield {0: DeltaToolCall(decided.name, call, tool_call_id=f"call{len(messages)}")}
        return
    for n, piece in enumerate(brain.pieces(decided)):
        yield piece
        if n == 0 and users[-1].startswith("slowly"):
            await brain.pass_gate("pydantic-ai.slowly")


agent: Agent[None, str | DeferredToolRequests] = Agent(
    FunctionModel(stream_function=stream),
    tools=brain.TOOLS,
    output_type=[str, DeferredToolRequests],
)


@agent.tool_plain
async def ask_user(question: str) -> str:
    """Ask the user."""
    raise CallDeferred(metadata={"question": question})
