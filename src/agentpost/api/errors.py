"""Errors as answers, always in the one shape (spec: Errors)."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json
from starlette.responses import Response

from agentpost.contract.errors import CATALOGUE
from agentpost.domain.errors import (
    BeyondTheEnd,
    ErrorCode,
    InvalidRequest,
    Overloaded,
    PollInProgress,
    RateLimited,
    Refusal,
)
from agentpost.domain.limits import PROBLEMS_MAX
from agentpost.http.application import MethodNotAllowed


def error_response(refusal: Refusal, request_id: str, docs_url: str) -> Response:
    """The answer for a refusal; its status comes from the catalogue."""
    shape: dict[str, Any] = {
        "error": refusal.code,
        "message": refusal.message,
        "request_id": request_id,
        "docs": f"{docs_url}#{refusal.code}",
    }
    headers: dict[str, str] = {}
    match refusal:
        case InvalidRequest():
            shape["problems"] = [
                {"field": p.field, "problem": p.problem} for p in refusal.problems[:PROBLEMS_MAX]
            ]
        case PollInProgress():
            shape["cursor"] = refusal.cursor
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
    return Response(
        to_json(shape),
        CATALOGUE[refusal.code].status,
        headers,
        media_type="application/json",
    )
