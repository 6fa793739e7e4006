"""Reading jobs. All writing of state is in `record.rows`."""

from typing import Final

from agentpost.db import as_json
from agentpost.db.session import Tx
from agentpost.db.statements import All, First, Firsts, Number, Pairs, Rows, Whether
from agentpost.jobs.rules import JobState
from agentpost.messages.rows import FILES, JOBS
from agentpost.nodes.ownership_rows import comparison
from agentpost.record.records import FileRecord, JobRecord

_LOCK_ENDING = (
    f"SELECT {', '.join(JOBS.columns)}, EXISTS (SELECT 1 FROM jobs q"
    " WHERE q.account_id = jobs.account_id AND q.state = 'queued') OR EXISTS"
    " (SELECT 1 FROM accounts a WHERE a.id = jobs.account_id AND a.held > 0)"
    " FROM jobs WHERE id = ? /*for update*/"
)
_EXECUTING = (
    f"{JOBS.select} WHERE account_id = ? AND state IN ('running', 'overdue') ORDER BY id LIMIT ?"
)
_LEFT = (
    "SELECT id, node, takeovers, calls <> calls_at_takeover FROM jobs"
    " WHERE state IN ('running', 'overdue')"
    " AND (node IS NULL OR node NOT IN (SELECT alive.key FROM json_each(?) AS alive))"
)
OWNED: Final = comparison(
    "jobs", node="node", epoch="epoch", executing="state IN ('running', 'overdue')"
)
_LAST_OF_WORK = "SELECT state FROM jobs WHERE work_id = ? ORDER BY id DESC LIMIT 1"

# By id, whoever owns it: for our own machinery.
get = First[JobRecord, str](JOBS, "WHERE id = ?")
# By id, and hold it until the commit.
lock = First[JobRecord, str](JOBS, "WHERE id = ? /*for update*/")


def lock_ending(tx: Tx, job_id: str) -> tuple[JobRecord | None, bool]:
    """`lock`, and whether its account holds credits for steps, or has jobs that wait for some: true
    until the commit if the account is locked."""
    row = tx.one(_LOCK_ENDING, (job_id,))
    return (None, False) if row is None else (JOBS.of(row[:-1]), bool(row[-1]))


# How many slots of the account are taken.
count_executing = Number[str](
    "SELECT COUNT(*) FROM jobs WHERE account_id = ? AND state IN ('running', 'overdue')"
)


def executing(tx: Tx, account_id: str, limit: int = 10_000) -> list[JobRecord]:
    """Jobs that hold a slot of the account, oldest first; by default more than there can be."""
    return JOBS.all(tx, _EXECUTING, (account_id, limit))


# The account's jobs waiting for credits, oldest first.
list_queued = All[JobRecord, str](
    JOBS, "WHERE account_id = ? AND state = 'queued' ORDER BY created_at, id"
)
# The account's queued jobs that need no more credits (millionths) than that and wait for no
# ceiling, oldest first.
resumable = All[JobRecord, str, int, int, int](
    JOBS,
    "WHERE account_id = ? AND state = 'queued' AND credits_needed <= ?"
    " AND (ceiling IS NULL OR waits_until <= ?) ORDER BY created_at, id LIMIT ?",
)
# Jobs that run in a conversation, oldest first.
running_in = All[JobRecord, str, int](
    JOBS, "WHERE conversation_id = ? AND state = 'running' ORDER BY id LIMIT ?"
)
# A work's jobs that still have a future, the queued ones first: whoever stops all of them must not
# let a running one pass its slot to one that is stopped next.
open_in_work = All[JobRecord, str](
    JOBS,
    "WHERE work_id = ? AND state IN ('running', 'queued', 'overdue')"
    " ORDER BY CASE WHEN state = 'queued' THEN 0 ELSE 1 END, id",
)


def last_in_work(tx: Tx, work_id: str) -> JobState | None:
    """The state of the work's newest job; None when it never had one."""
    row = tx.one(_LAST_OF_WORK, (work_id,))
    return JobState(row[0]) if row else None


# Whether the work has a newer job than that.
has_later = Whether[str | None, str]("SELECT 1 FROM jobs WHERE work_id = ? AND id > ? LIMIT 1")
# The files of the job.
files = All[FileRecord, str](FILES, "WHERE job_id = ? AND replaced < 2 ORDER BY created_at, path")
# Jobs that should run and that no node has taken.
list_unowned = Firsts[int](
    "SELECT id FROM jobs WHERE state IN ('running', 'overdue') AND node IS NULL ORDER BY id LIMIT ?"
)
# (job id, node) of every job that holds a slot.
executing_anywhere = Rows[tuple[str, str | None]](
    "SELECT id, node FROM jobs WHERE state IN ('running', 'overdue')"
)
# (job id, node) of every job that waits for its code on another node than that.
diverged_elsewhere = Rows[tuple[str, str], str](
    "SELECT id, node FROM jobs WHERE state IN ('running', 'overdue') AND diverged_at IS NOT NULL"
    " AND node <> ?"
)


def left_by(tx: Tx, alive: set[str]) -> list[tuple[str, str | None, int, bool]]:
    """(job id, node, deaths before, whether a call was recorded since) of every job that holds a
    slot, but those of these nodes."""
    rows = tx.all(_LEFT, (as_json.names(alive),))
    return [(row[0], row[1], row[2], bool(row[3])) for row in rows]


# The epochs of the jobs that a node runs, by id.
executing_on = Pairs[str, int, str](
    "SELECT id, epoch FROM jobs WHERE state IN ('running', 'overdue') AND node = ?"
)
# Accounts with queued work that have credits for it, and no fees due.
accounts_with_queued = Firsts[()](
    "SELECT DISTINCT j.account_id FROM jobs j JOIN accounts a ON a.id = j.account_id"
    " WHERE j.state = 'queued' AND a.balance > a.held AND a.hosting_fees_due = 0"
)
# Queued jobs whose time to wait for credits is over.
queue_due = Firsts[int, int](
    "SELECT id FROM jobs WHERE state = 'queued' AND queue_by <= ? ORDER BY queue_by LIMIT ?"
)
# Running jobs that should have reported back by now.
watch_due = Firsts[int, int](
    "SELECT id FROM jobs WHERE state = 'running' AND watch_by <= ? ORDER BY watch_by LIMIT ?"
)
