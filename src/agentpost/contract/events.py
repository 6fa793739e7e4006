"""The event log's shapes (spec: EventList, Message event log)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from agentpost.contract.message import FileShape


class EntryShape(BaseModel):
    """A line of the log; which fields are there depends on `type`."""

    seq: int
    type: str = Field(examples=["agent_reply", "progress", "result", "state"])
    at: str
    message_id: str
    work_id: str | None = None
    job_id: str | None = None
    text: str | None = None
    title: str | None = None
    outcome: Literal["completed", "failed", "stalled_credits"] | None = None
    state: Literal["resumed", "stopped", "expired", "unknown"] | None = None
    step: str | None = None
    status: Literal["started", "done"] | None = None
    file_names: list[str] | None = None
    reason: str | None = None
    delivered_sync: bool | None = None
    files: list[FileShape] | None = None


class EventListShape(BaseModel):
    """A page of the log, oldest first."""

    object: Literal["list"]
    data: list[EntryShape]
    has_more: bool = Field(description="More entries are ready.")
    done: bool = Field(description="The message has nothing more to report.")
    cursor: str
    cursor_expired: bool | None = None
