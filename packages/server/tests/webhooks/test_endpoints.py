"""Webhook endpoints and how they answer, on both databases (spec: Webhook endpoint states)."""

import asyncio

from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.webhooks import deliveries, endpoints, health
from agentpost.webhooks.endpoints import EndpointChange
from agentpost.webhooks.records import EndpointRecord
from tests.webhooks.attempts import Account

URL = "https://hooks.example.com/"


async def create(ctx: AppContext, account: str) -> EndpointRecord:
    return await endpoints.create(ctx, account, URL, None, None)


async def test_of_many_deletes_one_succeeds(ctx: AppContext, account: str) -> None:
    endpoint = await create(ctx, account)
    calls = [endpoints.delete(ctx, account, endpoint.id) for _ in range(10)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert sorted(type(answer).__name__ for answer in answers) == ["NoneType"] + ["Refusal"] * 9


async def test_concurrent_changes_lose_nothing(ctx: AppContext, account: str) -> None:
    endpoint = await create(ctx, account)
    await asyncio.gather(
        endpoints.change(ctx, account, endpoint.id, EndpointChange(description="mine")),
        endpoints.change(ctx, account, endpoint.id, EndpointChange(events=["job.failed"])),
        endpoints.rotate(ctx, account, endpoint.id),
        endpoints.change(ctx, account, endpoint.id, EndpointChange(enabled=False)),
    )
    (after,) = await endpoints.list_all(ctx, account)
    assert (after.description, after.events_json) == ("mine", '["job.failed"]')
    assert after.secret != endpoint.secret
    assert (after.disabled_reason, after.url) == ("manual", URL)


async def test_a_delivery_that_slipped_in_beside_the_end_is_ended(
    ctx: AppContext, account: str
) -> None:
    """A commit that still saw the endpoint enabled may come after the one that switched it off."""
    endpoint = await create(ctx, account)
    sent = await deliveries.send_test(ctx, account, endpoint.id)
    await endpoints.change(ctx, account, endpoint.id, EndpointChange(enabled=False))

    def slip_in(tx: Tx) -> None:
        tx.execute(
            "UPDATE deliveries SET status = 'pending', next_attempt_at = 0 WHERE event_id = ?",
            (sent.event_id,),
        )

    await ctx.db.write(slip_in)
    wanted = dict.fromkeys(await deliveries.due_endpoints(ctx), 8)
    assert list(wanted) == [endpoint.id]
    assert await deliveries.record_and_claim(ctx, [], [], wanted) == []
    _, (after,) = await endpoints.get(ctx, account, endpoint.id)
    assert after.status == "dropped"
    assert await deliveries.due_endpoints(ctx) == []


async def test_health_is_what_became_of_the_newest(own: Account) -> None:
    endpoint = await own.endpoint()
    own.clock.advance(1)
    other = await own.endpoint()
    (nothing, _) = await own.ctx.db.read(lambda tx: health.of_account(tx, own.id))
    assert (nothing.endpoint.id, nothing.statuses, nothing.last) == (other, [], None)
    for error in (None, None, "no"):
        own.clock.advance(1)
        await own.event(endpoint)
        await own.attempt(error)
    own.clock.advance(1)
    await own.event(endpoint)
    _, found = await own.ctx.db.read(lambda tx: health.of_account(tx, own.id))
    assert [str(each) for each in found.newest] == ["delivered"] * 2 + ["pending"] * 2
    assert (found.ended, found.delivered, found.waiting) == (2, 2, 2)
    assert (found.typical_ms, found.slow_ms, found.is_failing) == (3, 3, True)
    assert found.last is not None
    assert (found.last.status_code, found.last.error) == (500, "no")
