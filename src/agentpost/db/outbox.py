"""The outbox: events as they will be sent, and one delivery row for each receiver."""

from __future__ import annotations

import json

from agentpost.db.session import Tx

_RECEIVERS = "SELECT id, events_json, disabled_at FROM endpoints WHERE account_id = ?"


def receivers(tx: Tx, account_id: str) -> list[tuple[str, list[str], bool]]:
    """(endpoint id, subscribed events, disabled) of an account's endpoints."""
    rows = tx.all(_RECEIVERS, (account_id,))
    return [(row[0], json.loads(row[1]), row[2] is not None) for row in rows]


def add_event(
    tx: Tx,
    event_id: str,
    *,
    account_id: str,
    message_id: str | None,
    job_id: str | None,
    name: str,
    data: str,
    at: int,
) -> None:
    """What happened, as the receivers will read it."""
    tx.execute(
        "INSERT INTO events (id, account_id, message_id, job_id, name, data_json, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (event_id, account_id, message_id, job_id, name, data, at),
    )


def add_delivery(tx: Tx, event_id: str, endpoint_id: str, status: str, now: int) -> None:
    """One event for one endpoint, due at once when pending: a row of the outbox."""
    due = now if status == "pending" else None
    tx.execute(
        "INSERT INTO deliveries (event_id, endpoint_id, status, attempts, created_at,"
        " next_attempt_at) VALUES (?, ?, ?, 0, ?, ?)",
        (event_id, endpoint_id, status, now, due),
    )
