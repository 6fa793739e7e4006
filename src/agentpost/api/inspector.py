"""Collect what the request inspector stores of a request (see `services.requests`)."""

from __future__ import annotations

import time

from starlette.responses import Response
from starlette.types import Scope

from agentpost.api.request_state import RequestState
from agentpost.domain import tracing
from agentpost.services.context import AppContext
from agentpost.services.requests import RequestLogEntry

API_PREFIX = "/v1/"
GONE_STATUS = 499
"""The client hung up before it was answered."""


def append(
    ctx: AppContext,
    scope: Scope,
    state: RequestState,
    response: Response | None,
    error: str | None = None,
) -> None:
    """Remember a request to the API.

    Args:
        response: None when the client was gone before it.
        error: the code, when it was refused.
    """
    if not scope["path"].startswith(API_PREFIX):
        return
    caller = state.caller
    answered: bytes = getattr(response, "body", b"")
    ctx.requests.append(
        RequestLogEntry(
            id=state.id,
            at=state.at,
            account_id=caller.account_id if caller else None,
            key_id=caller.key_id if caller else None,
            method=scope["method"],
            raw_path=scope["raw_path"],
            query=scope["query_string"],
            status=response.status_code if response is not None else GONE_STATUS,
            error=error,
            ms=round((time.perf_counter() - state.began) * 1_000),
            request_body=state.body,
            response_body=answered,
            traceparent=_traceparent(scope),
        )
    )


def _traceparent(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == b"traceparent":
            return tracing.valid(value.decode("latin-1"))
    return None
