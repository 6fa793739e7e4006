"""Listing, cancelling and deleting the messages of a key (design: Additions)."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from agentpost.accounts import rows as account_rows
from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.db.session import Row, Tx
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, InvalidRequest, Problem, Refusal, not_found
from agentpost.jobs import actions as jobs, rows as job_rows
from agentpost.jobs.rules import JobState
from agentpost.messages import list_rows, rows as message_rows
from agentpost.messages.filter_rules import MessageFilter
from agentpost.messages.rules import OPEN_TURNS, TurnFailure, TurnState
from agentpost.record import signals as s, writer
from agentpost.record.records import MessageRecord, Snapshot
from agentpost.retention import actions as retention, rows as retention_rows
from agentpost.transactions import write_transaction
from agentpost.turns import actions as turns, conversation_rows

LOOKS_MAX: Final = 3
"""Looks of a page, each at up to `filtered.SCANNED_MAX` messages: a page takes a fraction of a
second at the most, whatever is filtered by."""


@dataclass(frozen=True, slots=True)
class MessagePage:
    """A page of messages. ``go_on``: where the next page begins, when this one ended before its end
    because `LOOKS_MAX` was reached; else it begins behind the last message."""

    messages: list[Snapshot]
    has_more: bool
    go_on: str | None


async def list_page(
    ctx: AppContext, caller: Caller, list_filter: MessageFilter, *, before: str | None, limit: int
) -> MessagePage:
    """The key's messages that fit and are older than the id ``before``, newest first.

    Each look is bounded; a filter that fits little takes several, `LOOKS_MAX` at the most. Raises
    ``invalid_request`` for what no database would take.
    """
    for name, value in (("before", before), ("conversation", list_filter.conversation)):
        if value is not None and "\0" in value:
            raise InvalidRequest(Problem(name, "the text holds U+0000"))
    message_ids: list[str] = []
    place: str | None = before or ids.last(ids.MESSAGE)
    looks = 0

    def look(tx: Tx) -> tuple[list[Row], str | None]:
        filters, key_id = list_filter, caller.key_id
        if filters.conversation is not None:
            conversation_id = conversation_rows.find(tx, key_id, filters.conversation)
            if conversation_id is None:
                return [], None
            filters = replace(filters, conversation_ids=(conversation_id,))
        more = limit + 1 - len(message_ids)
        now = ctx.clock.now()
        owner = ("key_id", key_id)
        return list_rows.page(tx, owner, filters, now, ("id",), before=place, limit=more)

    while place is not None and len(message_ids) <= limit and looks < LOOKS_MAX:
        looks += 1
        rows, place = await ctx.db.read(look)
        message_ids += [row[0] for row in rows]
    full = len(message_ids) > limit

    def read(tx: Tx) -> list[Snapshot]:
        records = [message_rows.get(tx, message_id) for message_id in message_ids[:limit]]
        return [message_rows.snapshot(tx, each) for each in records if each is not None]

    has_more = full or place is not None
    return MessagePage(await ctx.db.read(read), has_more, None if full else place)


@write_transaction
def cancel(tx: Tx, ctx: AppContext, caller: Caller, message_id: str) -> Snapshot:
    """Stop the message's turn and its jobs, those it joined too; the message as it is then.

    Work that waits is stopped before work that runs, so that it does not start in between. Raises
    ``not_found``.
    """
    message = message_rows.of_key(tx, message_id, caller.key_id, ctx.clock.now())
    return _cancel(tx, ctx, message)


@write_transaction
def cancel_for(tx: Tx, ctx: AppContext, account_id: str, message_id: str) -> Snapshot:
    """The same for a person of the account, whichever key sent the message."""
    message = message_rows.of_account(tx, message_id, account_id, ctx.clock.now())
    return _cancel(tx, ctx, message)


@write_transaction
def end_for_good(tx: Tx, ctx: AppContext, account_id: str, message_id: str) -> None:
    """Stop the message's turn and its jobs, and let nobody see it any more: its account goes.
    Raises ``not_found``."""
    found = message_rows.get(tx, message_id)
    if found is None or found.account_id != account_id:
        raise not_found("message")
    _cancel(tx, ctx, found)
    message, now = message_rows.lock(tx, message_id), ctx.clock.now()
    if message is not None and message.expires_at > now:
        writer.expire(tx, message, now)


def _cancel(tx: Tx, ctx: AppContext, unlocked_message: MessageRecord) -> Snapshot:
    now, message_id = ctx.clock.now(), unlocked_message.id
    conversation = conversation_rows.lock(tx, unlocked_message.conversation_id)
    account = account_rows.lock(tx, unlocked_message.account_id)
    listed_jobs = [job_rows.get(tx, each) for each, _ in retention_rows.jobs_of(tx, message_id)]
    jobs_of_message = [job for job in listed_jobs if job is not None]
    for job in sorted(jobs_of_message, key=lambda job: (job.state is not JobState.QUEUED, job.id)):
        jobs.stop_one(tx, ctx, account, job.id, now)
    message = message_rows.lock(tx, message_id)
    if message is None:
        raise not_found("message")
    if message.turn_state in OPEN_TURNS:
        was_running = message.turn_state is TurnState.RUNNING
        writer.apply_turn(tx, ctx, message, s.TurnBroken(TurnFailure.STOPPED), now)
        if was_running:
            conversation_rows.end_turn(tx, conversation.id)
            turns.next_turn(tx, ctx, conversation.id, now)
            if ctx.turns is not None:  # another node notices by itself
                tx.after(partial(ctx.turns.abort, message_id))
    return message_rows.snapshot(tx, message)


async def delete(ctx: AppContext, caller: Caller, message_id: str) -> None:
    """Delete a final message with what its retention would delete. Raises ``not_found``, also when
    it was deleted before, and ``not_final``."""
    await _expire(ctx, caller, message_id)
    await retention.purge_message(ctx, message_id)


@write_transaction
def _expire(tx: Tx, ctx: AppContext, caller: Caller, message_id: str) -> None:
    now = ctx.clock.now()
    message_rows.of_key(tx, message_id, caller.key_id, now)
    message = message_rows.lock(tx, message_id)
    if message is None or message.expires_at <= now:
        raise not_found("message")
    if not message.final:
        raise Refusal(ErrorCode.NOT_FINAL, "The message is not final; cancel it first, or wait.")
    writer.expire(tx, message, now)
