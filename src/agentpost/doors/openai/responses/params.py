"""The body of POST /responses: what is understood, and what is refused because it would change the
answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from agentpost.domain import ids
from agentpost.domain.errors import InvalidRequest, Problem
from agentpost.doors.openai.errors import NotInThisApi
from agentpost.services.attachments import InlineFile

OWN_MODEL: Final = "agentpost"
RESPONSE: Final = "resp_"
_DATA_URL: Final = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),", re.ASCII)
_HAS_NO_EFFECT: Final = frozenset(
    {
        "parallel_tool_calls", "prompt_cache_key", "prompt_cache_options",
        "prompt_cache_retention", "safety_identifier", "service_tier", "stream_options",
        "truncation", "user", "top_logprobs", "background_options",
    }
)  # fmt: skip
"""They say how a model is run or billed; no answer means anything else with them."""


def _is_empty(value: Any) -> bool:
    return value is None or value == [] or value == {}


def _is_known_format(value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, dict) or value.keys() - {"format", "verbosity"}:
        return False
    wanted = value.get("format", {"type": "text"})
    return isinstance(wanted, dict) and wanted.get("type") in ("text", "json_schema")


_ONLY: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "instructions": (_is_empty, "the agent has instructions of its own; put yours into the input"),
    "tools": (_is_empty, "the agent has tools of its own"),
    "tool_choice": (lambda v: v in (None, "auto", "none"), "the agent has tools of its own"),
    "max_tool_calls": (_is_empty, "the agent has tools of its own"),
    "temperature": (lambda v: v in (None, 1), "it cannot be set"),
    "top_p": (lambda v: v in (None, 1), "it cannot be set"),
    "max_output_tokens": (_is_empty, "answers are not counted in tokens"),
    "reasoning": (_is_empty, "it cannot be set"),
    "text": (_is_known_format, "only text is given out, or JSON that fits a json_schema"),
    "store": (lambda v: v in (None, True), "every response is stored, for work may take days"),
    "include": (_is_empty, "there is nothing more to include"),
    "prompt": (_is_empty, "there are no stored prompts"),
    "context_management": (_is_empty, "the agent keeps its context itself"),
    "moderation": (_is_empty, "nothing is moderated"),
    "image": (_is_empty, "the agent decides how pictures are made"),
    "access_programs": (_is_empty, "there are none"),
}
"""Known parameters that change an answer: with which values they are taken, else why not."""
_TAKEN: Final = frozenset(
    {
        "model", "input", "background", "stream", "metadata", "previous_response_id",
        "conversation",
    }
)  # fmt: skip


@dataclass(slots=True)
class Wanted:
    """What a body asks for; ``message_id`` is of the response that it goes on from."""

    text: str = ""
    files: list[InlineFile] = field(default_factory=list)
    upload_ids: list[str] = field(default_factory=list)
    conversation: str | None = None
    message_id: str | None = None
    metadata: dict[str, str] | None = None
    response_schema: dict[str, Any] | None = None
    background: bool = False
    stream: bool = False


def wanted(body: Mapping[str, Any], models: Sequence[str]) -> Wanted:
    """Understand a body; ``models`` are the names that the agent has.

    Raises `NotInThisApi` for a parameter that cannot be kept, and ``invalid_request``.
    """
    for name, value in body.items():
        if name in _ONLY:
            takes, why = _ONLY[name]
            if not takes(value):
                raise NotInThisApi("unsupported_parameter", name, f"is not supported here: {why}")
        elif name not in _TAKEN and name not in _HAS_NO_EFFECT:
            raise NotInThisApi("unknown_parameter", name[:200], "is not known here")
    model = body.get("model")
    if model is not None and model not in models:
        known = ", ".join(models)
        raise NotInThisApi("model_not_found", "model", f"there is no such model; use {known}")
    asked = Wanted(
        background=_flag(body, "background"),
        stream=_flag(body, "stream"),
        metadata=_metadata(body.get("metadata")),
        response_schema=_schema((body.get("text") or {}).get("format") or {}),
    )
    _continue(asked, body)
    given = body.get("input")
    if isinstance(given, str):
        asked.text = given
    elif isinstance(given, list):
        asked.text = "\n\n".join(_texts(given, asked))
    elif given is not None:
        raise _wrong("input", "must be a text or a list")
    return asked


def message_id_of(response_id: str) -> str | None:
    """The message that a response stands for; None for what is no id of a response."""
    message_id = ids.MESSAGE + response_id.removeprefix(RESPONSE)
    is_one = response_id.startswith(RESPONSE) and ids.is_id(ids.MESSAGE, message_id)
    return message_id if is_one else None


def response_id_of(message_id: str) -> str:
    """The response that stands for a message."""
    return RESPONSE + message_id.removeprefix(ids.MESSAGE)


def _continue(asked: Wanted, body: Mapping[str, Any]) -> None:
    previous, conversation = body.get("previous_response_id"), body.get("conversation")
    if previous is not None and conversation is not None:
        raise _wrong("previous_response_id", "cannot be given together with conversation")
    if previous is not None:
        asked.message_id = message_id_of(previous) if isinstance(previous, str) else None
        if asked.message_id is None:
            raise _wrong("previous_response_id", "is no id of a response")
    if isinstance(conversation, dict):
        conversation = conversation.get("id")
        if conversation is None:
            raise _wrong("conversation.id", "is missing")
    if conversation is not None and not isinstance(conversation, str):
        raise _wrong("conversation", "must be a text, or an object with an id")
    asked.conversation = conversation


def _texts(items: list[Any], asked: Wanted) -> list[str]:
    texts: list[str] = []
    for n, item in enumerate(items):
        where = f"input[{n}]"
        if not isinstance(item, dict) or item.get("type", "message") != "message":
            raise NotInThisApi(
                "unsupported_value", where, "only messages are taken: the agent calls its own tools"
            )
        if item.get("role") != "user":
            raise NotInThisApi(
                "unsupported_value",
                f"{where}.role",
                "only messages of the user are taken; the server keeps what was said before:"
                " continue with previous_response_id or conversation",
            )
        content = item.get("content")
        if isinstance(content, str):
            texts.append(content)
        elif isinstance(content, list):
            for m, part in enumerate(content):
                text = _part(part, f"{where}.content[{m}]", asked)
                if text is not None:
                    texts.append(text)
        else:
            raise _wrong(f"{where}.content", "must be a text or a list")
    return texts


def _part(part: Any, where: str, asked: Wanted) -> str | None:
    """Take one part; its text, when it is one."""
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "input_text":
        return _text(part, "text", where)
    if kind == "input_image":
        url = "image_url"
    elif kind == "input_file":
        url = "file_url"
    else:
        raise NotInThisApi(
            "unsupported_value",
            f"{where}.type",
            "only input_text, input_file and input_image are taken",
        )
    name = part.get("filename")
    if name is not None and not isinstance(name, str):
        raise _wrong(f"{where}.filename", "must be a text")
    given = [each for each in ("file_id", "file_data", url) if part.get(each) is not None]
    if len(given) != 1:
        raise _wrong(where, f"needs one of file_id, file_data and {url}")
    value = _text(part, given[0], where)
    if given[0] == "file_id":
        if not value.startswith(ids.UPLOAD):
            raise _wrong(f"{where}.file_id", "must be a finished upload (POST /v1/uploads)")
        asked.upload_ids.append(value)
    elif value.startswith("data:"):
        asked.files.append(_data_file(value, name, f"{where}.{given[0]}"))
    elif given[0] == "file_data":
        asked.files.append(InlineFile(name, None, value, None))
    else:
        asked.files.append(InlineFile(name, value, None, None))
    return None


def _data_file(url: str, name: str | None, where: str) -> InlineFile:
    match = _DATA_URL.match(url[:500])
    if match is None:
        raise _wrong(where, "is no data URL")
    content = url[match.end() :]
    if ";base64" not in match[2].lower():
        raise _wrong(where, "must be in base64")
    if "%" in content:
        content = unquote_to_bytes(content).decode("latin-1")
    return InlineFile(name, None, content, match[1] or None)


def _schema(wanted: Mapping[str, Any]) -> dict[str, Any] | None:
    if wanted.get("type") != "json_schema":
        return None
    schema = wanted.get("schema")
    if not isinstance(schema, dict):
        raise _wrong("text.format.schema", "must be a JSON Schema")
    return schema


def _metadata(value: Any) -> dict[str, str] | None:
    if value is None or isinstance(value, dict):
        return value
    raise _wrong("metadata", "must be an object")


def _flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise _wrong(name, "must be true or false")


def _text(part: Mapping[str, Any], name: str, where: str) -> str:
    value = part.get(name)
    if not isinstance(value, str):
        raise _wrong(f"{where}.{name}", "must be a text")
    return value


def _wrong(param: str, problem: str) -> InvalidRequest:
    return InvalidRequest(Problem(param, problem))
