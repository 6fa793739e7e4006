"""The Idempotency-Key against a real record (spec: createMessage 1, 2, 6; design: Idempotency)."""

import asyncio

import pytest

from agentpost.domain.errors import Refusal
from agentpost.services import accounts, messages
from agentpost.services.messages import Caller
from tests.services.house import Desk

DAYS = 86_400


@pytest.mark.rule("createMessage 1")
async def test_without_a_key_every_call_is_a_new_message(desk: Desk) -> None:
    sent = [await desk.send("same") for _ in range(3)]
    assert len({accepted.message.id for accepted in sent}) == 3
    assert all(accepted.fresh for accepted in sent)


@pytest.mark.rule("createMessage 2")
async def test_the_same_key_and_body_is_the_same_message(desk: Desk) -> None:
    """No work twice, even while the first request still runs."""
    first = await desk.send("same", idempotency_key="k")
    while_running = await desk.send("same", idempotency_key="k")
    await desk.end(desk.ticket(first.message.id))
    afterwards = await desk.send("same", idempotency_key="k")
    assert {a.message.id for a in (first, while_running, afterwards)} == {first.message.id}
    assert [a.fresh for a in (first, while_running, afterwards)] == [True, False, False]
    assert len(desk.runner.tickets) == 1
    assert desk.one("SELECT COUNT(*) FROM messages") == (1,)


@pytest.mark.rule("createMessage 2")
async def test_calls_at_the_same_moment_make_one_message(desk: Desk) -> None:
    sent = await asyncio.gather(*(desk.send("same", idempotency_key="k") for _ in range(20)))
    assert len({accepted.message.id for accepted in sent}) == 1
    assert [accepted.fresh for accepted in sent].count(True) == 1
    assert len(desk.runner.tickets) == 1


@pytest.mark.rule("createMessage 2")
async def test_the_same_key_and_another_body_is_a_conflict(desk: Desk) -> None:
    """Nothing is sent to the agent."""
    await desk.send("one", idempotency_key="k")
    with pytest.raises(Refusal) as refused:
        await desk.send("two", idempotency_key="k")
    assert refused.value.code == "idempotency_conflict"
    assert len(desk.runner.tickets) == 1
    assert desk.one("SELECT COUNT(*) FROM messages") == (1,)


async def test_what_is_no_part_of_the_body_may_differ(desk: Desk) -> None:
    """Conversation, webhook endpoint and metadata are not compared (design: Idempotency)."""
    endpoint = await desk.listen()
    first = await desk.send("same", idempotency_key="k")
    again = await desk.send(
        "same",
        idempotency_key="k",
        conversation="other",
        webhook_endpoint_id=endpoint,
        metadata={"a": "b"},
    )
    assert (again.message.id, again.fresh) == (first.message.id, False)


@pytest.mark.rule("createMessage 2", "Limits idempotency-key")
async def test_a_key_is_kept_for_seven_days(desk: Desk) -> None:
    """design: Idempotency."""
    first = await desk.send("one", idempotency_key="k")
    await desk.end(desk.ticket(first.message.id))
    created = first.message.created_at
    desk.clock.advance(7 * DAYS - (desk.clock.now() - created) / 1e6 - 1)
    assert not (await desk.send("one", idempotency_key="k")).fresh
    desk.clock.advance(1)
    later = await desk.send("two", idempotency_key="k")
    assert later.fresh
    assert later.message.id != first.message.id
    assert not (await desk.send("two", idempotency_key="k")).fresh
    assert desk.shown(first.message.id)["status"] == "completed"


async def test_a_refused_call_leaves_its_key_free(desk: Desk) -> None:
    """design: Idempotency."""
    with pytest.raises(Refusal, match="webhook endpoint"):
        await desk.send("one", idempotency_key="k", webhook_endpoint_id="whe_unknown")
    assert (await desk.send("two", idempotency_key="k")).fresh


async def second_key(desk: Desk) -> Caller:
    key = (await accounts.create_key(desk.house, desk.account_id, "second")).record
    return Caller(key.id, key.name, desk.account_id)


@pytest.mark.rule("createMessage 2")
async def test_keys_are_scoped_to_the_api_key(desk: Desk) -> None:
    first = await desk.send("one", idempotency_key="k")
    desk.caller = await second_key(desk)
    other = await desk.send("two", idempotency_key="k")
    assert other.fresh
    assert other.message.id != first.message.id


@pytest.mark.rule("createMessage 6")
async def test_messages_belong_to_the_key_that_sent_them(desk: Desk) -> None:
    """Another key of the account gets not_found."""
    message_id = (await desk.send()).message.id
    assert (await messages.get(desk.house, desk.caller, message_id)).message.id == message_id
    for unknown in (message_id, "msg_" + "0" * 32, "exe_" + "0" * 32, ""):
        with pytest.raises(Refusal) as refused:
            await messages.get(desk.house, await second_key(desk), unknown)
        assert refused.value.code == "not_found"
