"""Deliveries: due ones, their claims, and the outcome of each attempt.

A node claims a delivery for as long as an attempt may take; a claim without an outcome expires, and
the delivery is due again. The end of the claim is also its fence: what an attempt found is written
only while the row still holds that very claim.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentpost.db.session import Row, Tx
from agentpost.domain.endpoints import Attempted, Claimed, DeliveryStatus
from agentpost.domain.webhook_records import DeliveryOutcome, DeliveryRecord, EndpointRecord

# The first pending endpoint id, the next one after it and so on: as many index look-ups as there
# are endpoints with something pending, however long the backlog of one of them is.
_DUE_ENDPOINTS = """
WITH RECURSIVE found(id) AS (
  SELECT MIN(endpoint_id) FROM deliveries WHERE status = 'pending'
  UNION ALL
  SELECT (SELECT MIN(d.endpoint_id) FROM deliveries d
          WHERE d.status = 'pending' AND d.endpoint_id > found.id)
  FROM found WHERE found.id IS NOT NULL
)
SELECT id FROM found WHERE id IS NOT NULL AND EXISTS (
  SELECT 1 FROM deliveries d WHERE d.endpoint_id = found.id AND d.status = 'pending'
  AND d.next_attempt_at <= ? AND (d.claimed_until IS NULL OR d.claimed_until <= ?))
"""
_DUE = (
    "SELECT event_id, attempts, attempts_made, created_at FROM deliveries"
    " WHERE endpoint_id = ? AND status = 'pending' AND next_attempt_at <= ?"
    " AND (claimed_until IS NULL OR claimed_until <= ?)"
    " ORDER BY next_attempt_at LIMIT ? /*skip locked*/"
)
_CLAIM = "UPDATE deliveries SET claimed_until = ? WHERE event_id = ? AND endpoint_id = ?"
_EVENT = (
    "SELECT e.name, e.at, e.data_json, m.traceparent, e.message_id FROM events e"
    " LEFT JOIN messages m ON m.id = e.message_id WHERE e.id = ?"
)
_MINE = "WHERE event_id = ? AND endpoint_id = ? AND claimed_until = ?"
_SUCCEEDED = (
    "UPDATE deliveries SET status = 'delivered', attempts = attempts + 1,"
    " attempts_made = attempts_made + 1, last_status_code = ?, last_error = NULL,"
    " last_response = ?, last_ms = ?, delivered_at = ?, next_attempt_at = NULL,"
    f" claimed_until = NULL {_MINE} AND status IN ('pending', 'dropped')"
)
_FAILED = (
    "UPDATE deliveries SET status = ?, attempts = attempts + 1,"
    " attempts_made = attempts_made + 1, last_status_code = ?, last_error = ?,"
    " last_response = ?, last_ms = ?, next_attempt_at = ?, claimed_until = NULL"
    f" {_MINE} AND status = 'pending'"
)
_VIEW = (
    "SELECT d.event_id, d.endpoint_id, d.status, d.attempts, d.last_status_code, d.last_error,"
    " d.last_response, d.last_ms, d.created_at, d.delivered_at, d.next_attempt_at, e.name,"
    " e.message_id FROM deliveries d JOIN events e ON e.id = d.event_id WHERE d.endpoint_id = ?"
)
_OUTCOMES = (
    "SELECT event_id, status, attempts_made, last_ms FROM deliveries WHERE endpoint_id = ?"
    " ORDER BY event_id DESC LIMIT ?"
)
_AGAIN = (
    "UPDATE deliveries SET status = 'pending', attempts = 0, delivered_at = NULL,"
    " next_attempt_at = ?, claimed_until = NULL WHERE event_id = ? AND endpoint_id = ?"
    " AND status <> 'pending'"
)


# --- sending --------------------------------------------------------------------------------------
def due_endpoints(tx: Tx, now: int) -> list[str]:
    """Endpoints with due deliveries that no node has claimed."""
    return [row[0] for row in tx.all(_DUE_ENDPOINTS, (now, now))]


def claim(tx: Tx, endpoint: EndpointRecord, now: int, until: int, limit: int) -> list[Claimed]:
    """Claim up to ``limit`` due deliveries of the endpoint until then, the longest due first."""
    keys = endpoint.secrets(now)
    claims = []
    for event_id, *counts in tx.all(_DUE, (endpoint.id, now, now, limit)):
        tx.execute(_CLAIM, (until, event_id, endpoint.id))
        event_row = event(tx, event_id)
        assert event_row is not None, "an event outlives its deliveries"
        fields = (*counts, *event_row, endpoint.url, keys)
        claims.append(Claimed(endpoint.id, event_id, until, *fields))
    return claims


def event(tx: Tx, event_id: str) -> Row | None:
    """What an event says: its name, its time, its data as JSON, its message's traceparent, and
    that message; None: it is of none."""
    return tx.one(_EVENT, (event_id,))


def give_back(tx: Tx, event_id: str, endpoint_id: str, claimed_until: int) -> None:
    """A claim that was not used: the delivery is due as before."""
    tx.execute(
        f"UPDATE deliveries SET claimed_until = NULL {_MINE}",
        (event_id, endpoint_id, claimed_until),
    )


def give_back_all(tx: Tx) -> None:
    """Every claim ends: for a node that knows it is alone and has just started."""
    tx.execute("UPDATE deliveries SET claimed_until = NULL WHERE status = 'pending'")


def record_success(tx: Tx, attempt: Attempted) -> bool:
    """The receiver took it, also when it was dropped meanwhile. False when the claim has passed to
    another node."""
    values = (attempt.status_code, attempt.response, attempt.ms, attempt.at)
    return tx.execute(_SUCCEEDED, (*values, *_claim_of(attempt))) > 0


def record_failure(tx: Tx, attempt: Attempted, next_attempt_at: int | None) -> bool:
    """An attempt failed; without a next one the delivery has. False when the claim has passed to
    another node."""
    status = DeliveryStatus.FAILED if next_attempt_at is None else DeliveryStatus.PENDING
    answer = (attempt.status_code, attempt.error, attempt.response, attempt.ms)
    return tx.execute(_FAILED, (status, *answer, next_attempt_at, *_claim_of(attempt))) > 0


def _claim_of(attempt: Attempted) -> tuple[str, str, int]:
    claim = attempt.claimed
    return claim.event_id, claim.endpoint_id, claim.until


def end_pending(tx: Tx, endpoint_id: str, status: DeliveryStatus) -> int:
    """Drop undelivered events (they can still be sent again on request); how many."""
    return tx.execute(
        "UPDATE deliveries SET status = ?, next_attempt_at = NULL"
        " WHERE endpoint_id = ? AND status = 'pending'",
        (status, endpoint_id),
    )


def retries(tx: Tx, endpoint_id: str, now: int) -> tuple[int, int]:
    """How many deliveries wait for a further attempt, and how many of those are due."""
    row = tx.one(
        "SELECT COUNT(*), COALESCE(SUM(CASE WHEN next_attempt_at <= ? THEN 1 ELSE 0 END), 0)"
        " FROM deliveries WHERE endpoint_id = ? AND status = 'pending' AND attempts > 0",
        (now, endpoint_id),
    )
    assert row is not None
    return int(row[0]), int(row[1])


# --- reading --------------------------------------------------------------------------------------
def get(tx: Tx, endpoint_id: str, event_id: str) -> DeliveryRecord | None:
    """One delivery."""
    row = tx.one(f"{_VIEW} AND d.event_id = ?", (endpoint_id, event_id))
    return _record(row) if row else None


def list_(
    tx: Tx,
    endpoint_id: str,
    limit: int,
    before: str | None = None,
    status: DeliveryStatus | None = None,
) -> list[DeliveryRecord]:
    """The newest, newest first; only those older than the event ``before``, only that status."""
    sql, values = _VIEW, [endpoint_id]
    if before is not None:
        sql += " AND d.event_id < ?"
        values.append(before)
    if status is not None:
        sql += " AND d.status = ?"
        values.append(status.value)
    rows = tx.all(f"{sql} ORDER BY d.event_id DESC LIMIT ?", (*values, limit))
    return [_record(row) for row in rows]


def outcomes(tx: Tx, endpoint_id: str, limit: int) -> list[DeliveryOutcome]:
    """What became of the newest, newest first."""
    return [
        DeliveryOutcome(row[0], DeliveryStatus(row[1]), row[2], row[3])
        for row in tx.all(_OUTCOMES, (endpoint_id, limit))
    ]


def _record(row: Row) -> DeliveryRecord:
    event_id, endpoint_id, status, *rest = row
    return DeliveryRecord(event_id, endpoint_id, DeliveryStatus(status), *rest)


# --- again ----------------------------------------------------------------------------------------
def send_again(tx: Tx, endpoint_id: str, event_id: str, now: int) -> None:
    """Due at once, from the start of the schedule; one that is pending is only brought forward."""
    if tx.execute(_AGAIN, (now, event_id, endpoint_id)) == 0:
        tx.execute(
            "UPDATE deliveries SET next_attempt_at = ?"
            " WHERE event_id = ? AND endpoint_id = ? AND status = 'pending'",
            (now, event_id, endpoint_id),
        )


def ended_between(
    tx: Tx,
    endpoint_id: str,
    *,
    since: int,
    until: int,
    statuses: Sequence[DeliveryStatus],
    after: str,
    limit: int,
) -> list[str]:
    """Event ids, oldest first, of deliveries made in that time that ended with such a status;
    only those newer than the event ``after``."""
    marks = ", ".join("?" * len(statuses))
    rows = tx.all(
        "SELECT event_id FROM deliveries WHERE endpoint_id = ? AND event_id > ?"
        f" AND created_at >= ? AND created_at < ? AND status IN ({marks})"
        " ORDER BY event_id LIMIT ?",
        (endpoint_id, after, since, until, *statuses, limit),
    )
    return [row[0] for row in rows]
