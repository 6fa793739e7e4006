"""Everything kept about one message, for `agentpost explain`."""

from __future__ import annotations

from agentpost.db.session import Row, Tx

_DELIVERIES = (
    "SELECT endpoint_id, status, attempts, last_status_code, last_error,"
    " COALESCE(delivered_at, created_at) FROM deliveries WHERE event_id = ? ORDER BY endpoint_id"
)

_ATTEMPTS = (
    "SELECT endpoint_id, at, n, status_code, error, ms FROM attempts WHERE event_id = ?"
    " ORDER BY endpoint_id, n"
)


def signals(tx: Tx, owner: str) -> list[Row]:
    """(at, name, body) of a message's or job's signals, oldest first."""
    return tx.all("SELECT at, name, body_json FROM signals WHERE owner = ? ORDER BY id", (owner,))


def calls(tx: Tx, owner: str) -> list[Row]:
    """(number, time it was recorded, summary) of a turn's or job's recorded calls, in order."""
    sql = "SELECT n, at, summary FROM calls WHERE owner = ? AND n > 0 ORDER BY n"
    return tx.all(sql, (owner,))


def entries(tx: Tx, message_id: str) -> list[Row]:
    """(seq, at, type, job id, body) of a message's log."""
    sql = "SELECT seq, at, type, job_id, body_json FROM entries WHERE message_id = ? ORDER BY seq"
    return tx.all(sql, (message_id,))


def events(tx: Tx, message_id: str) -> list[Row]:
    """(id, at, name, job id) of a message's webhook events."""
    sql = "SELECT id, at, name, job_id FROM events WHERE message_id = ? ORDER BY id"
    return tx.all(sql, (message_id,))


def deliveries(tx: Tx, event_id: str) -> list[Row]:
    """(endpoint id, status, attempts, last code, last error, at) of an event's deliveries."""
    return tx.all(_DELIVERIES, (event_id,))


def attempts(tx: Tx, event_id: str) -> list[Row]:
    """(endpoint id, at, number, code, error, ms) of an event's attempts."""
    return tx.all(_ATTEMPTS, (event_id,))
