"""Counts of what is open on the whole server, for `/metrics` and the operator.

Each reads a bounded number of rows of a partial index that holds only what is open, so neither
history nor a long queue makes them slow.
"""

from typing import Final, NamedTuple

from agentpost.db.filtered import COUNTED_MAX
from agentpost.db.session import Tx
from agentpost.db.statements import Pairs

_JOBS_EXECUTING = (
    "SELECT state, COUNT(*), MIN(COALESCE(started_at, created_at)) FROM"
    " (SELECT state, started_at, created_at FROM jobs WHERE state IN ('running', 'overdue')"
    " LIMIT ?) AS found GROUP BY state"
)
_COUNTS: Final = {
    "turns_running": (
        "SELECT COUNT(*), MIN(turn_began_at) FROM (SELECT turn_began_at FROM messages"
        " WHERE turn_state = 'running' ORDER BY turn_began_at LIMIT ?) AS found"
    ),
    "turns_waiting": (
        "SELECT COUNT(*), MIN(created_at) FROM (SELECT created_at FROM messages"
        " WHERE turn_state = 'waiting' ORDER BY turn_wait_deadline LIMIT ?) AS found"
    ),
    "jobs_queued": (
        "SELECT COUNT(*), MIN(queue_by) FROM (SELECT queue_by FROM jobs WHERE state = 'queued'"
        " ORDER BY queue_by LIMIT ?) AS found"
    ),
    "jobs_unowned": (
        "SELECT COUNT(*), MIN(COALESCE(started_at, created_at)) FROM"
        " (SELECT started_at, created_at FROM jobs"
        " WHERE state IN ('running', 'overdue') AND node IS NULL ORDER BY id LIMIT ?) AS found"
    ),
    "deliveries": (
        "SELECT COUNT(*), MIN(created_at), MIN(next_attempt_at) FROM"
        " (SELECT created_at, next_attempt_at FROM deliveries WHERE status = 'pending' LIMIT ?)"
        " AS found"
    ),
    "mails": "SELECT COUNT(*) FROM (SELECT id FROM mails WHERE sent_at IS NULL LIMIT ?) AS found",
    "nodes": "SELECT COUNT(*) FROM (SELECT id FROM nodes LIMIT ?) AS found",
    # Credits are held for steps of jobs that have a slot, so no other account needs a look.
    "credits_held": (
        "SELECT COALESCE(SUM(held), 0) FROM accounts WHERE id IN"
        " (SELECT account_id FROM jobs WHERE state IN ('running', 'overdue') LIMIT ?)"
    ),
}
"""What is counted, besides jobs with a slot: how many, since when, and what is due when."""


# How many jobs hold a slot, by account.
jobs_by_account = Pairs[str, int](
    "SELECT account_id, COUNT(*) FROM jobs"
    " WHERE state IN ('running', 'overdue') GROUP BY account_id"
)
# How many jobs hold a slot, by node; "": no node owns them.
jobs_by_node = Pairs[str, int](
    "SELECT COALESCE(node, ''), COUNT(*) FROM jobs WHERE state IN ('running', 'overdue')"
    " GROUP BY COALESCE(node, '')"
)
# How many turns run, by node; "": no node owns them.
turns_by_node = Pairs[str, int](
    "SELECT COALESCE(turn_node, ''), COUNT(*) FROM messages WHERE turn_state = 'running'"
    " GROUP BY COALESCE(turn_node, '')"
)


class Counted(NamedTuple):
    """A number of rows; of credits, in millionths.

    ``oldest`` is the smallest time of them in microseconds, None without rows: when a turn or job
    began, a message came or an event happened; of jobs that wait for credits the first deadline.
    ``due``: when the first delivery is to be attempted.
    """

    number: int
    oldest: int | None = None
    due: int | None = None


def read(tx: Tx, most: int = COUNTED_MAX) -> dict[str, Counted]:
    """Count what is open now: what `_COUNTS` names, and ``jobs_running`` and ``jobs_overdue`` where
    there are some; of no rows more than ``most``."""
    rows = [(name, *tx.all(sql, (most,))[0]) for name, sql in _COUNTS.items()]
    rows += [(f"jobs_{state}", *count) for state, *count in tx.all(_JOBS_EXECUTING, (most,))]
    return {name: Counted(*count) for name, *count in rows}
