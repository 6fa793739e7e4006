"""Accounts, their keys and credits. The actions decide; nothing here checks a rule."""

from __future__ import annotations

from agentpost.credits.rules import Wallet
from agentpost.db import as_json
from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx, scalar
from agentpost.record.records import AccountRecord, KeyRecord, LedgerRecord

ACCOUNTS = Mapper(AccountRecord, "accounts", "ON CONFLICT (email) DO NOTHING")
KEYS = Mapper(KeyRecord, "keys")
LEDGER = Mapper(LedgerRecord, "ledger")

_GET = f"{ACCOUNTS.select} WHERE id = ?"
_LOCK = f"{_GET} /*for update*/"
_HOLD = "SELECT 1 FROM accounts WHERE id = ? /*for update*/"
_OF_JOB = "FROM ledger WHERE job_id = ?"
_HELD = (
    "SELECT COALESCE(SUM(CASE WHEN kind = 'hold' THEN amount WHEN kind = 'release'"
    f" THEN -amount ELSE 0 END), 0) {_OF_JOB}"
)
_BY_DIGEST = f"{KEYS.select} WHERE digest = ? OR old_digest = ?"
_SAVE_SECRETS = KEYS.update_sql(("digest", "hint", "old_digest", "old_hint", "old_until"), "id = ?")
_LIVE = (
    "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)"
    " AND EXISTS (SELECT 1 FROM accounts a WHERE a.id = keys.account_id AND a.disabled_at IS NULL)"
)
_ENDED = (
    "SELECT held.key FROM json_each(?) AS held"
    f" WHERE NOT EXISTS (SELECT 1 FROM keys WHERE keys.id = held.key AND {_LIVE})"
    f" AND NOT EXISTS (SELECT 1 FROM keys WHERE keys.digest = held.key AND {_LIVE})"
    f" AND NOT EXISTS (SELECT 1 FROM keys WHERE keys.old_digest = held.key AND {_LIVE}"
    " AND old_until > ?)"
)
_CHARGED = f"SELECT COALESCE(SUM(amount), 0) {_OF_JOB} AND kind = 'charge'"


def insert(tx: Tx, account: AccountRecord) -> bool:
    """False when the e-mail address is taken."""
    return ACCOUNTS.insert(tx, account)


def get(tx: Tx, account_id: str) -> AccountRecord:
    """By id; the id comes from our own rows."""
    account = ACCOUNTS.one(tx, _GET, (account_id,))
    assert account is not None
    return account


def prefetch(tx: Tx, account_id: str) -> None:
    """`get` follows in this transaction, and may be answered as of now."""
    tx.prefetch(_GET, (account_id,))


def lock(tx: Tx, account_id: str) -> AccountRecord:
    """`get`, held until the commit: required before credits or slots are moved."""
    account = ACCOUNTS.one(tx, _LOCK, (account_id,))
    assert account is not None
    return account


def lock_only(tx: Tx, account_id: str) -> None:
    """`lock` for who needs nothing of it, or reads it with what it locks next."""
    tx.lock(_HOLD, (account_id,))


def find(tx: Tx, id_or_email: str) -> AccountRecord | None:
    """By id or e-mail address, for the command line."""
    sql = f"{ACCOUNTS.select} WHERE id = ? OR email = ?"
    return ACCOUNTS.one(tx, sql, (id_or_email, id_or_email))


def all_(tx: Tx) -> list[AccountRecord]:
    """Every account, oldest first."""
    return ACCOUNTS.all(tx, f"{ACCOUNTS.select} ORDER BY id")


def save_wallet(tx: Tx, account_id: str, wallet: Wallet) -> None:
    """Write the credits; the caller holds the lock."""
    tx.execute(
        "UPDATE accounts SET balance = ?, held = ? WHERE id = ?",
        (wallet.balance, wallet.held, account_id),
    )


def set_hosting_fees(tx: Tx, account_id: str, due: bool) -> None:
    """Whether new work is refused until fees are paid."""
    tx.execute("UPDATE accounts SET hosting_fees_due = ? WHERE id = ?", (int(due), account_id))


def set_disabled(tx: Tx, account_id: str, at: int | None) -> None:
    """Whether keys and sessions are refused, and since when."""
    tx.execute("UPDATE accounts SET disabled_at = ? WHERE id = ?", (at, account_id))


def set_limits(tx: Tx, account_id: str, limits_json: str) -> None:
    """The limits of the account that differ from the settings; the caller holds the lock."""
    tx.execute("UPDATE accounts SET limits_json = ? WHERE id = ?", (limits_json, account_id))


def ledger(tx: Tx, account_id: str, limit: int) -> list[LedgerRecord]:
    """The newest moves, newest first."""
    sql = f"{LEDGER.select} WHERE account_id = ? ORDER BY id DESC LIMIT ?"
    return LEDGER.all(tx, sql, (account_id, limit))


def held_for(tx: Tx, job_id: str) -> int:
    """Credits held for a job's unfinished steps."""
    return int(scalar(tx, _HELD, (job_id,)))


def charged_for(tx: Tx, job_id: str) -> int:
    """Credits charged to a job so far."""
    return int(scalar(tx, _CHARGED, (job_id,)))


def key_by_digest(tx: Tx, digest: str) -> KeyRecord | None:
    """The key whose secret, or whose secret before the last rotation, has this SHA-256."""
    return KEYS.one(tx, _BY_DIGEST, (digest, digest))


def key_by_id(tx: Tx, key_id: str) -> KeyRecord | None:
    """The key with this id, live or not."""
    return KEYS.one(tx, f"{KEYS.select} WHERE id = ?", (key_id,))


def keys(tx: Tx, account_id: str | None = None) -> list[KeyRecord]:
    """All keys, or those of one account, oldest first."""
    if account_id is None:
        return KEYS.all(tx, f"{KEYS.select} ORDER BY id")
    return KEYS.all(tx, f"{KEYS.select} WHERE account_id = ? ORDER BY id", (account_id,))


def lock_key(tx: Tx, key_id: str) -> KeyRecord | None:
    """The key with this id, held until the commit."""
    return KEYS.one(tx, f"{KEYS.select} WHERE id = ? /*for update*/", (key_id,))


def save_secrets(tx: Tx, key: KeyRecord) -> None:
    """Write the digests of a rotated key; the caller holds the lock."""
    values = (key.digest, key.hint, key.old_digest, key.old_hint, key.old_until, key.id)
    tx.execute(_SAVE_SECRETS, values)


def save_networks(tx: Tx, key_id: str, networks: str | None) -> None:
    """From where the key may be used from now on."""
    tx.execute("UPDATE keys SET networks = ? WHERE id = ?", (networks, key_id))


def ended_holders(tx: Tx, holders: list[str], now: int) -> list[str]:
    """Those of the ids and digests of secrets whose key is revoked, expired, gone, or of an account
    that is disabled, and secrets that a rotation has ended."""
    dead: set[str] = set()
    for piece in as_json.pieces(dict.fromkeys(holders, 0)):
        dead.update(row[0] for row in tx.all(_ENDED, (piece, now, now, now, now)))
    return [holder for holder in holders if holder in dead] if dead else []


def revoke_key(tx: Tx, key_id: str, now: int, account_id: str | None = None) -> bool:
    """False when there is no such live key (of the account, when one is given)."""
    sql = "UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
    if account_id is None:
        return tx.execute(sql, (now, key_id)) == 1
    return tx.execute(f"{sql} AND account_id = ?", (now, key_id, account_id)) == 1


def touch_key(tx: Tx, key_id: str, now: int) -> None:
    """The key was used; an older use than the one that is kept changes nothing."""
    sql = "UPDATE keys SET last_used_at = ? WHERE id = ? AND COALESCE(last_used_at, 0) < ?"
    tx.execute(sql, (now, key_id, now))
