"""What the chat pages read: an account's works and conversations, and a conversation in pages."""

from __future__ import annotations

from agentpost.db import filtered
from agentpost.db.filtered import Conditions
from agentpost.db.session import Tx
from agentpost.jobs.work_rows import WORKS
from agentpost.messages.rows import MESSAGES
from agentpost.record.history_rows import ATTACHMENTS
from agentpost.record.records import AttachmentRecord, ConversationRecord, MessageRecord, WorkRecord
from agentpost.turns.conversation_rows import CONVERSATIONS

_CONVERSATION = f"{CONVERSATIONS.select} WHERE id = ? AND account_id = ?"
_WORKS = (
    f"{WORKS.select} WHERE account_id = ? AND home = 0 AND deleted_at IS NULL AND id < ?"
    " ORDER BY id DESC LIMIT ?"
)
_NEWEST = (
    "SELECT id, conversation_id FROM messages WHERE account_id = ? AND expires_at > ?"
    " ORDER BY id DESC LIMIT ?"
)
_NOT_BEGUN = (
    f"{MESSAGES.select} WHERE conversation_id = ? AND turn_no IS NULL ORDER BY id DESC LIMIT ?"
)
_ATTACHMENT = (
    f"{ATTACHMENTS.select} WHERE message_id = ? AND n = ? AND EXISTS (SELECT 1 FROM messages"
    " WHERE id = message_id AND account_id = ? AND expires_at > ?)"
)
_LAST_TURN = (
    "SELECT MAX(m.turn_no) FROM jobs j JOIN message_jobs l ON l.job_id = j.id"
    " JOIN messages m ON m.id = l.message_id WHERE j.work_id = ?"
)


def conversation(tx: Tx, conversation_id: str, account_id: str) -> ConversationRecord | None:
    """A conversation of the account."""
    return CONVERSATIONS.one(tx, _CONVERSATION, (conversation_id, account_id))


def works(tx: Tx, account_id: str, before: str, limit: int) -> list[WorkRecord]:
    """The account's works with ids below that one, newest first."""
    return WORKS.all(tx, _WORKS, (account_id, before, limit))


def found_works(
    tx: Tx, account_id: str, text: str, before: str, limit: int
) -> tuple[list[WorkRecord], str | None]:
    """`works` whose title or result has that text, in either case; the second value: see
    `filtered.newest`."""
    fits = Conditions()
    fits.add("home = 0 AND deleted_at IS NULL")
    fits.contains_any(("title", "text"), text)
    rows, more = filtered.newest(
        tx, WORKS.table, WORKS.columns, [account_id], fits, before=before, limit=limit
    )
    return [WORKS.of(row) for row in rows], more


def newest(tx: Tx, account_id: str, now: int, limit: int) -> list[tuple[str, str]]:
    """(message id, conversation id) of the account's newest messages, newest first."""
    return [(row[0], row[1]) for row in tx.all(_NEWEST, (account_id, now, limit))]


def not_begun(tx: Tx, conversation_id: str, limit: int) -> list[MessageRecord]:
    """Messages whose turn has not begun, or never will, newest first."""
    return MESSAGES.all(tx, _NOT_BEGUN, (conversation_id, limit))


def turn_failure(tx: Tx, message_id: str) -> str | None:
    """The body of the entry that says why a message's turn failed; None when it did not."""
    sql = (
        "SELECT body_json FROM entries WHERE message_id = ? AND type = 'turn_failed'"
        " ORDER BY seq DESC LIMIT 1"
    )
    row = tx.one(sql, (message_id,))
    return row[0] if row else None


def last_turn(tx: Tx, work_id: str) -> int | None:
    """The number of the last turn that started or joined a job of the work."""
    row = tx.one(_LAST_TURN, (work_id,))
    return row[0] if row is not None else None


def attachment(
    tx: Tx, message_id: str, n: int, account_id: str, now: int
) -> AttachmentRecord | None:
    """A file that came with a message of the account."""
    return ATTACHMENTS.one(tx, _ATTACHMENT, (message_id, n, account_id, now))
