"""The outbox: events as they will be sent, and one delivery row for each receiver."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from agentpost.db.session import UNHEARD, Tx

_RECEIVERS = (
    "SELECT id, events_json, disabled_at FROM endpoints WHERE account_id = ?"
    " UNION ALL SELECT account_id, NULL, kept_until FROM event_readers WHERE account_id = ?"
)


@dataclass(frozen=True, slots=True)
class Receivers:
    """Who receives the events of an account.

    ``endpoints``: (endpoint id, subscribed events, disabled). ``kept_until``: until then all events
    are kept for who reads them; 0 when nobody does.
    """

    endpoints: list[tuple[str, list[str], bool]]
    kept_until: int


def receivers(tx: Tx, account_id: str) -> Receivers:
    """An account's endpoints and readers, in one statement: every end of a message asks."""
    if (UNHEARD, account_id) in tx.facts:
        return Receivers([], 0)
    result = Receivers([], 0)
    for each, events_json, at in tx.all(_RECEIVERS, (account_id, account_id)):
        if events_json is None:
            result = replace(result, kept_until=at)
        else:
            result.endpoints.append((each, json.loads(events_json), at is not None))
    return result


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
        "INSERT INTO deliveries (event_id, endpoint_id, status, attempts, attempts_made,"
        " created_at, next_attempt_at) VALUES (?, ?, ?, 0, 0, ?, ?)",
        (event_id, endpoint_id, status, now, due),
    )
