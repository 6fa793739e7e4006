"""Admit requests: the budget of each key and the limits of each account (spec: Limits).

A refused request does no work and is not counted. An admitted request counts even if it fails
later; a message that was never created is refunded (design: Rate limits).
"""

from collections.abc import Awaitable, Callable
from functools import partial

from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.domain.errors import RateLimited
from agentpost.domain.limits import (
    ACCOUNT_LIMIT_RETRY_SECONDS,
    LARGE_BODIES_REFUSED_PER_MINUTE,
)
from agentpost.domain.times import DAY, HOUR, MINUTE
from agentpost.ratelimit.base import RateDecision, Rule

_LARGE_BODIES = (Rule("large_bodies", LARGE_BODIES_REFUSED_PER_MINUTE, MINUTE),)
_SPANS = {MINUTE: "a minute", HOUR: "an hour", DAY: "a day"}


async def request(ctx: AppContext, caller: Caller) -> RateDecision:
    """Count a request of the caller's key; not ``allowed`` when its minute is full."""
    return await ctx.limiter.acquire(caller.key_id, caller.rules.requests, ctx.clock.now())


async def wait(ctx: AppContext, caller: Caller) -> None:
    """Count a long-poll of the account; raises ``rate_limited``."""
    await _acquire(ctx, caller, caller.rules.waits, "long-polls")


async def held_call(ctx: AppContext, caller: Caller) -> None:
    """Count a call that another protocol holds until work ends. Raises ``rate_limited`` when the
    account has as many streams and such calls open as it may."""
    ctx.streams.check(caller.account_id, ctx.settings.streams_max)
    await wait(ctx, caller)


async def work_read(ctx: AppContext, caller: Caller) -> None:
    """Count a read of a work by the account; raises ``rate_limited``."""
    await _acquire(ctx, caller, caller.rules.work_reads, "reads of works")


async def message(ctx: AppContext, caller: Caller) -> RateDecision:
    """Count a message of the account; raises ``rate_limited``."""
    return await _acquire(ctx, caller, caller.rules.messages, "messages")


async def unsent(ctx: AppContext, caller: Caller, decision: RateDecision) -> None:
    """The message was refused or is there already: it does not count."""
    await ctx.limiter.give_back(caller.account_id, caller.rules.messages, decision)


async def large_body(ctx: AppContext, caller: Caller) -> Callable[[], Awaitable[None]]:
    """Count a large body of the account that comes in; what is returned takes that back, when the
    body was fine. Raises ``rate_limited`` when too many were refused lately."""
    decision = await ctx.limiter.acquire(caller.account_id, _LARGE_BODIES, ctx.clock.now())
    if not decision.allowed:
        text = f"This account had {_LARGE_BODIES[0].limit} large bodies refused within a minute."
        raise RateLimited(text, ACCOUNT_LIMIT_RETRY_SECONDS)
    return partial(ctx.limiter.give_back, caller.account_id, _LARGE_BODIES, decision)


async def _acquire(
    ctx: AppContext, caller: Caller, rules: tuple[Rule, ...], what: str
) -> RateDecision:
    decision = await ctx.limiter.acquire(caller.account_id, rules, ctx.clock.now())
    if not decision.allowed:
        most = " and ".join(f"{rule.limit:,} in {_SPANS[rule.span]}" for rule in rules)
        text = f"This account has reached its limit of {most} for {what}."
        raise RateLimited(text, ACCOUNT_LIMIT_RETRY_SECONDS)
    return decision
