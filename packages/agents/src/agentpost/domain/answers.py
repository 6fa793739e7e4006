"""Typed questions: what an answer to one has to be (design: Typed questions).

A question may offer choices, or ask for JSON that fits a schema. Whether a value fits a schema is
decided by `agents.schemas`; everything else about answers is here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentpost.domain.limits import CHOICE_CHARACTERS_MAX, CHOICES_MAX
from agentpost.domain.text import UNSTORABLE

_LISTED_CHARACTERS: Final = 1_000


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """What a question asks for: one of ``choices``, or JSON that fits ``schema``."""

    choices: tuple[str, ...] | None = None
    schema: dict[str, Any] | None = None

    @classmethod
    def from_stored(cls, text: str) -> AnswerFormat:
        """From the text that `json` made."""
        read = json.loads(text)
        choices = read.get("choices")
        return cls(None if choices is None else tuple(choices), read.get("schema"))

    def json(self) -> str:
        """The text that is stored, and shown as ``answer_format``."""
        held: dict[str, Any] = (
            {"schema": self.schema} if self.choices is None else {"choices": list(self.choices)}
        )
        return json.dumps(held, ensure_ascii=False, separators=(",", ":"))


def checked_choices(choices: object) -> tuple[str, ...]:
    """The choices without white space at their ends.

    Raises `ValueError` unless they are 1 to `CHOICES_MAX` texts, none of them blank or longer than
    `CHOICE_CHARACTERS_MAX`, which differ in more than upper and lower case.
    """
    if not isinstance(choices, list | tuple) or not all(isinstance(c, str) for c in choices):
        raise ValueError("choices must be a list of texts")
    if not 1 <= len(choices) <= CHOICES_MAX:
        raise ValueError(f"a question has 1 to {CHOICES_MAX} choices, not {len(choices)}")
    texts = tuple(choice.strip() for choice in choices)
    for text in texts:
        if not text:
            raise ValueError("a choice must not be blank")
        if len(text) > CHOICE_CHARACTERS_MAX:
            raise ValueError(f"a choice has at most {CHOICE_CHARACTERS_MAX} characters: {text!r}")
        if UNSTORABLE.search(text):
            raise ValueError("a choice holds U+0000 or half a surrogate pair")
    if len({text.casefold() for text in texts}) < len(texts):
        raise ValueError("the choices must differ in more than upper and lower case")
    return texts


def find_choice(choices: Sequence[str], text: str) -> str | None:
    """The choice that a text names, whatever its case and the white space around it."""
    folded = text.strip().casefold()
    return next((choice for choice in choices if choice.casefold() == folded), None)


def value_in(form: AnswerFormat, text: str) -> Any:
    """The value that a text gives as the answer: itself for a choice, else the JSON in it.

    It may still not be one of the choices, or not fit the schema. Raises `ValueError`, with words
    for the person who answers, for a text that is no JSON.
    """
    if form.choices is not None:
        return text
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        value = None  # which is no answer either
    if value is None:
        schema = json.dumps(form.schema, ensure_ascii=False)
        cut = schema if len(schema) <= _LISTED_CHARACTERS else f"{schema[:_LISTED_CHARACTERS]}…"
        raise ValueError(f"must be JSON that fits the schema {cut}")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def choices_text(choices: Sequence[str]) -> str:
    """The choices for a problem's text, cut when they are long."""
    text = ", ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    return text if len(text) <= _LISTED_CHARACTERS else f"{text[:_LISTED_CHARACTERS]}…"


def as_text(value: object) -> str:
    """An answer as the text of its message: a text is itself, all else its JSON."""
    if isinstance(value, str):
        return value.strip()
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
