"""Letting requests in: the budget of each key and the limits of each account (spec: Limits).

What is refused does no work and is counted nowhere. What was let in counts whatever becomes of it,
except a message that was not made (design: Rate limits).
"""

from __future__ import annotations

from agentpost.domain.errors import RateLimited
from agentpost.domain.limits import (
    ACCOUNT_LIMIT_RETRY_SECONDS,
    LARGE_BODIES_REFUSED_PER_MINUTE,
)
from agentpost.ratelimit.base import Rule, Taken
from agentpost.services.allowances import DAY, HOUR, MINUTE, NO_OVERRIDES, Rules, rules_of
from agentpost.services.context import House
from agentpost.services.messages import Caller

_LARGE_BODIES = (Rule("large_bodies", LARGE_BODIES_REFUSED_PER_MINUTE, MINUTE),)
_SPANS = {MINUTE: "a minute", HOUR: "an hour", DAY: "a day"}


def rules_for(house: House, caller: Caller) -> Rules:
    """The windows that hold for a caller."""
    return caller.rules or rules_of(house.settings, NO_OVERRIDES)


async def request(house: House, caller: Caller) -> Taken:
    """Count a request of the caller's key; not ``allowed`` when its minute is full."""
    rules = rules_for(house, caller).requests
    return await house.limiter.take(caller.key_id, rules, house.clock.now())


async def wait(house: House, caller: Caller) -> None:
    """Count a long-poll of the account; raises ``rate_limited``."""
    await _take(house, caller, rules_for(house, caller).waits, "long-polls")


async def work_read(house: House, caller: Caller) -> None:
    """Count a read of a work by the account; raises ``rate_limited``."""
    await _take(house, caller, rules_for(house, caller).work_reads, "reads of works")


async def message(house: House, caller: Caller) -> Taken:
    """Count a message of the account; raises ``rate_limited``."""
    return await _take(house, caller, rules_for(house, caller).messages, "messages")


async def unsent(house: House, caller: Caller, taken: Taken) -> None:
    """The message was refused or is there already: it does not count."""
    rules = rules_for(house, caller).messages
    await house.limiter.give_back(caller.account_id, rules, taken)


async def large_body(house: House, caller: Caller) -> Taken:
    """Count a large body of the account that comes in; raises ``rate_limited`` when too many were
    refused lately."""
    taken = await house.limiter.take(caller.account_id, _LARGE_BODIES, house.clock.now())
    if not taken.allowed:
        text = f"This account had {_LARGE_BODIES[0].limit} large bodies refused within a minute."
        raise RateLimited(text, ACCOUNT_LIMIT_RETRY_SECONDS)
    return taken


async def not_refused(house: House, caller: Caller, taken: Taken) -> None:
    """A large body was fine: it does not count."""
    await house.limiter.give_back(caller.account_id, _LARGE_BODIES, taken)


async def _take(house: House, caller: Caller, rules: tuple[Rule, ...], what: str) -> Taken:
    taken = await house.limiter.take(caller.account_id, rules, house.clock.now())
    if not taken.allowed:
        most = " and ".join(f"{rule.limit:,} in {_SPANS[rule.span]}" for rule in rules)
        text = f"This account has reached its limit of {most} for {what}."
        raise RateLimited(text, ACCOUNT_LIMIT_RETRY_SECONDS)
    return taken
