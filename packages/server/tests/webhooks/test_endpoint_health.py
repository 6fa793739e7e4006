"""How an endpoint has answered lately, on each database."""

from agentpost.webhooks import health
from tests.webhooks.attempts import Account


async def test_health_is_what_became_of_the_newest(own: Account) -> None:
    endpoint = await own.endpoint()
    own.clock.advance(1)
    other = await own.endpoint()
    (nothing, _) = await health.all_of(own.ctx, own.id)
    assert (nothing.endpoint.id, nothing.statuses, nothing.last) == (other, [], None)
    for error in (None, None, "no"):
        own.clock.advance(1)
        await own.event(endpoint)
        await own.attempt(error)
    own.clock.advance(1)
    await own.event(endpoint)
    _, found = await health.all_of(own.ctx, own.id)
    assert [str(each) for each in found.newest] == ["delivered"] * 2 + ["pending"] * 2
    assert (found.ended, found.delivered, found.waiting) == (2, 2, 2)
    assert (found.typical_ms, found.slow_ms, found.is_failing) == (3, 3, True)
    assert found.last is not None
    assert (found.last.status_code, found.last.error) == (500, "no")
