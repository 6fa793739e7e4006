"""The conversation as the agent sees it: earlier texts, running jobs and works.

It is derived from the rows and never stored. The turn's number in the conversation fixes it: a turn
that runs again sees the same history (design: Turns).
"""

from __future__ import annotations

from dataclasses import asdict

from agentpost.agents import File, Running, Said, WorkRef, values
from agentpost.db import history as rows
from agentpost.db import jobs as job_rows
from agentpost.db import works as work_rows
from agentpost.db.session import Tx
from agentpost.domain.limits import HISTORY_ENTRIES, WORK_TEXT_PAGE_CHARACTERS, WORKS_SHOWN
from agentpost.domain.records import AttachmentRecord, FileRecord, MessageRecord, WorkRecord
from agentpost.domain.times import iso

_STATE_JSON_MAX = 65_536
"""A work's memory beyond that is left out of the frozen inputs."""


def agent_file(record: FileRecord) -> File:
    """A file of a work as an agent sees it."""
    return File(
        id=record.file_id,
        name=record.name,
        content_type=record.content_type,
        kind=record.kind,
        size=record.size,
        revision=record.revision,
        work_id=record.work_id,
        label=record.label,
        blob=record.blob,
    )


def attached_file(record: AttachmentRecord) -> File:
    """An attachment as an agent sees it; it belongs to no work."""
    assert record.blob is not None, "an attachment that was skipped is a note, not a file"
    return File(
        id=f"{record.message_id}/{record.n}/{record.name}",
        name=record.name,
        content_type=record.content_type or "application/octet-stream",
        kind=record.kind,
        size=record.size,
        revision=record.revision,
        work_id="",
        blob=record.blob,
    )


def freeze(tx: Tx, conversation_id: str) -> tuple[str, str]:
    """JSON of the conversation's running jobs and last works, as they are now."""
    running = [
        asdict(Running(j.id, j.work_id, j.message_id, j.title, j.step, iso(j.started_at or 0)))
        for j in job_rows.running_in(tx, conversation_id, WORKS_SHOWN)
    ]
    works = work_rows.of_conversation(tx, conversation_id, WORKS_SHOWN)
    files = work_rows.files_by_work(tx, conversation_id, WORKS_SHOWN) if works else {}
    shown = [
        {
            "work_id": work.id,
            "title": work.title,
            "text": work.text[:WORK_TEXT_PAGE_CHARACTERS],
            "files": [agent_file(f) for f in files.get(work.id, ())],
            "question": work.question,
            "state": _state(work),
        }
        for work in works
    ]
    # Unlike a call's value, not limited to 1 MiB.
    return values.dump(running), values.dump_local(shown)


def _state(work: WorkRecord) -> object:
    if len(work.state_json) > _STATE_JSON_MAX:
        return {}
    return values.load(work.state_json, None)


def said_before(tx: Tx, message: MessageRecord) -> list[Said]:
    """The last things said before this turn, oldest first."""
    assert message.turn_no is not None
    assert message.turn_began_at is not None
    said: list[tuple[int, int, Said]] = []
    for earlier in rows.messages_before(
        tx, message.conversation_id, message.turn_no, HISTORY_ENTRIES
    ):
        files = tuple(attachments(tx, earlier.id)) if earlier.attachments else ()
        at = iso(earlier.created_at)
        user = Said("user", earlier.text, files, at, earlier.id)
        said.append((earlier.turn_began_at or 0, 0, user))
        if earlier.reply is not None:
            made = tuple(agent_file(f) for f in rows.reply_files(tx, earlier.id))
            reply = Said("agent", earlier.reply, made, iso(earlier.updated_at), earlier.id)
            said.append((earlier.updated_at, 1, reply))
    for job in rows.jobs_settled_before(
        tx, message.conversation_id, message.turn_began_at, HISTORY_ENTRIES
    ):
        made = tuple(agent_file(f) for f in job_rows.files(tx, job.id))
        at = iso(job.settled_at or 0)
        result = Said("job", job.result or "", made, at, job.message_id)
        said.append((job.settled_at or 0, 2, result))
    said.sort(key=lambda item: item[:2])
    return [item[2] for item in said[-HISTORY_ENTRIES:]]


def attachments(tx: Tx, message_id: str) -> list[File]:
    """The files that came with a message; what was skipped is in its notes."""
    return [attached_file(a) for a in rows.attachments(tx, message_id) if a.blob is not None]


def work_ref(frozen: dict[str, object]) -> WorkRef:
    """A frozen work as the agent sees it."""
    files = frozen["files"]
    assert isinstance(files, list)
    return WorkRef(**{**frozen, "files": tuple(files)})  # type: ignore[arg-type]
