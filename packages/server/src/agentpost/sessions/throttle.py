"""How often somebody may try to sign in, or ask for mail (design: Signing in).

What fails is counted for the network it came from, for the e-mail address it named and for the
server as a whole; the last bounds how much is remembered and hashed, however many addresses try.
With Redis all nodes count together. Whether there is such a user makes no difference.

Windows that strangers share with others only slow down: when one is full, some still get a place.
Who tries for a user from a device or an address where that user has signed in before is counted
alone, so that no stranger can shut them out.
"""

from collections.abc import Sequence
from ipaddress import IPv6Address, IPv6Network
from typing import Final, NamedTuple

from agentpost.accounts import network_rules
from agentpost.accounts.actions import digest
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.errors import RateLimited
from agentpost.domain.times import HOUR, MINUTE, SECOND
from agentpost.ratelimit.base import RateDecision, Rule
from agentpost.sessions import rows as session_rows
from agentpost.users import rows as user_rows

_SPAN: Final = 15 * MINUTE
TRIES_PER_ADDRESS: Final = 30
TRIES_PER_EMAIL: Final = 10
TRIES: Final = 3_000
MAILS_PER_ADDRESS: Final = 10
MAILS_PER_EMAIL: Final = 3
MAILS: Final = 500
_Windows = tuple[tuple[Rule, ...], ...]
_TRY: Final = (
    (Rule("tries", TRIES, _SPAN), Rule("tries_slow", 3, SECOND)),
    (Rule("tries_address", TRIES_PER_ADDRESS, _SPAN), Rule("tries_address_slow", 1, 10 * SECOND)),
    (Rule("tries_email", TRIES_PER_EMAIL, _SPAN),),
)
"""For each subject the windows of which one has to have a place, in that order."""
_MAIL: Final = (
    (Rule("mails", MAILS, HOUR), Rule("mails_slow", 1, 10 * SECOND)),
    (Rule("mails_address", MAILS_PER_ADDRESS, HOUR), Rule("mails_address_slow", 1, MINUTE)),
    (Rule("mails_email", MAILS_PER_EMAIL, HOUR),),
)
_IPV6_PREFIX: Final = 48
"""Such a network counts as one address: providers give so much to one customer."""


class CountedAttempt(NamedTuple):
    """What was counted, to be given back."""

    subject: str
    rules: tuple[Rule, ...]
    decision: RateDecision


async def count_try(
    ctx: AppContext, address: str, email: str, device: str = ""
) -> list[CountedAttempt]:
    """Count a try to sign in; raises ``rate_limited`` when there were too many. ``device``: the
    user who has signed in with it before (`sessions.devices`)."""
    place = await ctx.db.read(lambda tx: _known_place(tx, address, email, device))
    if place:
        return await _count(ctx, [(f"{_of_email(email)}:{place}", _TRY[2])], "to sign in")
    return await _count(ctx, _shared(_TRY, address, email), "to sign in")


async def count_mail(ctx: AppContext, address: str, email: str) -> list[CountedAttempt]:
    """Count a mail that is asked for; raises ``rate_limited`` when there were too many."""
    return await _count(ctx, _shared(_MAIL, address, email), "to get a mail")


async def count_arrival(ctx: AppContext, address: str, device: str = "") -> list[CountedAttempt]:
    """Count somebody who comes from an identity provider; raises ``rate_limited``. ``device``: see
    `count_try`."""
    if device:
        return await _count(ctx, [(f"sign_in:{device}", _TRY[1])], "to sign in")
    is_known = bool(address) and await ctx.db.read(lambda tx: session_rows.was_used(tx, address))
    if is_known:
        # No guess of a password comes this way, so what is bounded is the load alone.
        return await _count(ctx, [(f"sign_in:{address}:known", _TRY[0])], "to sign in")
    return await _count(ctx, _shared(_TRY, address, "")[:2], "to sign in")


async def give_back(ctx: AppContext, counts: list[CountedAttempt]) -> None:
    """It was no failure: it does not count."""
    for each in counts:
        await ctx.limiter.give_back(each.subject, each.rules, each.decision)


def _known_place(tx: Tx, address: str, email: str, device: str) -> str:
    """The device or address, when the user with that e-mail address has signed in there; "" when
    not."""
    user = user_rows.by_email(tx, email)
    if user is None:
        return ""
    if device == user.id:
        return "device"
    return address if address and session_rows.was_used_from(tx, user.id, address) else ""


def _of_email(email: str) -> str:
    return f"sign_in:{digest(email)[:24]}"


def _shared(windows: _Windows, address: str, email: str) -> list[tuple[str, tuple[Rule, ...]]]:
    """The one for everybody comes first: what it refuses leaves no trace."""
    subjects = ("sign_in", f"sign_in:{network_of(address)}", _of_email(email))
    return list(zip(subjects, windows, strict=True))


async def _count(
    ctx: AppContext, places: Sequence[tuple[str, tuple[Rule, ...]]], what: str
) -> list[CountedAttempt]:
    """A place for each subject, or none at all."""
    counts: list[CountedAttempt] = []
    for subject, rules in places:
        for rule in rules:
            decision = await ctx.limiter.acquire(subject, (rule,), ctx.clock.now())
            if decision.allowed:
                counts.append(CountedAttempt(subject, (rule,), decision))
                break
        else:
            await give_back(ctx, counts)
            wait = decision.seconds_until(decision.free_at)
            text = f"There were too many attempts {what}. Try again in {_wait_text(wait)}."
            raise RateLimited(text, wait)
    return counts


def network_of(address: str) -> str:
    """The address, or for IPv6 its network: who has one address there has all of them."""
    parsed = network_rules.address(address)
    if isinstance(parsed, IPv6Address):
        return str(IPv6Network((parsed, _IPV6_PREFIX), strict=False).network_address)
    return address[:64] if parsed is None else str(parsed)


def _wait_text(wait_seconds: int) -> str:
    if wait_seconds <= 10:
        return "a few seconds"
    minutes = -(-wait_seconds // 60)
    return "a minute" if minutes <= 1 else f"{minutes} minutes"
