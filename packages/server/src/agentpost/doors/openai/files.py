"""Files: what the agent has made is read here, and what is uploaded can be named as ``file_id``.

An uploaded file is an upload of the API that is ready. Its ``purpose`` is taken and not stored.
"""

import io
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from agentpost.accounts import list_places
from agentpost.api.operation import Api, Query
from agentpost.api.post_form import PostedForm
from agentpost.api.query import choice_param, int_param, text_param
from agentpost.caller import Caller
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, InvalidRequest, Problem, Refusal, not_found
from agentpost.domain.file_names import content_disposition
from agentpost.domain.limits import INT_PARAM_MAX, OPENAI_FILES_LIST_MAX
from agentpost.domain.times import SECOND
from agentpost.doors import bodies
from agentpost.http.headers import header
from agentpost.jobs import works
from agentpost.record.records import FileRecord, UploadRecord
from agentpost.storage.base import BlobMissing, open_checked
from agentpost.storage.post_policy import PostRefused
from agentpost.uploads import actions as uploads
from agentpost.uploads.actions import NewUpload

_UPLOADED, _MADE = "user_data", "assistants_output"
_LIMIT = Query("limit", "", 1, INT_PARAM_MAX, OPENAI_FILES_LIST_MAX)


async def create(api: Api, request: Request, caller: Caller) -> Response:
    body = await bodies.read(api, request, caller, _Pieces)
    pieces = [bytes(body)] if isinstance(body, bytearray) else body
    read = partial(_parse_form, header(request, b"content-type") or "", pieces)
    form, data = await api.ctx.account_threads.run(caller.account_id, read)
    if not data:
        raise Refusal(ErrorCode.BAD_SIZE, "The file is empty.")
    new = NewUpload(form.filename or "file", len(data), None)
    upload = await uploads.take(api.ctx, caller.account_id, new, data)
    purpose = form.fields.get("purpose", _UPLOADED)
    return JSONResponse({**_shape(upload), "purpose": purpose})


class _Pieces(list[bytes]):
    """A large body as it came."""

    def feed(self, data: bytes | bytearray) -> None:
        """The next bytes."""
        self.append(bytes(data))


def _parse_form(content_type: str, pieces: list[bytes]) -> tuple[PostedForm, bytes]:
    data = io.BytesIO()
    try:
        form = PostedForm(content_type)
        for piece in pieces:
            data.writelines(form.feed(piece))
    except PostRefused as refusal:
        raise InvalidRequest(Problem("file", refusal.message)) from None
    if not (form.file_began and form.ended):
        raise InvalidRequest(Problem("file", "the form needs a file in the field `file`"))
    return form, data.getvalue()


async def list_page(api: Api, request: Request, caller: Caller) -> Response:
    """Uploaded files; those that the agent has made are found with the message or the work."""
    most = min(int_param(request, _LIMIT), OPENAI_FILES_LIST_MAX)
    after = text_param(request, "after") or ""
    if after and not ids.is_id(ids.UPLOAD, after):
        raise InvalidRequest(Problem("after", list_places.NOT_LISTED))
    order = choice_param(request, "order", ("asc", "desc"))
    choice_param(request, "purpose", (_UPLOADED,))
    await list_places.check(api.ctx, caller, "after", after)
    records, more = await uploads.page(api.ctx, caller, after, most, oldest_first=order == "asc")
    data = [_shape(upload) for upload in records]
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    page = {"object": "list", "data": data, "first_id": first, "last_id": last, "has_more": more}
    return JSONResponse(page)


async def retrieve(api: Api, request: Request, caller: Caller) -> Response:
    return JSONResponse(_shape(await _file(api, request, caller)))


async def delete(api: Api, request: Request, caller: Caller) -> Response:
    file_id = request.path_params["file_id"]
    if not ids.is_id(ids.UPLOAD, file_id):
        raise not_found("upload")
    await uploads.delete(api.ctx, caller.account_id, file_id)
    return JSONResponse({"id": file_id, "object": "file", "deleted": True})


async def content(api: Api, request: Request, caller: Caller) -> Response:
    """The bytes of a file that was uploaded, or that the account's work has made."""
    file = await _file(api, request, caller)
    name = file.name if isinstance(file, FileRecord) else file.filename
    try:
        chunks = await open_checked(api.ctx.storage, file.blob, 0, file.size)
    except BlobMissing:
        raise not_found("file") from None
    headers = {
        "Content-Length": str(file.size),
        "Content-Disposition": content_disposition(name),
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingResponse(chunks, headers=headers, media_type=file.content_type)


async def _file(api: Api, request: Request, caller: Caller) -> UploadRecord | FileRecord:
    file_id = request.path_params["file_id"]
    if ids.is_id(ids.UPLOAD, file_id):
        return await uploads.get(api.ctx, caller, file_id)
    return await works.get_file(api.ctx, caller.account_id, file_id)


def _shape(file: UploadRecord | FileRecord) -> dict[str, Any]:
    common = {"object": "file", "bytes": file.size, "status": "processed"}
    common["created_at"] = file.created_at // SECOND
    if isinstance(file, FileRecord):
        return {"id": file.file_id, **common, "filename": file.name, "purpose": _MADE}
    is_kept = file.message_id is not None
    expires_at = None if is_kept else file.keep_by // SECOND
    identity = {"id": file.id, "filename": file.filename, "purpose": _UPLOADED}
    return {**identity, **common, "expires_at": expires_at}
