"""Files (spec: getFile), and downloads behind signed links: `{file_url}` (design: Links).

Files of agents never run on this origin: no sniffing, a sandbox without scripts, and anything that
is not plainly safe to show comes as an attachment.
"""

from typing import Literal

import structlog
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from agentpost.accounts.scope_rules import Scope
from agentpost.api.operation import Api, Operation, respond
from agentpost.caller import Caller
from agentpost.domain.errors import ErrorCode, Refusal, not_found
from agentpost.domain.file_names import content_disposition
from agentpost.domain.times import SECOND
from agentpost.files import views
from agentpost.http import conditions
from agentpost.jobs import works
from agentpost.messages.shapes import FileObject
from agentpost.record.records import FileRecord
from agentpost.storage.base import BlobMissing, open_checked
from agentpost.storage.signing import LinkSigner, LinkState, compact_revision
from agentpost.storage.sniff import is_previewable

log = structlog.get_logger(__name__)
LINK_PATH = "/files/{file_id:path}"


@Operation(
    id="getFile",
    route="GET /v1/files/{file_id:path}",
    scope=Scope.READ,
    summary="Read a file's facts and a fresh download link",
    answer=FileObject,
)
async def get(api: Api, _: Request, caller: Caller, file_id: str) -> Response:
    """For a link that has expired, or that answered 412 because the file was replaced since.
    `file_id` goes into the path as it is, slashes included."""
    file = await works.get_file(api.ctx, caller.account_id, file_id)
    return respond(FileObject.from_record(file, api.ctx.links))


async def download(api: Api, signer: LinkSigner, request: Request) -> Response:
    """A file's bytes; raises ``link_invalid``, ``not_found``, ``file_changed`` and the 416."""
    file_id = request.path_params["file_id"]
    query = request.query_params
    rev = query.get("rev", "")
    now = api.ctx.clock.now() / SECOND
    state = signer.check(file_id, query.get("exp", ""), rev, query.get("sig", ""), now)
    if state is LinkState.EXPIRED:
        raise Refusal(ErrorCode.LINK_INVALID, "This link has expired; get a fresh one.")
    if state is not LinkState.OK:
        raise Refusal(ErrorCode.LINK_INVALID, "This link is not valid.")
    file = await _file_of_link(api, file_id, rev)
    if conditions.is_another(request.headers, file.revision):
        raise Refusal(ErrorCode.FILE_CHANGED, "The file is not the one that If-Match names.")
    headers = _headers(file)
    if conditions.is_known(request.headers, file.revision):
        return Response(status_code=304, headers=headers)
    span = None
    if request.method == "GET":
        span = conditions.byte_range(request.headers, file.revision, file.size)
    start, end = span or (0, file.size)
    headers["Content-Length"] = str(end - start)
    if span is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{file.size}"
    status = 206 if span is not None else 200
    # Found out before the answer begins: a work may be deleted at any moment, a store be away.
    try:
        if request.method == "HEAD":
            await api.ctx.storage.size(file.blob)
            return Response(status_code=status, headers=headers, media_type=file.content_type)
        body = await open_checked(api.ctx.storage, file.blob, start, end)
    except BlobMissing:
        await _file_of_link(api, file_id, rev)  # deleted or replaced this moment
        log.error("bytes_lost", file_id=file_id, blob=file.blob)  # somebody else's doing
        raise not_found("file") from None
    return StreamingResponse(body, status, headers, media_type=file.content_type)


async def _file_of_link(api: Api, file_id: str, rev: str) -> FileRecord:
    """The file as the link means it; raises ``not_found`` and ``file_changed``."""
    file = await views.find(api.ctx, None, file_id)
    if compact_revision(file.revision) != rev:
        raise Refusal(
            ErrorCode.FILE_CHANGED, "The file changed since this link was created; get a fresh one."
        )
    return file


def _headers(file: FileRecord) -> dict[str, str]:
    disposition: Literal["inline", "attachment"] = (
        "inline" if is_previewable(file.content_type) else "attachment"
    )
    return {
        "ETag": file.revision,
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, max-age=300",
        "Content-Disposition": content_disposition(file.name, disposition),
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


OPERATIONS = (get,)
