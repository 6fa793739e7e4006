"""What the chat pages read: an account's works and conversations, and a conversation in pages."""

from agentpost.db import filtered
from agentpost.db.filtered import Conditions
from agentpost.db.session import Tx
from agentpost.db.statements import All, First, Rows, Value
from agentpost.jobs.work_rows import WORKS
from agentpost.messages.rows import MESSAGES
from agentpost.record.records import ConversationRecord, MessageRecord, WorkRecord
from agentpost.turns.conversation_rows import CONVERSATIONS

# A conversation of the account.
conversation = First[ConversationRecord, str, str](CONVERSATIONS, "WHERE id = ? AND account_id = ?")
# The account's works with ids below that one, newest first.
works = All[WorkRecord, str, str, int](
    WORKS,
    "WHERE account_id = ? AND home = 0 AND deleted_at IS NULL AND id < ? ORDER BY id DESC LIMIT ?",
)


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


# (message id, conversation id) of the account's newest messages, newest first.
newest = Rows[tuple[str, str], str, int, int](
    "SELECT id, conversation_id FROM messages WHERE account_id = ? AND expires_at > ?"
    " ORDER BY id DESC LIMIT ?"
)
# Messages whose turn has not begun, or never will, newest first.
not_begun = All[MessageRecord, str, int](
    MESSAGES, "WHERE conversation_id = ? AND turn_no IS NULL ORDER BY id DESC LIMIT ?"
)
# The body of the entry that says why a message's turn failed; None when it did not.
turn_failure = Value[str, str](
    "SELECT body_json FROM entries WHERE message_id = ? AND type = 'turn_failed'"
    " ORDER BY seq DESC LIMIT 1"
)
# The number of the last turn that started or joined a job of the work.
last_turn = Value[int, str](
    "SELECT MAX(m.turn_no) FROM jobs j JOIN message_jobs l ON l.job_id = j.id"
    " JOIN messages m ON m.id = l.message_id WHERE j.work_id = ?"
)
