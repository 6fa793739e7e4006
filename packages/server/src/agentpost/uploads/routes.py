"""Uploads (spec: createUpload, completeUpload). The file itself goes to `target_routes`."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from agentpost.accounts.scope_rules import Scope
from agentpost.api.body import read_json
from agentpost.api.operation import CREATED, Api, Operation, respond
from agentpost.caller import Caller
from agentpost.contract.validation import validate
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.uploads import actions as uploads
from agentpost.uploads.actions import NewUpload
from agentpost.uploads.shapes import UploadCreatedShape, UploadIn, UploadShape


@Operation(
    id="createUpload",
    route="POST /v1/uploads",
    scope=Scope.SEND,
    summary="Announce a large file",
    body=UploadIn,
    answer=UploadCreatedShape,
    successes=(CREATED,),
    errors=(ErrorCode.BAD_SIZE,),
    is_repeatable=True,
)
async def create(api: Api, request: Request, caller: Caller) -> Response:
    """The first of three steps. Then post the file as `multipart/form-data` to `url`, with every
    one of `fields` as a form field and the file last, as the field `file`, before `expires_at`.
    Then call completeUpload; from then on a message can name the upload."""
    shape = validate(UploadIn, await read_json(api, request, _refuse_size))
    new = NewUpload(shape.filename, shape.size, shape.content_type or None)
    ticket, form = await uploads.create(api.ctx, caller.account_id, new)
    return respond(UploadCreatedShape.of(ticket, form.url, form.fields), 201)


@Operation(
    id="completeUpload",
    route="POST /v1/uploads/{upload_id}/complete",
    scope=Scope.SEND,
    summary="Check a posted file and make it ready for a message",
    answer=UploadShape,
    errors=(
        ErrorCode.NOT_PENDING,
        ErrorCode.NOT_UPLOADED,
        ErrorCode.CHANGED,
        ErrorCode.TOO_LARGE,
        ErrorCode.EXECUTABLE_REFUSED,
    ),
    is_repeatable=True,
)
async def complete(api: Api, _: Request, caller: Caller, upload_id: str) -> Response:
    """Checks the real size and refuses programs. An upload that no message attaches within a day is
    deleted. A repeated call gives the same answer."""
    ready = await uploads.complete(api.ctx, caller.account_id, upload_id)
    return respond(UploadShape.of(ready))


def _refuse_size(body: dict[str, Any]) -> None:
    """``bad_size`` comes before ``invalid_request`` (design: Input); True is a bool, 5.0 a
    float.
    """
    size = body.get("size")
    if type(size) is not int or size <= 0:
        raise Refusal(
            ErrorCode.BAD_SIZE, "Give the file's exact size in bytes, a positive whole number."
        )


OPERATIONS = (create, complete)
