"""The texts of an agent, made storable."""

from __future__ import annotations

from agentpost.domain import text as text_rules
from agentpost.domain.limits import SAID_CHARACTERS_MAX


def storable(text: object) -> str:
    """The text without U+0000 and half surrogate pairs, which no database takes.

    Raises `TypeError` for what is no text and `ValueError` for more than `SAID_CHARACTERS_MAX`.
    """
    if not isinstance(text, str):
        raise TypeError(f"an agent's text must be a str, not {type(text).__name__}")
    if len(text) > SAID_CHARACTERS_MAX:
        raise ValueError(
            f"an agent's text has at most {SAID_CHARACTERS_MAX:,} characters; write a file"
        )
    return text_rules.storable(text).strip()
