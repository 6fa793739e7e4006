"""The body of POST /chat/completions, understood."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentpost.doors.openai import parameters
from agentpost.doors.openai.chat.shapes import GOES_ON
from agentpost.doors.openai.content import Utterance, schema_of, take_content, text_of
from agentpost.doors.openai.errors import wrong
from agentpost.doors.openai.parameters import Rules, flag
from agentpost.doors.openai.sending import CallInput
from agentpost.doors.openai.transcripts import Transcript

_TAKEN: Final = frozenset(
    {"model", "messages", "stream", "response_format", "metadata", "store", "conversation"}
)
_RULES: Final[Rules] = {
    "n": (lambda value: value in (None, 1), "there is one answer to a message: leave n out"),
    "modalities": (lambda value: value in (None, ["text"]), "answers are texts and files"),
    "audio": (parameters.is_empty, "answers are texts and files"),
}
_REASONING: Final = (('<details type="reasoning"', "</details>"), ("<think>", "</think>"))
"""How front ends keep ``reasoning_content`` in the text of an answer."""


def completion(body: Mapping[str, Any], models: Sequence[str]) -> CallInput:
    """Understand a body; ``models`` are the names that the agent has. Raises `NotInThisApi` for a
    parameter that cannot be kept, and ``invalid_request``."""
    ignored_names = parameters.check(body, _TAKEN, _RULES, unknown_are_ignored=True)
    parameters.check_model(body, models)
    schema = _schema(_object(body, "response_format"))
    call_input = CallInput.of(body, "messages", schema, ignored_names)
    call_input.include_usage = flag(_object(body, "stream_options"), "include_usage")
    _take_messages(body.get("messages"), call_input.transcript)
    return call_input


def _schema(response_format: Mapping[str, Any]) -> dict[str, Any] | None:
    where = "response_format"
    if response_format.get("type") != "json_schema":
        return schema_of(response_format, where)
    json_schema = response_format.get("json_schema")
    if not isinstance(json_schema, dict):
        raise wrong(f"{where}.json_schema", "must be an object with a schema")
    return schema_of({"type": "json_schema", **json_schema}, f"{where}.json_schema")


def _object(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name) or {}
    if isinstance(value, dict):
        return value
    raise wrong(name, "must be an object")


def _take_messages(messages: Any, transcript: Transcript) -> None:
    if not isinstance(messages, list) or not messages:
        raise wrong("messages", "must be a list with a message of the user at its end")
    for n, message in enumerate(parameters.items_of(messages, "messages")):
        where = f"messages[{n}]"
        if not isinstance(message, dict):
            raise wrong(where, "must be an object")
        role, content, place = message.get("role"), message.get("content"), f"{where}.content"
        if role == "assistant":
            utterance = Utterance("assistant")
            if content is not None:  # tools were called instead
                take_content(content, place, utterance)
            transcript.side("assistant").texts.append(_as_answered(utterance.text))
        elif role in ("tool", "function"):  # of another model
            side = transcript.side("assistant")
            side.texts.append(f"\n[Result of a tool] {text_of(content, place)}")
        else:
            transcript.take(role, content, where)


def _as_answered(text: str) -> str:
    """An answer without what the front end added, and without our word that the work goes on."""
    for opening, closing in _REASONING:
        text = _without(text, opening, closing)
    return text.strip().removesuffix(GOES_ON).rstrip()


def _without(text: str, opening: str, closing: str) -> str:
    """The text without what stands between the two. It is read once: a regular expression reads
    all of it again for each opening that is never closed."""
    rest, at = [], 0
    while (begin := text.find(opening, at)) >= 0:
        end = text.find(closing, begin)
        if end < 0:
            break
        rest.append(text[at:begin])
        at = end + len(closing)
    return "".join((*rest, text[at:]))
