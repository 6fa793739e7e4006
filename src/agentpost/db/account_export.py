"""Read all rows of an account, kind by kind, in one transaction, a page at a time.

Every kind is found by an index, and what is secret or only the server's own is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agentpost.db.accounts import ACCOUNTS, KEYS, LEDGER
from agentpost.db.conversations import CONVERSATIONS
from agentpost.db.endpoints import ENDPOINTS
from agentpost.db.history import ATTACHMENTS
from agentpost.db.mails import MAILS
from agentpost.db.mapper import Mapper
from agentpost.db.messages import ENTRIES, FILES, JOBS, MESSAGES
from agentpost.db.packed_bodies import unpacked
from agentpost.db.requests import REQUESTS
from agentpost.db.schedules import SCHEDULES
from agentpost.db.session import Tx
from agentpost.db.uploads import UPLOADS
from agentpost.db.users import USERS
from agentpost.db.works import WORKS

PAGE: Final = 200
LEFT_OUT: Final = frozenset(
    (
        *("digest", "old_digest", "password", "secret", "old_secret", "oidc_subject"),
        *("turn_node", "turn_epoch", "turn_inputs_json", "node", "epoch", "traceparent", "bodies"),
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
KINDS: Final = ("account", *_OF_ACCOUNT, *(kind for kind, *_ in _PARTS))


def rows(tx: Tx, account_id: str, kind: str) -> Iterator[tuple[Mapper[Any], Any]]:
    """Every record of a kind with its mapper; at most two pages are held."""
    if kind == "account":
        for account in ACCOUNTS.all(tx, f"{ACCOUNTS.select} WHERE id = ?", (account_id,)):
            yield ACCOUNTS, account
    elif kind in _OF_ACCOUNT:
        mapper = _OF_ACCOUNT[kind]
        for record in _paged(tx, mapper, "account_id", "id", account_id):
            yield mapper, unpacked(record) if kind == "requests" else record
    else:
        _, of, mapper, column, order = next(part for part in _PARTS if part[0] == kind)
        owners = [account_id] if kind == "conversations" else []
        for owner in (*owners, *_owners(tx, account_id, of)):
            for record in _paged(tx, mapper, column, order, owner):
                yield mapper, record


def public(mapper: Mapper[Any], record: Any) -> dict[str, Any]:
    """The columns that its account may have."""
    return {name: getattr(record, name) for name in mapper.columns if name not in LEFT_OUT}


def _owners(tx: Tx, account_id: str, of: str) -> Iterator[str]:
    for record in _paged(tx, _OF_ACCOUNT[of], "account_id", "id", account_id):
        yield record.id


def _paged(tx: Tx, mapper: Mapper[Any], column: str, order: str, owner: str) -> Iterator[Any]:
    first = f"{mapper.select} WHERE {column} = ? ORDER BY {order} LIMIT {PAGE}"
    later = f"{mapper.select} WHERE {column} = ? AND {order} > ? ORDER BY {order} LIMIT {PAGE}"
    page = mapper.all(tx, first, (owner,))
    while page:
        yield from page
        if len(page) < PAGE:
            return
        page = mapper.all(tx, later, (owner, getattr(page[-1], order)))
