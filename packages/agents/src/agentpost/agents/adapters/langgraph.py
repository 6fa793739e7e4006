"""A compiled LangGraph graph: each superstep is one recorded step.

The record of a superstep is the whole state of the graph behind it, in LangGraph's own form of a
checkpoint. So a graph goes on where it was, whatever its nodes are, and an `interrupt()` in one of
them is a question.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.pregel import Pregel
from langgraph.types import Command, Interrupt
from pydantic_core import to_jsonable_python

from agentpost.agents.adapters.conversing import (
    NO_OUTPUT,
    Outcome,
    Question,
    RunInput,
    question,
)
from agentpost.agents.adapters.current import current
from agentpost.agents.adapters.recording import Charge, Recorder
from agentpost.agents.adapters.repairing import ThinkingFilter, whole, without_thinking
from agentpost.agents.base import JobFailed, Json
from agentpost.domain.text import cut_short

KIND: Final = "langgraph"
SUPERSTEPS_MAX: Final = 1_000
"""How many supersteps one run may have, unless the graph's `recursion_limit` says less."""
_LIMIT_REASONS: Final = frozenset({"length", "max_tokens", "MAX_TOKENS", "max_output_tokens"})
_THREAD: Final = "conversation"
_MESSAGES: Final = "messages"
_STRUCTURED: Final = "structured_response"


class LangGraph:
    """A graph, whose supersteps are recorded."""

    kind = KIND
    at_once = False

    def __init__(self, graph: Pregel[Any, Any, Any, Any], charge: Charge | None) -> None:
        self._graph = graph
        self.charge = charge
        self._limit = int((graph.config or {}).get("recursion_limit", SUPERSTEPS_MAX))
        self._key = _input_key(graph)

    async def run(self, run_input: RunInput, recorder: Recorder) -> Outcome:
        memory_in = cast("dict[str, Any] | None", run_input.memory)
        state = None if memory_in is None else memory_in["state"]
        first: Any = self._input(run_input, memory_in)
        for number in range(self._limit):
            graph_input = first if number == 0 else None
            await recorder.flush()

            async def superstep(state: Json = state, graph_input: Any = graph_input) -> Json:
                has_output = run_input.schema is not None
                attempt = partial(self._superstep, state, graph_input, recorder, has_output)
                return await whole(attempt, recorder.drop_shown)

            step = cast("dict[str, Any]", await recorder.tool("superstep", number, superstep))
            state = step["state"]
            if step["ended"]:
                memory: Json = {"state": state, "pending": [q["key"] for q in step["questions"]]}
                questions = [Question(**each) for each in step["questions"]]
                return Outcome(step["text"], memory, questions, step.get("output", NO_OUTPUT))
        raise GraphRecursionError(f"the graph has not ended after {self._limit} supersteps")

    def _input(self, run_input: RunInput, memory: dict[str, Any] | None) -> Any:
        if memory and memory["pending"]:
            answers = {key: run_input.answer_to(key).value for key in memory["pending"]}
            return Command(resume=answers)
        if self._key != _MESSAGES:
            return {self._key: run_input.prompt}
        before: list[AnyMessage] = [
            HumanMessage(text) if role == "user" else AIMessage(text)
            for role, text in run_input.history
        ]
        return {_MESSAGES: [*before, HumanMessage(run_input.prompt)]}

    async def _superstep(
        self, state: Json, graph_input: Any, recorder: Recorder, has_output: bool
    ) -> Json | None:
        """What a superstep has made. None when its only node's answer of a model broke off, so that
        it has to run again; raises `JobFailed` when other nodes would run again with it."""
        saver = _saver(state)
        graph = self._graph.copy({"checkpointer": saver})
        config: Any = {"configurable": {"thread_id": _THREAD}}
        nodes, is_broken_off = await self._watch(graph, graph_input, config, recorder)
        if is_broken_off and nodes == 1:
            return None
        if is_broken_off:
            raise JobFailed("The model's answer broke off. Please try again later.")
        snapshot = await graph.aget_state(config)
        is_over = bool(snapshot.interrupts) or not snapshot.next
        text, output = "", None
        if is_over and not snapshot.interrupts:
            text = _text(graph, snapshot.values)
            output = _output(snapshot.values) if has_output else None
        return {
            "state": _plain(saver, bool(snapshot.interrupts)),
            "ended": is_over,
            "text": text,
            "questions": [asdict(_question(each)) for each in snapshot.interrupts],
            **({} if output is None else {"output": output}),
        }

    async def _watch(
        self, graph: Any, graph_input: Any, config: Any, recorder: Recorder
    ) -> tuple[int, bool]:
        """Run a superstep: how many nodes it had, and whether an answer of a model broke off."""
        filters: dict[str | None, ThinkingFilter] = {}
        nodes, is_broken_off = 0, False
        async for mode, event in graph.astream(
            graph_input,
            config,
            stream_mode=["messages", "updates", "custom"],
            interrupt_after="*",
            durability="exit",
        ):
            if mode == "messages":
                _show(event[0], recorder, filters)
            elif mode == "custom" and isinstance(event, str):
                await current().progress(event)
            elif mode == "updates":
                nodes += sum(not name.startswith("__") for name in event)
                is_broken_off = is_broken_off or any(map(_is_broken_off, _messages(event)))
                if self.charge is not None:
                    await _charge(event, self.charge)
        return nodes, is_broken_off


# --- what goes in and comes out -------------------------------------------------------------------
def _input_key(graph: Pregel[Any, Any, Any, Any]) -> str:
    """The field of the state that takes the user's text; raises `ValueError` when that is open."""
    builder = getattr(graph, "builder", None)
    if builder is not None:  # its JSON Schema cannot be made of every state
        fields = list(builder.schemas[builder.input_schema])
    else:
        fields = list(graph.get_input_jsonschema().get("properties", {}))
    for name in (_MESSAGES, "input"):
        if name in fields:
            return name
    if len(fields) == 1:
        return str(fields[0])
    raise ValueError(
        f"the graph's input has the fields {', '.join(map(str, fields))}, and no field is called"
        " 'messages' or 'input': give it an input_schema with one of them"
    )


def _text(graph: Pregel[Any, Any, Any, Any], values: Any) -> str:
    messages = values.get(_MESSAGES) if isinstance(values, dict) else None
    if messages:
        is_cut_short = _is_cut_short(messages[-1])
        text = str(messages[-1].text)
        if isinstance(messages[-1], AIMessage):
            text = without_thinking(text, is_cut_short=is_cut_short)
        return cut_short(text) if is_cut_short else text
    channels = graph.output_channels
    fields = [channels] if isinstance(channels, str) else list(channels)
    name = "output" if "output" in fields else fields[0] if len(fields) == 1 else None
    value = values if name is None else values.get(name)
    return _as_text(value)


def _is_cut_short(message: Any) -> bool:
    """Whether the model reached its limit, in the words of OpenAI, Anthropic or Google."""
    metadata = getattr(message, "response_metadata", {})
    details = metadata.get("incomplete_details") or {}
    reasons = (metadata.get("finish_reason"), metadata.get("stop_reason"), details.get("reason"))
    return any(reason in _LIMIT_REASONS for reason in reasons)


def _is_broken_off(message: Any) -> bool:
    """Whether a provider whose answers always end with a reason has given none: LangChain takes
    such an answer for a complete one."""
    metadata = getattr(message, "response_metadata", {})
    if metadata.get("model_provider") not in ("openai", "anthropic"):
        return False
    return not any(metadata.get(name) for name in ("finish_reason", "stop_reason", "status"))


def _question(interrupt: Interrupt) -> Question:
    """An interrupt's text, or the question that its value has with ``choices`` or a ``schema``."""
    value = interrupt.value
    if not isinstance(value, dict) or "question" not in value:
        return question(interrupt.id, _as_text(value))
    text = _as_text(value["question"])
    return question(interrupt.id, text, value.get("choices"), value.get("schema"))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, default=str)


def _output(values: Any) -> Json:
    """The value that the graph has made, by the name that LangChain's agents give it or by ours."""
    for name in (_STRUCTURED, "output"):
        output = values.get(name) if isinstance(values, dict) else None
        if output is not None and not isinstance(output, str):
            return cast("Json", to_jsonable_python(output, fallback=str))
    return None


def _show(message: Any, recorder: Recorder, filters: dict[str | None, ThinkingFilter]) -> None:
    """Show a piece of a model's text. The whole message comes again behind its pieces."""
    piece = type(message).__name__ == "AIMessageChunk"
    if piece or (isinstance(message, AIMessage) and message.id not in filters):
        text = filters.setdefault(message.id, ThinkingFilter()).feed(str(message.text))
        if text:
            recorder.delta(text)


def _messages(event: Any) -> Iterator[Any]:
    """The messages that nodes have added."""
    for update in event.values():
        messages = update.get(_MESSAGES, ()) if isinstance(update, dict) else ()
        yield from messages if isinstance(messages, list | tuple) else (messages,)


async def _charge(event: Any, charge: Charge) -> None:
    for message in _messages(event):
        used = getattr(message, "usage_metadata", None)
        if used:
            model = message.response_metadata.get("model_name")
            usage = {n: int(used[n]) for n in ("input_tokens", "output_tokens")}
            await current().charge(charge({"model": model, **usage}), f"model {model}")


# --- a checkpoint as JSON -------------------------------------------------------------------------
def _saver(state: Json) -> InMemorySaver:
    """The graph's checkpoints, as they were."""
    saver = InMemorySaver()
    if state is not None:
        kind, data = cast("list[str]", state)
        for namespace, checkpoint, metadata, writes in saver.serde.loads_typed(
            (kind, base64.b64decode(data))
        ):
            config: Any = {"configurable": {"thread_id": _THREAD, "checkpoint_ns": namespace}}
            place = saver.put(config, checkpoint, metadata, checkpoint["channel_versions"])
            for task, task_writes in groupby(writes, itemgetter(0)):
                saver.put_writes(
                    place, [(channel, value) for _, channel, value in task_writes], task
                )
    return saver


def _plain(saver: InMemorySaver, interrupted: bool) -> Json:
    """The last checkpoint with the values it has; those of subgraphs only while they wait."""
    newest: dict[str, Any] = {}
    for each in saver.list({"configurable": {"thread_id": _THREAD}}):  # the newest comes first
        namespace = each.config["configurable"]["checkpoint_ns"]
        if interrupted or not namespace:
            record = (namespace, each.checkpoint, each.metadata, each.pending_writes)
            newest.setdefault(namespace, record)
    kind, data = saver.serde.dumps_typed(list(newest.values()))
    return [kind, base64.b64encode(data).decode()]
