"""Webhook endpoints on both databases (spec: Webhooks, Webhook endpoint states)."""

import asyncio

import pytest

from agentpost.clock import ManualClock
from agentpost.db.session import Tx
from agentpost.domain.endpoints import EndpointRecord
from agentpost.domain.errors import Refusal
from agentpost.services import deliveries, endpoints
from agentpost.services.context import House
from agentpost.services.endpoints import EndpointChange
from tests.services.both import account, clock, house, new_account, schema_url

__all__ = ["account", "clock", "house", "schema_url"]

URL = "https://hooks.example.com/"


async def create(house: House, account: str) -> EndpointRecord:
    return await endpoints.create(house, account, URL, None, None)


def codes(results: list[EndpointRecord | BaseException]) -> list[str]:
    """Codes of those that were refused."""
    assert all(isinstance(r, EndpointRecord | Refusal) for r in results), results
    return [result.code for result in results if isinstance(result, Refusal)]


@pytest.mark.rule("Webhook events 9")
async def test_ten_at_most_under_races(house: House, account: str) -> None:
    other = await new_account(house, "other@example.com")
    calls = [create(house, account) for _ in range(30)] + [create(house, other) for _ in range(3)]
    refused = codes(await asyncio.gather(*calls, return_exceptions=True))
    assert refused == ["too_many_endpoints"] * 20
    assert len(await endpoints.list_all(house, account)) == 10
    assert len(await endpoints.list_all(house, other)) == 3


async def test_newest_first(house: House, account: str, clock: ManualClock) -> None:
    made = []
    for _ in range(3):
        made.append((await create(house, account)).id)
        clock.advance(1)
    assert [each.id for each in await endpoints.list_all(house, account)] == made[::-1]


async def test_of_many_deletes_one_succeeds(house: House, account: str) -> None:
    endpoint = await create(house, account)
    calls = [endpoints.delete(house, account, endpoint.id) for _ in range(10)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert sorted(type(answer).__name__ for answer in answers) == ["NoneType"] + ["Refusal"] * 9


async def test_concurrent_changes_lose_nothing(house: House, account: str) -> None:
    endpoint = await create(house, account)
    await asyncio.gather(
        endpoints.change(house, account, endpoint.id, EndpointChange(description="mine")),
        endpoints.change(house, account, endpoint.id, EndpointChange(events=["job.failed"])),
        endpoints.rotate(house, account, endpoint.id),
        endpoints.change(house, account, endpoint.id, EndpointChange(enabled=False)),
    )
    (after,) = await endpoints.list_all(house, account)
    assert (after.description, after.events_json) == ("mine", '["job.failed"]')
    assert after.secret != endpoint.secret
    assert (after.disabled_reason, after.url) == ("manual", URL)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (EndpointChange(url="https://10.1.2.3/"), "bad_url"),
        (EndpointChange(events=["job.lost"]), "bad_events"),
        (EndpointChange(events=[]), "bad_events"),
        (EndpointChange(description="x" * 121), "bad_request"),
    ],
)
async def test_refused_changes_change_nothing(
    house: House, account: str, change: EndpointChange, code: str
) -> None:
    endpoint = await create(house, account)
    with pytest.raises(Refusal) as refusal:
        await endpoints.change(house, account, endpoint.id, change)
    assert refusal.value.code == code
    assert await endpoints.list_all(house, account) == [endpoint]


async def test_what_slipped_in_beside_the_end_is_ended(house: House, account: str) -> None:
    """A commit that still saw the endpoint enabled may come after the one that switched it off."""
    endpoint = await create(house, account)
    sent = await deliveries.send_test(house, account, endpoint.id)
    await endpoints.change(house, account, endpoint.id, EndpointChange(enabled=False))

    def slip_in(tx: Tx) -> None:
        tx.execute(
            "UPDATE deliveries SET status = 'pending', next_attempt_at = 0 WHERE event_id = ?",
            (sent.event_id,),
        )

    await house.db.write(slip_in)
    wanted = dict.fromkeys(await deliveries.due_endpoints(house), 8)
    assert list(wanted) == [endpoint.id]
    assert await deliveries.turn_over(house, [], [], wanted) == []
    (after,) = (await endpoints.get(house, account, endpoint.id)).recent
    assert after.status == "dropped"
    assert await deliveries.due_endpoints(house) == []
