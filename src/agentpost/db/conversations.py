"""Conversations: one turn at a time, a home work, the agent's memory."""

from __future__ import annotations

from agentpost.db import columns
from agentpost.db.session import Tx
from agentpost.domain.record import ConversationRecord

_SELECT = columns.select(ConversationRecord, "conversations")
_LOCK_BY_NAME = f"{_SELECT} WHERE owner = ? AND name = ? /*for update*/"
_LOCK = f"{_SELECT} WHERE id = ? /*for update*/"
_INSERT = columns.insert(
    ConversationRecord, "conversations", "ON CONFLICT (owner, name) DO NOTHING"
)
_VALUES = columns.getter(ConversationRecord)


def open_(tx: Tx, fresh: ConversationRecord) -> ConversationRecord:
    """The conversation of that owner and name, locked; made from ``fresh`` when new."""
    params = (fresh.owner, fresh.name)
    row = tx.one(_LOCK_BY_NAME, params)
    if row is None:
        if tx.execute(_INSERT, _VALUES(fresh)) == 1:
            return fresh
        row = tx.one(_LOCK_BY_NAME, params)
        assert row is not None
    return ConversationRecord(*row)


def lock(tx: Tx, conversation_id: str) -> ConversationRecord:
    """By id, held until the commit."""
    row = tx.one(_LOCK, (conversation_id,))
    assert row is not None, "conversations are never deleted before their messages"
    return ConversationRecord(*row)


def get(tx: Tx, conversation_id: str) -> ConversationRecord:
    """By id."""
    row = tx.one(f"{_SELECT} WHERE id = ?", (conversation_id,))
    assert row is not None
    return ConversationRecord(*row)


def set_turn(tx: Tx, conversation_id: str, message_id: str | None, turns: int) -> None:
    """The message whose turn runs, and how many turns have begun."""
    tx.execute(
        "UPDATE conversations SET turn_message_id = ?, turns = ? WHERE id = ?",
        (message_id, turns, conversation_id),
    )


def set_state(tx: Tx, conversation_id: str, state_json: str) -> None:
    """The agent's memory of the conversation."""
    tx.execute(
        "UPDATE conversations SET state_json = ? WHERE id = ?", (state_json, conversation_id)
    )


def set_home(tx: Tx, conversation_id: str, work_id: str | None) -> None:
    """The work that holds the files of replies; None: it is gone."""
    tx.execute("UPDATE conversations SET home_work_id = ? WHERE id = ?", (work_id, conversation_id))


def count_work(tx: Tx, conversation_id: str) -> None:
    """One more work was opened."""
    tx.execute("UPDATE conversations SET works = works + 1 WHERE id = ?", (conversation_id,))
