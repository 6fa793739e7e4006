"""Recovering expired work (spec: recoverMessage)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from agentpost.api.operation import Api, Operation, respond
from agentpost.contract.recovery import RecoveredWorkShape, RecoveryShape
from agentpost.domain.errors import ErrorCode
from agentpost.services import recover
from agentpost.services.messages import Caller


async def post(api: Api, request: Request, caller: Caller) -> Response:
    """Watch expired work again, and give out what it left since."""
    message_id = request.path_params["message_id"]
    found = await recover.recover(api.ctx, caller, message_id)
    works = [RecoveredWorkShape(work_id=work_id, state=state) for work_id, state in found.items()]
    return respond(RecoveryShape(id=message_id, work=works))


OPERATIONS = (
    Operation(
        id="recoverMessage",
        method="POST",
        path="/v1/messages/{message_id}/recover",
        summary="Watch a message's expired work again",
        description=(
            "Work that did not report back in time has expired for its message, but may"
            " continue. This call checks again and returns a result that came late. No work is"
            " started, and the message is not sent again."
        ),
        handler=post,
        answer=RecoveryShape,
        errors=(ErrorCode.NOT_FOUND,),
    ),
)
