"""The body of POST /responses, understood."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentpost.doors.openai import parameters
from agentpost.doors.openai.content import Utterance, schema_of, take_content, text_of
from agentpost.doors.openai.errors import NotInThisApi, wrong
from agentpost.doors.openai.items import message_id_of
from agentpost.doors.openai.parameters import Rules, conversation_of, flag
from agentpost.doors.openai.sending import CallInput
from agentpost.doors.openai.transcripts import Transcript

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


@dataclass(frozen=True, slots=True)
class Reference:
    """An output item that is named only: its text belongs into ``answer``, at ``place``."""

    item_id: str
    answer: Utterance
    place: int


@dataclass(slots=True)
class Creation:
    """What a body asks for."""

    call_input: CallInput
    background: bool
    stream: bool
    references: list[Reference]


def creation(body: Mapping[str, Any], models: Sequence[str]) -> Creation:
    """Understand a body; ``models`` are the names that the agent has. Raises `NotInThisApi` for a
    parameter that cannot be kept, and ``invalid_request``."""
    ignored_names = parameters.check(body, _TAKEN, _RULES)
    parameters.check_model(body, models)
    text_format = (body.get("text") or {}).get("format") or {}
    call_input = CallInput(
        transcript=Transcript(),
        where="input",
        scope=parameters.scope_of(body),
        metadata=parameters.metadata_of(body),
        response_schema=schema_of(text_format, "text.format"),
        ignored=sorted(ignored_names),
    )
    created = Creation(call_input, flag(body, "background"), flag(body, "stream"), [])
    previous, conversation = body.get("previous_response_id"), conversation_of(body)
    if previous is not None and conversation is not None:
        raise wrong("previous_response_id", "cannot be given together with conversation")
    if previous is not None:
        call_input.message_id = message_id_of(previous) if isinstance(previous, str) else None
        if call_input.message_id is None:
            raise wrong("previous_response_id", "is no id of a response")
    call_input.conversation = conversation
    instructions = body.get("instructions")
    if instructions is not None:
        call_input.transcript.instructions.append(text_of(instructions, "instructions"))
    content = body.get("input")
    if isinstance(content, list):
        for n, item in enumerate(parameters.items_of(content, "input")):
            _take_item(item, f"input[{n}]", created)
    elif content is not None:
        take_content(content, "input", call_input.transcript.side("user"))
    return created


def _take_item(item: Any, where: str, created: Creation) -> None:
    transcript = created.call_input.transcript
    kind = item.get("type", "message") if isinstance(item, dict) else None
    item_id = item.get("id") if isinstance(item, dict) else None
    if kind in _LEFT_OUT:
        return
    if kind == "item_reference" and isinstance(item_id, str):
        answer = transcript.side("assistant")
        answer.item_ids.append(item_id)
        created.references.append(Reference(item_id, answer, len(answer.texts)))
        answer.texts.append("")
        return
    if kind != "message":
        raise NotInThisApi(
            "unsupported_value",
            where,
            "only messages are taken: the agent calls its own tools, so put the results of others"
            " into a message",
        )
    role, content = item.get("role"), f"{where}.content"
    if role in ("system", "developer"):
        transcript.instructions.append(text_of(item.get("content"), content))
    elif role in ("user", "assistant"):
        side = transcript.side(role)
        take_content(item.get("content"), content, side)
        if isinstance(item_id, str) and role == "assistant":
            side.item_ids.append(item_id)
    else:
        raise NotInThisApi(
            "unsupported_value",
            f"{where}.role",
            "must be user, assistant, system or developer",
        )
