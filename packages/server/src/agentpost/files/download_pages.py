"""Files of chats to be saved: one by a signed link, or all of a job as one archive."""

import io
import re
import zipfile
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, StreamingResponse

from agentpost.context import AppContext
from agentpost.domain import ids
from agentpost.domain.errors import not_found
from agentpost.domain.file_names import content_disposition
from agentpost.domain.times import SECOND
from agentpost.files import views
from agentpost.record.records import FileRecord
from agentpost.users.role_rules import Right
from agentpost.web.page import Page, View, Viewer

_UNSAFE: Final = re.compile(r'[^\w .()-]|["\\]')


async def show(ctx: AppContext, request: Request, viewer: Viewer, work_id: str, path: str) -> View:
    """One file, or without a path all of them; raises ``not_found``."""
    if not path:
        return await _all(ctx, viewer, work_id, request.query_params.get("job", ""))
    # To a fresh signed link, so that a page left open still gives its files.
    file = await views.find(ctx, viewer.account_id, f"{work_id}/{path}")
    return RedirectResponse(ctx.links.file(file.file_id, file.revision), 303)


async def _all(ctx: AppContext, viewer: Viewer, work_id: str, job_id: str) -> View:
    """The files of a work as a zip archive, with ``?job=`` those of one job; raises
    ``not_found``."""
    if not ids.is_id(ids.WORK, work_id) or not (job_id == "" or ids.is_id(ids.JOB, job_id)):
        raise not_found("work")
    title, files = await views.of_work(ctx, viewer.account_id, work_id, job_id)
    name = f"{_UNSAFE.sub('_', title)[:80].strip() or 'files'}.zip"
    headers = {"Content-Disposition": content_disposition(name)}
    return StreamingResponse(stream_archive(ctx, files), 200, headers, "application/zip")


PAGES = (Page("/chat/{work_id}/files/{path:path}", get=show, right=Right.READ),)


class _Sink(io.RawIOBase):
    """Where the archive is written to; `take` empties it."""

    def __init__(self) -> None:
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written += data
        return len(data)

    def take(self) -> bytes:
        content = bytes(self._written)
        self._written.clear()
        return content


async def stream_archive(ctx: AppContext, files: Sequence[FileRecord]) -> AsyncIterator[bytes]:
    """The archive's bytes; the files stand there under their paths, as they are. Raises
    `BlobMissing` when one is deleted meanwhile."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        for file in files:
            when = datetime.fromtimestamp(file.created_at // SECOND, UTC)
            entry = zipfile.ZipInfo(file.path, when.timetuple()[:6])
            entry.external_attr = 0o644 << 16
            with archive.open(entry, "w", force_zip64=file.size >= zipfile.ZIP64_LIMIT) as into:
                async for piece in ctx.storage.open(file.blob, 0, file.size):
                    into.write(piece)
                    yield sink.take()
    yield sink.take()
