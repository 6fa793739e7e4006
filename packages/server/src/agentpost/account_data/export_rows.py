"""Read all rows of an account, kind by kind, in one transaction, a page at a time.

Every kind is found by an index, and what is secret or only the server's own is left out.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from agentpost.accounts.rows import ACCOUNTS, KEYS, LEDGER
from agentpost.db.mapper import Mapper
from agentpost.db.session import Row, Tx
from agentpost.jobs.work_rows import WORKS
from agentpost.mail.rows import MAILS
from agentpost.messages.rows import ENTRIES, FILES, JOBS, MESSAGES
from agentpost.record.history_rows import ATTACHMENTS
from agentpost.requests.rows import REQUESTS
from agentpost.schedules.rows import SCHEDULES
from agentpost.turns.conversation_rows import CONVERSATIONS
from agentpost.uploads.rows import UPLOADS
from agentpost.users.rows import USERS
from agentpost.webhooks.delivery_rows import ATTEMPTS
from agentpost.webhooks.endpoint_rows import ENDPOINTS

PAGE: Final = 200
LEFT_OUT: Final = frozenset(
    (
        *("digest", "old_digest", "password", "secret", "old_secret", "oidc_subject"),
        *("turn_node", "turn_epoch", "turn_inputs_json", "turn_deaths", "turn_retried_at"),
        *("node", "epoch", "traceparent", "bodies"),
    )
)
_EVENT: Final = ("id", "account_id", "message_id", "job_id", "name", "data_json", "at")
_DELIVERY: Final = (
    *("event_id", "endpoint_id", "status", "attempts", "attempts_made", "last_status_code"),
    *("last_error", "last_response", "last_ms", "created_at", "delivered_at", "next_attempt_at"),
)
_OF_EVENTS: Final = {
    "deliveries": ("deliveries", _DELIVERY, "event_id, endpoint_id"),
    "attempts": (ATTEMPTS.table, ATTEMPTS.columns, "event_id, endpoint_id, n"),
}
"""Kind -> its table, columns and order."""
_EVENTS_AT_ONCE: Final = 20
"""Each has up to ten deliveries, and those a few attempts."""


class _Source(NamedTuple):
    """The rows of a kind: those whose ``column`` is the id of a row of the kind ``of``, or of the
    account, in the order of a column that is unique among them."""

    table: str
    columns: Sequence[str]
    of: str
    column: str
    order: str


def _of(
    mapper: Mapper[Any], of: str = "", column: str = "account_id", order: str = "id"
) -> _Source:
    columns = [name for name in mapper.columns if name not in LEFT_OUT]
    return _Source(mapper.table, columns, of, column, order)


_SOURCES: Final = {
    "account": _of(ACCOUNTS, column="id"),
    "users": _of(USERS),
    "keys": _of(KEYS),
    "credits": _of(LEDGER),
    "messages": _of(MESSAGES),
    "works": _of(WORKS),
    "uploads": _of(UPLOADS),
    "webhooks": _of(ENDPOINTS),
    "schedules": _of(SCHEDULES),
    "mails": _of(MAILS),
    "requests": _of(REQUESTS),
    "entries": _of(ENTRIES, "messages", "message_id", "seq"),
    "attachments": _of(ATTACHMENTS, "messages", "message_id", "n"),
    "jobs": _of(JOBS, "works", "work_id"),
    "files": _of(FILES, "works", "work_id", "blob"),
    "conversations": _of(CONVERSATIONS, "keys", "owner"),
    "events": _Source("events", _EVENT, "messages", "message_id", "id"),
}
KINDS: Final = (*_SOURCES, *_OF_EVENTS)


def rows(tx: Tx, account_id: str, kind: str) -> Iterator[dict[str, Any]]:
    """The columns, of every row of a kind, that its account may have; at most two pages of rows
    are held."""
    if kind in _OF_EVENTS:
        table, names, order = _OF_EVENTS[kind]
        pages = _of_events(tx, account_id, table, names, order)
    else:
        names = tuple(_SOURCES[kind].columns)
        pages = _pages(tx, account_id, kind, PAGE)
    for page in pages:
        for row in page:
            yield dict(zip(names, row, strict=True))


def _pages(tx: Tx, account_id: str, kind: str, size: int) -> Iterator[list[Row]]:
    source = _SOURCES[kind]
    condition = f"{source.column} = ?"
    if not source.of or kind == "conversations":  # those of the web app are the account's own
        yield from _in_pages(tx, source, condition, account_id, size)
    if source.of:
        at = _SOURCES[source.of].columns.index("id")
        for page in _pages(tx, account_id, source.of, PAGE):
            for owner in page:
                yield from _in_pages(tx, source, condition, owner[at], size)
    if kind == "events":
        loose = "message_id IS NULL AND account_id = ?"
        yield from _in_pages(tx, source, loose, account_id, size)


def _of_events(
    tx: Tx, account_id: str, table: str, columns: Sequence[str], order: str
) -> Iterator[list[Row]]:
    for page in _pages(tx, account_id, "events", _EVENTS_AT_ONCE):
        marks = ", ".join("?" * len(page))
        sql = (
            f"SELECT {', '.join(columns)} FROM {table} WHERE event_id IN ({marks}) ORDER BY {order}"
        )
        yield tx.all(sql, [row[0] for row in page])


def _in_pages(
    tx: Tx, source: _Source, condition: str, owner: str, size: int
) -> Iterator[list[Row]]:
    select = f"SELECT {', '.join(source.columns)} FROM {source.table} WHERE {condition}"
    end = f"ORDER BY {source.order} LIMIT {size}"
    page = tx.all(f"{select} {end}", (owner,))
    while page:
        yield page
        if len(page) < size:
            return
        last = page[-1][source.columns.index(source.order)]
        page = tx.all(f"{select} AND {source.order} > ? {end}", (owner, last))
