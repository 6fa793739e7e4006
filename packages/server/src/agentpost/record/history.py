"""The conversation as the agent sees it: earlier texts, running jobs and works.

It is derived from the rows and never stored. The turn's number in the conversation fixes it: a turn
that runs again sees the same history (design: Turns).
"""

from collections.abc import Sequence
from dataclasses import asdict
from json.encoder import encode_basestring as _quoted

from agentpost.agents import File, Running, Said, values
from agentpost.db.session import Tx
from agentpost.domain.limits import HISTORY_ENTRIES, WORK_TEXT_PAGE_CHARACTERS, WORKS_SHOWN
from agentpost.domain.times import iso
from agentpost.jobs import rows as job_rows, work_rows
from agentpost.record import history_rows
from agentpost.record.records import AttachmentRecord, FileRecord, MessageRecord, WorkShown

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
    works = work_rows.list_for_turn(tx, conversation_id, WORKS_SHOWN, WORK_TEXT_PAGE_CHARACTERS)
    files: dict[str, list[FileRecord]] = {}
    if any(work.has_files for work in works):
        files = work_rows.files_by_work(tx, conversation_id, WORKS_SHOWN)
    works_json = ",".join([_frozen(work, files.get(work.id, ())) for work in works])
    # Unlike a call's value, not limited to 1 MiB.
    return values.dump(running), f"[{works_json}]"


def _frozen(work: WorkShown, files: Sequence[FileRecord]) -> str:
    """A work's JSON, put together from texts: each turn freezes many works, and a work's memory is
    stored as `values.dump` wrote it."""
    files_json = values.dump_local([agent_file(f) for f in files]) if files else "[]"
    state = work.state_json if len(work.state_json) <= _STATE_JSON_MAX else "{}"
    question = "null" if work.question is None else _quoted(work.question)
    return (
        f'{{"files":{files_json},"question":{question},"state":{state},'
        f'"text":{_quoted(work.text)},"title":{_quoted(work.title)},"work_id":"{work.id}"}}'
    )


def said_before(tx: Tx, message: MessageRecord) -> list[Said]:
    """The last things said before this turn, oldest first."""
    assert message.turn_no is not None
    assert message.turn_began_at is not None
    entries: list[tuple[int, int, Said]] = []
    for earlier in history_rows.messages_before(
        tx, message.conversation_id, message.turn_no, HISTORY_ENTRIES
    ):
        entries.append((earlier.turn_began_at or 0, 0, said_by(tx, earlier)))
        if earlier.reply is not None:
            entry_files = tuple(agent_file(f) for f in history_rows.reply_files(tx, earlier.id))
            reply = Said("agent", earlier.reply, entry_files, iso(earlier.updated_at), earlier.id)
            entries.append((earlier.updated_at, 1, reply))
    for job in history_rows.jobs_settled_before(
        tx, message.conversation_id, message.turn_began_at, HISTORY_ENTRIES
    ):
        entry_files = tuple(agent_file(f) for f in job_rows.files(tx, job.id))
        at = iso(job.settled_at or 0)
        result = Said("job", job.result or "", entry_files, at, job.message_id)
        entries.append((job.settled_at or 0, 2, result))
    entries.sort(key=lambda item: item[:2])
    return [item[2] for item in entries[-HISTORY_ENTRIES:]]


def said_by(tx: Tx, message: MessageRecord) -> Said:
    """A message as the jobs that it starts see it."""
    files = tuple(attachments(tx, message.id)) if message.attachments else ()
    return Said("user", message.text, files, iso(message.created_at), message.id)


def attachments(tx: Tx, message_id: str) -> list[File]:
    """The files that came with a message; what was skipped is in its notes."""
    return [
        attached_file(a) for a in history_rows.attachments(tx, message_id) if a.blob is not None
    ]
