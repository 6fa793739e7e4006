"""Files (spec: getFile)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from agentpost.api.operation import Api, Operation, respond
from agentpost.contract.message import FileObject
from agentpost.domain.errors import ErrorCode
from agentpost.services import works
from agentpost.services.messages import Caller


async def get(api: Api, request: Request, caller: Caller) -> Response:
    """A file with a fresh download link."""
    file = await works.get_file(api.ctx, caller.account_id, request.path_params["file_id"])
    return respond(FileObject.linked(file, api.ctx.links))


OPERATIONS = (
    Operation(
        id="getFile",
        method="GET",
        path="/v1/files/{file_id:path}",
        summary="Read a file's facts and a fresh download link",
        description=(
            "For a link that has expired, or that answered 412 because the file was replaced since."
            " `file_id` goes into the path as it is, slashes included."
        ),
        handler=get,
        answer=FileObject,
        errors=(ErrorCode.NOT_FOUND,),
    ),
)
