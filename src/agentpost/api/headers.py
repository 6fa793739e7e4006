"""The rate limit of a key, reported with every response to it (spec: Limits RateLimit-headers)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from agentpost.api.operation import Api
from agentpost.api.request_state import RequestState, state_of
from agentpost.domain.errors import ErrorCode, RateLimited, Refusal
from agentpost.services import admission
from agentpost.services.messages import Caller


async def admit(api: Api, request: Request, caller: Caller) -> None:
    """Let a known caller in; nothing was read or done for it before.

    Raises ``rate_limited`` when the key's minute is full, then ``unavailable`` while the API is
    switched off: only a caller with a live key learns that, and its budget is still counted.
    """
    state = state_of(request.scope)
    state.caller = caller
    decision = await admission.request(api.ctx, caller)
    limit = admission.rules_for(api.ctx, caller).allowances.requests_per_minute
    state.budget = (limit, decision)
    if not decision.allowed:
        text = f"This key has sent {limit:,} requests within a minute."
        raise RateLimited(text, decision.wait_seconds())
    if api.ctx.unavailable:
        raise Refusal(
            ErrorCode.UNAVAILABLE, "The API is switched off for a while; try again later."
        )


def add_budget(state: RequestState, response: Response) -> None:
    """``RateLimit-*`` for an answer to a known caller."""
    if state.budget is None:
        return
    limit, decision = state.budget
    response.raw_headers += (
        (b"ratelimit-limit", b"%d" % limit),
        (b"ratelimit-remaining", b"%d" % decision.remaining),
        (b"ratelimit-reset", b"%d" % decision.reset_seconds()),
    )
