"""What the spend ceilings of a message and of its key are, and what was used of them.

The caller holds the account's lock, without which no credits move.
"""

from typing import Final

from agentpost.credits.rules import WorkCeilings
from agentpost.db.session import Tx, scalar
from agentpost.db.statements import Number, Value
from agentpost.domain import ids

_OF_JOB: Final = (
    "SELECT m.id, m.key_id, m.max_credits, k.max_credits_per_day FROM jobs j"
    " JOIN messages m ON m.id = j.message_id LEFT JOIN keys k ON k.id = m.key_id WHERE j.id = ?"
)
_SUM: Final = "SELECT COALESCE(SUM(CASE g.kind WHEN 'release' THEN -g.amount ELSE g.amount END), 0)"
_CHARGED_TO_KEY: Final = (
    "SELECT COALESCE(SUM(amount), 0) FROM ledger"
    " WHERE key_id = ? AND id >= ? AND kind = 'charge' AND key_id IS NOT NULL"
)
_HELD_FOR_KEY: Final = (
    f"{_SUM} FROM jobs j JOIN ledger g ON g.job_id = j.id WHERE j.account_id = ?"
    " AND j.state IN ('running', 'overdue') AND g.key_id = ? AND g.kind IN ('hold', 'release')"
)


def of_job(tx: Tx, job_id: str) -> WorkCeilings | None:
    """Those of the work of a job."""
    row = tx.one(_OF_JOB, (job_id,))
    return None if row is None else WorkCeilings(*row)


# The key of the message that started the job.
key_of_job = Value[str, str](
    "SELECT m.key_id FROM jobs j JOIN messages m ON m.id = j.message_id WHERE j.id = ?"
)
# Charged to the jobs that the message started, or held for them.
used_by_message = Number[str](
    f"{_SUM} FROM message_jobs l JOIN jobs j ON j.id = l.job_id AND j.message_id = l.message_id"
    " JOIN ledger g ON g.job_id = j.id WHERE l.message_id = ?"
)


def used_by_key(tx: Tx, account_id: str, key_id: str, since: int) -> int:
    """Charged to the key's work from that time on, or held for it now."""
    charges = int(scalar(tx, _CHARGED_TO_KEY, (key_id, ids.at(ids.LEDGER, since))))
    return charges + int(scalar(tx, _HELD_FOR_KEY, (account_id, key_id)))
