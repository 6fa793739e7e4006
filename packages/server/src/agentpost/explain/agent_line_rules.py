"""A line that an author's code printed or logged, as it is kept for the operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentpost.domain.text import agent_text

_CHARACTERS_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class AgentLine:
    """``at`` in microseconds; ``call``: the number of the call that ran, None between two calls."""

    at: int
    call: int | None
    level: str
    text: str

    @classmethod
    def of(cls, at: int, call: int | None, level: str, text: str) -> AgentLine:
        """The line, cut to what is kept of one."""
        return cls(at, call, level, agent_text(text[:_CHARACTERS_MAX]))
