"""The journal of calls, and a job's inbox. The rule is in `record.journal_rules`."""

import json
from collections.abc import Sequence

from agentpost.db.session import Tx
from agentpost.db.statements import Rows, SentChange
from agentpost.domain.credits import Charge
from agentpost.record.journal_rules import Call, CallState

_PUT = (
    "INSERT INTO calls (owner, n, fingerprint, state, value, at, summary)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (owner, n) DO UPDATE SET state = excluded.state, value = excluded.value,"
    " at = excluded.at"
)
_ALL = "SELECT n, fingerprint, state, value, summary FROM calls WHERE owner = ? ORDER BY n"
_OWED = "SELECT value FROM calls WHERE owner = ? AND n = ?"
_POST = (
    "INSERT INTO inbox (job_id, n, message_id, text, at)"
    " SELECT ?, COALESCE(MAX(n), 0) + 1, ?, ?, ? FROM inbox WHERE job_id = ?"
)


def put(tx: Tx, owner: str, call: Call, now: int) -> None:
    """Record a call of a turn (owner: message id) or job; a held one is completed."""
    tx.execute_nowait(
        _PUT, (owner, call.n, call.fingerprint, call.state, call.value, now, call.summary)
    )


def all_(tx: Tx, owner: str) -> dict[int, Call]:
    """Everything recorded for a turn or job, by number."""
    rows = tx.all(_ALL, (owner,))
    return {row[0]: Call(row[0], row[1], CallState(row[2]), row[3], row[4] or "") for row in rows}


# The job is parked: its holds were given back, so its unfinished steps hold nothing.
forget_held = SentChange[str]("DELETE FROM calls WHERE owner = ? AND state = 'held'")
# The row is no longer needed.
forget = SentChange[str, int]("DELETE FROM calls WHERE owner = ? AND n = ?")


def put_owed(tx: Tx, job_id: str, n: int, charges: Sequence[Charge], now: int) -> None:
    """Set the charges that call ``n`` of a job still owes."""
    value = json.dumps([[charge.amount, charge.note] for charge in charges])
    put(tx, job_id, Call(-n, "", CallState.OWED, value), now)


def owed_charges(tx: Tx, job_id: str, n: int) -> list[Charge]:
    """The charges that call ``n`` of a job still owes."""
    row = tx.one(_OWED, (job_id, -n))
    return [Charge(amount, note) for amount, note in json.loads(row[0])] if row else []


def post(tx: Tx, job_id: str, message_id: str, text: str, now: int) -> None:
    """A follow-up for a job; the caller holds the job's lock."""
    tx.execute_nowait(_POST, (job_id, message_id, text, now, job_id))


# (n, message id, text, at) of follow-ups a job has not read yet.
inbox = Rows[tuple[int, str, str, int], str, int, int](
    "SELECT n, message_id, text, at FROM inbox WHERE job_id = ? AND n > ? ORDER BY n LIMIT ?"
)
