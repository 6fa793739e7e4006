"""Moving windows of one process, in memory.

A window is a queue of times, oldest first: a call costs two queue operations whatever the limit is.
Each time somebody new is counted two old windows are looked at and dropped when idle, so memory
follows the number of those who called lately and nothing ever has to sweep.
"""

from collections import deque
from collections.abc import Sequence

from agentpost.domain.times import SECOND
from agentpost.ratelimit.base import RateDecision, Rule

_Log = deque[int]
_LOOKED_AT_PER_NEW = 2
LATE_MAX = 2 * SECOND
"""A call may come that much later than another with a later time; a clock that lies further back
was set."""


class MemoryLimiter:
    """See `RateLimiter`."""

    def __init__(self) -> None:
        self._logs: dict[tuple[str, str], tuple[_Log, int]] = {}
        self._newest = 0
        self._set_back = 0

    def __len__(self) -> int:
        """How many windows are kept."""
        return len(self._logs)

    async def acquire(self, subject: str, rules: Sequence[Rule], now: int) -> RateDecision:
        now = self._moving_on(now)
        log_count = len(self._logs)
        logs = []
        for rule in rules:
            log, _ = self._logs.setdefault((subject, rule.name), (deque(), rule.span))
            logs.append(log)
            if log and log[-1] > now:
                now = log[-1]
        free_at = now
        for n, log in enumerate(logs):
            rule = rules[n]
            oldest_kept = now - rule.span
            while log and log[0] <= oldest_kept:
                log.popleft()
            if len(log) >= rule.limit:
                free_at = max(free_at, log[len(log) - rule.limit] + rule.span)
        allowed = free_at == now
        if allowed:
            for log in logs:
                log.append(now)
        if len(self._logs) > log_count:
            self._drop_idle(now)
        first, first_log = rules[0], logs[0]
        reset_at = (first_log[0] if first_log else now) + first.span
        return RateDecision(allowed, now, max(first.limit - len(first_log), 0), reset_at, free_at)

    async def give_back(self, subject: str, rules: Sequence[Rule], decision: RateDecision) -> None:
        for rule in rules:
            entry = self._logs.get((subject, rule.name))
            if entry is not None and decision.at in entry[0]:
                entry[0].remove(decision.at)

    async def start(self) -> None:
        """There is nothing to connect to."""

    async def stop(self) -> None:
        """Nothing is connected."""

    def _moving_on(self, now: int) -> int:
        """The time, as if the clock had never been set back: from then on it runs on from where it
        was. Otherwise windows would stand still until it has caught up with itself."""
        now += self._set_back
        if now < self._newest - LATE_MAX:
            self._set_back += self._newest - now
            now = self._newest
        self._newest = max(self._newest, now)
        return now

    def _drop_idle(self, now: int) -> None:
        for _ in range(min(_LOOKED_AT_PER_NEW, len(self._logs))):
            name = next(iter(self._logs))
            log, span = self._logs.pop(name)
            if log and log[-1] > now - span:
                self._logs[name] = (log, span)  # in use: to the end of the line
