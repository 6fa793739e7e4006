"""JSON-RPC 2.0, which MCP and Agent2Agent speak: a request, and how it is refused before the SDK of
the protocol has it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agentpost.api.body import in_turn
from agentpost.api.errors import error_headers
from agentpost.api.operation import Api
from agentpost.contract.errors import CATALOGUE, in_words
from agentpost.domain.errors import ErrorCode, InvalidRequest, Problem, Refusal
from agentpost.doors import bodies
from agentpost.doors.bodies import NotJson
from agentpost.http.request_state import state_of
from agentpost.services.messages import Caller

_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_INTERNAL_ERROR: Final = -32603
OURS: Final = frozenset({ErrorCode.INTERNAL, ErrorCode.UNAVAILABLE, ErrorCode.RATE_LIMITED})
"""Refusals that say nothing against the request: it may be sent again unchanged."""


async def read(api: Api, request: Request, caller: Caller) -> tuple[bytes, dict[str, Any]]:
    """The body and the call that it is, bounded in its values before the SDK reads it.

    Raises as `bodies.read`, and ``invalid_request`` for what is no call.
    """
    body = await bodies.read(api, request, caller)
    call = await in_turn(api, request, body, partial(bodies.parsed, body))
    problems = list(_problems(call))
    if problems:
        raise InvalidRequest(*problems)
    return body, call


def _problems(call: dict[str, Any]) -> Iterator[Problem]:
    """Why an object is no call, and no answer to one either."""
    if call.get("jsonrpc") != "2.0":
        yield Problem("jsonrpc", 'must be "2.0"')
    is_answer = "method" not in call and ("result" in call or "error" in call)
    if not (is_answer or isinstance(call.get("method"), str)):
        yield Problem("method", "must be a text")
    if not isinstance(call.get("id", ""), str | int) or isinstance(call.get("id"), bool):
        yield Problem("id", "must be a text or a whole number")
    if not isinstance(call.get("params", {}), dict):
        yield Problem("params", "must be an object")


def rpc_error(malformed_status: int, docs_url: str, request: Request, refusal: Refusal) -> Response:
    """The response to a refused request; its ``data`` has our error code and what to do.

    Args:
        malformed_status: the HTTP status when the body is no call. The other refusals have the
            status of the API.
    """
    text, advice = in_words(refusal)
    code = _INTERNAL_ERROR if refusal.code in OURS else _INVALID_REQUEST
    error = {
        "code": _PARSE_ERROR if isinstance(refusal, NotJson) else code,
        "message": f"{text} {advice}".strip(),
        "data": {
            "error": refusal.code.value,
            "advice": advice,
            "request_id": state_of(request.scope).id,
            "docs": f"{docs_url}#{refusal.code}",
        },
    }
    is_malformed = isinstance(refusal, InvalidRequest)
    status = malformed_status if is_malformed else CATALOGUE[refusal.code].status
    body = {"jsonrpc": "2.0", "id": None, "error": error}
    return JSONResponse(body, status, error_headers(refusal))
