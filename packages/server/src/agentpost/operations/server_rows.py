"""What an operator sees of the whole server: accounts, nodes, and what is open."""

from agentpost.accounts.rows import ACCOUNTS
from agentpost.db.filtered import containing
from agentpost.db.session import Tx
from agentpost.record.records import AccountRecord

_ACCOUNTS = (
    f"{ACCOUNTS.select} WHERE id < ? AND (id = ? OR LOWER(email) LIKE ? ESCAPE '!'"
    " OR LOWER(name) LIKE ? ESCAPE '!') ORDER BY id DESC LIMIT ?"
)
_JOBS_BY_ACCOUNT = (
    "SELECT account_id, COUNT(*) FROM jobs WHERE state IN ('running', 'overdue')"
    " GROUP BY account_id"
)
_JOBS_BY_NODE = (
    "SELECT COALESCE(node, ''), COUNT(*) FROM jobs WHERE state IN ('running', 'overdue')"
    " GROUP BY COALESCE(node, '')"
)
_TURNS_BY_NODE = (
    "SELECT COALESCE(turn_node, ''), COUNT(*) FROM messages WHERE turn_state = 'running'"
    " GROUP BY COALESCE(turn_node, '')"
)
_WAITING = "SELECT COUNT(*) FROM messages WHERE turn_state = 'waiting'"
_QUEUED = "SELECT COUNT(*) FROM jobs WHERE state = 'queued'"
_DELIVERIES = (
    "SELECT COUNT(*), MIN(next_attempt_at), MIN(created_at) FROM deliveries"
    " WHERE status = 'pending'"
)
_MAILS = "SELECT COUNT(*) FROM mails WHERE sent_at IS NULL"


def accounts(tx: Tx, text: str, *, before: str, limit: int) -> list[AccountRecord]:
    """Accounts older than the id ``before``, newest first, with the text in their name or address,
    or as their id."""
    like = containing(text)
    return ACCOUNTS.all(tx, _ACCOUNTS, (before, text, like, like, limit))


def jobs_by_account(tx: Tx) -> dict[str, int]:
    """How many jobs hold a slot, by account."""
    return dict(tx.all(_JOBS_BY_ACCOUNT))


def jobs_by_node(tx: Tx) -> dict[str, int]:
    """How many jobs hold a slot, by node; "": no node owns them."""
    return dict(tx.all(_JOBS_BY_NODE))


def turns_by_node(tx: Tx) -> dict[str, int]:
    """How many turns run, by node; "": no node owns them."""
    return dict(tx.all(_TURNS_BY_NODE))


def waiting(tx: Tx) -> tuple[int, int, int]:
    """How many messages wait for their turn, jobs for credits, and mails to be sent."""
    turns, jobs, mails = (tx.one(sql) for sql in (_WAITING, _QUEUED, _MAILS))
    assert turns is not None
    assert jobs is not None
    assert mails is not None
    return turns[0], jobs[0], mails[0]


def pending_deliveries(tx: Tx) -> tuple[int, int | None, int | None]:
    """How many deliveries are to be made, when the first of them is due, and since when the oldest
    waits."""
    row = tx.one(_DELIVERIES)
    assert row is not None
    return row[0], row[1], row[2]
