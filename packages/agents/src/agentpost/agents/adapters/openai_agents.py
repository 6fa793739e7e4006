"""An agent of the OpenAI Agents SDK: each model call and each tool call is a recorded step.

The author's agents are copied for a run, with a model and function tools that record.
"""

import copy
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast

from openai.types import responses
from pydantic import TypeAdapter
from pydantic_core import to_json, to_jsonable_python

import agents
from agentpost.agents.adapters import recording
from agentpost.agents.adapters.conversing import (
    Outcome,
    Question,
    RunInput,
    approval,
    question,
    trim,
)
from agentpost.agents.adapters.recording import Charge, Recorder
from agentpost.agents.adapters.repairing import (
    NOTHING_SAID,
    ThinkingFilter,
    number_ids,
    storable_arguments,
    whole,
    without_thinking,
)
from agentpost.agents.base import JobFailed, Json
from agentpost.domain.text import cut_short
from agents.tool_context import ToolContext

KIND: Final = "openai-agents"
_ENDS: Final = (responses.ResponseCompletedEvent, responses.ResponseIncompleteEvent)
_OUTPUT: Final[TypeAdapter[Any]] = TypeAdapter(list[responses.ResponseOutputItem])


@agents.function_tool(needs_approval=True)
def ask_user(question: str, choices: list[str] | None = None) -> str:
    """Ask the user a question; gives the answer.

    Args:
        question: the question.
        choices: the answers to choose from, if it has to be one of a few.
    """
    return "Yes."


class OpenAIAgents:
    """An agent of the SDK, whose calls are recorded."""

    kind = KIND
    at_once = True

    def __init__(self, agent: agents.Agent[Any], charge: Charge | None) -> None:
        self._agent = agent
        self.charge = charge

    async def run(self, run_input: RunInput, recorder: Recorder) -> Outcome:
        copies = _Copies(recorder, run_input.schema)
        agent = copies.of(self._agent)
        earlier = cast("dict[str, Any] | None", run_input.memory)
        agent_input: Any
        if earlier and earlier["waiting"] is not None:
            agent_input = await _answer_calls(agent, earlier["waiting"], run_input)
        else:
            before = [
                {"role": "user" if role == "user" else "assistant", "content": text}
                for role, text in run_input.history
            ]
            before = earlier["items"] if earlier else before
            agent_input = [*before, {"role": "user", "content": run_input.prompt}]
        try:
            result = await agents.Runner.run(agent, agent_input)
        except Exception as error:
            raise _raised_by_tool(error) from None
        if result.interruptions:
            questions = [_question(item) for item in result.interruptions]
            waiting: Json = to_jsonable_python(result.to_state().to_json())
            memory: Json = {"items": [], "waiting": waiting}
            return Outcome("", memory, questions)
        items: Any = to_jsonable_python(result.to_input_list())
        items = trim(items, [n for n, item in enumerate(items) if item.get("role") == "user"])
        output = result.final_output
        memory = {"items": items, "waiting": None}
        if isinstance(output, str):
            is_cut_short = copies.is_cut_short and run_input.schema is None
            return Outcome(cut_short(output) if is_cut_short else output, memory)
        value = cast("Json", to_jsonable_python(output, fallback=str))
        return Outcome(to_json(output, indent=2).decode(), memory, output=value)


def _raised_by_tool(error: Exception) -> Exception:
    """The `JobFailed` of a tool, which the framework has made an error of its own of; else what it
    raised."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, JobFailed):
            return JobFailed(str(cause))
        cause = cause.__cause__
    return error


class _Copies:
    """Copies of agents whose calls are recorded, those they hand over to included."""

    def __init__(self, recorder: Recorder, schema: dict[str, Any] | None) -> None:
        self._recorder = recorder
        self._schema = schema
        self._made: dict[int, agents.Agent[Any]] = {}
        self.is_cut_short = False
        """Whether the model reached its limit in its last answer."""

    def of(self, agent: agents.Agent[Any]) -> agents.Agent[Any]:
        """The copy of an agent, always the same one."""
        if id(agent) not in self._made:
            tools = [
                self._tool(tool) if isinstance(tool, agents.FunctionTool) else tool
                for tool in agent.tools
            ]
            model = _RecordedModel(agent.model, self._recorder, self)
            clone = self._made[id(agent)] = agent.clone(model=model, tools=tools, handoffs=[])
            if self._schema is not None and agent.output_type in (None, str):
                clone.output_type = _CallerSchema(self._schema)
            clone.handoffs = [self._handoff(each) for each in agent.handoffs]
        return self._made[id(agent)]

    def _handoff(self, each: Any) -> Any:
        if not isinstance(each, agents.Handoff):
            return self.of(each)
        original = each.on_invoke_handoff

        async def hand_over(context: Any, arguments: str) -> Any:
            return self.of(await original(context, arguments))

        return replace(each, on_invoke_handoff=hand_over)

    def _tool(self, tool: agents.FunctionTool) -> agents.FunctionTool:
        recorded_tool = copy.copy(tool)

        async def invoke(context: ToolContext[Any], arguments: str) -> Any:
            async def body() -> Json:
                result = await tool.on_invoke_tool(context, arguments)
                return cast("Json", to_jsonable_python(result, fallback=str))

            return await self._recorder.tool(tool.name, arguments, body)

        recorded_tool.on_invoke_tool = invoke
        return recorded_tool


class _CallerSchema(agents.AgentOutputSchemaBase):
    """The output that the caller wants, asked for as the schema it gave."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema

    def is_plain_text(self) -> bool:
        return False

    def name(self) -> str:
        return "output"

    def json_schema(self) -> dict[str, Any]:
        return self._schema

    def is_strict_json_schema(self) -> bool:
        return False

    def validate_json(self, json_str: str) -> Any:
        """What fits is checked when it is given; a text that is no JSON does not fit then."""
        try:
            return json.loads(json_str)
        except ValueError:
            return json_str


class _RecordedModel(agents.Model):
    """A model whose answers are recorded, and shown while they are written."""

    def __init__(
        self, model: str | agents.Model | None, recorder: Recorder, copies: _Copies
    ) -> None:
        self._given = model
        self._copies = copies
        self._recorder = recorder

    async def get_response(self, *args: Any, **kwargs: Any) -> agents.ModelResponse:
        name = self._given if isinstance(self._given, str) else type(self._given).__name__

        async def body() -> tuple[Json, recording.Usage]:
            attempt = partial(self._answer, *args, **kwargs)
            plain = await whole(attempt, self._recorder.drop_shown)
            calls = [item for item in plain["output"] if item["type"] == "function_call"]
            for call in calls:
                call["arguments"] = storable_arguments(call["arguments"])
            items = kwargs["input"] if "input" in kwargs else args[1]
            earlier = [item for item in items if isinstance(item, dict) and "call_id" in item]
            number_ids(calls, "call_id", [item["call_id"] for item in earlier])
            tokens = {n: plain[n] for n in ("input_tokens", "output_tokens")}
            return plain, {"model": name, **tokens}

        read = cast("dict[str, Any]", await self._recorder.model(name, body))
        used = agents.Usage(
            requests=1,
            input_tokens=read["input_tokens"],
            output_tokens=read["output_tokens"],
            total_tokens=read["input_tokens"] + read["output_tokens"],
        )
        self._copies.is_cut_short = read.get("is_cut_short", False)
        output = _OUTPUT.validate_python(read["output"])
        return agents.ModelResponse(output=output, usage=used, response_id=read["id"])

    async def _answer(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """An answer as it is recorded, with whether the model reached its limit in it; None when it
        broke off."""
        model = self._given
        if not isinstance(model, agents.Model):
            model = agents.RunConfig().model_provider.get_model(model)
        reasons: list[str | None] = []
        if isinstance(model, agents.OpenAIChatCompletionsModel):
            model = _with_reasons(model, reasons)
        response: responses.Response | None = None
        is_cut_short = False
        thinking = ThinkingFilter()
        try:
            async for event in model.stream_response(*args, **kwargs):
                if isinstance(event, responses.ResponseTextDeltaEvent):
                    text = thinking.feed(event.delta)
                    if text:
                        self._recorder.delta(text)
                elif isinstance(event, _ENDS):
                    response = event.response
                    is_cut_short = isinstance(event, responses.ResponseIncompleteEvent)
        except agents.ModelBehaviorError as error:
            if "length" in reasons:
                raise JobFailed(NOTHING_SAID) from error
            if reasons != [None]:
                raise
            return None  # it broke off
        if response is None or reasons == [None]:
            return None
        is_cut_short = is_cut_short or reasons == ["length"]
        for text_part in _texts(response):
            text_part.text = without_thinking(text_part.text, is_cut_short=is_cut_short)
        used = response.usage
        return {
            "output": _OUTPUT.dump_python(response.output, mode="json", exclude_unset=True),
            "id": response.id,
            "input_tokens": used.input_tokens if used else 0,
            "output_tokens": used.output_tokens if used else 0,
            "is_cut_short": is_cut_short,
        }

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise TypeError("a recorded run asks for whole answers")


def _with_reasons(
    model: agents.OpenAIChatCompletionsModel, reasons: list[str | None]
) -> agents.OpenAIChatCompletionsModel:
    """The model, which also tells why an answer ended, in ``reasons``; None when its stream ended
    without a reason. The events that it makes of a stream have no place for that."""
    fetch = model._fetch_response

    async def fetch_response(*args: Any, **kwargs: Any) -> Any:
        response, stream = cast("Any", await fetch(*args, **kwargs))
        return response, _FinishReasonStream(stream, reasons)

    listening_model = copy.copy(model)
    listening_model._fetch_response = fetch_response  # type: ignore[method-assign]
    return listening_model


class _FinishReasonStream:
    """A stream of chunks, the reason of whose end is written down."""

    def __init__(self, stream: Any, reasons: list[str | None]) -> None:
        self._stream = stream
        self._reasons = reasons

    async def __aiter__(self) -> AsyncIterator[Any]:
        self._reasons[:] = [None]
        async for chunk in self._stream:
            for choice in chunk.choices or ():
                if choice.finish_reason is not None:
                    self._reasons[:] = [choice.finish_reason]
            yield chunk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _texts(response: responses.Response) -> Iterator[responses.ResponseOutputText]:
    """The texts of an answer, the first of each message."""
    for item in response.output:
        if isinstance(item, responses.ResponseOutputMessage) and item.content:
            first = item.content[0]
            if isinstance(first, responses.ResponseOutputText):
                yield first


# --- asking ---------------------------------------------------------------------------------------
def _question(item: Any) -> Question:
    """What `ask_user` asks, else whether the tool may be called."""
    args = TypeAdapter(dict[str, Any]).validate_json(item.arguments or "{}")
    if item.name != ask_user.name:
        return approval(item.call_id, item.name, args)
    return question(item.call_id, str(args.get("question") or ""), args.get("choices") or None)


async def _answer_calls(
    agent: agents.Agent[Any], waiting: Any, run_input: RunInput
) -> agents.RunState[Any]:
    """The run as it was, with the user's answer to each call that waits for one."""
    state = await agents.RunState.from_json(agent, waiting)
    for item in state.get_interruptions():
        key = str(item.call_id)
        answer = run_input.answer_to(key)
        if item.name == ask_user.name:
            state.reject(item, rejection_message=str(answer.value))
        elif run_input.approves(key):
            state.approve(item)
        else:
            state.reject(item, rejection_message=answer.text)
    return state
