"""Counts of what is open on the whole server, for `/metrics` and the operator.

Each reads a bounded number of rows of a partial index that holds only what is open, so neither
history nor a long queue makes them slow.
"""

from dataclasses import dataclass

from agentpost.db.filtered import COUNTED_MAX
from agentpost.db.session import Tx, scalar
from agentpost.db.statements import Pairs

_TURNS_RUNNING = (
    "SELECT COUNT(*), MIN(turn_began_at) FROM (SELECT turn_began_at FROM messages"
    " WHERE turn_state = 'running' ORDER BY turn_began_at LIMIT ?) AS found"
)
_TURNS_WAITING = (
    "SELECT COUNT(*), MIN(created_at) FROM (SELECT created_at FROM messages"
    " WHERE turn_state = 'waiting' ORDER BY turn_wait_deadline LIMIT ?) AS found"
)
_JOBS_EXECUTING = (
    "SELECT state, COUNT(*), MIN(COALESCE(started_at, created_at)) FROM"
    " (SELECT state, started_at, created_at FROM jobs WHERE state IN ('running', 'overdue')"
    " LIMIT ?) AS found GROUP BY state"
)
_JOBS_QUEUED = (
    "SELECT COUNT(*), MIN(queue_by) FROM (SELECT queue_by FROM jobs WHERE state = 'queued'"
    " ORDER BY queue_by LIMIT ?) AS found"
)
_JOBS_UNOWNED = (
    "SELECT COUNT(*), MIN(COALESCE(started_at, created_at)) FROM"
    " (SELECT started_at, created_at FROM jobs"
    " WHERE state IN ('running', 'overdue') AND node IS NULL ORDER BY id LIMIT ?) AS found"
)
_DELIVERIES = (
    "SELECT COUNT(*), MIN(created_at), MIN(next_attempt_at) FROM"
    " (SELECT created_at, next_attempt_at FROM deliveries WHERE status = 'pending' LIMIT ?)"
    " AS found"
)
_MAILS = "SELECT COUNT(*) FROM (SELECT id FROM mails WHERE sent_at IS NULL LIMIT ?) AS found"
_NODES = "SELECT COUNT(*) FROM nodes"
# Credits are held for steps of jobs that have a slot, so no other account needs a look.
_HELD = (
    "SELECT COALESCE(SUM(held), 0) FROM accounts WHERE id IN"
    " (SELECT account_id FROM jobs WHERE state IN ('running', 'overdue') LIMIT ?)"
)


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


@dataclass(frozen=True, slots=True)
class Counted:
    """A number of rows, and the smallest time of them in microseconds; None without rows."""

    number: int
    oldest: int | None


@dataclass(frozen=True, slots=True)
class OpenCounts:
    """The open rows.

    Attributes:
        turns_running: ``oldest``: when it began.
        turns_waiting: ``oldest``: when the message came.
        jobs: those with a slot by state; ``oldest``: when it began.
        jobs_queued: for credits; ``oldest``: the first deadline.
        jobs_unowned: those of ``jobs`` that no node has taken.
        deliveries: of webhooks; ``oldest``: when the event happened.
        delivery_due: when the first of them is to be attempted.
        credits_held: millionths.
    """

    turns_running: Counted
    turns_waiting: Counted
    jobs: dict[str, Counted]
    jobs_queued: Counted
    jobs_unowned: Counted
    deliveries: Counted
    delivery_due: int | None
    mails: int
    nodes: int
    credits_held: int


def read(tx: Tx, most: int = COUNTED_MAX) -> OpenCounts:
    """Count what is open now; no number is above ``most``."""
    executing = tx.all(_JOBS_EXECUTING, (most,))
    deliveries = tx.one(_DELIVERIES, (most,))
    assert deliveries is not None
    return OpenCounts(
        turns_running=_count(tx, _TURNS_RUNNING, most),
        turns_waiting=_count(tx, _TURNS_WAITING, most),
        jobs={state: Counted(number, oldest) for state, number, oldest in executing},
        jobs_queued=_count(tx, _JOBS_QUEUED, most),
        jobs_unowned=_count(tx, _JOBS_UNOWNED, most),
        deliveries=Counted(deliveries[0], deliveries[1]),
        delivery_due=deliveries[2],
        mails=int(scalar(tx, _MAILS, (most,))),
        nodes=int(scalar(tx, _NODES)),
        credits_held=int(scalar(tx, _HELD, (most,))),
    )


def _count(tx: Tx, sql: str, most: int) -> Counted:
    row = tx.one(sql, (most,))
    assert row is not None
    return Counted(row[0], row[1])
