"""Read all rows of an account, kind by kind, in one transaction, a page at a time.

Every kind is found by an index, and what is secret or only the server's own is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

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
_OF_ACCOUNT: Final[Mapping[str, Mapper[Any]]] = {
    "users": USERS,
    "keys": KEYS,
    "credits": LEDGER,
    "messages": MESSAGES,
    "works": WORKS,
    "uploads": UPLOADS,
    "webhooks": ENDPOINTS,
    "schedules": SCHEDULES,
    "mails": MAILS,
    "requests": REQUESTS,
}
_PARTS: Final = (
    ("entries", "messages", ENTRIES, "message_id", "seq"),
    ("attachments", "messages", ATTACHMENTS, "message_id", "n"),
    ("jobs", "works", JOBS, "work_id", "id"),
    ("files", "works", FILES, "work_id", "blob"),
    ("conversations", "keys", CONVERSATIONS, "owner", "id"),
)
"""Kind, the kind of its owner, mapper, the column of the owner, and what orders them."""
_EVENT: Final = ("id", "account_id", "message_id", "job_id", "name", "data_json", "at")
_DELIVERY: Final = (
    *("event_id", "endpoint_id", "status", "attempts", "attempts_made", "last_status_code"),
    *("last_error", "last_response", "last_ms", "created_at", "delivered_at", "next_attempt_at"),
)
_EVENTS_OF_MESSAGE = (
    f"SELECT {', '.join(_EVENT)} FROM events WHERE message_id = ? AND id > ? ORDER BY id LIMIT ?"
)
_LOOSE_EVENTS = (
    f"SELECT {', '.join(_EVENT)} FROM events WHERE message_id IS NULL AND account_id = ?"
    " AND id > ? ORDER BY id LIMIT ?"
)
_OF_EVENTS: Final = {
    "deliveries": ("deliveries", _DELIVERY, "event_id, endpoint_id"),
    "attempts": (ATTEMPTS.table, ATTEMPTS.columns, "event_id, endpoint_id, n"),
}
"""Kind -> its table, columns and order."""
_EVENTS_AT_ONCE: Final = 20
"""Each has up to ten deliveries, and those a few attempts."""
KINDS: Final = (
    *("account", *_OF_ACCOUNT, *(kind for kind, *_ in _PARTS)),
    *("events", *_OF_EVENTS),
)


def rows(tx: Tx, account_id: str, kind: str) -> Iterator[dict[str, Any]]:
    """The columns, of every row of a kind, that its account may have; at most two pages of rows
    are held."""
    if kind == "account":
        for account in ACCOUNTS.all(tx, f"{ACCOUNTS.select} WHERE id = ?", (account_id,)):
            yield _public(ACCOUNTS, account)
    elif kind == "events":
        for page in _events(tx, account_id):
            for row in page:
                yield dict(zip(_EVENT, row, strict=True))
    elif kind in _OF_EVENTS:
        yield from _of_events(tx, account_id, *_OF_EVENTS[kind])
    elif kind in _OF_ACCOUNT:
        mapper = _OF_ACCOUNT[kind]
        for record in _in_pages(tx, mapper, "account_id", "id", account_id):
            yield _public(mapper, record)
    else:
        _, of, mapper, column, order = next(part for part in _PARTS if part[0] == kind)
        owners = [account_id] if kind == "conversations" else []
        for owner in (*owners, *_owners(tx, account_id, of)):
            for record in _in_pages(tx, mapper, column, order, owner):
                yield _public(mapper, record)


def _public(mapper: Mapper[Any], record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in mapper.columns if name not in LEFT_OUT}


def _events(tx: Tx, account_id: str) -> Iterator[list[Row]]:
    """Pages of the events of each message, then of those of none."""
    for message_id in _owners(tx, account_id, "messages"):
        yield from _event_pages(tx, _EVENTS_OF_MESSAGE, message_id)
    yield from _event_pages(tx, _LOOSE_EVENTS, account_id)


def _event_pages(tx: Tx, sql: str, owner: str) -> Iterator[list[Row]]:
    page = tx.all(sql, (owner, "", _EVENTS_AT_ONCE))
    while page:
        yield page
        if len(page) < _EVENTS_AT_ONCE:
            return
        page = tx.all(sql, (owner, page[-1][0], _EVENTS_AT_ONCE))


def _of_events(
    tx: Tx, account_id: str, table: str, columns: Sequence[str], order: str
) -> Iterator[dict[str, Any]]:
    for page in _events(tx, account_id):
        ids = [row[0] for row in page]
        marks = ", ".join("?" * len(ids))
        sql = (
            f"SELECT {', '.join(columns)} FROM {table} WHERE event_id IN ({marks}) ORDER BY {order}"
        )
        for row in tx.all(sql, ids):
            yield dict(zip(columns, row, strict=True))


def _owners(tx: Tx, account_id: str, of: str) -> Iterator[str]:
    for record in _in_pages(tx, _OF_ACCOUNT[of], "account_id", "id", account_id):
        yield record.id


def _in_pages(tx: Tx, mapper: Mapper[Any], column: str, order: str, owner: str) -> Iterator[Any]:
    first = f"{mapper.select} WHERE {column} = ? ORDER BY {order} LIMIT {PAGE}"
    later = f"{mapper.select} WHERE {column} = ? AND {order} > ? ORDER BY {order} LIMIT {PAGE}"
    page = mapper.all(tx, first, (owner,))
    while page:
        yield from page
        if len(page) < PAGE:
            return
        page = mapper.all(tx, later, (owner, getattr(page[-1], order)))
