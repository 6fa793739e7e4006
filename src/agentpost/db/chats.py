"""What the chat pages read: an account's works and conversations, and a conversation in pages."""

from __future__ import annotations

from agentpost.db.conversations import CONVERSATIONS
from agentpost.db.messages import MESSAGES
from agentpost.db.session import Tx
from agentpost.db.works import WORKS
from agentpost.domain.records import ConversationRecord, MessageRecord, WorkRecord

_CONVERSATION = f"{CONVERSATIONS.select} WHERE id = ? AND account_id = ?"
_WORKS = (
    f"{WORKS.select} WHERE account_id = ? AND home = 0 AND deleted_at IS NULL AND id < ?"
    " ORDER BY id DESC LIMIT ?"
)
_FOUND = (
    f"{WORKS.select} WHERE account_id = ? AND home = 0 AND deleted_at IS NULL AND id < ?"
    " AND (lower(title) LIKE ? ESCAPE '!' OR lower(text) LIKE ? ESCAPE '!')"
    " ORDER BY id DESC LIMIT ?"
)
_NEWEST = (
    "SELECT id, conversation_id FROM messages WHERE account_id = ? AND expires_at > ?"
    " ORDER BY id DESC LIMIT ?"
)
_TURNS = (
    f"{MESSAGES.select} WHERE conversation_id = ? AND turn_no < ? ORDER BY turn_no DESC LIMIT ?"
)
_NOT_BEGUN = (
    f"{MESSAGES.select} WHERE conversation_id = ? AND turn_no IS NULL ORDER BY id DESC LIMIT ?"
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


def found_works(tx: Tx, account_id: str, text: str, before: str, limit: int) -> list[WorkRecord]:
    """`works` whose title or result has that text, in either case."""
    escaped = text.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
    like = f"%{escaped}%"
    return WORKS.all(tx, _FOUND, (account_id, before, like, like, limit))


def newest(tx: Tx, account_id: str, now: int, limit: int) -> list[tuple[str, str]]:
    """(message id, conversation id) of the account's newest messages, newest first."""
    return [(row[0], row[1]) for row in tx.all(_NEWEST, (account_id, now, limit))]


def turns(tx: Tx, conversation_id: str, before: int, limit: int) -> list[MessageRecord]:
    """Messages whose turn has begun and has a lower number, newest first."""
    return MESSAGES.all(tx, _TURNS, (conversation_id, before, limit))


def not_begun(tx: Tx, conversation_id: str, limit: int) -> list[MessageRecord]:
    """Messages whose turn has not begun, or never will, newest first."""
    return MESSAGES.all(tx, _NOT_BEGUN, (conversation_id, limit))


def last_turn(tx: Tx, work_id: str) -> int | None:
    """The number of the last turn that started or joined a job of the work."""
    row = tx.one(_LAST_TURN, (work_id,))
    return row[0] if row is not None else None
