"""What a client's message says: its parts as a text and files."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from a2a.types import a2a_pb2
from a2a.utils.errors import ContentTypeNotSupportedError
from google.protobuf.json_format import MessageToDict

from agentpost.api.long_texts import LongText
from agentpost.domain.errors import InvalidRequest, Problem
from agentpost.domain.limits import LIST_ITEMS_MAX
from agentpost.uploads.attachments import InlineFile, InPieces

_FIELD_CHARACTERS_MAX: Final = 80
FILES_AT: Final = re.compile(r"params\.message\.parts\.[0-9]+\.(raw|file\.bytes)")
"""Where a call has the contents of a file, in either version of the protocol."""
_STANDARD: Final = str.maketrans("-_", "+/")


def check_counts(call: Mapping[str, Any]) -> None:
    """Raise ``invalid_request`` for a message with too many parts or other items, before the SDK
    makes an object of each."""
    message = call.get("params", {}).get("message")
    for name, value in (message if isinstance(message, dict) else {}).items():
        if isinstance(value, list | dict) and len(value) > LIST_ITEMS_MAX:
            field = f"params.message.{name}"[:_FIELD_CHARACTERS_MAX]
            raise InvalidRequest(Problem(field, f"has over {LIST_ITEMS_MAX} items"))


def text_of(message: a2a_pb2.Message) -> str:
    """The text parts, a blank line between them."""
    return "\n\n".join(part.text for part in message.parts if part.WhichOneof("content") == "text")


def files_of(message: a2a_pb2.Message, contents: Mapping[str, LongText]) -> tuple[InlineFile, ...]:
    """The other parts as files: bytes, addresses, and data as JSON."""
    files: list[InlineFile] = []
    for part in message.parts:
        name, kind = part.filename or None, part.media_type or None
        match part.WhichOneof("content"):
            case "text":
                continue
            case "raw":
                files.append(InlineFile(name, None, _contents(part.raw, contents), kind))
            case "url":
                files.append(InlineFile(name, part.url, None, kind))
            case "data":
                data = json.dumps(MessageToDict(part.data), ensure_ascii=False).encode()
                encoded = base64.b64encode(data).decode("ascii")
                name = name or f"data-{len(files) + 1}.json"
                files.append(InlineFile(name, None, encoded, kind or "application/json"))
            case _:
                raise ContentTypeNotSupportedError("A part has no content of a known kind.")
    return tuple(files)


def _contents(raw: bytes, contents: Mapping[str, LongText]) -> "str | StandardBase64":
    encoded = base64.b64encode(raw).decode("ascii")
    return StandardBase64(contents[encoded]) if encoded in contents else encoded


class StandardBase64(InPieces):
    """A long text in base64 as the protocol takes it, with ``-`` and ``_`` and without padding as
    well, in the standard form."""

    def __init__(self, text: LongText) -> None:
        self._text = text

    def pieces(self) -> Iterator[str]:
        length = 0
        for piece in self._text.pieces():
            length += len(piece)
            yield piece.translate(_STANDARD)
        yield "=" * (-length % 4)


def key_of(message: a2a_pb2.Message, contents: Mapping[str, LongText]) -> str:
    """The idempotency key: a message that is sent again is equal in all it has. One that is another
    one under the same ``messageId`` is a message of its own, since some clients count from 1 each
    time they start."""
    comparable = a2a_pb2.Message()
    comparable.CopyFrom(message)
    for part in comparable.parts:
        raw = _contents(part.raw, contents)
        if isinstance(raw, StandardBase64):
            part.raw = raw.sha256().encode()
    return f"a2a/{hashlib.sha256(comparable.SerializeToString(deterministic=True)).hexdigest()}"


def labels_of(message: a2a_pb2.Message) -> dict[str, str] | None:
    """The metadata that labels can be: texts. They are given back with the task."""
    metadata = MessageToDict(message.metadata) if message.HasField("metadata") else {}
    return {name: value for name, value in metadata.items() if isinstance(value, str)} or None
