"""How often somebody may try to sign in, or ask for mail (design: Signing in).

What fails is counted for the address it came from, for the e-mail address it named and for the
server as a whole; the last bounds how much is remembered and hashed, however many addresses try.
With Redis all nodes count together. Whether there is such a user makes no difference.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Final, NamedTuple

from agentpost.domain.errors import RateLimited
from agentpost.domain.times import HOUR, MINUTE
from agentpost.ratelimit.base import RateDecision, Rule
from agentpost.services.accounts import digest
from agentpost.services.context import AppContext

_SPAN: Final = 15 * MINUTE
TRIES_PER_ADDRESS: Final = 30
TRIES_PER_EMAIL: Final = 10
TRIES: Final = 3_000
MAILS_PER_ADDRESS: Final = 10
MAILS_PER_EMAIL: Final = 3
MAILS: Final = 500
_TRY: Final = (
    (Rule("tries", TRIES, _SPAN),),
    (Rule("tries_address", TRIES_PER_ADDRESS, _SPAN),),
    (Rule("tries_email", TRIES_PER_EMAIL, _SPAN),),
)
_MAIL: Final = (
    (Rule("mails", MAILS, HOUR),),
    (Rule("mails_address", MAILS_PER_ADDRESS, HOUR),),
    (Rule("mails_email", MAILS_PER_EMAIL, HOUR),),
)
_IPV6_BITS: Final = 64


class Counted(NamedTuple):
    """What was counted, to be given back."""

    subject: str
    rules: tuple[Rule, ...]
    decision: RateDecision


async def count_try(ctx: AppContext, address: str, email: str) -> list[Counted]:
    """Count a try to sign in; raises ``rate_limited`` when there were too many."""
    return await _count(ctx, _TRY, address, email, "to sign in")


async def count_mail(ctx: AppContext, address: str, email: str) -> list[Counted]:
    """Count a mail that is asked for; raises ``rate_limited`` when there were too many."""
    return await _count(ctx, _MAIL, address, email, "to get a mail")


async def count_arrival(ctx: AppContext, address: str) -> list[Counted]:
    """Count somebody who comes from an identity provider; raises ``rate_limited``."""
    return await _count(ctx, _TRY[:2], address, "", "to sign in")


async def succeeded(ctx: AppContext, counted: list[Counted]) -> None:
    """It was no failure: it does not count."""
    for each in counted:
        await ctx.limiter.give_back(each.subject, each.rules, each.decision)


async def _count(
    ctx: AppContext, windows: tuple[tuple[Rule, ...], ...], address: str, email: str, what: str
) -> list[Counted]:
    """All these windows or none. The one for everybody comes first: what it refuses leaves no
    trace."""
    subjects = ("sign_in", f"sign_in:{_network(address)}", f"sign_in:{digest(email)[:24]}")
    counted: list[Counted] = []
    for subject, rules in zip(subjects, windows, strict=False):
        decision = await ctx.limiter.acquire(subject, rules, ctx.clock.now())
        if not decision.allowed:
            await succeeded(ctx, counted)
            wait = decision.wait_seconds()
            text = f"There were too many attempts {what}. Try again in {_spoken(wait)}."
            raise RateLimited(text, wait)
        counted.append(Counted(subject, rules, decision))
    return counted


def _network(address: str) -> str:
    """The address, or for IPv6 its network: whoever has one address there has all of them."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address[:64]
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Address(int(parsed) >> _IPV6_BITS << _IPV6_BITS))


def _spoken(wait_seconds: int) -> str:
    minutes = -(-wait_seconds // 60)
    return "a minute" if minutes <= 1 else f"{minutes} minutes"
