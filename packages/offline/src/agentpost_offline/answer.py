"""What a question is answered with, as JSON by the steps `data.answers.answer` and
`documents.answers.answer`: three honest outcomes, never mixed."""

from enum import StrEnum

import msgspec


class Outcome(StrEnum):
    """How far a question was answered."""

    ANSWERED = "answered"
    """``text`` is the answer with its source."""
    PASSAGES = "passages"
    """``text`` lists the closest passages, quoted and cited; none is claimed to be the answer."""
    ABSENT = "absent"
    """Everything was read and no content word of the question stands in it."""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcome of a question, in the language of its frame."""

    outcome: Outcome
    text: str = ""
    used: tuple[str, ...] = ()
    """What was read: "orders.csv (600 rows)"."""
    skipped: tuple[str, ...] = ()
    """What was not, with the reason."""
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Content words of the question that stand in no document."""
