"""Errors as answers, always in the one shape (spec: Errors)."""

from starlette.requests import Request
from starlette.responses import Response

from agentpost.api.operation import respond
from agentpost.contract.errors import CATALOGUE, ErrorShape
from agentpost.domain.errors import (
    BeyondTheEnd,
    ErrorCode,
    Overloaded,
    RateLimited,
    Refusal,
)
from agentpost.http.application import MethodNotAllowed
from agentpost.http.request_state import state_of


def error_response(refusal: Refusal, request_id: str, docs_url: str) -> Response:
    """The answer for a refusal; its status comes from the catalogue."""
    shape = ErrorShape.of(refusal, request_id, docs_url)
    return respond(shape, CATALOGUE[refusal.code].status, error_headers(refusal))


def render_error(docs_url: str, request: Request, refusal: Refusal) -> Response:
    """`error_response` for a request."""
    return error_response(refusal, state_of(request.scope).id, docs_url)


def error_headers(refusal: Refusal) -> dict[str, str]:
    """The headers that HTTP has for a refusal, whatever the form of its body."""
    headers: dict[str, str] = {}
    match refusal:
        case RateLimited() | Overloaded():
            headers["Retry-After"] = str(refusal.retry_after_seconds)
        case BeyondTheEnd():
            headers["Content-Range"] = f"bytes */{refusal.size}"
        case MethodNotAllowed():
            headers["Allow"] = refusal.allowed
        case _:
            pass
    if refusal.code is ErrorCode.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return headers
