"""The models: the agent, under the name that is always there and under its own."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agentpost.api.operation import Api
from agentpost.caller import Caller
from agentpost.domain.errors import not_found
from agentpost.doors.openai.parameters import OWN_MODEL


def model_names(api: Api) -> list[str]:
    """What the agent is called: ours, and its own name."""
    return list(dict.fromkeys(name for name in (OWN_MODEL, api.ctx.agent_name) if name))


async def list_all(api: Api, _: Request, __: Caller) -> Response:
    return JSONResponse({"object": "list", "data": [_shape(name) for name in model_names(api)]})


async def get(api: Api, request: Request, _: Caller) -> Response:
    name = request.path_params["model"]
    if name not in model_names(api):
        raise not_found("model")
    return JSONResponse(_shape(name))


def _shape(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "agentpost"}
