"""Storing what a turn or job writes: bytes first, the record by the caller's transaction after."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path, PosixPath

from agentpost.clock import new_id
from agentpost.domain.executables import HEAD_BYTES
from agentpost.domain.records import FileRecord
from agentpost.runtime.journal import Journal
from agentpost.services import blobs
from agentpost.services.context import AppContext
from agentpost.storage import sniff


class Spilled(PosixPath):
    """A file with bytes that another process has put there; its ``mark`` is that of the bytes."""

    mark: str


async def store(
    ctx: AppContext,
    journal: Journal,
    data: bytes | Path,
    *,
    path: str,
    label: str | None,
    account_id: str,
    message_id: str,
    work_id: str,
    job_id: str | None,
) -> FileRecord:
    """Put the bytes and describe them.

    What is wrong with ``data`` itself is the author's and is raised: `TypeError`, or `OSError` for
    a path that cannot be read. A storage that fails stops the run.
    """
    if not isinstance(data, bytes | Path):
        raise TypeError(f"contents are bytes, text or a Path, not {type(data).__name__}")
    head = data[:HEAD_BYTES] if isinstance(data, bytes) else await asyncio.to_thread(_head, data)
    blob = f"files/{new_id('', ctx.clock.now())}"
    info = await journal.guard(blobs.store(ctx, blob, data))
    name = path.rpartition("/")[2]
    content_type, kind = sniff.describe(name, head, None)
    return FileRecord(
        work_id=work_id,
        path=path,
        account_id=account_id,
        message_id=message_id,
        job_id=job_id,
        name=name,
        content_type=content_type,
        kind=kind,
        size=info.size,
        revision=f'"{info.sha256[:32]}"',
        blob=blob,
        label=label,
        created_at=0,
    )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD_BYTES)


def content_mark(data: object) -> str:
    """How contents count in a call's fingerprint: bytes by their hash, the rest by its kind."""
    if isinstance(data, Spilled):
        return data.mark
    if isinstance(data, str):
        data = data.encode()
    if isinstance(data, bytes):
        return hashlib.sha256(data).hexdigest()
    return "path"
