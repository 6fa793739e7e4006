"""Reading jobs. All writing of state is in `record.rows`."""

from __future__ import annotations

from typing import Final

from agentpost.db import as_json
from agentpost.db.session import Tx, scalar
from agentpost.jobs.rules import JobState
from agentpost.messages.rows import FILES, JOBS
from agentpost.nodes.ownership_rows import comparison
from agentpost.record.records import FileRecord, JobRecord

_BY_ID = f"{JOBS.select} WHERE id = ?"
_LOCK = f"{_BY_ID} /*for update*/"
_LOCK_ENDING = (
    f"SELECT {', '.join(JOBS.columns)}, EXISTS (SELECT 1 FROM jobs q"
    " WHERE q.account_id = jobs.account_id AND q.state = 'queued') OR EXISTS"
    " (SELECT 1 FROM accounts a WHERE a.id = jobs.account_id AND a.held > 0)"
    " FROM jobs WHERE id = ? /*for update*/"
)
_COUNT_EXECUTING = (
    "SELECT COUNT(*) FROM jobs WHERE account_id = ? AND state IN ('running', 'overdue')"
)
_EXECUTING = (
    f"{JOBS.select} WHERE account_id = ? AND state IN ('running', 'overdue') ORDER BY id LIMIT ?"
)
_QUEUED = f"{JOBS.select} WHERE account_id = ? AND state = 'queued' ORDER BY created_at, id"
_RESUMABLE = (
    f"{JOBS.select} WHERE account_id = ? AND state = 'queued' AND credits_needed <= ?"
    " AND (ceiling IS NULL OR waits_until <= ?) ORDER BY created_at, id LIMIT ?"
)
_RUNNING_HERE = f"{JOBS.select} WHERE conversation_id = ? AND state = 'running' ORDER BY id LIMIT ?"
_OF_WORK = (
    f"{JOBS.select} WHERE work_id = ? AND state IN ('running', 'queued', 'overdue')"
    " ORDER BY CASE WHEN state = 'queued' THEN 0 ELSE 1 END, id"
)
_UNOWNED = (
    "SELECT id FROM jobs WHERE state IN ('running', 'overdue') AND node IS NULL ORDER BY id LIMIT ?"
)
_ANYWHERE = "SELECT id, node FROM jobs WHERE state IN ('running', 'overdue')"
_DIVERGED = (
    "SELECT id, node FROM jobs WHERE state IN ('running', 'overdue') AND diverged_at IS NOT NULL"
    " AND node <> ?"
)
_LEFT = (
    "SELECT id, node, takeovers, calls <> calls_at_takeover FROM jobs"
    " WHERE state IN ('running', 'overdue')"
    " AND (node IS NULL OR node NOT IN (SELECT alive.key FROM json_each(?) AS alive))"
)
_EXECUTING_ON = "SELECT id, epoch FROM jobs WHERE state IN ('running', 'overdue') AND node = ?"
OWNED: Final = comparison(
    "jobs", node="node", epoch="epoch", executing="state IN ('running', 'overdue')"
)
_WITH_QUEUED = (
    "SELECT DISTINCT j.account_id FROM jobs j JOIN accounts a ON a.id = j.account_id"
    " WHERE j.state = 'queued' AND a.balance > a.held AND a.hosting_fees_due = 0"
)
_QUEUE_DUE = (
    "SELECT id FROM jobs WHERE state = 'queued' AND queue_by <= ? ORDER BY queue_by LIMIT ?"
)
_WATCH_DUE = (
    "SELECT id FROM jobs WHERE state = 'running' AND watch_by <= ? ORDER BY watch_by LIMIT ?"
)
_LAST_OF_WORK = "SELECT state FROM jobs WHERE work_id = ? ORDER BY id DESC LIMIT 1"
_LATER_IN_WORK = "SELECT 1 FROM jobs WHERE work_id = ? AND id > ? LIMIT 1"
_FILES = f"{FILES.select} WHERE job_id = ? AND replaced < 2 ORDER BY created_at, path"


def get(tx: Tx, job_id: str) -> JobRecord | None:
    """By id, whoever owns it: for our own machinery."""
    return JOBS.one(tx, _BY_ID, (job_id,))


def lock(tx: Tx, job_id: str) -> JobRecord | None:
    """By id, and hold it until the commit."""
    return JOBS.one(tx, _LOCK, (job_id,))


def lock_ending(tx: Tx, job_id: str) -> tuple[JobRecord | None, bool]:
    """`lock`, and whether its account holds credits for steps, or has jobs that wait for some: true
    until the commit if the account is locked."""
    row = tx.one(_LOCK_ENDING, (job_id,))
    return (None, False) if row is None else (JOBS.of(row[:-1]), bool(row[-1]))


def prefetch_lock(tx: Tx, job_id: str) -> None:
    """`lock` follows in this transaction, after another answer."""
    tx.prefetch(_LOCK, (job_id,))


def count_executing(tx: Tx, account_id: str) -> int:
    """How many slots of the account are taken."""
    return int(scalar(tx, _COUNT_EXECUTING, (account_id,)))


def executing(tx: Tx, account_id: str, limit: int = 10_000) -> list[JobRecord]:
    """Jobs that hold a slot of the account, oldest first; by default more than there can be."""
    return JOBS.all(tx, _EXECUTING, (account_id, limit))


def list_queued(tx: Tx, account_id: str) -> list[JobRecord]:
    """The account's jobs waiting for credits, oldest first."""
    return JOBS.all(tx, _QUEUED, (account_id,))


def resumable(tx: Tx, account_id: str, available: int, now: int, limit: int) -> list[JobRecord]:
    """The account's queued jobs that need no more credits (millionths) than that and wait for no
    ceiling, oldest first."""
    return JOBS.all(tx, _RESUMABLE, (account_id, available, now, limit))


def running_in(tx: Tx, conversation_id: str, limit: int) -> list[JobRecord]:
    """Jobs that run in a conversation, oldest first."""
    return JOBS.all(tx, _RUNNING_HERE, (conversation_id, limit))


def open_in_work(tx: Tx, work_id: str) -> list[JobRecord]:
    """A work's jobs that still have a future, the queued ones first: whoever stops all of them
    must not let a running one pass its slot to one that is stopped next."""
    return JOBS.all(tx, _OF_WORK, (work_id,))


def last_in_work(tx: Tx, work_id: str) -> JobState | None:
    """The state of the work's newest job; None when it never had one."""
    row = tx.one(_LAST_OF_WORK, (work_id,))
    return JobState(row[0]) if row else None


def has_later(tx: Tx, job: JobRecord) -> bool:
    """Whether its work has a newer job."""
    return tx.one(_LATER_IN_WORK, (job.work_id, job.id)) is not None


def files(tx: Tx, job_id: str) -> list[FileRecord]:
    """The files of the job."""
    return FILES.all(tx, _FILES, (job_id,))


def list_unowned(tx: Tx, limit: int) -> list[str]:
    """Jobs that should run and that no node has taken."""
    return [row[0] for row in tx.all(_UNOWNED, (limit,))]


def executing_anywhere(tx: Tx) -> list[tuple[str, str | None]]:
    """(job id, node) of every job that holds a slot."""
    return [(row[0], row[1]) for row in tx.all(_ANYWHERE)]


def diverged_elsewhere(tx: Tx, node: str) -> list[tuple[str, str]]:
    """(job id, node) of every job that waits for its code on another node than that."""
    return [(row[0], row[1]) for row in tx.all(_DIVERGED, (node,))]


def left_by(tx: Tx, alive: set[str]) -> list[tuple[str, str | None, int, bool]]:
    """(job id, node, deaths before, whether a call was recorded since) of every job that holds a
    slot, but those of these nodes."""
    rows = tx.all(_LEFT, (as_json.names(alive),))
    return [(row[0], row[1], row[2], bool(row[3])) for row in rows]


def executing_on(tx: Tx, node: str) -> dict[str, int]:
    """The epochs of the jobs that a node runs, by id."""
    return {row[0]: row[1] for row in tx.all(_EXECUTING_ON, (node,))}


def accounts_with_queued(tx: Tx) -> list[str]:
    """Accounts with queued work that have credits for it, and no fees due."""
    return [row[0] for row in tx.all(_WITH_QUEUED)]


def queue_due(tx: Tx, now: int, limit: int) -> list[str]:
    """Queued jobs whose time to wait for credits is over."""
    return [row[0] for row in tx.all(_QUEUE_DUE, (now, limit))]


def watch_due(tx: Tx, now: int, limit: int) -> list[str]:
    """Running jobs that should have reported back by now."""
    return [row[0] for row in tx.all(_WATCH_DUE, (now, limit))]
