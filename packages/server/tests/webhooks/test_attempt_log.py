"""Each attempt of a delivery leaves a row; the clock stands still (design: The log of attempts)."""

import pytest

from agentpost.clock import ManualClock
from agentpost.db.session import Tx
from agentpost.domain.limits import WEBHOOK_ATTEMPTS_KEPT
from agentpost.files.links import SignedLinks
from agentpost.storage.signing import LinkSigner
from agentpost.webhooks import deliveries, delivery_rows
from agentpost.webhooks.deliveries import Proof
from agentpost.webhooks.endpoint_rules import Attempted
from tests.harness.databases import ON_SQLITE
from tests.webhooks.attempts import Account

HOUR = 3_600.0


async def test_the_log_goes_on_when_a_delivery_is_sent_again(own: Account) -> None:
    """Also within one moment: the number tells attempts apart, not the time."""
    endpoint = await own.endpoint()
    event = await own.event(endpoint)
    await own.attempt("no")
    await deliveries.redeliver(own.ctx, own.id, endpoint, event)
    await own.attempt()
    await deliveries.redeliver(own.ctx, own.id, endpoint, event)
    await own.attempt("never")
    assert (await own.read(endpoint, event)).attempts == 1
    assert await own.log(endpoint, event) == [(1, "no"), (2, None), (3, "never")]


@ON_SQLITE
@pytest.mark.rule("Additions attempt_log")
async def test_the_log_keeps_the_newest_attempts(own: Account) -> None:
    endpoint = await own.endpoint()
    event, other = await own.event(endpoint), await own.event(endpoint)
    made = WEBHOOK_ATTEMPTS_KEPT + 3
    for number in range(1, made + 1):
        await own.attempt(f"no {number}")
        await deliveries.redeliver(own.ctx, own.id, endpoint, event)
    assert await own.log(endpoint, event) == [(n, f"no {n}") for n in range(4, made + 1)]
    assert await own.log(endpoint, other) == [(1, "no 1")]


@ON_SQLITE
@pytest.mark.rule("Additions attempt_log")
async def test_a_long_answer_is_logged_in_part(own: Account) -> None:
    endpoint = await own.endpoint()
    event = await own.event(endpoint)
    (claimed,) = await own.claim()
    answer = "é" * 1_000
    done = [Attempted(claimed, own.clock.now(), 500, "no", answer, 3, "Server: x")]
    await deliveries.record_and_claim(own.ctx, done, [], {})
    read = await own.read(endpoint, event)
    assert read.last_response == answer
    assert [(each.response, each.headers) for each in read.attempt_log] == [
        ("é" * 500, "Server: x")
    ]


async def test_many_attempts_are_logged_by_one_commit(own: Account) -> None:
    ours = [await own.endpoint(), await own.endpoint()]
    events = {endpoint: await own.backlog(endpoint, 40) for endpoint in ours}
    claimed = await own.claim()
    assert len(claimed) == 80
    await own.ended(claimed)
    for endpoint in ours:
        logs = [await own.log(endpoint, event) for event in events[endpoint][::20]]
        assert logs == [[(1, None)], [(1, None)]]


@ON_SQLITE
async def test_the_body_that_was_sent_is_shown_as_long_as_it_can_be_made_again(
    own: Account, clock: ManualClock
) -> None:
    """Its links too, which expire; and what is not the same is never taken for it."""
    endpoint, now = await own.endpoint(), clock.now()
    file = '{"file_id":"wrk_1/a.csv","revision":"r","url":""}'

    def add(tx: Tx) -> None:
        name, data = "message.completed", f'{{"files":[{file}],"jobs":[]}}'
        delivery_rows.add_event(tx, "evt_1", own.id, None, None, name, data, now)
        delivery_rows.add_delivery(tx, "evt_1", endpoint, "pending", now)

    async def shown() -> tuple[deliveries.Body, Proof]:
        return (await deliveries.get_with_event(own.ctx, own.id, endpoint, "evt_1"))[1:]

    await own.ctx.db.write(add)
    assert (await shown())[1] is Proof.TO_SEND
    (claimed,) = await own.claim()
    sent = deliveries.body(own.ctx, claimed.event)
    assert b"sig=" in sent.data
    await own.ended([claimed], "no")
    clock.advance(2 * HOUR)
    assert await shown() == (sent, Proof.SENT)
    moved = SignedLinks(LinkSigner(b"other", "https://f"), clock, app_url="", link_seconds=1.0)
    own.ctx.links = moved
    assert (await shown())[1] is Proof.OTHER
    await own.ctx.db.write(lambda tx: tx.execute("UPDATE attempts SET body_sha256 = NULL"))
    assert (await shown())[1] is Proof.TO_SEND
