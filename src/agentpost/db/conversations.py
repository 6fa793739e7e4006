"""Conversations: one turn at a time, a home work, the agent's memory."""

from __future__ import annotations

from collections.abc import Callable

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.domain.records import ConversationRecord

CONVERSATIONS = Mapper(ConversationRecord, "conversations", "ON CONFLICT (owner, name) DO NOTHING")
_LOCK_BY_NAME = f"{CONVERSATIONS.select} WHERE owner = ? AND name = ? /*for update*/"
_LOCK = f"{CONVERSATIONS.select} WHERE id = ? /*for update*/"


def open_(
    tx: Tx, owner: str, name: str, make: Callable[[], ConversationRecord]
) -> ConversationRecord:
    """The conversation of that owner and name, locked; what ``make`` makes when there is none."""
    found = CONVERSATIONS.one(tx, _LOCK_BY_NAME, (owner, name))
    if found is None:
        fresh = make()
        if CONVERSATIONS.insert(tx, fresh):
            return fresh
        found = CONVERSATIONS.one(tx, _LOCK_BY_NAME, (owner, name))
        assert found is not None
    return found


def lock(tx: Tx, conversation_id: str) -> ConversationRecord:
    """By id, held until the commit."""
    found = CONVERSATIONS.one(tx, _LOCK, (conversation_id,))
    assert found is not None, "conversations are never deleted before their messages"
    return found


def end_turn(tx: Tx, conversation_id: str) -> None:
    """No turn runs any more. Holds the conversation until the commit, as `lock` does."""
    tx.execute("UPDATE conversations SET turn_message_id = NULL WHERE id = ?", (conversation_id,))


def set_turn(tx: Tx, conversation_id: str, message_id: str, turns: int) -> None:
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
