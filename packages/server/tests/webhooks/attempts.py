"""An account whose deliveries are attempted by the test instead of the sender."""

from agentpost.clock import ManualClock
from agentpost.context import AppContext
from agentpost.webhooks import deliveries, endpoints
from agentpost.webhooks.endpoint_rules import Attempted, Claimed
from agentpost.webhooks.records import DeliveryRecord


class Account:
    """One account with its endpoints and deliveries."""

    def __init__(self, ctx: AppContext, clock: ManualClock, account_id: str) -> None:
        self.ctx = ctx
        self.clock = clock
        self.id = account_id

    async def endpoint(self) -> str:
        """A new endpoint's id."""
        return (await endpoints.create(self.ctx, self.id, "http://127.0.0.1/", None, None)).id

    async def event(self, endpoint_id: str) -> str:
        """The id of an event due for the endpoint."""
        return (await deliveries.send_test(self.ctx, self.id, endpoint_id)).event_id

    async def backlog(self, endpoint_id: str, count: int) -> list[str]:
        """The ids of events, one each millisecond."""
        events = []
        for _ in range(count):
            self.clock.advance(0.001)
            events.append(await self.event(endpoint_id))
        return events

    async def claim(self, limit: int = 100) -> list[Claimed]:
        """All that is due."""
        wanted = dict.fromkeys(await deliveries.due_endpoints(self.ctx), limit)
        return await deliveries.record_and_claim(self.ctx, [], [], wanted)

    async def attempt(self, error: str | None = None) -> list[str]:
        """Attempt all that is due; the ids of the events."""
        claimed = await self.claim()
        await self.ended(claimed, error)
        return [each.event_id for each in claimed]

    async def ended(self, claimed: list[Claimed], error: str | None = None) -> None:
        """Record how attempts ended."""
        code, now = (200 if error is None else 500), self.clock.now()
        done = []
        for each in claimed:
            sent = deliveries.body(self.ctx, each.event)
            kept = (sent.sha256, sent.links_until)
            done.append(Attempted(each, now, code, error, "answer", 3, "", *kept))
        await deliveries.record_and_claim(self.ctx, done, [], {})

    async def read(self, endpoint_id: str, event_id: str) -> DeliveryRecord:
        """One delivery as it is now."""
        found, _ = await deliveries.page(self.ctx, self.id, endpoint_id, 100, None, None)
        return next(each for each in found if each.event_id == event_id)

    async def log(self, endpoint_id: str, event_id: str) -> list[tuple[int, str | None]]:
        """(number, error) of each attempt in the delivery's log."""
        delivery = await self.read(endpoint_id, event_id)
        return [(each.n, each.error) for each in delivery.attempt_log]

    async def statuses(self, endpoint_id: str) -> list[str]:
        """Statuses, oldest first."""
        found, _ = await deliveries.page(self.ctx, self.id, endpoint_id, 100, None, None)
        return [each.status.value for each in reversed(found)]

    async def is_on(self, endpoint_id: str) -> bool:
        """Whether the endpoint is enabled."""
        endpoint, _ = await endpoints.get(self.ctx, self.id, endpoint_id)
        return endpoint.disabled_at is None

    async def failing_since(self, endpoint_id: str) -> int | None:
        """Since when every attempt failed."""
        endpoint, _ = await endpoints.get(self.ctx, self.id, endpoint_id)
        return endpoint.failing_since
