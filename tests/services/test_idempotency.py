"""The Idempotency-Key against a real record (spec: createMessage 1, 2, 6; design: Idempotency)."""

import asyncio

import pytest

from agentpost.domain.errors import Refusal
from agentpost.services import accounts, messages
from agentpost.services.messages import Caller
from tests.services.harness import Harness

DAYS = 86_400


@pytest.mark.rule("createMessage 1")
async def test_without_a_key_every_call_is_a_new_message(harness: Harness) -> None:
    sent = [await harness.send("same") for _ in range(3)]
    assert len({accepted.message.id for accepted in sent}) == 3
    assert all(accepted.is_new for accepted in sent)


@pytest.mark.rule("createMessage 2")
async def test_the_same_key_and_body_is_the_same_message(harness: Harness) -> None:
    """No work twice, even while the first request still runs."""
    first = await harness.send("same", idempotency_key="k")
    while_running = await harness.send("same", idempotency_key="k")
    await harness.end(harness.ticket(first.message.id))
    afterwards = await harness.send("same", idempotency_key="k")
    assert {a.message.id for a in (first, while_running, afterwards)} == {first.message.id}
    assert [a.is_new for a in (first, while_running, afterwards)] == [True, False, False]
    assert len(harness.runner.tickets) == 1
    assert harness.one("SELECT COUNT(*) FROM messages") == (1,)


@pytest.mark.rule("createMessage 2")
async def test_calls_at_the_same_moment_make_one_message(harness: Harness) -> None:
    sent = await asyncio.gather(*(harness.send("same", idempotency_key="k") for _ in range(20)))
    assert len({accepted.message.id for accepted in sent}) == 1
    assert [accepted.is_new for accepted in sent].count(True) == 1
    assert len(harness.runner.tickets) == 1


@pytest.mark.rule("createMessage 2")
async def test_the_same_key_and_another_body_is_a_conflict(harness: Harness) -> None:
    """Nothing is sent to the agent."""
    await harness.send("one", idempotency_key="k")
    with pytest.raises(Refusal) as refused:
        await harness.send("two", idempotency_key="k")
    assert refused.value.code == "idempotency_conflict"
    assert len(harness.runner.tickets) == 1
    assert harness.one("SELECT COUNT(*) FROM messages") == (1,)


async def test_a_repeat_may_differ_outside_the_body(harness: Harness) -> None:
    """Conversation, webhook endpoint and metadata are not compared (design: Idempotency)."""
    endpoint = await harness.listen()
    first = await harness.send("same", idempotency_key="k")
    again = await harness.send(
        "same",
        idempotency_key="k",
        conversation="other",
        webhook_endpoint_id=endpoint,
        metadata={"a": "b"},
    )
    assert (again.message.id, again.is_new) == (first.message.id, False)


@pytest.mark.rule("createMessage 2", "Limits idempotency-key")
async def test_a_key_is_kept_for_seven_days(harness: Harness) -> None:
    """design: Idempotency."""
    first = await harness.send("one", idempotency_key="k")
    await harness.end(harness.ticket(first.message.id))
    created = first.message.created_at
    harness.clock.advance(7 * DAYS - (harness.clock.now() - created) / 1e6 - 1)
    assert not (await harness.send("one", idempotency_key="k")).is_new
    harness.clock.advance(1)
    later = await harness.send("two", idempotency_key="k")
    assert later.is_new
    assert later.message.id != first.message.id
    assert not (await harness.send("two", idempotency_key="k")).is_new
    assert harness.shown(first.message.id)["status"] == "completed"


async def test_a_refused_call_leaves_its_key_free(harness: Harness) -> None:
    """design: Idempotency."""
    with pytest.raises(Refusal, match="webhook endpoint"):
        await harness.send("one", idempotency_key="k", webhook_endpoint_id="whe_unknown")
    assert (await harness.send("two", idempotency_key="k")).is_new


async def second_key(harness: Harness) -> Caller:
    key = (await accounts.create_key(harness.ctx, harness.account_id, "second")).record
    return Caller(key.id, key.name, harness.account_id)


@pytest.mark.rule("createMessage 2")
async def test_keys_are_scoped_to_the_api_key(harness: Harness) -> None:
    first = await harness.send("one", idempotency_key="k")
    harness.caller = await second_key(harness)
    other = await harness.send("two", idempotency_key="k")
    assert other.is_new
    assert other.message.id != first.message.id


@pytest.mark.rule("createMessage 6")
async def test_messages_belong_to_the_key_that_sent_them(harness: Harness) -> None:
    """Another key of the account gets not_found."""
    message_id = (await harness.send()).message.id
    assert (await messages.get(harness.ctx, harness.caller, message_id)).message.id == message_id
    for unknown in (message_id, "msg_" + "0" * 32, "exe_" + "0" * 32, ""):
        with pytest.raises(Refusal) as refused:
            await messages.get(harness.ctx, await second_key(harness), unknown)
        assert refused.value.code == "not_found"
