"""Calls that are repeated without an idempotency key, and messages found by what was said before
them. Both are found by the key that such a message holds (`messages.idempotency_rules.Attempt`)."""

from collections.abc import Sequence

from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.messages import rows as message_rows
from agentpost.messages.idempotency_rules import Attempt, topic_prefix
from agentpost.record.records import MessageRecord, Snapshot
from agentpost.transactions import read_transaction

CANDIDATES_MAX = 50
"""Messages of one topic that are looked at: where more are equal, the newest ones."""


def find(tx: Tx, key_id: str, attempt: Attempt, now: int) -> MessageRecord | None:
    """The message that stands for the attempt; None: it is to make one."""
    newest = message_rows.highest_of_prefix(tx, key_id, attempt.prefix)
    return newest if newest is not None and _is_of(attempt, newest, now) else None


def take_key(tx: Tx, message: MessageRecord, attempt: Attempt) -> bool:
    """Give a new message the next key of its attempt. False: a message that stands for the attempt
    has been committed since `find`."""
    newest = message_rows.highest_of_prefix(tx, message.key_id, attempt.prefix)
    if newest is not None and _is_of(attempt, newest, message.created_at):
        return False
    message.idempotency_key = attempt.key_after(newest.idempotency_key if newest else None)
    message.fingerprint = attempt.fingerprint
    return True


def _is_of(attempt: Attempt, newest: MessageRecord, now: int) -> bool:
    is_there = newest.expires_at > now
    return is_there and attempt.is_of(newest.fingerprint, newest.created_at, now)


class Overtaken(Refusal):
    """Another message stands behind the one that this one was to follow."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.IDEMPOTENCY_CONFLICT, "The conversation has gone on meanwhile.")


@read_transaction
def last_ones(tx: Tx, ctx: AppContext, caller: Caller, topic: str) -> Sequence[Snapshot]:
    """The messages of a topic that nothing follows in their conversations, newest first."""
    now = ctx.clock.now()
    candidates = message_rows.of_prefix(tx, caller.key_id, topic_prefix(topic), CANDIDATES_MAX)
    return [
        message_rows.snapshot(tx, message)
        for message in sorted(candidates, key=lambda each: each.id, reverse=True)
        if message.expires_at > now
        and not message_rows.is_followed(tx, message.conversation_id, message.id)
    ]
