"""Storing what a turn or job writes: bytes first, the record by the caller's transaction after."""

import asyncio
from asyncio import to_thread
from dataclasses import dataclass
from pathlib import Path

import structlog

from agentpost.author.bodies import Spilled
from agentpost.blobs import actions as blobs, space
from agentpost.clock import new_id
from agentpost.domain import backoff
from agentpost.domain.errors import reason_of
from agentpost.files.executable_rules import HEAD_BYTES
from agentpost.operations import health_state
from agentpost.record.records import FileRecord
from agentpost.runtime.journal import Journal
from agentpost.storage import sniff
from agentpost.storage.base import BlobInfo

log = structlog.get_logger(__name__)
_AGAIN_SECONDS = 0.5
_AGAIN_SECONDS_MAX = 4.0


@dataclass(frozen=True, slots=True)
class Place:
    """Whose file it is; no job or work for a turn's."""

    account_id: str
    message_id: str
    work_id: str = ""
    job_id: str | None = None


async def store(
    journal: Journal,
    data: bytes | Path | None,
    path: str,
    label: str | None,
    place: Place,
) -> FileRecord:
    """Put the bytes and describe them; a file that an agent process left for that goes.

    What is wrong with ``data`` itself is the author's and is raised: `TypeError`, or `OSError` for
    a path that cannot be read. While the storage does not take the bytes, the run waits.
    """
    if not isinstance(data, bytes | Path):
        raise TypeError(f"contents are bytes, text or a Path, not {type(data).__name__}")
    try:
        head = data[:HEAD_BYTES] if isinstance(data, bytes) else await to_thread(_head, data)
        blob = f"files/{new_id('', journal.ctx.clock.now())}"
        info = await _store(journal, blob, data)
    finally:
        if isinstance(data, Spilled):
            data.unlink(missing_ok=True)
    name = path.rpartition("/")[2]
    content_type, kind = sniff.describe(name, head, None)
    return FileRecord(
        work_id=place.work_id,
        path=path,
        account_id=place.account_id,
        message_id=place.message_id,
        job_id=place.job_id,
        name=name,
        content_type=content_type,
        kind=kind,
        size=info.size,
        revision=f'"{info.sha256[:32]}"',
        blob=blob,
        label=label,
        created_at=0,
    )


async def _store(journal: Journal, blob: str, data: bytes | Path) -> BlobInfo:
    """Store the bytes, as often as it takes: what was made to get them is not to be made again.

    The second try that fails is told to the client and the operator. A run that leaves this node
    is ended while it waits; its next owner makes the call again. Raises `OSError` as `store`.
    """
    ctx, tries, is_reported = journal.ctx, 0, False
    try:
        while True:
            journal.go_on()
            try:
                info = await blobs.store(ctx, blob, data)
                break
            except Exception as error:
                fault = error
            if isinstance(data, Path):
                await to_thread(_head, data)
            if tries == 1:
                ctx.health.waits(blob, journal.owner, reason_of(fault), health_state.STORAGE)
                log.warning("file_waits", owner=journal.owner, reason=reason_of(fault))
            if tries and not is_reported:
                is_reported = await journal.tell_waiting(space.waiting_text(fault))
            with journal.idle():
                await asyncio.sleep(backoff.pause(tries, _AGAIN_SECONDS, _AGAIN_SECONDS_MAX))
            await journal.ready()
            tries += 1
    finally:
        ctx.health.waits_no_longer(blob)
    if tries > 1:
        log.info("file_wait_over", owner=journal.owner, tries=tries + 1)
    return info


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD_BYTES)
