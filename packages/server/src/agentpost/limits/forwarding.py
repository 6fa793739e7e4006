"""A proxy in front of this server that is not trusted: all its visitors count as one address."""

import json
from typing import Final

import structlog

from agentpost.accounts import network_rules
from agentpost.context import AppContext
from agentpost.db import meta
from agentpost.db.session import Tx
from agentpost.domain.times import DAY, HOUR
from agentpost.ratelimit.base import Rule

log = structlog.get_logger(__name__)
_SEEN: Final = "untrusted_proxy"
_ONCE: Final = (Rule("noted", 1, HOUR),)


async def note(ctx: AppContext, peer: str) -> None:
    """``peer``, which is not trusted, forwards for others: log it, and keep it for the doctor. Once
    an hour, so that strangers cannot make this server write."""
    if (await ctx.limiter.acquire(_SEEN, _ONCE, ctx.clock.now())).allowed:
        log.warning("proxy_not_trusted", peer=peer)
        text = json.dumps([ctx.clock.now(), peer])
        await ctx.db.write(lambda tx: meta.put(tx, _SEEN, text))


def problem(tx: Tx, ctx: AppContext) -> str:
    """What the doctor says of such a proxy, seen within a day and not trusted now; "" for none."""
    at, peer = json.loads(meta.get(tx, _SEEN) or '[0, ""]')
    proxies = network_rules.of_setting(tuple(ctx.settings.trusted_proxies))
    if ctx.clock.now() - at > DAY or network_rules.within(network_rules.address(peer), proxies):
        return ""
    return (
        f"{peer} sends X-Forwarded-For and is not in trusted_proxies. If it is your proxy, add it:"
        " until then all its visitors count as one address."
    )
