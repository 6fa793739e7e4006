"""Works, and the result of recovering a message work by work (spec: Work; Recovery)."""

from collections.abc import Collection, Sequence
from typing import Annotated, Literal, Self

from msgspec import structs

from agentpost.accounts.scope_rules import Scope
from agentpost.contract.shape import Links, Shape, Time, about
from agentpost.domain.limits import WORK_PREVIEW_CHARACTERS, WORK_TEXT_PAGE_CHARACTERS
from agentpost.domain.times import iso
from agentpost.jobs.recovery_rules import RecoveryState
from agentpost.messages.shapes import FileShape
from agentpost.record.records import FileRecord, WorkRecord

Status = Literal["running", "idle"]


class WorkShape(Shape):
    """A work with one page of its text and its newest files."""

    object: Literal["work"] = "work"
    work_id: str
    title: str
    status: Status
    text: Annotated[str, about("Latest result, paged by 20,000 characters.")]
    next_from_char: int | None
    link: str
    files: Annotated[list[FileShape], about("The newest, up to 8.")]

    @classmethod
    def of(
        cls,
        record: WorkRecord,
        links: Links,
        *,
        running: bool,
        files: Sequence[FileRecord],
        from_char: int,
    ) -> Self:
        """The page that begins at ``from_char``, counted in characters."""
        end = from_char + WORK_TEXT_PAGE_CHARACTERS
        return cls(
            work_id=record.id,
            title=record.title,
            status="running" if running else "idle",
            text=record.text[from_char:end],
            next_from_char=end if end < len(record.text) else None,
            link=links.chat(record.id),
            files=[FileShape.from_record(file, links) for file in files],
        )

    def shown_to(self, scopes: Collection[Scope]) -> "WorkShape":
        """What a key may see that has stopped the work: without ``read``, that it is there."""
        if Scope.READ in scopes:
            return self
        return structs.replace(self, text="", next_from_char=None, files=[])


class WorkItemShape(Shape):
    """A line of the work list."""

    object: Literal["work"] = "work"
    work_id: str
    title: str
    preview: str
    link: str
    status: Status
    updated_at: Annotated[Time, about("When its latest result came, else when it was opened.")]

    @classmethod
    def of(cls, record: WorkRecord, links: Links, *, running: bool) -> Self:
        """From its record."""
        return cls(
            work_id=record.id,
            title=record.title,
            preview=record.text[:WORK_PREVIEW_CHARACTERS],
            link=links.chat(record.id),
            status="running" if running else "idle",
            updated_at=iso(record.updated_at),
        )


class WorkListShape(Shape):
    """Works, newest first."""

    object: Literal["list"] = "list"
    data: list[WorkItemShape]
    has_more: bool


class WorkDeletedShape(Shape):
    """A deleted work."""

    object: Literal["work"] = "work"
    work_id: str
    deleted: Literal[True] = True


class RecoveredWorkShape(Shape):
    """A work of the message."""

    work_id: str
    state: Annotated[
        RecoveryState,
        about(
            "recovering: watched again from now on; watching: was still watched; exhausted:"
            " cannot be watched again; settled: ended, nothing to wait for."
        ),
    ]


class RecoveryShape(Shape):
    """The answer to a recover call."""

    object: Literal["recovery"] = "recovery"
    id: Annotated[str, about("The message's id.")]
    work: list[RecoveredWorkShape]
