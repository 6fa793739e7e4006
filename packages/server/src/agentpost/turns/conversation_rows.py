"""Conversations: one turn at a time, a home work, the agent's memory."""

import sqlite3
from collections.abc import Callable

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.db.statements import Only, SentChange, SentChangeOf, Value
from agentpost.record.records import ConversationRecord

CONVERSATIONS = Mapper(ConversationRecord, "conversations", "ON CONFLICT (owner, name) DO NOTHING")
_LOCK_BY_NAME = f"{CONVERSATIONS.select} WHERE owner = ? AND name = ? /*for update*/"
_BEGIN_TURN = (
    "UPDATE conversations SET turn_message_id = ?, turns = turns + 1 WHERE owner = ? AND name = ?"
    " AND turn_message_id IS NULL AND asking_message_id IS NULL"
    f" RETURNING {', '.join(CONVERSATIONS.columns)},"
    " (SELECT balance - held FROM accounts WHERE accounts.id = conversations.account_id)"
)
_RETURNING = sqlite3.sqlite_version_info >= (3, 35)
"""Older versions of SQLite, as in Debian 11, cannot: there a turn begins in more statements."""


def open_(
    tx: Tx, owner: str, name: str, make: Callable[[], ConversationRecord]
) -> ConversationRecord:
    """The conversation of that owner and name, locked; what ``make`` makes when there is none."""
    conversation = CONVERSATIONS.one(tx, _LOCK_BY_NAME, (owner, name))
    if conversation is None:
        fresh = make()
        if CONVERSATIONS.insert(tx, fresh):
            return fresh
        conversation = CONVERSATIONS.one(tx, _LOCK_BY_NAME, (owner, name))
        assert conversation is not None
    return conversation


def begin_turn(
    tx: Tx, owner: str, name: str, message_id: str
) -> tuple[ConversationRecord, int] | None:
    """Begin the message's turn in the conversation of that owner and name, in the statement that
    locks it; with it the account's available credits, in millionths.

    None: there is no such conversation, another turn is named in it, or it asks something.
    """
    if not _RETURNING:
        return None
    row = tx.one(_BEGIN_TURN, (message_id, owner, name))
    return None if row is None else (CONVERSATIONS.of(row[:-1]), row[-1])


# By id, held until the commit: conversations are never deleted before their messages.
lock = Only[ConversationRecord, str](CONVERSATIONS, "WHERE id = ? /*for update*/")
# No turn runs any more. Holds the conversation until the commit, as `lock` does.
end_turn = SentChange[str]("UPDATE conversations SET turn_message_id = NULL WHERE id = ?")
# The message whose turn runs, and how many turns have begun.
set_turn = SentChangeOf[str, str, int](
    "UPDATE conversations SET turn_message_id = ?, turns = ? WHERE id = ?"
)
# The agent's memory of the conversation.
set_state = SentChangeOf[str, str]("UPDATE conversations SET state_json = ? WHERE id = ?")
# The message whose typed question the next message may answer; None: none any more.
set_asking = SentChangeOf[str, str | None](
    "UPDATE conversations SET asking_message_id = ? WHERE id = ?"
)
# The work that holds the files of replies; None: it is gone.
set_home = SentChangeOf[str, str | None]("UPDATE conversations SET home_work_id = ? WHERE id = ?")
# A work was opened, the first one perhaps.
count_work = SentChange[str]("UPDATE conversations SET works = works + 1 WHERE id = ?")


def names(tx: Tx, conversation_ids: list[str]) -> dict[str, tuple[str, str]]:
    """Owner and name of a page of conversations, by id; the name is "" for the one without."""
    if not conversation_ids:
        return {}
    marks = ", ".join("?" * len(conversation_ids))
    sql = f"SELECT id, owner, name FROM conversations WHERE id IN ({marks})"
    return {id_: (owner, name) for id_, owner, name in tx.all(sql, conversation_ids)}


# The id of the conversation of that owner and name.
find = Value[str, str, str]("SELECT id FROM conversations WHERE owner = ? AND name = ?")
