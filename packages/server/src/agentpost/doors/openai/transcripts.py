"""A conversation as a client of the OpenAI API sends it: instructions, what was said, and the new
message at its end.

Most of these clients send everything that was said with each call. A message is found again by its
*topic*, a hash of what was said up to it; the message that a call goes on from has the topic of the
history without its last answer.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from agentpost.agents.caller_context import (
    CONTEXT_FILE,
    context_of,
    with_context,
    with_context_file,
)
from agentpost.domain.limits import MESSAGE_CHARACTERS_MAX
from agentpost.doors.openai.content import Utterance, take_content, text_of
from agentpost.doors.openai.errors import unsupported_value
from agentpost.uploads.attachments import InlineFile, InPieces, pieces_of

_SIGNATURE: Final = re.compile(r"\?exp=\d+&rev=[\w%.~-]+&sig=[\w%.~-]+")
_NAMES: Final = {"user": "User", "assistant": "Assistant"}


@dataclass(slots=True)
class Transcript:
    """What a call holds, in its order; the sides take turns in ``utterances``."""

    instructions: list[str] = field(default_factory=list)
    utterances: list[Utterance] = field(default_factory=list)

    def side(self, role: Literal["user", "assistant"]) -> Utterance:
        """Where the next thing of that side belongs: its last word, or a new one behind the other
        side's."""
        if not self.utterances or self.utterances[-1].role != role:
            self.utterances.append(Utterance(role))
        return self.utterances[-1]

    def take(self, role: Any, content: Any, where: str) -> None:
        """Add the ``content`` of a message in the role; ``where`` is the message's place. Raises
        ``invalid_request`` and `NotInThisApi`."""
        place = f"{where}.content"
        if role in ("system", "developer"):
            self.instructions.append(text_of(content, place))
        elif role in ("user", "assistant"):
            take_content(content, place, self.side(role))
        else:
            raise unsupported_value(f"{where}.role", "must be user, assistant, system or developer")

    def message(self, where: str) -> Utterance:
        """The new message. Raises `NotInThisApi` when the agent's answer is the last word;
        ``where`` is the place of the list."""
        last = self.utterances[-1] if self.utterances else Utterance("user")
        if last.role != "user":
            raise unsupported_value(
                where,
                "the last message must be the user's: the agent does not go on with an answer that"
                " was begun for it",
            )
        return last


def topic(utterances: Sequence[Utterance], scope: Sequence[object]) -> str:
    """The hash of what was said, without its white space, which clients change. ``scope`` is what
    else must be equal: whose words they are, and what they go on from."""
    parts = [[each.role, "".join(each.text.split()), _files(each)] for each in utterances]
    return digest([list(scope), parts])


def digest(value: object) -> str:
    """A hash of JSON, or of bytes as they are."""
    data = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()


def bare_text(text: str) -> str:
    """A text without what clients and time change: its white space, and the signatures of links."""
    return "".join(_SIGNATURE.sub("", text).split())


def text_with_context(
    instructions: Sequence[str], history: Sequence[Utterance], text: str
) -> tuple[str, list[InlineFile]]:
    """The text of a message with what the agent has to know besides, and files to go with it. Where
    both are longer than a message may be, what was sent along is a file instead."""
    context = context_of(instructions, [_line(each) for each in history])
    whole = with_context(context, text)
    if not context or len(whole) <= MESSAGE_CHARACTERS_MAX:
        return whole, []
    encoded = base64.b64encode(context.encode(errors="replace")).decode("ascii")
    return with_context_file(text), [InlineFile(CONTEXT_FILE, None, encoded, "text/plain")]


def _line(utterance: Utterance) -> str:
    names = [file.name or file.url or "a file" for file in utterance.files] + utterance.upload_ids
    files = f" (files: {', '.join(names)})" if names else ""
    return f"{_NAMES[utterance.role]}: {utterance.text}{files}"


def _files(utterance: Utterance) -> list[str]:
    contents = [file.base64 if file.url is None else file.url for file in utterance.files]
    return [_hash_of_text(content or "") for content in contents] + utterance.upload_ids


def _hash_of_text(text: str | InPieces) -> str:
    """`digest` for a text that may have megabytes."""
    digest = hashlib.sha256(b'"')
    for piece in pieces_of(text):
        digest.update(json.dumps(piece)[1:-1].encode())
    digest.update(b'"')
    return digest.hexdigest()
