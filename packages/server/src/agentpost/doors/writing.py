"""The text that a turn or a job is still writing: its pieces, put together.

They are recorded nowhere and may get lost, so what is known of a text may begin behind its first
character or end before its last one. The whole text comes with its output.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agentpost.domain.limits import SAID_CHARACTERS_MAX

PIECE_CHARACTERS: Final = 32
"""Of a piece near the begin of a text."""
_GROWTH: Final = 64
"""A piece has at least this part of the text before it: a long text has hundreds of pieces, not
tens of thousands."""


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of text from ``offset`` on; or ``reset``: what was said before is taken back.
    ``source`` is the message for its turn, or a job; None with ``reset``: all of them."""

    source: str | None
    offset: int = 0
    text: str = ""
    reset: bool = False


def read(piece: str) -> Said:
    """A piece as `runtime.deltas` and the event streams of the API write it."""
    fields = json.loads(piece)
    source = fields.get("job_id") or fields.get("message_id")
    if fields.get("reset"):
        return Said(source, reset=True)
    return Said(source, fields["offset"], fields["text"])


@dataclass(slots=True)
class Text:
    """What is known of a text: its characters from ``start`` on. ``attempt`` counts how often it
    was taken back."""

    start: int = 0
    known: str = ""
    attempt: int = 0
    has_gap: bool = False
    """A piece is missing: nothing behind it is known."""

    @property
    def end(self) -> int:
        """Behind its last known character."""
        return self.start + len(self.known)

    def between(self, start: int, end: int) -> str:
        """The characters of a range, those that are known of it."""
        return self.known[max(start - self.start, 0) : max(end - self.start, 0)]


class Texts:
    """The texts of a message that are being written, by their source."""

    def __init__(self) -> None:
        self._texts: dict[str, Text] = {}

    def of(self, source: str) -> Text | None:
        """The text of that source; None when it has said nothing."""
        return self._texts.get(source)

    def add(self, piece: Said) -> None:
        """Take in a piece, in the order in which they come."""
        if piece.reset:
            sources = list(self._texts) if piece.source is None else [piece.source]
            for source in sources:
                before = self._texts.get(source)
                self._texts[source] = Text(attempt=before.attempt + 1 if before else 0)
            return
        if piece.source is None:
            return
        text = self._texts.setdefault(piece.source, Text(start=piece.offset))
        text.has_gap = text.has_gap or piece.offset != text.end
        if not text.has_gap:
            text.known += piece.text[: SAID_CHARACTERS_MAX - text.end]


def piece_end(start: int) -> int:
    """Where the piece ends that begins at ``start``. It follows from the place alone, so a text has
    the same pieces whenever and however it is shown."""
    return start + max(PIECE_CHARACTERS, start // _GROWTH)


def pieces(text: str) -> Iterator[str]:
    """A whole text in its pieces; the last one may be shorter."""
    start = 0
    while start < len(text):
        end = piece_end(start)
        yield text[start:end]
        start = end
