"""Text that an agent is still writing: pieces that are not kept, and may get lost on their way."""

from __future__ import annotations

from dataclasses import dataclass

from agentpost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class TextDelta(Record):
    """A piece of text from ``offset`` on, of the turn or of the job named. The whole text comes
    with its entry."""

    text: str = ""
    offset: int = 0
    job_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class TextReset(Record):
    """The pieces had so far, of the turn or of the job named, are to be dropped."""

    job_id: str | None = None
