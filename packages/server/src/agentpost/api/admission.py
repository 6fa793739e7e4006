"""Let callers in: by their key, within its rate limit (spec: Authentication, Limits)."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from agentpost.accounts import admission, scope_rules
from agentpost.accounts.scope_rules import Scope
from agentpost.api.operation import Api, Handler as KeyHandler
from agentpost.caller import Caller
from agentpost.domain.errors import ErrorCode, KeyEnded, RateLimited, Refusal
from agentpost.http.audited import audited_call
from agentpost.http.pipeline import Handler
from agentpost.http.request_state import state_of


async def by_key(
    api: Api, handler: KeyHandler, scope: Scope | None, action: str, request: Request
) -> Response:
    """Call the handler with the caller whose key the request bears, in turn with the calls of other
    accounts; nothing is read or done before.

    ``action``: what the audit log calls it; "": it is not recorded.

    Raises ``unauthorized``, see `_admit`, then ``forbidden`` when the key lacks the scope
    ``needed``, or may not be used from where the request comes.
    """
    try:
        caller = await api.keys.caller(request)
    except Refusal as refusal:
        if refusal.code is ErrorCode.FORBIDDEN:
            await _show_budget(api, request)
        raise
    call = _admit_and_handle(api, handler, scope, action, request, caller)
    return await api.ctx.account_steps.run(caller.account_id, call)


async def _admit_and_handle(
    api: Api,
    handler: KeyHandler,
    scope: Scope | None,
    action: str,
    request: Request,
    caller: Caller,
) -> Response:
    await _admit(api, request, caller)
    scope_rules.check(caller.scopes, scope)
    try:
        if action:
            do = partial(handler, api, request, caller)
            return await audited_call(api.ctx, request, caller, action, do)
        return await handler(api, request, caller)
    except KeyEnded:
        api.keys.forget()  # it was live a moment ago
        raise


async def with_count(api: Api, handler: Handler, request: Request) -> Response:
    """Count a request that leads nowhere when it has a live key (spec: Limits)."""
    try:
        caller = await api.keys.caller(request)
    except Refusal:
        return await handler(request)
    await _admit(api, request, caller)
    return await handler(request)


async def _admit(api: Api, request: Request, caller: Caller) -> None:
    """Let a known caller in. Raises ``rate_limited`` when the key's minute is full, then
    ``unavailable`` while the API is switched off: only a caller with a live key learns that, and
    its budget is still counted."""
    state = state_of(request.scope)
    state.caller = caller
    decision = await admission.request(api.ctx, caller)
    limit = caller.rules.allowances.requests_per_minute
    state.budget = (limit, decision)
    if not decision.allowed:
        text = f"This key has sent {limit:,} requests within a minute."
        raise RateLimited(text, decision.seconds_until(decision.free_at))
    if api.ctx.unavailable:
        raise Refusal(
            ErrorCode.UNAVAILABLE, "The API is switched off for a while; try again later."
        )


async def _show_budget(api: Api, request: Request) -> None:
    """Say what the key's minute has left, and take nothing of it: whoever found the key and calls
    from elsewhere must not use it up."""
    state = state_of(request.scope)
    assert state.caller is not None, "the key is known"
    rules = state.caller.rules
    decision = await admission.request(api.ctx, state.caller)
    if decision.allowed:
        await api.ctx.limiter.give_back(state.caller.key_id, rules.requests, decision)
    state.budget = (rules.allowances.requests_per_minute, decision)


async def with_rate_limit_headers(handler: Handler, request: Request) -> Response:
    """``RateLimit-*`` in every response to a known caller (spec: Limits RateLimit-headers)."""
    response = await handler(request)
    state = state_of(request.scope)
    if state.budget is None or state.error is ErrorCode.UNAUTHORIZED:  # an ended key has none left
        return response
    limit, decision = state.budget
    response.raw_headers += (
        (b"ratelimit-limit", b"%d" % limit),
        (b"ratelimit-remaining", b"%d" % decision.remaining),
        (b"ratelimit-reset", b"%d" % decision.seconds_until(decision.reset_at)),
    )
    return response
