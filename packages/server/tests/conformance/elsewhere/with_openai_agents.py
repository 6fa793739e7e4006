"""An agent of the OpenAI Agents SDK with a model of ours."""

import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, function_tool, set_tracing_disabled
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
)

from agentpost.agents.adapters.openai_agents import ask_user
from tests.conformance.elsewhere import brain

set_tracing_disabled(True)


def call_of(key: str, tool: str, args: dict[str, Any]) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call", call_id=key, name=tool, arguments=json.dumps(args)
    )


def message_of(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed", content=[content]
    )


def completed(*output: Any) -> ResponseCompletedEvent:
    """The end of what a model streams."""
    answer = Response(
        id="r",
        created_at=0,
        model="brain",
        object="response",
        output=list(output),
        parallel_tool_calls=True,
        tool_choice="auto",
        tools=[],
    )
    return ResponseCompletedEvent(type="response.completed", response=answer, sequence_number=9)


class Brain(Model):
    """A model that answers as the brain says."""

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        raise AssertionError("it can stream")

    async def stream_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: A002 - the framework passes it by this name
        *_: Any,
        **__: Any,
    ) -> AsyncIterator[Any]:
        users: list[str] = []
        results: list[str] = []
        for item in input:
            if item.get("role") == "user":
                users.append(item["content"])
                results = []
            elif item.get("type") == "function_call_output":
                results.append(item["output"])
        decided = brain.decide("openai-agents", users, results)
        if isinstance(decided, brain.Call):
            yield completed(call_of(f"call{len(input)}", decided.name, decided.args))
            return
        for n, piece in enumerate(brain.pieces(decided)):
            yield ResponseTextDeltaEvent(
                type="response.output_text.delta",
                delta=piece,
                item_id="m",
                logprobs=[],
                content_index=0,
                output_index=0,
                sequence_number=n,
            )
            if n == 0 and users[-1].startswith("slowly"):
                await brain.pass_gate("openai-agents.slowly")
        yield completed(message_of(decided))


agent = Agent(
    name="clerk",
    model=Brain(),
    tools=[
        ask_user,
        *(function_tool(tool, failure_error_function=None) for tool in brain.TOOLS),
    ],
)
