"""A pydantic-ai agent: each model call and each tool call of a run is a recorded step.

The recording hangs on the agent by a capability of the run, so the author's agent stays as it is.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias, cast

import pydantic_ai as ai
from pydantic import TypeAdapter
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ToolReturnContent
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_core import to_json, to_jsonable_python

from agentpost.agents.adapters.conversing import (
    NO_OUTPUT,
    Outcome,
    Question,
    RunInput,
    approval,
    question,
    trim,
    written_call,
)
from agentpost.agents.adapters.recording import Charge, Recorder, Usage, current_recorder
from agentpost.agents.adapters.repairing import (
    CLOSE,
    NOTHING_SAID,
    ThinkingFilter,
    number_ids,
    storable_arguments,
    whole,
    without_thinking,
)
from agentpost.agents.base import JobFailed, Json
from agentpost.domain.text import cut_short

KIND: Final = "pydantic-ai"
OWN_CALLS: Final = "agentpost_own_calls"
"""In a tool's metadata: it is no step, its own calls on the job are recorded. It is sequential."""
_GIVE_REASONS: Final = ("openai", "anthropic")
_IN_TEXT: Final = (None, "content")
"""The ids of reasoning that pydantic-ai took out of a text."""
_RESULT: Final[TypeAdapter[Any]] = TypeAdapter(ToolReturnContent)
_RETURN: Final[TypeAdapter[Any]] = TypeAdapter(ai.ToolReturn)


Attempt: TypeAlias = Callable[[Callable[[], None]], Awaitable[ai.ModelResponse]]
"""One call of a model; it calls its argument whenever a piece of the answer comes."""
Patience: TypeAlias = Callable[[Attempt, Callable[[], None]], Awaitable[ai.ModelResponse]]
"""Makes a call, again where that helps; before that it calls its second argument, so that readers
drop what they were shown."""


Options: TypeAlias = Callable[[RunInput], Mapping[str, Any]]
"""Further arguments of the agent's ``run``, for what it is asked."""


async def unless_broken_off(attempt: Attempt, drop_shown: Callable[[], None]) -> ai.ModelResponse:
    """The `Patience` of an agent that decides about retries on its own: only an answer that breaks
    off, which it would not notice, is asked for again."""

    async def whole_answer() -> ai.ModelResponse | None:
        answer = await attempt(lambda: None)
        return None if is_broken_off(answer) else answer

    return await whole(whole_answer, drop_shown)


def is_broken_off(answer: ai.ModelResponse) -> bool:
    """Whether a provider whose answers always end with a reason has given none. pydantic-ai takes
    such an answer for a complete one; what the provider itself said is in the details."""
    if answer.provider_name not in _GIVE_REASONS or answer.finish_reason not in (None, "stop"):
        return False
    return "finish_reason" not in (answer.provider_details or {})


class PydanticAI:
    """An agent of pydantic-ai, whose calls are recorded."""

    kind = KIND
    at_once = True

    def __init__(
        self,
        agent: ai.Agent[Any, Any],
        charge: Charge | None,
        patience: Patience = unless_broken_off,
        options: Options | None = None,
    ) -> None:
        self._agent = agent
        self._patience = patience
        self._options = options or partial(_options, agent)
        self.charge = charge

    async def run(self, run_input: RunInput, recorder: Recorder) -> Outcome:
        memory_in = cast("dict[str, Any] | None", run_input.memory)
        history = _history(run_input, memory_in)
        results = _results(memory_in["pending"], run_input) if memory_in else None
        within = current_recorder.set(recorder)
        try:
            result = await self._agent.run(
                None if results else run_input.prompt,
                message_history=history,
                deferred_tool_results=results,
                capabilities=[_StepRecording(recorder=recorder, patience=self._patience)],
                **self._options(run_input),
            )
        except ai.OutputTokenLimitExceeded as error:
            raise JobFailed(NOTHING_SAID) from error
        finally:
            current_recorder.reset(within)
        text, output = "", NO_OUTPUT
        if isinstance(result.output, ai.DeferredToolRequests):
            pending = {call.tool_call_id: "approval" for call in result.output.approvals}
            pending |= {call.tool_call_id: "result" for call in result.output.calls}
            memory = _memory(result.all_messages(), pending)
            return Outcome("", memory, _questions(result.output, result.all_messages()))
        if run_input.schema is not None and not isinstance(result.output, str):
            text = _last_text(result.all_messages())
            output = cast("Json", to_jsonable_python(result.output, fallback=str))
        else:
            text = result.output
            if not isinstance(text, str):
                text = to_json(text, indent=2, fallback=str).decode()
            reason = _last_answer(result.all_messages()).finish_reason
            if run_input.schema is None and reason == "length":
                text = cut_short(text)
        return Outcome(text, _memory(result.all_messages(), {}), output=output)


def _options(agent: ai.Agent[Any, Any], run_input: RunInput) -> Mapping[str, Any]:
    """What a run that is to fit a schema gives instead of a text. An agent that gives values of its
    own, or checks its outputs, is left as it is."""
    own = agent.output_type
    kinds: list[Any] = list(own) if isinstance(own, list | tuple) else [own]
    checks = getattr(agent, "_output_validators", ())
    is_its_own = checks or any(kind not in (str, ai.DeferredToolRequests) for kind in kinds)
    if run_input.schema is None or run_input.schema.get("type") != "object" or is_its_own:
        return {}
    try:
        output_type = ai.StructuredDict(run_input.schema)
    except ai.UserError:  # a schema that refers to itself
        return {}
    return {"output_type": [output_type, *(kind for kind in kinds if kind is not str)]}


@dataclass
class _StepRecording(AbstractCapability[Any]):
    """Sends each model call and each tool call of one run through the recorder."""

    recorder: Recorder
    patience: Patience

    def get_wrapper_model(self, model: Model) -> Model | None:
        return _RecordedModel(model, self.recorder, self.patience)

    async def wrap_tool_execute(
        self,
        ctx: ai.RunContext[Any],
        *,
        call: ai.ToolCallPart,
        tool_def: Any,
        args: Any,
        handler: Any,
    ) -> Any:
        if (tool_def.metadata or {}).get(OWN_CALLS):
            return await self.recorder.call_unrecorded(partial(handler, args))

        async def body() -> Json:
            return await _describe_result(handler(args))

        arguments = cast("Json", to_jsonable_python(args, fallback=str))
        return _made_of(await self.recorder.tool(call.tool_name, arguments, body))


class _RecordedModel(WrapperModel):
    """A model whose answers are recorded, and shown while they are written."""

    def __init__(self, model: Model, recorder: Recorder, patience: Patience) -> None:
        super().__init__(model)
        self._recorder = recorder
        self._patience = patience

    async def request(
        self,
        messages: list[ai.ModelMessage],
        model_settings: ai.ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ai.ModelResponse:
        async def body() -> tuple[Json, Usage]:
            attempt = partial(self._answer, messages, model_settings, model_request_parameters)
            answer = await self._patience(attempt, self._recorder.drop_shown)
            (plain,) = ai.ModelMessagesTypeAdapter.dump_python([answer], mode="json")
            used = answer.usage
            return _repair(plain), {
                "model": answer.model_name or self.model_name,
                "input_tokens": used.input_tokens,
                "output_tokens": used.output_tokens,
                "cached_tokens": used.cache_read_tokens,
            }

        plain = await self._recorder.model(self.model_name, body)
        (read,) = ai.ModelMessagesTypeAdapter.validate_python([plain])
        return cast("ai.ModelResponse", read)

    async def _answer(
        self,
        messages: list[ai.ModelMessage],
        settings: ai.ModelSettings | None,
        parameters: ModelRequestParameters,
        hear: Callable[[], None],
    ) -> ai.ModelResponse:
        if not _streams(self.wrapped):
            return await self.wrapped.request(messages, settings, parameters)
        thinking = ThinkingFilter()
        async with self.wrapped.request_stream(messages, settings, parameters) as events:
            async for event in events:
                hear()
                text = thinking.feed(_text_of(event))
                if text:
                    self._recorder.delta(text)
        return _without_thinking(events.get())


def _without_thinking(answer: ai.ModelResponse) -> ai.ModelResponse:
    """The answer without reasoning in its text. pydantic-ai takes it out of a stream that has each
    tag in a piece of its own; where only the first one is, the answer is in its reasoning."""
    is_cut_short = answer.finish_reason == "length"
    parts: list[ai.ModelResponsePart] = []
    has_text = False
    for part in answer.parts:
        if isinstance(part, ai.ThinkingPart) and part.id in _IN_TEXT and CLOSE in part.content:
            content, _, text = part.content.partition(CLOSE)
            parts += [replace(part, content=content), ai.TextPart(content=text.lstrip())]
        elif isinstance(part, ai.TextPart) and not has_text:
            text = without_thinking(part.content, is_cut_short=is_cut_short)
            has_text = bool(text)
            if has_text:
                parts.append(replace(part, content=text))
        else:
            parts.append(part)
    return replace(answer, parts=parts)


def _repair(plain: dict[str, Any]) -> Json:
    """A recorded answer with calls that can be recorded and told apart."""
    calls = [part for part in plain["parts"] if part["part_kind"] == "tool-call"]
    for call in calls:
        if isinstance(call["args"], str):
            call["args"] = storable_arguments(call["args"])
    number_ids(calls, "tool_call_id")
    return plain


def _streams(model: Model) -> bool:
    """Whether it can show its answer while it writes it: most can, and say so in no other way."""
    if getattr(model, "stream_function", True) is None:  # a FunctionModel without that function
        return False
    return type(model).request_stream is not Model.request_stream


def _text_of(event: object) -> str:
    if isinstance(event, ai.PartStartEvent) and isinstance(event.part, ai.TextPart):
        return event.part.content
    if isinstance(event, ai.PartDeltaEvent) and isinstance(event.delta, ai.TextPartDelta):
        return event.delta.content_delta
    return ""


# --- what a tool call is recorded as --------------------------------------------------------------
async def _describe_result(call: Any) -> Json:
    """The result of a tool as JSON, or what it raised to tell the model or the user."""
    try:
        result = await call
    except ai.ModelRetry as error:
        return {"raised": "retry", "text": error.message}
    except ai.ApprovalRequired as error:
        return {"raised": "approval", "metadata": to_jsonable_python(error.metadata, fallback=str)}
    except ai.CallDeferred as error:
        return {"raised": "deferred", "metadata": to_jsonable_python(error.metadata, fallback=str)}
    if isinstance(result, ai.ToolReturn):
        return {"return": _RETURN.dump_python(result, mode="json", fallback=str)}
    return {"value": _RESULT.dump_python(result, mode="json", fallback=str)}


def _made_of(result: Json) -> Any:
    read = cast("dict[str, Any]", result)
    if "value" in read:
        return _RESULT.validate_python(read["value"])
    if "return" in read:
        return _RETURN.validate_python(read["return"])
    if read["raised"] == "retry":
        raise ai.ModelRetry(read["text"])
    if read["raised"] == "approval":
        raise ai.ApprovalRequired(metadata=read["metadata"])
    raise ai.CallDeferred(metadata=read["metadata"])


# --- what is remembered ---------------------------------------------------------------------------
def _history(run_input: RunInput, memory: dict[str, Any] | None) -> list[ai.ModelMessage]:
    if memory is not None:
        return list(ai.ModelMessagesTypeAdapter.validate_python(memory["messages"]))
    return [
        ai.ModelRequest(parts=[ai.UserPromptPart(content=text)])
        if role == "user"
        else ai.ModelResponse(parts=[ai.TextPart(content=text)])
        for role, text in run_input.history
    ]


def _memory(messages: Sequence[ai.ModelMessage], pending: dict[str, str]) -> Json:
    """The messages, without the oldest questions and their answers when they are too long."""
    plain = ai.ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    plain = trim(plain, [n for n, message in enumerate(messages) if is_prompt(message)])
    return {"messages": plain, "pending": dict(pending)}


def is_prompt(message: ai.ModelMessage) -> bool:
    """Whether the user says something in it."""
    return isinstance(message, ai.ModelRequest) and any(
        isinstance(part, ai.UserPromptPart) for part in message.parts
    )


def _last_text(messages: Sequence[ai.ModelMessage]) -> str:
    """What the model wrote beside its output."""
    parts = _last_answer(messages).parts
    return "".join(part.content for part in parts if isinstance(part, ai.TextPart))


def _last_answer(messages: Sequence[ai.ModelMessage]) -> ai.ModelResponse:
    return next(each for each in reversed(messages) if isinstance(each, ai.ModelResponse))


# --- asking ---------------------------------------------------------------------------------------
def _questions(
    requests: ai.DeferredToolRequests, messages: Sequence[ai.ModelMessage]
) -> list[Question]:
    """A question for each tool call that waits for the user, in the order of the model."""
    waiting = {call.tool_call_id: call for call in [*requests.approvals, *requests.calls]}
    calls = _last_answer(messages).tool_calls
    return [
        _question(requests, waiting[c.tool_call_id]) for c in calls if c.tool_call_id in waiting
    ]


def _question(requests: ai.DeferredToolRequests, call: ai.ToolCallPart) -> Question:
    """An approval names the call; any other question is the tool's own, if it gave one."""
    key, args = call.tool_call_id, call.args_as_dict()
    metadata = requests.metadata.get(key) or {}
    if call in requests.approvals:
        pending_question = approval(key, call.tool_name, args, metadata.get("question"))
        if not metadata.keys() & {"choices", "schema"}:
            return pending_question
        return question(key, pending_question.text, metadata.get("choices"), metadata.get("schema"))
    words = metadata.get("question") or args.get("question")
    text = str(words or f"What is the result of {written_call(call.tool_name, args)}?")
    choices = metadata.get("choices") or args.get("choices")
    return question(key, text, choices, metadata.get("schema"))


def _results(pending: dict[str, str], run_input: RunInput) -> ai.DeferredToolResults | None:
    """What each tool call that waits for the user has been answered."""
    if not pending:
        return None
    results = ai.DeferredToolResults()
    for key, kind in pending.items():
        answer = run_input.answer_to(key)
        if kind == "result":
            results.calls[key] = answer.value
        else:
            yes = run_input.approves(key)
            results.approvals[key] = (
                ai.ToolApproved() if yes else ai.ToolDenied(message=answer.text)
            )
    return results
