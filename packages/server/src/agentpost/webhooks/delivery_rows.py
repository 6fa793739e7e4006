"""Webhooks: the outbox of events with a delivery for each receiver, the claims of due deliveries,
and the log of their attempts, a row for each HTTP request.

A node claims a delivery for as long as an attempt may take; a claim without an outcome expires, and
the delivery is due again. The end of the claim is also its fence: what an attempt found is written
only while the row still holds that very claim.
"""

import json
from collections.abc import Sequence

from agentpost.db.mapper import Mapper
from agentpost.db.session import UNHEARD, Row, Tx
from agentpost.db.statements import Change, ChangeOf, Rows
from agentpost.webhooks.endpoint_rules import Attempted, Claimed, DeliveryStatus, EventContent
from agentpost.webhooks.records import AttemptRecord, DeliveryRecord, EndpointRecord

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
_RECORD = (
    "UPDATE deliveries SET status = ?, attempts = attempts + 1, attempts_made = attempts_made + 1,"
    " last_status_code = ?, last_error = ?, last_response = ?, last_ms = ?, delivered_at = ?,"
    f" next_attempt_at = ?, claimed_until = NULL {_MINE} AND status IN ('pending', ?)"
)
_VIEW = (
    "SELECT d.event_id, d.endpoint_id, d.status, d.attempts, d.last_status_code, d.last_error,"
    " d.last_response, d.last_ms, d.created_at, d.delivered_at, d.next_attempt_at, e.name,"
    " e.message_id FROM deliveries d JOIN events e ON e.id = d.event_id WHERE d.endpoint_id = ?"
)
_RECEIVERS = (
    "SELECT id, events_json, disabled_at FROM endpoints WHERE account_id = ?"
    " UNION ALL SELECT account_id, NULL, kept_until FROM event_readers WHERE account_id = ?"
)
ATTEMPTS = Mapper(AttemptRecord, "attempts", "ON CONFLICT DO NOTHING")
_ROWS = 4
"""In one statement. psycopg reads and prepares a statement of over 50 parameters anew each time."""
_DELETE_OLDEST = "DELETE FROM attempts WHERE event_id = ? AND endpoint_id = ? AND n <= ?"


# --- the outbox ---------------------------------------------------------------------------------
def receivers(tx: Tx, account_id: str) -> tuple[list[tuple[str, list[str], bool]], int]:
    """Who receives the events of an account, in one statement, as every end of a message asks:
    (endpoint id, subscribed events, disabled) of each endpoint; and until when all events are kept
    for who reads them, 0 when nobody does."""
    endpoints, kept_until = [], 0
    if (UNHEARD, account_id) not in tx.facts:
        for each, events_json, at in tx.all(_RECEIVERS, (account_id, account_id)):
            if events_json is None:
                kept_until = at
            else:
                endpoints.append((each, json.loads(events_json), at is not None))
    return endpoints, kept_until


# What happened, as the receivers will read it: its id, account, message, job, name, data and time.
add_event = Change[str, str, str | None, str | None, str, str, int](
    "INSERT INTO events (id, account_id, message_id, job_id, name, data_json, at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)


def add_delivery(tx: Tx, event_id: str, endpoint_id: str, status: str, now: int) -> None:
    """One event for one endpoint, due at once when pending: a row of the outbox."""
    due = now if status == "pending" else None
    tx.execute(
        "INSERT INTO deliveries (event_id, endpoint_id, status, attempts, attempts_made,"
        " created_at, next_attempt_at) VALUES (?, ?, ?, 0, 0, ?, ?)",
        (event_id, endpoint_id, status, now, due),
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
        content = event(tx, event_id)
        assert content is not None, "an event outlives its deliveries"
        fields = (*counts, content, endpoint.url, keys)
        claims.append(Claimed(endpoint.id, event_id, until, *fields))
    return claims


def event(tx: Tx, event_id: str) -> EventContent | None:
    """What an event says."""
    row = tx.one(_EVENT, (event_id,))
    return EventContent(*row) if row else None


# A claim that was not used: the delivery is due as before.
give_back = Change[str, str, int](f"UPDATE deliveries SET claimed_until = NULL {_MINE}")
# Every claim ends: for a node that knows it is alone and has just started.
give_back_all = Change[()]("UPDATE deliveries SET claimed_until = NULL WHERE status = 'pending'")


def record(tx: Tx, attempt: Attempted, next_attempt_at: int | None) -> bool:
    """Write what an attempt found: the receiver took it, also when it was dropped meanwhile, or it
    failed; without a next one the delivery has. False when the claim has passed to another node."""
    claim, delivered_at, may_be = attempt.claimed, None, DeliveryStatus.PENDING
    status = DeliveryStatus.FAILED if next_attempt_at is None else DeliveryStatus.PENDING
    if attempt.error is None:
        status, may_be = DeliveryStatus.DELIVERED, DeliveryStatus.DROPPED
        delivered_at = attempt.at
    answer = (attempt.status_code, attempt.error, attempt.response, attempt.ms)
    mine = (claim.event_id, claim.endpoint_id, claim.until, may_be)
    values = (status, *answer, delivered_at, next_attempt_at, *mine)
    return tx.execute(_RECORD, values) > 0


# Drop undelivered events (they can still be sent again on request); how many.
end_pending = ChangeOf[str, DeliveryStatus](
    "UPDATE deliveries SET status = ?, next_attempt_at = NULL"
    " WHERE endpoint_id = ? AND status = 'pending'"
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


# What became of the newest, newest first: event id, status, attempts made, how long the last took.
outcomes = Rows[tuple[str, str, int, int | None], str, int](
    "SELECT event_id, status, attempts_made, last_ms FROM deliveries WHERE endpoint_id = ?"
    " ORDER BY event_id DESC LIMIT ?"
)


def _record(row: Row) -> DeliveryRecord:
    event_id, endpoint_id, status, *rest = row
    return DeliveryRecord(event_id, endpoint_id, DeliveryStatus(status), *rest)


# --- again ----------------------------------------------------------------------------------------
# Due at that time, from the start of the schedule; one that is pending is only brought forward.
send_again = Change[int, str, str](
    "UPDATE deliveries SET status = 'pending', delivered_at = NULL, next_attempt_at = ?,"
    " attempts = CASE WHEN status = 'pending' THEN attempts ELSE 0 END,"
    " claimed_until = CASE WHEN status = 'pending' THEN claimed_until END"
    " WHERE endpoint_id = ? AND event_id = ?"
)


def ended_between(
    tx: Tx,
    endpoint_id: str,
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


# --- the log of attempts --------------------------------------------------------------------------
def add_attempts(tx: Tx, records: Sequence[AttemptRecord], keep: int) -> None:
    """Log what one commit records; a delivery keeps its newest ``keep``. A row that is there
    already stays as it is: a log must not hold up deliveries."""
    for first in range(0, len(records), _ROWS):
        ATTEMPTS.insert_all(tx, records[first : first + _ROWS])
    for record in records:
        if record.n > keep:
            tx.execute(_DELETE_OLDEST, (record.event_id, record.endpoint_id, record.n - keep))


def attempts_of(
    tx: Tx, endpoint_id: str, event_ids: Sequence[str]
) -> dict[str, list[AttemptRecord]]:
    """Event id -> its attempts at this endpoint, oldest first; only events that have some."""
    attempts: dict[str, list[AttemptRecord]] = {}
    if event_ids:
        marks = ", ".join("?" * len(event_ids))
        sql = (
            f"{ATTEMPTS.select} WHERE event_id IN ({marks}) AND endpoint_id = ?"
            " ORDER BY event_id, n"
        )
        for record in ATTEMPTS.all(tx, sql, (*event_ids, endpoint_id)):
            attempts.setdefault(record.event_id, []).append(record)
    return attempts
