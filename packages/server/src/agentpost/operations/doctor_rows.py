"""Queries of the doctor: rows that a sweep, runner or deadline should have changed.

Each has a grace period: a row that a healthy server is about to handle is no finding.
"""

from agentpost.db.session import Tx
from agentpost.db.statements import Rows
from agentpost.domain import ids
from agentpost.domain.times import DAY, HOUR, SECOND

_GRACE = 10 * SECOND
"""How late a sweep may be; what is swept seldom has an hour, what goes in small pieces a day."""
NEWEST = 10_000
_OLDEST = 2_000
"""How many rows of a table that grows are looked at, from its end or its beginning."""

_BLOCKS = "the conversation points at a turn that is not running; later messages are blocked"

_LONG_TURNS = (
    "SELECT id, turn_state FROM messages WHERE turn_state = 'running'"
    " AND COALESCE(turn_retried_at, turn_began_at) < ?"
)
_UPLOADS = "SELECT id, status FROM uploads WHERE swept = 0 AND keep_by < ?"
_WORKS = "SELECT id, 'deleted' FROM works WHERE deleted_at IS NOT NULL AND deleted_at < ?"
# One is on for longer while nothing is to be sent to it, or while what is due gets its last chance.
_RETRY = "SELECT 1 FROM deliveries d WHERE d.endpoint_id = e.id AND d.status = 'pending'"
_ENDPOINTS = (
    "SELECT e.id, 'failing' FROM endpoints e WHERE e.disabled_at IS NULL AND e.failing_since < ?"
    f" AND EXISTS ({_RETRY} AND d.attempts > 0)"
    f" AND NOT EXISTS ({_RETRY} AND d.attempts > 0 AND d.next_attempt_at <= ?)"
)
_MAILS = (
    "SELECT id, 'tried ' || CAST(attempts AS TEXT) || ' times' FROM mails"
    " WHERE sent_at IS NULL AND (attempts >= 3 OR next_attempt_at < ?)"
)
# Tables that grow with use are looked at in part, so that the doctor takes no longer each month:
# where the part ends is asked first.
_FROM_NEWEST = "SELECT id FROM messages WHERE id <= ? ORDER BY id DESC LIMIT 1 OFFSET ?"
_TO_OLDEST = "SELECT id FROM messages WHERE id >= ? ORDER BY id LIMIT 1 OFFSET ?"
_NEWEST_CONVERSATIONS = (
    "SELECT id FROM conversations WHERE id <= ? ORDER BY id DESC LIMIT 1 OFFSET ?"
)
_NOT_FINAL = (
    "SELECT m.id, m.status FROM messages m WHERE m.id >= ? AND m.final = 0"
    " AND m.turn_state NOT IN ('waiting', 'running') AND NOT EXISTS"
    " (SELECT 1 FROM message_jobs l JOIN jobs j ON j.id = l.job_id"
    " WHERE l.message_id = m.id AND j.state IN ('running', 'queued'))"
)
_EXPIRED = (
    "SELECT m.id, m.status FROM messages m WHERE m.id < ? AND m.expires_at < ?"
    " AND m.turn_state NOT IN ('waiting', 'running') AND NOT EXISTS"
    " (SELECT 1 FROM message_jobs l JOIN jobs j ON j.id = l.job_id"
    " WHERE l.message_id = m.id AND j.state IN ('running', 'queued', 'overdue'))"
)
_BLOCKED = (
    "SELECT c.id, 'blocked' FROM conversations c WHERE c.id >= ? AND c.turn_message_id IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM messages m"
    " WHERE m.id = c.turn_message_id AND m.turn_state = 'running')"
)
_QUERIES = (
    (
        "its turn is running without an owner",
        "SELECT id, turn_state FROM messages WHERE turn_state = 'running' AND turn_node IS NULL",
        None,
    ),
    (
        "is still waiting for its turn after the deadline",
        (
            "SELECT id, turn_state FROM messages"
            " WHERE turn_state = 'waiting' AND turn_wait_deadline < ? - COALESCE(queue_patience, 0)"
        ),
        _GRACE,
    ),
    (
        "is waiting for its turn, but no other turn is running",
        (
            "SELECT m.id, m.turn_state FROM messages m JOIN conversations c"
            " ON c.id = m.conversation_id"
            " WHERE m.turn_state = 'waiting' AND c.turn_message_id IS NULL"
        ),
        None,
    ),
    (
        _BLOCKS,
        (
            "SELECT DISTINCT c.id, 'blocked' FROM messages w JOIN conversations c"
            " ON c.id = w.conversation_id WHERE w.turn_state = 'waiting'"
            " AND c.turn_message_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM messages m"
            " WHERE m.id = c.turn_message_id AND m.turn_state = 'running')"
        ),
        None,
    ),
    (
        "should be running, but no node has claimed it",
        (
            "SELECT id, state FROM jobs WHERE state IN ('running', 'overdue') AND node IS NULL"
            " AND COALESCE(started_at, created_at) < ?"
        ),
        _GRACE,
    ),
    (
        "is waiting for credits without a deadline, or after it",
        "SELECT id, state FROM jobs WHERE state = 'queued' AND COALESCE(queue_by, 0) < ?",
        _GRACE,
    ),
    (
        "is running without a deadline, or after it",
        "SELECT id, state FROM jobs WHERE state = 'running' AND COALESCE(watch_by, 0) < ?",
        _GRACE,
    ),
    ("expired more than an hour ago and was not deleted", _UPLOADS, HOUR),
    ("was deleted more than a day ago, but its rows remain", _WORKS, DAY),
    (
        "its bytes cannot be deleted",
        (
            "SELECT blob, 'tried ' || CAST(tries AS TEXT) || ' times' FROM pending_deletions"
            " WHERE tries >= 3"
        ),
        None,
    ),
)


# (id, failing or disabled, URL) of webhook endpoints none of whose last attempts succeeded, the one
# that has failed longest first.
failing_endpoints = Rows[tuple[str, str, str], int](
    "SELECT id, CASE WHEN disabled_at IS NULL THEN 'failing' ELSE 'disabled' END, url"
    " FROM endpoints WHERE failing_since IS NOT NULL ORDER BY failing_since LIMIT ?"
)


def find_neglected(
    tx: Tx, now: int, *, turn_limit: int, failing_limit: int, mail_is_sent: bool
) -> list[tuple[str, str, str]]:
    """(id, state, problem) of every row that nothing will handle.

    Args:
        turn_limit: after so many microseconds a turn should have been ended.
        failing_limit: after so many an endpoint that only fails should be off.
        mail_is_sent: whether there is a mail server; without one mails stay where they are.
    """
    queries: list[tuple[str, str, tuple[int | str, ...]]] = [
        (problem, sql, (now - grace,) if grace is not None else ())
        for problem, sql, grace in _QUERIES
    ]
    not_final = "is not final, although its turn has ended and no job is open"
    newest = _end(tx, _FROM_NEWEST, ids.last(ids.MESSAGE), NEWEST) or ""
    queries.append((not_final, _NOT_FINAL, (newest,)))
    old = ids.at(ids.MESSAGE, now - DAY)
    oldest = min(_end(tx, _TO_OLDEST, ids.MESSAGE, _OLDEST) or old, old)
    expired = "its retention ended more than a day ago, but it was not deleted"
    queries.append((expired, _EXPIRED, (oldest, now - DAY)))
    newest = _end(tx, _NEWEST_CONVERSATIONS, ids.last(ids.CONVERSATION), NEWEST) or ""
    queries.append((_BLOCKS, _BLOCKED, (newest,)))
    too_long = "its turn has been running longer than its limit"
    queries.append((too_long, _LONG_TURNS, (now - turn_limit - _GRACE,)))
    failing = "has failed for too long and was not disabled"
    queries.append((failing, _ENDPOINTS, (now - failing_limit - _GRACE, now)))
    if mail_is_sent:
        queries.append(("its mail was not sent", _MAILS, (now - HOUR,)))
    problems = [
        (row[0], row[1], problem) for problem, sql, params in queries for row in tx.all(sql, params)
    ]
    return list(dict.fromkeys(problems))  # a conversation may be found in two ways


def _end(tx: Tx, sql: str, start: str, rows: int) -> str | None:
    """The id that many rows away from ``start``; None when there are fewer."""
    row = tx.one(sql, (start, rows))
    return str(row[0]) if row else None
