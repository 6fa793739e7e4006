"""Login links and browser sessions, both kept as the SHA-256 of their secret only."""

from __future__ import annotations

from agentpost.db.session import Tx

_ADDRESS = "app_url"


def insert_token(tx: Tx, digest: str, account_id: str, expires_at: int) -> None:
    """A login link is made."""
    tx.execute(
        "INSERT INTO login_tokens (digest, account_id, expires_at) VALUES (?, ?, ?)",
        (digest, account_id, expires_at),
    )


def token_account(tx: Tx, digest: str, now: int) -> str | None:
    """Whose login link it is, while it can be used."""
    row = tx.one(
        "SELECT account_id FROM login_tokens WHERE digest = ? AND expires_at > ?", (digest, now)
    )
    return str(row[0]) if row else None


def spend_token(tx: Tx, digest: str, now: int) -> bool:
    """True for one caller only, however many spend the link at once."""
    sql = "DELETE FROM login_tokens WHERE digest = ? AND expires_at > ?"
    return tx.execute(sql, (digest, now)) == 1


def insert_session(tx: Tx, digest: str, account_id: str, now: int, expires_at: int) -> None:
    """A browser is let in."""
    tx.execute(
        "INSERT INTO sessions (digest, account_id, created_at, expires_at) VALUES (?, ?, ?, ?)",
        (digest, account_id, now, expires_at),
    )


def session_account(tx: Tx, digest: str, now: int) -> str | None:
    """Whose session it is, while it lasts."""
    row = tx.one(
        "SELECT account_id FROM sessions WHERE digest = ? AND expires_at > ?", (digest, now)
    )
    return str(row[0]) if row else None


def delete_session(tx: Tx, digest: str) -> None:
    """The session opens nothing any more."""
    tx.execute("DELETE FROM sessions WHERE digest = ?", (digest,))


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
