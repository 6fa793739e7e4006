"""The body of POST /responses, understood."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentpost.doors.openai import parameters
from agentpost.doors.openai.content import schema_of, take_content, text_of
from agentpost.doors.openai.errors import NotInThisApi, wrong
from agentpost.doors.openai.items import message_id_of
from agentpost.doors.openai.parameters import Rules, flag
from agentpost.doors.openai.sending import CallInput, Reference

_TAKEN: Final = frozenset(
    {
        "model", "input", "instructions", "background", "stream", "store", "metadata",
        "previous_response_id", "conversation",
    }
)  # fmt: skip
_LEFT_OUT: Final = ("reasoning", "compaction")
"""Items that say how a model came to an answer."""


def _is_known_format(value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, dict) or value.keys() - {"format", "verbosity"}:
        return False
    return isinstance(value.get("format") or {}, dict)


_RULES: Final[Rules] = {
    "text": (_is_known_format, "only text is given out, or JSON that fits a json_schema"),
    "image": (parameters.is_empty, "the agent decides how pictures are made"),
    "access_programs": (parameters.is_empty, "there are none"),
}


def creation(body: Mapping[str, Any], models: Sequence[str]) -> CallInput:
    """Understand a body; ``models`` are the names that the agent has. Raises `NotInThisApi` for a
    parameter that cannot be kept, and ``invalid_request``."""
    ignored_names = parameters.check(body, _TAKEN, _RULES)
    parameters.check_model(body, models)
    schema = schema_of((body.get("text") or {}).get("format") or {}, "text.format")
    call_input = CallInput.of(body, "input", schema, ignored_names)
    call_input.background = flag(body, "background")
    previous = body.get("previous_response_id")
    if previous is not None:
        if call_input.conversation is not None:
            raise wrong("previous_response_id", "cannot be given together with conversation")
        call_input.message_id = message_id_of(previous) if isinstance(previous, str) else None
        if call_input.message_id is None:
            raise wrong("previous_response_id", "is no id of a response")
    transcript = call_input.transcript
    instructions = body.get("instructions")
    if instructions is not None:
        transcript.instructions.append(text_of(instructions, "instructions"))
    content = body.get("input")
    if isinstance(content, list):
        for n, item in enumerate(parameters.items_of(content, "input")):
            _take_item(item, f"input[{n}]", call_input)
    elif content is not None:
        take_content(content, "input", transcript.side("user"))
    return call_input


def _take_item(item: Any, where: str, call_input: CallInput) -> None:
    transcript = call_input.transcript
    kind = item.get("type", "message") if isinstance(item, dict) else None
    item_id = item.get("id") if isinstance(item, dict) else None
    if kind in _LEFT_OUT:
        return
    if kind == "item_reference" and isinstance(item_id, str):
        answer = transcript.side("assistant")
        answer.item_ids.append(item_id)
        call_input.references.append(Reference(item_id, answer, len(answer.texts)))
        answer.texts.append("")
        return
    if kind != "message":
        raise NotInThisApi(
            "unsupported_value",
            where,
            "only messages are taken: the agent calls its own tools, so put the results of others"
            " into a message",
        )
    role = item.get("role")
    transcript.take(role, item.get("content"), where)
    if isinstance(item_id, str) and role == "assistant":
        transcript.side(role).item_ids.append(item_id)
