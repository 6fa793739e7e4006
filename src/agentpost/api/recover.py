"""Recovering expired work (spec: recoverMessage)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from agentpost.api.operation import Api, Operation
from agentpost.contract import render
from agentpost.contract.recovery import RecoveryShape
from agentpost.domain.errors import ErrorCode
from agentpost.services import recover
from agentpost.services.messages import Caller


async def post(api: Api, request: Request, caller: Caller) -> Response:
    """Watch expired work again, and give out what it left since."""
    message_id = request.path_params["message_id"]
    found = await recover.recover(api.ctx, caller, message_id)
    shape: render.Shape = {
        "object": "recovery",
        "id": message_id,
        "work": [{"work_id": work_id, "state": state.value} for work_id, state in found.items()],
    }
    return Response(render.dumps(shape), media_type="application/json")


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
