"""Everything kept about one message, for `agentpost explain`."""

from collections.abc import Sequence
from typing import NamedTuple

from agentpost.db.session import Row, Tx, scalar
from agentpost.db.statements import Rows, Value, Whether
from agentpost.domain import ids

_COUNTS = (
    "SELECT COUNT(*) FROM signals WHERE owner = ?",
    "SELECT COUNT(*) FROM calls WHERE owner = ? AND n > 0",
)
_COUNT_ENTRIES = "SELECT COUNT(*) FROM entries WHERE message_id = ?"
_COUNT_OUTPUT = "SELECT COUNT(*) FROM agent_lines WHERE owner = ?"

ALL = 2**31 - 1
"""More than anything has."""


class AgentLine(NamedTuple):
    """A line that an author's code printed or logged; ``at`` in microseconds; ``call``: the number
    of the call that ran, None between two calls."""

    at: int
    call: int | None
    level: str
    text: str


# (at, name, body) of a message's or job's last signals, oldest first.
signals = Rows[Row, str, int](
    "SELECT at, name, body_json FROM (SELECT * FROM signals WHERE owner = ? ORDER BY id DESC"
    " LIMIT ?) found ORDER BY id"
)
# Whether a signal of that name is kept of the message or job.
has_signal = Whether[str, str]("SELECT 1 FROM signals WHERE owner = ? AND name = ? LIMIT 1")
# JSON of the signal with which the job failed, while that is kept.
failure = Value[str, str](
    "SELECT body_json FROM signals WHERE owner = ? AND name = 'Failed' LIMIT 1"
)
# The body of the entry with what the agent replied.
reply = Value[str, str](
    "SELECT body_json FROM entries WHERE message_id = ? AND type = 'agent_reply' LIMIT 1"
)


# (number, time it was recorded, summary) of a turn's or job's last recorded calls, in order.
calls = Rows[Row, str, int](
    "SELECT n, at, summary FROM (SELECT n, at, summary FROM calls WHERE owner = ? AND n > 0"
    " ORDER BY n DESC LIMIT ?) found ORDER BY n"
)
# (seq, at, type, job id, body) of the end of a message's log.
entries = Rows[Row, str, int](
    "SELECT seq, at, type, job_id, body_json FROM (SELECT * FROM entries WHERE message_id = ?"
    " ORDER BY seq DESC LIMIT ?) found ORDER BY seq"
)
# (time the one before was recorded, time it was recorded, summary) of the recorded calls that took
# longest; called with when the turn or job began, its id and how many.
longest_calls = Rows[Row, int, str, int](
    "SELECT began, at, summary FROM (SELECT n, at, summary, COALESCE(LAG(at) OVER (ORDER BY n), ?)"
    " AS began FROM calls WHERE owner = ? AND n > 0) found ORDER BY at - began DESC,"
    " n LIMIT ?"
)


def count(tx: Tx, message_id: str, owners: Sequence[str], *, output: bool = False) -> int:
    """How many signals and calls the owners have, and entries the message; with ``output`` also
    the lines that the owners' code printed or logged."""
    entry_count = int(scalar(tx, _COUNT_ENTRIES, (message_id,)))
    statements = (*_COUNTS, _COUNT_OUTPUT) if output else _COUNTS
    return entry_count + sum(
        int(scalar(tx, sql, (owner,))) for owner in owners for sql in statements
    )


# (id, at, name, job id) of a message's webhook events.
events = Rows[Row, str]("SELECT id, at, name, job_id FROM events WHERE message_id = ? ORDER BY id")
# (endpoint id, status, attempts, last code, last error, at, URL or None when the endpoint is gone,
# its description) of an event's deliveries.
deliveries = Rows[Row, str](
    "SELECT d.endpoint_id, d.status, d.attempts, d.last_status_code, d.last_error,"
    " COALESCE(d.delivered_at, d.created_at), e.url, e.description FROM deliveries d"
    " LEFT JOIN endpoints e ON e.id = d.endpoint_id WHERE d.event_id = ? ORDER BY d.endpoint_id"
)
# (endpoint id, at, number, code, error, ms) of an event's attempts.
attempts = Rows[Row, str](
    "SELECT endpoint_id, at, n, status_code, error, ms FROM attempts WHERE event_id = ?"
    " ORDER BY endpoint_id, n"
)


_INSERT = "INSERT INTO agent_lines (owner, id, at, call, level, line) VALUES (?, ?, ?, ?, ?, ?)"
_HOLD_JOB = "SELECT id FROM jobs WHERE id = ? /*for update*/"
_HOLD_MESSAGE = "SELECT id FROM messages WHERE id = ? /*for update*/"


def hold_owner(tx: Tx, owner: str) -> bool:
    """Keep the row of a turn's message or of a job until the commit; False when it was deleted."""
    sql = _HOLD_MESSAGE if owner.startswith(ids.MESSAGE) else _HOLD_JOB
    return tx.one(sql, (owner,)) is not None


def insert(tx: Tx, owner: str, line_ids: Sequence[str], lines: Sequence[AgentLine]) -> None:
    """Store the lines of one run of a turn or job, each with its id."""
    for line_id, line in zip(line_ids, lines, strict=True):
        tx.execute(_INSERT, (owner, line_id, *line))


# (at, call or None, level, line) of the last output in all runs of a turn or job, oldest first.
of_owner = Rows[Row, str, int](
    "SELECT at, call, level, line FROM (SELECT * FROM agent_lines WHERE owner = ? ORDER BY id DESC"
    " LIMIT ?) found ORDER BY id"
)
