"""Queries of the doctor: rows that no sweep, runner or deadline would ever move again."""

from __future__ import annotations

from agentpost.db.session import Tx
from agentpost.domain.times import SECOND

GRACE = 10 * SECOND
"""A sweep may be so late before it counts as a problem."""
DAY = 86_400 * SECOND

_QUERIES = (
    (
        "the turn runs, but nobody owns it",
        "SELECT id, turn_state FROM messages WHERE turn_state = 'running' AND turn_node IS NULL",
        None,
    ),
    (
        "waits for its turn beyond its deadline",
        "SELECT id, turn_state FROM messages WHERE turn_state = 'waiting' AND busy_by < ?",
        GRACE,
    ),
    (
        "waits for its turn, but no turn runs before it",
        (
            "SELECT m.id, m.turn_state FROM messages m JOIN conversations c"
            " ON c.id = m.conversation_id"
            " WHERE m.turn_state = 'waiting' AND c.turn_message_id IS NULL"
        ),
        None,
    ),
    (
        "its turn is said to run, but does not: who comes next would wait for it",
        (
            "SELECT c.id, 'blocked' FROM conversations c WHERE c.turn_message_id IS NOT NULL"
            " AND NOT EXISTS (SELECT 1 FROM messages m"
            " WHERE m.id = c.turn_message_id AND m.turn_state = 'running')"
        ),
        None,
    ),
    (
        "not final, but its turn has ended and no job of it is open",
        (
            "SELECT m.id, m.status FROM messages m WHERE m.final = 0"
            " AND m.turn_state NOT IN ('waiting', 'running') AND NOT EXISTS"
            " (SELECT 1 FROM message_jobs l JOIN jobs j ON j.id = l.job_id"
            " WHERE l.message_id = m.id AND j.state IN ('running', 'queued'))"
        ),
        None,
    ),
    (
        "should run, but nobody has taken it",
        (
            "SELECT id, state FROM jobs WHERE state IN ('running', 'overdue') AND node IS NULL"
            " AND COALESCE(started_at, created_at) < ?"
        ),
        GRACE,
    ),
    (
        "waits for credits without a deadline, or beyond it",
        "SELECT id, state FROM jobs WHERE state = 'queued' AND COALESCE(queue_by, 0) < ?",
        GRACE,
    ),
    (
        "runs without a deadline, or beyond it",
        "SELECT id, state FROM jobs WHERE state = 'running' AND COALESCE(watch_by, 0) < ?",
        GRACE,
    ),
    (
        "its retention was over a day ago, and it is still here",
        (
            "SELECT id, status FROM messages m WHERE expires_at < ?"
            " AND turn_state NOT IN ('waiting', 'running') AND NOT EXISTS"
            " (SELECT 1 FROM message_jobs l JOIN jobs j ON j.id = l.job_id"
            " WHERE l.message_id = m.id AND j.state IN ('running', 'queued', 'overdue'))"
        ),
        DAY,
    ),
    (
        "its bytes are to go and cannot be deleted",
        (
            "SELECT blob, 'tried ' || CAST(tries AS TEXT) || ' times' FROM doomed_blobs"
            " WHERE tries >= 3"
        ),
        None,
    ),
)


def neglected(tx: Tx, now: int) -> list[tuple[str, str, str]]:
    """(id, state, problem) of everything nobody takes care of."""
    found: list[tuple[str, str, str]] = []
    for problem, sql, grace in _QUERIES:
        rows = tx.all(sql, (now - grace,) if grace is not None else ())
        found.extend((row[0], row[1], problem) for row in rows)
    return found
