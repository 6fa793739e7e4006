"""Send webhooks: a loop on its own thread claims due deliveries, sends them and records the
outcomes (design: Webhook events; spec: Webhook events 6, 7).

No endpoint waits for another. Each has a queue of a few claimed deliveries, of which at most
`WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX` are under way. A full queue claims nothing, so the backlog of a
receiver that hangs stays in the database. The prefetch of a queue grows with the speed of its
receiver: a quick one stays busy during the next commit, a slow one gets only deliveries that can
leave at once. `webhooks.concurrency` divides the slots between quick and slow endpoints.

One commit at a time records all attempts that ended meanwhile and claims for every queue with
capacity, which makes durable records of attempts cheap under load.
"""

import asyncio
import contextlib
import itertools
import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace

import structlog

from agentpost.clock import Clock
from agentpost.context import AppContext
from agentpost.domain.limits import WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX as ENDPOINT_ATTEMPTS_MAX
from agentpost.domain.times import SECOND
from agentpost.egress.client import Egress, PostResult
from agentpost.observability import traces
from agentpost.observability.traces import Trace
from agentpost.secrets.encryption import SecretUnreadable
from agentpost.threads.loop import AgentLoop
from agentpost.webhooks import deliveries
from agentpost.webhooks.concurrency import (
    SLOW_SECONDS,
    ConcurrencyLimits,
    EndpointQueue,
    fair_shares,
)
from agentpost.webhooks.endpoint_rules import Attempted, Claimed, EventContent
from agentpost.webhooks.signing import signed_headers

log = structlog.get_logger(__name__)

_ROUND_MAX = 400
"""Deliveries claimed, and attempts recorded, in one commit."""
_CLAIM_SECONDS = 1.0
"""An unsent claim is given back after this time: the endpoint may have changed meanwhile."""
PAUSE_SECONDS = 1.0
"""After a commit that failed."""
STOP_SECONDS = 2.0


class Deliveries:
    """Sends the webhooks of this process on a thread of its own.

    Args:
        egress: a way out for this loop alone; closed by `stop`.
        alone: no other node can exist, so claims found at the start have no owner.
    """

    def __init__(self, ctx: AppContext, egress: Egress, *, alone: bool) -> None:
        self._ctx = ctx
        self._egress = egress
        self._alone = alone
        self._sender = Sender(egress, ctx.clock, ctx.settings.webhook_timeout_seconds)
        self._loop = AgentLoop(name="webhook-loop")
        self._woken_endpoints: deque[str] = deque()
        self._wake = asyncio.Event()
        self._woken = False
        self._stopping = False
        self._claiming = True
        self._queues: defaultdict[str, EndpointQueue] = defaultdict(EndpointQueue)
        self._limits = ConcurrencyLimits()
        self._blocked: deque[EndpointQueue] = deque()  # queues that found no free slot
        self._changed: set[str] = set()  # endpoints, since the round began
        self._done: deque[Attempted] = deque()
        self._unused: deque[Claimed] = deque()
        self._attempts: set[asyncio.Task[None]] = set()
        self._running: asyncio.Task[None] | None = None

    # --- from any thread --------------------------------------------------------------------------
    def wake(self, endpoint_ids: Sequence[str]) -> None:
        """Something became due for these endpoints."""
        self._woken_endpoints.extend(endpoint_ids)
        if not self._woken:  # one wake-up for many commits
            self._woken = True
            with contextlib.suppress(RuntimeError):  # stopped: the next start finds it
                self._loop.call_soon(self._wake.set)

    def reread(self, endpoint_id: str) -> None:
        """The endpoint was changed or removed: read its claimed deliveries again."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon(self._reread, endpoint_id)

    async def start(self) -> None:
        """Begin; `deliveries.wake_due` tells what was left behind."""
        if self._alone:
            await deliveries.give_back_all(self._ctx)
        self._loop.start()
        self._running = await self._loop.run(self._begin())
        self._ctx.deliveries_due.add(self.wake)
        self._ctx.endpoint_changed.add(self.reread)

    @property
    def under_way(self) -> int:
        """How many attempts have begun and not ended."""
        return len(self._attempts)

    async def claim_no_more(self) -> None:
        """From now on no attempt begins; what is claimed and not sent is given back."""
        await self._loop.run(self._close())

    async def attempts_ended(self) -> None:
        """Returns when no attempt is under way, which takes ``webhook_timeout_seconds`` at most;
        call `claim_no_more` first."""
        await self._loop.run(self._wait_for_attempts())

    async def stop(self) -> None:
        """Give attempts on their way a moment, record what ended, give back the rest."""
        try:
            async with asyncio.timeout(3 * STOP_SECONDS):
                await self._loop.run(self._end())
        except TimeoutError:
            log.warning("webhook_loop_did_not_end")
        await asyncio.to_thread(self._loop.stop, STOP_SECONDS)

    # --- on the loop ------------------------------------------------------------------------------
    async def _begin(self) -> asyncio.Task[None]:
        return asyncio.create_task(self._run_loop())

    async def _end(self) -> None:
        self._stopping = True
        self._wake.set()
        assert self._running is not None
        await asyncio.wait({self._running})
        for endpoint_id in list(self._queues):
            self._empty_queue(endpoint_id)
        if self._attempts:
            await asyncio.wait(self._attempts, timeout=STOP_SECONDS)
        for attempt in self._attempts:
            attempt.cancel()
        await asyncio.gather(*self._attempts, return_exceptions=True)
        if self._done or self._unused:
            await deliveries.record_and_claim(self._ctx, list(self._done), list(self._unused), {})
        await self._egress.aclose()

    async def _close(self) -> None:
        self._claiming = False
        for endpoint_id in list(self._queues):
            self._empty_queue(endpoint_id)

    async def _wait_for_attempts(self) -> None:
        if self._attempts:
            await asyncio.wait(self._attempts)

    async def _run_loop(self) -> None:
        while True:
            await self._wake.wait()
            if self._stopping:
                return
            self._wake.clear()
            self._woken = False
            while self._woken_endpoints:
                self._queues[self._woken_endpoints.popleft()].due = True
            try:
                await self._round()
            except Exception:
                log.exception("webhook_round_failed")
                await asyncio.sleep(PAUSE_SECONDS)
                self._wake.set()

    async def _round(self) -> None:
        """One commit: record, give back, claim; then send what was claimed."""
        self._changed.clear()
        shares = self._shares()
        attempts = list(itertools.islice(self._done, _ROUND_MAX))
        unused = list(itertools.islice(self._unused, _ROUND_MAX))
        if not (shares or attempts or unused):
            return
        try:
            claims = await deliveries.record_and_claim(self._ctx, attempts, unused, shares)
        except BaseException:
            for endpoint_id in shares:
                self._queues[endpoint_id].due = True
            raise
        for attempt in attempts:
            self._done.popleft()
            self._queues[attempt.claimed.endpoint_id].claim_count -= 1
        for given_back in unused:
            self._unused.popleft()
            self._queues[given_back.endpoint_id].claim_count -= 1
        self._enqueue(claims, shares)
        for endpoint_id in {*shares, *(attempt.claimed.endpoint_id for attempt in attempts)}:
            queue = self._queues[endpoint_id]
            self._start(queue)
            if not queue.due and not queue.claim_count:
                self._limits.note_removed(self._queues.pop(endpoint_id))
        if self._done or self._unused or self._capacities(1):
            self._wake.set()

    def _shares(self) -> dict[str, int]:
        """How much to claim, by endpoint; these endpoints move to the end of the order."""
        shares = fair_shares(self._capacities(_ROUND_MAX), _ROUND_MAX)
        for endpoint_id in shares:
            queue = self._queues.pop(endpoint_id)
            queue.due = False  # set again by whoever commits something from here on
            self._queues[endpoint_id] = queue
        return shares

    def _capacities(self, most: int) -> dict[str, int]:
        """How much could be claimed now, by endpoint: up to ``most`` endpoints, the longest waiting
        first."""
        capacities: dict[str, int] = {}
        if not self._claiming:
            return capacities
        slow_free = self._limits.free(slow=True)
        for endpoint_id, queue in self._queues.items():
            capacity = self._limits.capacity(queue)
            if queue.slow:
                capacity = min(capacity, slow_free)
                slow_free -= max(capacity, 0)
            if capacity > 0:
                capacities[endpoint_id] = capacity
                if len(capacities) == most:
                    break
        return capacities

    def _enqueue(self, claims: Sequence[Claimed], shares: Mapping[str, int]) -> None:
        """Add claims to their queues; an endpoint that got all it asked for may have more."""
        now = time.monotonic()
        got = dict.fromkeys(shares, 0)
        for each in claims:
            queue = self._queues[each.endpoint_id]
            queue.claim_count += 1
            queue.waiting.append((now, each))
            got[each.endpoint_id] += 1
        for endpoint_id, count in got.items():
            if count == shares[endpoint_id]:
                self._queues[endpoint_id].due = True
            if endpoint_id in self._changed:  # by a commit beside ours: what we read is old
                self._empty_queue(endpoint_id)

    def _reread(self, endpoint_id: str) -> None:
        self._changed.add(endpoint_id)
        self._empty_queue(endpoint_id)

    def _empty_queue(self, endpoint_id: str) -> None:
        """Give back unsent claims, so that they are read again."""
        queue = self._queues.get(endpoint_id)
        if queue is not None and queue.waiting:
            self._unused.extend(claim for _, claim in queue.waiting)
            queue.waiting.clear()
            queue.due = True
            self._wake.set()

    # --- on the way out ---------------------------------------------------------------------------
    def _start(self, queue: EndpointQueue) -> None:
        """Send waiting deliveries while the limits of this endpoint and of all allow it."""
        while queue.waiting and queue.in_flight < queue.attempts_max and not self._stopping:
            since, claim = queue.waiting[0]
            if not self._claiming:  # it was claimed by a commit that was under way
                self._empty_queue(claim.endpoint_id)
                return
            free = self._limits.free_for(queue)
            if time.monotonic() - since > _CLAIM_SECONDS or (queue.slow and not free):
                queue.prefetch = min(queue.prefetch, ENDPOINT_ATTEMPTS_MAX)
                self._empty_queue(claim.endpoint_id)
                return
            if not free:
                if not queue.queued:
                    queue.queued = True
                    self._blocked.append(queue)
                return
            queue.waiting.popleft()
            self._limits.begin(queue)
            task = asyncio.create_task(self._attempt(queue, claim))
            self._attempts.add(task)
            task.add_done_callback(self._attempts.discard)

    def _start_queued(self) -> None:
        """Start queues that found no free slot, the longest waiting first."""
        while self._blocked:
            first = self._blocked[0]
            if first.waiting and not first.slow and not self._limits.free_for(first):
                return
            self._blocked.popleft()
            first.queued = False
            self._start(first)

    async def _attempt(self, queue: EndpointQueue, claim: Claimed) -> None:
        loop = asyncio.get_running_loop()
        late = loop.call_later(SLOW_SECONDS, self._is_late, queue, claim)
        try:
            result, body = await self._result(claim)
        except BaseException:
            self._unused.append(claim)
            raise
        finally:
            late.cancel()
            self._limits.end(queue, claim.event_id)
        queue.learn(is_success=result.error is None, ms=result.ms)
        outcome = (result.status, result.error, result.snippet, result.ms, result.headers)
        proof = (body.sha256, body.links_until) if body else ()
        self._done.append(Attempted(claim, self._ctx.clock.now(), *outcome, *proof))
        self._wake.set()
        self._start_queued()  # they have waited longer
        self._start(queue)

    def _is_late(self, queue: EndpointQueue, claim: Claimed) -> None:
        """Its endpoint counts as slow from now on: its unsent claims are given back, and quick
        slots become free."""
        self._limits.is_late(queue, claim.event_id)
        self._empty_queue(claim.endpoint_id)
        self._start_queued()
        self._wake.set()

    async def _result(self, claim: Claimed) -> tuple[PostResult, deliveries.Body | None]:
        body, began, trace = None, self._ctx.clock.now(), _trace(claim.event)
        span = (claim.event_id, claim.endpoint_id, claim.attempts_made + 1)
        # For the receiver: of the span of this attempt, or as the caller sent it.
        traceparent = claim.event.traceparent
        if trace is not None:
            traceparent = traces.traceparent(trace, traces.span_id(traces.WEBHOOK, *span))
        try:
            keys = self._ctx.cipher.signing_keys(claim.endpoint_id, claim.keys)
            body = deliveries.body(self._ctx, claim.event)
            result = await self._sender.attempt(
                claim.url, keys, claim.event_id, body.data, traceparent
            )
        except SecretUnreadable as error:
            result = PostResult(None, 0, "", str(error))
        except Exception:  # a fault of ours counts as an attempt, or it would be tried forever
            log.exception("webhook_attempt_failed", event_id=claim.event_id)
            result = PostResult(None, 0, "", "it could not be sent")
        if trace is not None:
            attributes = {
                "message_id": claim.event.message_id,
                "event_id": claim.event_id,
                "endpoint_id": claim.endpoint_id,
                "attempt": claim.attempts_made + 1,
                "status_code": result.status,
            }
            parent = traces.span_id(traces.MESSAGE, claim.event.message_id)
            name, times = f"webhook {claim.event.name}", (began, self._ctx.clock.now())
            traces.record(
                trace, traces.WEBHOOK, span, parent, name, times, attributes, result.error
            )
        return result, body


def _trace(event: EventContent) -> Trace | None:
    """None when the spans of its message are not exported, and for a test, which has none."""
    if event.message_id is None:
        return None
    return traces.sampled(event.message_id, event.traceparent)


class Sender:
    """Makes attempts on the event loop of its `Egress`. ``seconds``: the whole of an attempt,
    whatever the receiver does (spec: Webhook events 6)."""

    def __init__(self, egress: Egress, clock: Clock, seconds: float) -> None:
        self._egress = egress
        self._clock = clock
        self._seconds = seconds

    async def attempt(
        self,
        url: str,
        keys: Sequence[str],
        event_id: str,
        body: bytes,
        traceparent: str | None = None,
    ) -> PostResult:
        """Send once; never raises for what the receiver does. ``error`` is None when it took it.
        ``traceparent``: the trace the event belongs to, or its span of this attempt."""
        at = self._clock.now() // SECOND
        headers = signed_headers(keys, event_id, at, body, traceparent)
        result = await self._egress.post(url, body, headers, seconds=self._seconds)
        return replace(result, error=result.error or _refusal(result.status))


def _refusal(status: int | None) -> str | None:
    """Why an answer is a failure: anything but 2xx is."""
    if status is None or 200 <= status < 300:
        return None
    hint = " (redirects are not followed)" if 300 <= status < 400 else ""
    return f"it answered with HTTP status {status}{hint}"
