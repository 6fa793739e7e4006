"""The life of a delivery, on a clock the test moves (spec: Webhook events 7, 8; design: Webhook
events).
"""

import asyncio
from dataclasses import replace

import pytest

from agentpost.domain.errors import Refusal
from agentpost.mail import actions as mail
from agentpost.webhooks import deliveries, delivery_rows, endpoint_rows, endpoints
from agentpost.webhooks.endpoint_rules import Claimed, DeliveryStatus
from agentpost.webhooks.endpoints import EndpointChange
from tests.harness.databases import ON_SQLITE
from tests.webhooks.attempts import Account

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0


# --- the schedule ---------------------------------------------------------------------------------
@ON_SQLITE
@pytest.mark.rule("Webhook events 7")
async def test_a_retry_comes_earlier_or_later_by_chance(own: Account) -> None:
    """A twentieth at most, each by itself: what failed together does not come back together."""
    own.clock.deal([0.0, 1.0, 0.25])
    endpoint = await own.endpoint()
    events = await own.backlog(endpoint, 3)
    assert await own.attempt("no") == events
    pauses = [
        ((await own.read(endpoint, event)).next_attempt_at or 0) - own.clock.now()
        for event in events
    ]
    assert pauses == [57_000_000, 63_000_000, 58_500_000]


async def test_a_delivery_ends_with_its_message(own: Account) -> None:
    """It fails for good while others of the same endpoint succeed."""
    endpoint = await own.endpoint()
    event = await own.event(endpoint)
    await own.attempt("no")
    for _ in range(30):
        own.clock.advance(DAY)
        await own.event(endpoint)
        claimed = await own.claim()
        await own.ended([c for c in claimed if c.event_id == event], "no")
        await own.ended([c for c in claimed if c.event_id != event])
    ended = await own.read(endpoint, event)
    assert (ended.status, ended.next_attempt_at) == (DeliveryStatus.FAILED, None)
    assert await own.is_on(endpoint)


# --- claims ---------------------------------------------------------------------------------------
async def test_a_claim_keeps_others_away_until_it_runs_out(own: Account) -> None:
    """Who lost it changes nothing, whatever became of the attempt, and logs nothing."""
    endpoint = await own.endpoint()
    event = await own.event(endpoint)
    lost = await own.claim()
    assert await own.claim() == []
    own.clock.advance(10 + deliveries.LEASE_SPARE_SECONDS)
    again = await own.claim()
    assert [each.event_id for each in again] == [event]
    await own.ended(lost, "no")
    await own.ended(lost)
    before = await own.read(endpoint, event)
    assert (before.status, before.attempts) == (DeliveryStatus.PENDING, 0)
    assert await own.log(endpoint, event) == []
    for late in (again, lost):
        await own.ended(late)
        await own.ended(late, "no")
        after = await own.read(endpoint, event)
        assert (after.status, after.attempts) == (DeliveryStatus.DELIVERED, 1)
        assert await own.log(endpoint, event) == [(1, None)]


async def test_claims_are_given_back(own: Account) -> None:
    """An unused one by whoever has it, all of them by a restart."""
    await own.event(await own.endpoint())
    unused = await own.claim()
    assert await own.claim() == []
    await deliveries.record_and_claim(own.ctx, [], unused, {})
    assert len(await own.claim()) == 1
    await deliveries.give_back_all(own.ctx)
    assert len(await own.claim()) == 1


async def test_a_backlog_is_claimed_in_order_and_in_part(own: Account) -> None:
    dead, good = await own.endpoint(), await own.endpoint()
    backlog = await own.backlog(dead, 20)
    event = await own.event(good)
    claimed = await own.claim(limit=5)
    assert [each.event_id for each in claimed if each.endpoint_id == dead] == backlog[:5]
    assert [each.event_id for each in claimed if each.endpoint_id == good] == [event]


# --- turning off ----------------------------------------------------------------------------------
async def fail_for(own: Account, duration: float, pause: float = HOUR) -> None:
    """Every attempt fails, for that long."""
    until = own.clock.now() + duration * 1_000_000
    while own.clock.now() < until:
        await own.attempt("no")
        await deliveries.turn_off_failing(own.ctx)
        own.clock.advance(min(pause, (until - own.clock.now()) / 1_000_000))


@pytest.mark.rule("Webhook endpoint states 1", "Webhook events 8")
async def test_three_days_of_failure_turn_an_endpoint_off(own: Account) -> None:
    """At three days sharp, although no attempt is due just then; the owner is told once."""
    endpoint = await own.endpoint()
    first = await own.event(endpoint)
    since = own.clock.now()
    await fail_for(own, 3 * DAY - 1, pause=MINUTE * 10)
    assert await own.is_on(endpoint)
    second = await own.event(endpoint)
    claimed = await own.claim()
    assert [each.event_id for each in claimed] == [second]
    await own.ended(claimed, "no")
    assert await own.failing_since(endpoint) == since
    own.clock.advance(1)
    await asyncio.gather(*(deliveries.turn_off_failing(own.ctx) for _ in range(5)))

    now, recent = await endpoints.get(own.ctx, own.id, endpoint)
    assert now.disabled_at == own.clock.now()
    assert now.disabled_reason == "failing"
    assert now.failing_since == since
    assert [each.event_id for each in recent] == [second, first]
    assert await own.statuses(endpoint) == ["dropped", "dropped"]
    own.clock.advance(10 * DAY)
    assert await own.attempt() == []
    (written,) = await mail.mail_queue(own.ctx, own.id)
    assert written.recipient == "owner@example.com"
    assert endpoint in written.text
    assert "http://127.0.0.1/" in written.text


@ON_SQLITE
async def test_a_failed_attempt_after_three_days_turns_off_at_once(own: Account) -> None:
    endpoint = await own.endpoint()
    await own.event(endpoint)
    await own.attempt("no")
    own.clock.advance(3 * DAY)
    waiting = await own.event(endpoint)
    await deliveries.turn_off_failing(own.ctx)
    assert await own.is_on(endpoint), "a retry is due: it gets its chance"
    await own.attempt("no")
    assert not await own.is_on(endpoint)
    assert (await own.read(endpoint, waiting)).status == DeliveryStatus.DROPPED
    assert len(await mail.mail_queue(own.ctx, own.id)) == 1


@ON_SQLITE
@pytest.mark.rule("Webhook events 8")
async def test_one_success_starts_the_three_days_again(own: Account) -> None:
    endpoint = await own.endpoint()
    await own.event(endpoint)
    await fail_for(own, 2.9 * DAY)
    await own.event(endpoint)
    claimed = await own.claim()
    await own.ended(claimed[:1])
    assert await own.failing_since(endpoint) is None
    await own.event(endpoint)
    await fail_for(own, 2.9 * DAY)
    assert await own.is_on(endpoint)
    assert await mail.mail_queue(own.ctx, own.id) == []


@ON_SQLITE
async def test_a_single_failure_long_ago_turns_nothing_off(own: Account) -> None:
    """Nothing was tried since: a cancelled retry is no failure."""
    endpoint = await own.endpoint()
    event = await own.event(endpoint)
    await own.attempt("no")
    own.clock.advance(15 * DAY)
    claimed = await own.claim()
    assert [each.event_id for each in claimed] == [event]
    await deliveries.turn_off_failing(own.ctx)
    assert await own.is_on(endpoint)


async def test_endpoints_with_nothing_to_retry_do_not_hide_those_that_failed(own: Account) -> None:
    """They stay on, and would be found first by every sweep for ever."""
    idle, failing = await own.endpoint(), await own.endpoint()
    await own.event(idle)
    await own.attempt("no")
    await own.ctx.db.write(lambda tx: delivery_rows.end_pending(tx, idle, DeliveryStatus.CANCELLED))
    await own.event(failing)
    await fail_for(own, 2 * DAY)
    now = own.clock.now()
    found = await own.ctx.db.read(lambda tx: endpoint_rows.failing_since_before(tx, now, 1))
    assert found == [failing]


# --- ended from outside ---------------------------------------------------------------------------
async def test_a_dropped_delivery_that_arrived_is_delivered(own: Account) -> None:
    endpoint = await own.endpoint()
    events = await own.backlog(endpoint, 2)
    claimed = await own.claim()
    await endpoints.change(own.ctx, own.id, endpoint, EndpointChange(enabled=False))
    await own.ended(claimed[:1])
    await own.ended(claimed[1:], "no")
    assert await own.statuses(endpoint) == ["delivered", "dropped"]
    assert [each.event_id for each in claimed] == events


@pytest.mark.rule("Webhook endpoint states 4")
async def test_deleting_cancels_what_is_on_its_way(own: Account) -> None:
    endpoint, other = await own.endpoint(), await own.endpoint()
    await own.event(endpoint)
    claimed = await own.claim()
    await own.event(endpoint)
    event = await own.event(other)
    await endpoints.delete(own.ctx, own.id, endpoint)
    await own.ended(claimed, "no")
    own.clock.advance(DAY)
    assert await own.attempt() == [event]


def signs(own: Account, claimed: Claimed) -> tuple[str, ...]:
    return own.ctx.cipher.signing_keys(claimed.endpoint_id, claimed.keys)


@ON_SQLITE
@pytest.mark.rule("Additions grace_seconds")
async def test_rotation_with_a_grace_time_signs_with_both(own: Account) -> None:
    endpoint = await own.endpoint()
    old = (await endpoints.rotate(own.ctx, own.id, endpoint)).secret
    await own.event(endpoint)
    new = (await endpoints.rotate(own.ctx, own.id, endpoint, HOUR)).secret
    (claimed,) = await own.claim()
    assert signs(own, claimed) == (new, old)
    await own.ended([claimed], "no")
    own.clock.advance(HOUR)
    (claimed,) = await own.claim()
    assert signs(own, claimed) == (new,)
    await own.ended([claimed], "no")
    newest = (await endpoints.rotate(own.ctx, own.id, endpoint)).secret
    own.clock.advance(5 * MINUTE)
    (claimed,) = await own.claim()
    assert signs(own, claimed) == (newest,)
    assert newest not in repr(claimed)
    assert newest not in repr(replace((await endpoints.list_all(own.ctx, own.id))[0]))


# --- again ----------------------------------------------------------------------------------------
@pytest.mark.rule("Additions redeliver")
async def test_replay_covers_a_time_range(own: Account) -> None:
    endpoint = await own.endpoint()
    before = await own.event(endpoint)
    await own.attempt()
    own.clock.advance(DAY)
    since = own.clock.now()
    delivered = await own.event(endpoint)
    await own.attempt()
    dropped = [await own.event(endpoint) for _ in range(deliveries.CHUNK + 1)]
    await endpoints.change(own.ctx, own.id, endpoint, EndpointChange(enabled=False))
    own.clock.advance(1)
    until = own.clock.now()
    with pytest.raises(Refusal) as refusal:
        await deliveries.replay(own.ctx, own.id, endpoint, since, until)
    assert refusal.value.code == "bad_request"
    await endpoints.change(own.ctx, own.id, endpoint, EndpointChange(enabled=True))
    late = await own.event(endpoint)
    await own.attempt()

    only = (DeliveryStatus.DELIVERED,)
    assert await deliveries.replay(own.ctx, own.id, endpoint, since, until, only) == 1
    assert await own.attempt() == [delivered]
    count = await deliveries.replay(own.ctx, own.id, endpoint, since, until)
    assert count == len(dropped) + 1
    sent: set[str] = set()
    while again := await own.attempt():
        sent.update(again)
    assert sent == {delivered, *dropped}
    assert not {before, late} & sent
