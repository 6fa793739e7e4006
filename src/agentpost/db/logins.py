"""Login links and browser sessions, both kept as the SHA-256 of their secret only."""

from __future__ import annotations

from agentpost.db import meta
from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.domain.records import SessionRecord

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


SESSIONS = Mapper(SessionRecord, "sessions")
_LIVE = f"{SESSIONS.select} WHERE digest = ? AND expires_at > ? AND last_used_at > ?"
_OF_ACCOUNT = (
    f"{SESSIONS.select} WHERE account_id = ? AND expires_at > ? AND last_used_at > ?"
    " ORDER BY created_at DESC LIMIT ?"
)
_END_ALL = "DELETE FROM sessions WHERE account_id = ?"
_END_LINKS = "DELETE FROM login_tokens WHERE account_id = ?"


def insert_session(tx: Tx, session: SessionRecord) -> None:
    """A browser is let in."""
    SESSIONS.insert(tx, session)


def live_session(tx: Tx, digest: str, now: int, used_after: int) -> SessionRecord | None:
    """The session, while it lasts and when it was used after that time."""
    return SESSIONS.one(tx, _LIVE, (digest, now, used_after))


def live_sessions(
    tx: Tx, account_id: str, now: int, used_after: int, limit: int
) -> list[SessionRecord]:
    """The account's sessions that open something, the newest first."""
    return SESSIONS.all(tx, _OF_ACCOUNT, (account_id, now, used_after, limit))


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
    meta.put(tx, _ADDRESS, app_url)


def address(tx: Tx) -> str | None:
    """See `put_address`; None before the first start."""
    return meta.get(tx, _ADDRESS)
