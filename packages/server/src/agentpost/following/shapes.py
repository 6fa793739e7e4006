"""The event log (spec: EventList, Message event log)."""

from typing import Annotated, Any, Literal, Self

from msgspec import UNSET, Meta

from agentpost.contract.shape import Links, Maybe, Shape, Time, about, loads
from agentpost.domain.times import iso
from agentpost.messages.shapes import FileShape
from agentpost.record.events import JobStateWord, Outcome
from agentpost.record.records import EntryRecord


class EntryShape(Shape):
    """A line of the log; which fields are there depends on `type`."""

    seq: int
    type: Annotated[str, Meta(examples=["agent_reply", "progress", "result", "state"])]
    at: Time
    message_id: str
    work_id: Maybe[str] = UNSET
    job_id: Maybe[str] = UNSET
    title: Maybe[str] = UNSET
    state: Maybe[JobStateWord] = UNSET
    text: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET
    outcome: Maybe[Outcome] = UNSET
    step: Maybe[str] = UNSET
    status: Maybe[Literal["started", "done"]] = UNSET
    file_names: Maybe[list[str]] = UNSET
    delivered_sync: Maybe[bool] = UNSET
    files: Maybe[list[FileShape]] = UNSET

    @classmethod
    def of(cls, record: EntryRecord, links: Links) -> Self:
        """From its record, with fresh links for its files."""
        body: dict[str, Any] = loads(record.body_json)
        if "files" in body:
            body["files"] = [
                FileShape.from_stored(facts, url=links.file(facts["file_id"], facts["revision"]))
                for facts in body["files"]
            ]
        return cls.from_stored(
            body,
            seq=record.seq,
            type=record.type,
            at=iso(record.at),
            message_id=record.message_id,
            work_id=UNSET if record.work_id is None else record.work_id,
            job_id=UNSET if record.job_id is None else record.job_id,
        )


class EventListShape(Shape):
    """A page of the log, oldest first."""

    object: Literal["list"] = "list"
    data: list[EntryShape]
    has_more: Annotated[bool, about("More entries are ready.")]
    done: Annotated[bool, about("The message has nothing more to report.")]
    cursor: str
    cursor_expired: Maybe[bool] = UNSET
