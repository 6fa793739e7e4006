"""Login links and browser sessions, both kept as the SHA-256 of their secret only."""

from __future__ import annotations

from dataclasses import dataclass

from agentpost.db import columns
from agentpost.db.session import Tx

_ADDRESS = "app_url"


def insert_token(tx: Tx, digest: str, account_id: str, expires_at: int) -> None:
    """A login link is made."""
    tx.execute(
        "INSERT INTO login_tokens (digest, account_id, expires_at) VALUES (?, ?, ?)",
        (digest, account_id, expires_at),
    )


def token_account(tx: Tx, digest: str, now: int) -> str | None:
    """The account of a login link that can still be used."""
    row = tx.one(
        "SELECT account_id FROM login_tokens WHERE digest = ? AND expires_at > ?", (digest, now)
    )
    return str(row[0]) if row else None


def spend_token(tx: Tx, digest: str, now: int) -> bool:
    """True for one caller only, however many spend the link at once."""
    sql = "DELETE FROM login_tokens WHERE digest = ? AND expires_at > ?"
    return tx.execute(sql, (digest, now)) == 1


@dataclass(slots=True)
class SessionRecord:
    """A browser that is signed in; only the SHA-256 of its secret is stored."""

    digest: str
    account_id: str
    created_at: int
    expires_at: int
    last_used_at: int
    browser: str | None


_SELECT = columns.select(SessionRecord, "sessions")
_INSERT = columns.insert(SessionRecord, "sessions")
_VALUES = columns.getter(SessionRecord)
_LIVE = f"{_SELECT} WHERE digest = ? AND expires_at > ? AND last_used_at > ?"
_OF_ACCOUNT = (
    f"{_SELECT} WHERE account_id = ? AND expires_at > ? AND last_used_at > ?"
    " ORDER BY created_at DESC LIMIT ?"
)
_END_ALL = "DELETE FROM sessions WHERE account_id = ?"
_END_LINKS = "DELETE FROM login_tokens WHERE account_id = ?"


def insert_session(tx: Tx, session: SessionRecord) -> None:
    """A browser is let in."""
    tx.execute(_INSERT, _VALUES(session))


def live_session(tx: Tx, digest: str, now: int, used_after: int) -> SessionRecord | None:
    """The session, while it lasts and when it was used after that time."""
    row = tx.one(_LIVE, (digest, now, used_after))
    return SessionRecord(*row) if row else None


def live_sessions(
    tx: Tx, account_id: str, now: int, used_after: int, limit: int
) -> list[SessionRecord]:
    """The account's sessions that open something, the newest first."""
    rows = tx.all(_OF_ACCOUNT, (account_id, now, used_after, limit))
    return [SessionRecord(*row) for row in rows]


def touch_session(tx: Tx, digest: str, now: int) -> None:
    """The session was used."""
    tx.execute("UPDATE sessions SET last_used_at = ? WHERE digest = ?", (now, digest))


def delete_session(tx: Tx, digest: str) -> None:
    """End the session."""
    tx.execute("DELETE FROM sessions WHERE digest = ?", (digest,))


def delete_all(tx: Tx, account_id: str) -> None:
    """End all sessions and login links of the account."""
    tx.execute(_END_ALL, (account_id,))
    tx.execute(_END_LINKS, (account_id,))


def put_address(tx: Tx, app_url: str) -> None:
    """Remember where the running server's pages are."""
    tx.execute(
        "INSERT INTO meta (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (_ADDRESS, app_url),
    )


def address(tx: Tx) -> str | None:
    """See `put_address`; None before the first start."""
    row = tx.one("SELECT value FROM meta WHERE name = ?", (_ADDRESS,))
    return str(row[0]) if row else None
