"""Moving windows shared by all nodes, in Redis: one script counts a call in one step.

A window is a list of times, oldest first. Redis being away must not take the API with it: until it
is back each node counts for itself.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import structlog

from agentpost.ratelimit.base import RateDecision, RateLimiter, Rule

if TYPE_CHECKING:
    from redis.asyncio import Redis

log = structlog.get_logger(__name__)

PREFIX = "agentpost:limit"
_TIMEOUT_SECONDS = 0.5
_RETRY_SECONDS = 1.0
"""How long a Redis that failed is left alone."""

_TAKE = """
local now = ARGV[1]
for i = 1, #KEYS do
  local newest = redis.call('LINDEX', KEYS[i], -1)
  if newest and tonumber(newest) > tonumber(now) then now = newest end
end
local answer = {now}
local full = false
for i = 1, #KEYS do
  local limit, span = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local oldest = redis.call('LINDEX', KEYS[i], 0)
  while oldest and tonumber(oldest) <= tonumber(now) - span do
    redis.call('LPOP', KEYS[i])
    oldest = redis.call('LINDEX', KEYS[i], 0)
  end
  local count = redis.call('LLEN', KEYS[i])
  local blocking = ''
  if count >= limit then
    full = true
    blocking = redis.call('LINDEX', KEYS[i], count - limit)
  end
  answer[#answer + 1] = {count, oldest or '', blocking}
end
if not full then
  for i = 1, #KEYS do
    redis.call('RPUSH', KEYS[i], now)
    redis.call('PEXPIRE', KEYS[i], math.ceil(tonumber(ARGV[2 * i + 1]) / 1000))
  end
end
return answer
"""


class RedisLimiter:
    """See `RateLimiter`.

    Args:
        url: ``redis://…`` or ``rediss://…``.
        alone: counts for this node while Redis is away.
    """

    def __init__(self, url: str, alone: RateLimiter) -> None:
        from redis.asyncio import Redis

        self._redis: Redis = Redis.from_url(
            url, socket_timeout=_TIMEOUT_SECONDS, socket_connect_timeout=_TIMEOUT_SECONDS
        )
        self._script: Any = self._redis.register_script(_TAKE)
        self._alone = alone
        self._away_until = 0.0

    async def acquire(self, subject: str, rules: Sequence[Rule], now: int) -> RateDecision:
        from redis.exceptions import RedisError

        if time.monotonic() < self._away_until:
            return await self._alone.acquire(subject, rules, now)
        arguments = [now, *(n for rule in rules for n in (rule.limit, rule.span))]
        try:
            answer = await self._script(keys=_keys(subject, rules), args=arguments)
        except (RedisError, OSError, TimeoutError) as error:
            await self._pause(error)
            return await self._alone.acquire(subject, rules, now)
        return _decision(rules, answer)

    async def give_back(self, subject: str, rules: Sequence[Rule], decision: RateDecision) -> None:
        from redis.exceptions import RedisError

        await self._alone.give_back(subject, rules, decision)
        if time.monotonic() < self._away_until:
            return
        try:
            async with self._redis.pipeline() as pipeline:
                for key in _keys(subject, rules):
                    pipeline.lrem(key, -1, str(decision.at))
                await pipeline.execute()
        except (RedisError, OSError, TimeoutError) as error:
            await self._pause(error)

    async def check(self) -> None:
        """Write to Redis, since a replica answers a ping, too; raises what keeps it from that."""
        try:
            await self._redis.set(f"{PREFIX}:check", "", px=1)
        except Exception:
            await self._disconnect()
            raise

    async def start(self) -> None:
        """Connect; a Redis that is away is no reason not to start."""
        from redis.exceptions import RedisError

        try:
            await self.check()
        except (RedisError, OSError, TimeoutError) as error:
            await self._pause(error)

    async def stop(self) -> None:
        await self._redis.aclose()

    async def _pause(self, error: Exception) -> None:
        """Leave Redis alone for a while, and then ask whichever server is at its address."""
        await self._disconnect()
        self._away_until = time.monotonic() + _RETRY_SECONDS
        log.warning(
            "redis_unavailable", error=str(error), consequence="each node counts for itself"
        )

    async def _disconnect(self) -> None:
        """Close the connections that rest: they may lead to a server that has become a replica."""
        await self._redis.connection_pool.disconnect(inuse_connections=False)


def _keys(subject: str, rules: Sequence[Rule]) -> list[str]:
    """The braces keep a subject's windows on one node of a Redis cluster."""
    return [f"{PREFIX}:{{{subject}}}:{rule.name}" for rule in rules]


def _decision(rules: Sequence[Rule], answer: list[Any]) -> RateDecision:
    now = int(answer[0])
    free_at = now
    for rule, (_, _, blocking) in zip(rules, answer[1:], strict=True):
        if blocking:
            free_at = max(free_at, int(blocking) + rule.span)
    allowed = free_at == now
    count, oldest, _ = answer[1]
    new_count = count + 1 if allowed else count
    reset_at = (int(oldest) if oldest else now) + rules[0].span
    return RateDecision(allowed, now, max(rules[0].limit - new_count, 0), reset_at, free_at)
