"""What a caller sends along with a message, in the message's text: instructions, and what was said
elsewhere.

The protocol has no field for it, so `with_context` writes it before the text, under headings, and
every agent gets it. An agent that takes each word for a part of the request reads the text with
`without_context`. The heading `[Message]` ends the context: a line of the context that equals it is
indented, and all that follows is the user's, whatever headings it has.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from agentpost.agents.base import Said, Turn

CONTEXT_FILE: Final = "context.txt"
"""The attached file that has the context where a message has no room for it."""
_INSTRUCTIONS: Final = "[Instructions of the caller]"
_HISTORY: Final = "[Said before]"
_MESSAGE: Final = "[Message]"
_IN_FILE: Final = f"[What the caller sent along is in the attached file {CONTEXT_FILE}.]"
_END: Final = re.compile(rf"^(?={re.escape(_MESSAGE)}\s*$)", re.MULTILINE)
_CONTEXT: Final = re.compile(
    rf"\A(?:{re.escape(_IN_FILE)}|(?:{re.escape(_INSTRUCTIONS)}|{re.escape(_HISTORY)})$.*?)"
    rf"\n\n{re.escape(_MESSAGE)}(?:\n|\Z)",
    re.MULTILINE | re.DOTALL,
)


def context_of(instructions: Sequence[str], history: Sequence[str]) -> str:
    """The context of a message: the caller's instructions, and a line for each thing that was said
    before. Empty when there is nothing of both."""
    blocks = []
    if any(instructions):
        blocks.append("\n".join([_INSTRUCTIONS, *filter(None, instructions)]))
    if history:
        blocks.append("\n".join([_HISTORY, *history]))
    return _END.sub(" ", "\n\n".join(blocks))


def with_context(context: str, text: str) -> str:
    """The text of a message behind its context. A text that reads as if it had a context gets the
    heading of one, too, so that nothing of it is taken for that."""
    if not context and without_context(text.strip()) == text.strip():
        return text
    return f"{context or _HISTORY}\n\n{_MESSAGE}\n{text}"


def with_context_file(text: str) -> str:
    """The text of a message whose context is in the attached `CONTEXT_FILE`."""
    return f"{_IN_FILE}\n\n{_MESSAGE}\n{text}"


def without_context(text: str) -> str:
    """The text as the user wrote it: the opposite of `with_context` and `with_context_file`."""
    return _CONTEXT.sub("", text, count=1)


def bare(entry: Said) -> Said:
    """What was said without its context, nor the file that has it; the text is stripped, as that of
    every message is."""
    text = without_context(entry.text)
    if text == entry.text:
        return entry
    file = None
    if entry.text.startswith(_IN_FILE):
        file = next((each for each in reversed(entry.files) if each.name == CONTEXT_FILE), None)
    files = tuple(each for each in entry.files if each is not file)
    return replace(entry, text=text.strip(), files=files)


class BareTurn:
    """A turn whose message and history are `bare`; all else is the turn's."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self.message = bare(turn.message)
        self.history = [bare(each) for each in turn.history]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._turn, name)
