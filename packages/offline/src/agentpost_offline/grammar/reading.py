"""What a message asks for: for each of its clauses a frame, or the question that has to be asked
first."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from agentpost_offline.data.model import Table
from agentpost_offline.frame import Frame
from agentpost_offline.grammar.draft import Draft

MOST_CHOICES = 6
"""So many are offered at once, beside "leave it"."""


class Choice(msgspec.Struct, frozen=True, omit_defaults=True):
    """An answer to a question: its words, and what it starts; none for "leave it"."""

    label: str
    frames: tuple[Frame, ...] = ()
    text: str = ""
    """The message that it stands for, where it has no frames."""
    table: str = ""
    """The id of the table that this message is about."""
    target: str | None = None
    """The work that its frame changes."""
    is_free: bool = False
    meaning: tuple[str, str] | None = None
    """A word that was not understood, and the name that it stands for, which is remembered."""


@dataclass(slots=True)
class Question:
    """What has to be asked: a text of ``replies`` with its values, and the choices."""

    key: str
    values: dict[str, str] = field(default_factory=dict)
    choices: Sequence[Choice] = ()


class Unclear(Exception):
    """Raised where a request may mean several things; has the question."""

    def __init__(self, key: str, choices: Sequence[Choice] = (), **values: str) -> None:
        super().__init__(key)
        self.question = Question(key, values, choices)


@dataclass(slots=True)
class Reading:
    """One clause: its words, and the frame or the question that came of them."""

    draft: Draft
    frame: Frame | None = None
    question: Question | None = None
    table: Table | None = None
    notes: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Texts of ``replies`` about how it was understood, with their values."""
    is_edit: bool = False
    is_free: bool = False
    """Whether the edit only renders again what was computed."""
    target: str | None = None
    """The work that an edit changes; None with a frame of another thing."""

    @property
    def is_sure(self) -> bool:
        """Whether it may be done: all words have a meaning, and nothing has to be asked."""
        return self.frame is not None and self.question is None and not self.draft.unknown
