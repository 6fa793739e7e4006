"""What is kept long enough goes, in small pieces, and is unseen before (spec: Limits)."""

import json
from pathlib import Path

import pytest

from agentpost.context import AppContext
from agentpost.domain.errors import Refusal
from agentpost.following import long_polls
from agentpost.messages import sending
from agentpost.messages.new_messages import NewMessage
from agentpost.nodes import upkeep
from agentpost.record import reading as messages
from agentpost.retention import actions as retention
from agentpost.tasks.background import ANEW_SECONDS, REST_SECONDS, Purge
from agentpost.webhooks import deliveries
from agentpost.webhooks.endpoint_rules import Attempted
from tests.harness.driver import DAY, ManualHarness, manual_harness
from tests.harness.rows import insert
from tests.schema import TABLES

OWN = ("messages", "entries", "signals", "calls", "message_jobs", "jobs", "inbox", "attachments")


async def all_messages(at: ManualHarness) -> None:
    """A whole round over the messages."""
    cursor: str | None = ""
    while cursor is not None:
        cursor = await retention.messages(at.ctx, cursor)


async def listen(at: ManualHarness, events: list[str]) -> None:
    """An endpoint for these events."""
    of = {"account_id": at.caller.account_id, "events_json": json.dumps(events), "secret": "s"}
    await at.ctx.db.write(
        lambda tx: insert(tx, "endpoints", id="whe_1", url="https://x", created_at=0, **of)
    )


async def assert_unseen(at: ManualHarness, message_id: str) -> None:
    with pytest.raises(Refusal) as refused:
        await messages.get(at.ctx, at.caller, message_id)
    assert refused.value.code == "not_found"
    with pytest.raises(Refusal):
        await long_polls.Log(at.ctx, at.caller, message_id).events(None, 0, lambda wait: None)


@pytest.mark.rule("getMessage.answers", "Errors not_found", "Limits retention")
async def test_a_message_is_unseen_at_once_and_gone_after_the_purge(at: ManualHarness) -> None:
    message_id = await at.say()
    at.clock.advance(14 * DAY - 1)
    await all_messages(at)
    assert (await at.shape(message_id))["status"] == "completed"
    at.clock.advance(1)
    await assert_unseen(at, message_id)
    assert await at.count("messages") == 1

    await all_messages(at)
    for table in OWN:
        assert await at.count(table) == 0, table


@pytest.mark.rule("Limits retention")
async def test_a_message_lives_as_long_as_its_jobs_deadline_says(at: ManualHarness) -> None:
    message_id, owned = await at.working()
    await at.finish(owned)
    at.clock.advance(21 * DAY - 1)
    await all_messages(at)
    assert (await at.shape(message_id))["status"] == "completed"
    at.clock.advance(1)
    await all_messages(at)
    for table in OWN:
        assert await at.count(table) == 0, table


async def test_a_job_lives_as_long_as_any_message_lists_it(at: ManualHarness) -> None:
    message_id, owned = await at.working()
    at.clock.advance(6 * DAY)
    follower = (await at.accept("joins", conversation="another")).message.id
    await at.join(follower, owned.job_id)
    await at.end(follower)
    await at.finish(owned)
    await at.ctx.db.write(
        lambda tx: tx.execute(
            "UPDATE messages SET expires_at = expires_at + ? WHERE id = ?",
            (DAY * 1_000_000, follower),
        )
    )
    at.clock.advance(15 * DAY)
    await all_messages(at)
    await assert_unseen(at, message_id)
    assert await at.count("messages") == 1
    assert (await at.shape(follower))["jobs"][0]["status"] == "completed"
    at.clock.advance(DAY)
    await all_messages(at)
    assert await at.count("jobs") == await at.count("inbox") == 0


async def test_work_nobody_can_ask_for_any_more_is_stopped(at: ManualHarness) -> None:
    message_id, owned = await at.working()
    at.clock.advance(7 * DAY)
    await upkeep.expire_jobs(at.ctx)
    at.clock.advance(14 * DAY)
    await all_messages(at)
    assert at.placed.aborted == [owned.job_id]
    assert await at.count("jobs") == 0
    await assert_unseen(at, message_id)


async def test_large_messages_go_in_several_transactions(
    at: ManualHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "ROWS_PER_TRANSACTION", 7)
    message_id, owned = await at.working()
    call = {"fingerprint": "", "state": "done", "value": "", "at": 0}
    await at.ctx.db.write(
        lambda tx: [
            insert(tx, "calls", owner=owner, n=1_000 + n, **call)  # type: ignore[func-returns-value]
            for n in range(20)
            for owner in (message_id, owned.job_id)
        ]
    )
    await at.finish(owned)
    at.clock.advance(21 * DAY)
    kept = await at.say("another")
    await all_messages(at)
    for table in ("calls", "jobs", "message_jobs"):
        assert await at.count(table) == 0, table
    assert (await at.shape(kept))["reply"] == "there"
    assert await at.count("signals", "owner <> ?", kept) == 0


async def test_a_sweep_is_bounded_and_goes_on_where_it_was(
    at: ManualHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MESSAGES_PER_SWEEP", 2)
    for n in range(5):
        await at.say(f"{n}")
    at.clock.advance(14 * DAY)
    cursor = await retention.messages(at.ctx)
    assert (await at.count("messages"), bool(cursor)) == (3, True)
    cursor = await retention.messages(at.ctx, cursor or "")
    assert (await at.count("messages"), bool(cursor)) == (1, True)
    assert await retention.messages(at.ctx, cursor or "") is None
    assert await at.count("messages") == 0


async def test_events_deliveries_and_attempts_go_with_their_message(at: ManualHarness) -> None:
    await listen(at, ["*"])
    await at.say()
    claimed = await deliveries.record_and_claim(at.ctx, [], [], {"whe_1": 1})
    done = [Attempted(each, at.clock.now(), 200, None, "", 3) for each in claimed]
    await deliveries.record_and_claim(at.ctx, done, [], {})
    tables = ("attempts", "deliveries", "events")
    assert [await at.count(table) for table in tables] == [1, 1, 1]
    at.clock.advance(14 * DAY)
    await all_messages(at)
    assert [await at.count(table) for table in tables] == [0, 0, 0]


@pytest.mark.rule("listMessageEvents.expired", "Limits event-log")
async def test_entries_go_by_their_own_time(at: ManualHarness) -> None:
    early, owned = await at.working()
    at.clock.advance(4 * DAY)
    await at.finish(owned)
    at.clock.advance(3 * DAY - 1)
    assert await retention.entries(at.ctx) is None
    assert await at.count("entries") == 2
    at.clock.advance(1)
    await retention.entries(at.ctx)
    assert await at.rows("SELECT message_id, type FROM entries") == [(early, "result")]
    at.clock.advance(4 * DAY)
    await retention.entries(at.ctx)
    assert await at.count("entries") == 0
    assert (await at.shape(early))["status"] == "completed"


async def test_entries_are_walked_page_by_page(
    at: ManualHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "PAGE", 2)
    for n in range(5):
        await at.say(f"{n}")
    at.clock.advance(7 * DAY)
    young = await at.say("young")
    cursor: retention.LogCursor | None = ("", 0)
    steps = 0
    while cursor is not None:
        cursor = await retention.entries(at.ctx, cursor)
        steps += 1
    assert steps == 3
    assert await at.rows("SELECT message_id FROM entries") == [(young,)]


@pytest.mark.rule("createMessage 2", "Limits idempotency-key")
async def test_idempotency_keys_are_freed_after_seven_days(at: ManualHarness) -> None:
    """At once, and by the purge."""
    first = {key: await at.say("one", idempotency_key=key) for key in ("k", "purged")}
    at.clock.advance(7 * DAY - 1)
    assert await retention.keys(at.ctx) is None
    for key, message_id in first.items():
        assert (await at.accept("one", idempotency_key=key)).message.id == message_id
    at.clock.advance(1)
    again = await at.accept("two", idempotency_key="k")
    assert again.is_new
    assert (await at.accept("two", idempotency_key="k")).message.id == again.message.id
    assert await retention.keys(at.ctx) is None
    kept = await at.rows("SELECT id FROM messages WHERE idempotency_key IS NOT NULL")
    assert kept == [(again.message.id,)]
    assert (await at.accept("one", idempotency_key="purged")).is_new
    assert (await at.shape(first["k"]))["status"] == "completed"


async def test_a_key_does_not_lead_to_a_message_that_is_unseen(tmp_path: Path) -> None:
    async with manual_harness(tmp_path, message_retention_seconds=10) as at:
        first = await at.say("one", idempotency_key="k")
        new = NewMessage(text="one", idempotency_key="k")
        found = await sending.find_replay(at.ctx, at.caller, new)
        assert found is not None
        at.clock.advance(10)
        again = await at.accept("one", idempotency_key="k")
        assert again.is_new
        assert again.message.id != first


async def test_the_rounds_rest_between_each_other(at: ManualHarness) -> None:
    purge = Purge(at.ctx)
    await at.say()
    await purge.run()
    at.clock.advance(14 * DAY)
    await purge.run()
    assert await at.count("messages") == 0
    await at.say()
    at.clock.advance(REST_SECONDS - 1)
    await at.ctx.db.write(lambda tx: tx.execute("UPDATE messages SET expires_at = 0"))
    await purge.run()
    assert await at.count("messages") == 1


async def test_a_round_goes_on_where_the_one_before_ended(
    at: ManualHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And begins anew once an hour: what had to stay is met again."""
    cursors: list[str] = []
    real = retention.messages

    async def messages(ctx: AppContext, after: str = "") -> str | None:
        cursors.append(after)
        return await real(ctx, after)

    monkeypatch.setattr(retention, "messages", messages)
    purge = Purge(at.ctx)
    await purge.run()
    bound = retention.old_messages(at.ctx)
    at.clock.advance(REST_SECONDS)
    await purge.run()
    assert cursors == ["", bound]
    at.clock.advance(ANEW_SECONDS)
    await purge.run()
    at.clock.advance(REST_SECONDS)
    await purge.run()
    assert cursors[-1] == ""


async def test_a_message_with_jobs_goes_when_it_is_due(at: ManualHarness) -> None:
    """Though rounds by id have long passed it."""
    message_id, owned = await at.working()
    await at.finish(owned)
    purge = Purge(at.ctx)
    at.clock.advance(20 * DAY)
    await purge.run()
    assert await at.count("messages") == 1
    at.clock.advance(DAY)
    await purge.run()
    assert await at.count("messages", "id = ?", message_id) == 0


async def test_a_clock_that_is_set_back_does_not_lengthen_the_rest(
    at: ManualHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: list[None] = []

    async def messages(*_: object) -> None:
        rounds.append(None)

    monkeypatch.setattr(retention, "messages", messages)
    purge = Purge(at.ctx)
    await purge.run()
    at.clock.advance(-DAY)
    await purge.run()
    assert len(rounds) == 1
    at.clock.advance(REST_SECONDS)
    await purge.run()
    assert len(rounds) == 2


async def test_a_test_event_goes_like_those_of_messages(at: ManualHarness) -> None:
    await listen(at, [])
    await deliveries.send_test(at.ctx, at.caller.account_id, "whe_1")
    at.clock.advance(14 * DAY - 1)
    await retention.rest(at.ctx)
    assert await at.count("events") == 1
    at.clock.advance(2)
    await retention.rest(at.ctx)
    assert await at.count("events") == await at.count("deliveries") == 0


KEPT = {
    "accounts": "for good",
    "account_storage": "with their account",
    "keys": "for good, revoked ones too: records name them",
    "conversations": "for good: an agent's memory of a customer",
    "ledger": "for good: where credits went",
    "event_readers": "one row for each account that was ever read",
    "endpoints": "until deleted",
    "works": "until deleted",
    "schedules": "until deleted; ended ones until their account makes another",
    "users": "until removed",
    "user_mails": "with their mail",
    "files": "with their work, replaced ones with their message, unlisted ones with their job",
    "meta": "a few names",
    "reader_locks": "as long as a read is held",
    "nodes": "as long as they beat",
    "pending_deletions": "until the bytes are gone",
    "uploads": "a day, attached ones with their message",
}
"""Tables that no purge empties by age, and why."""
PURGED = {
    *OWN,
    *(
        "agent_lines",
        "events",
        "event_numbers",
        "deliveries",
        "attempts",
        "mails",
        "operator_actions",
        "requests",
        "login_tokens",
        "sessions",
    ),
}


def test_every_table_is_kept_by_a_rule() -> None:
    """A new table needs an answer to how long its rows stay: here and in docs/design.md."""
    assert set(TABLES) == set(KEPT) | PURGED
    assert set(KEPT) & PURGED == set()
