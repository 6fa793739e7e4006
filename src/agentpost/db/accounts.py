"""Accounts, their keys and credits. Only `services` decides; nothing here checks a rule."""

from __future__ import annotations

from dataclasses import dataclass

from agentpost.db import columns
from agentpost.db.session import Tx
from agentpost.domain.credits import Wallet


@dataclass(slots=True)
class AccountRecord:
    """An account; balance and held are millionths."""

    id: str
    email: str
    name: str
    plan: str
    balance: int
    held: int
    hosting_fees_due: int
    limits_json: str
    created_at: int

    @property
    def wallet(self) -> Wallet:
        """Its credits."""
        return Wallet(self.balance, self.held)


@dataclass(slots=True)
class KeyRecord:
    """An API key; only its SHA-256 is stored."""

    id: str
    account_id: str
    name: str
    digest: str
    hint: str
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None


@dataclass(slots=True)
class LedgerRecord:
    """A move of credits (`domain.credits.LedgerKind`)."""

    id: str
    account_id: str
    kind: str
    amount: int
    job_id: str | None
    call_n: int | None
    note: str
    at: int


_ACCOUNT = columns.select(AccountRecord, "accounts")
_LOCK = f"{_ACCOUNT} WHERE id = ? /*for update*/"
_KEY = columns.select(KeyRecord, "keys")
_LEDGER = columns.insert(LedgerRecord, "ledger")
_OF_JOB = "FROM ledger WHERE job_id = ?"
_HELD = (
    "SELECT COALESCE(SUM(CASE WHEN kind = 'hold' THEN amount WHEN kind = 'release'"
    f" THEN -amount ELSE 0 END), 0) {_OF_JOB}"
)
_CHARGED = f"SELECT COALESCE(SUM(amount), 0) {_OF_JOB} AND kind = 'charge'"
_LEDGER_VALUES = columns.getter(LedgerRecord)


def insert(tx: Tx, account: AccountRecord) -> bool:
    """False when the e-mail address is taken."""
    sql = columns.insert(AccountRecord, "accounts", "ON CONFLICT (email) DO NOTHING")
    return tx.execute(sql, columns.getter(AccountRecord)(account)) == 1


def get(tx: Tx, account_id: str) -> AccountRecord:
    """By id; the id comes from our own rows."""
    row = tx.one(f"{_ACCOUNT} WHERE id = ?", (account_id,))
    assert row is not None
    return AccountRecord(*row)


def lock(tx: Tx, account_id: str) -> AccountRecord:
    """`get`, held until the commit: required before credits or slots are moved."""
    row = tx.one(_LOCK, (account_id,))
    assert row is not None
    return AccountRecord(*row)


def find(tx: Tx, id_or_email: str) -> AccountRecord | None:
    """By id or e-mail address, for the command line."""
    row = tx.one(f"{_ACCOUNT} WHERE id = ? OR email = ?", (id_or_email, id_or_email))
    return AccountRecord(*row) if row else None


def all_(tx: Tx) -> list[AccountRecord]:
    """Every account, oldest first."""
    return [AccountRecord(*row) for row in tx.all(f"{_ACCOUNT} ORDER BY id")]


def save_wallet(tx: Tx, account_id: str, wallet: Wallet) -> None:
    """Write the credits; the caller holds the lock."""
    tx.execute(
        "UPDATE accounts SET balance = ?, held = ? WHERE id = ?",
        (wallet.balance, wallet.held, account_id),
    )


def set_hosting_fees(tx: Tx, account_id: str, due: bool) -> None:
    """Whether new work is refused until fees are paid."""
    tx.execute("UPDATE accounts SET hosting_fees_due = ? WHERE id = ?", (int(due), account_id))


def set_limits(tx: Tx, account_id: str, limits_json: str) -> None:
    """The limits of the account that differ from the settings; the caller holds the lock."""
    tx.execute("UPDATE accounts SET limits_json = ? WHERE id = ?", (limits_json, account_id))


def add_ledger(tx: Tx, line: LedgerRecord) -> None:
    """Keep a move of credits."""
    tx.execute(_LEDGER, _LEDGER_VALUES(line))


def ledger(tx: Tx, account_id: str, limit: int) -> list[LedgerRecord]:
    """The newest moves, newest first."""
    sql = columns.select(LedgerRecord, "ledger")
    rows = tx.all(f"{sql} WHERE account_id = ? ORDER BY id DESC LIMIT ?", (account_id, limit))
    return [LedgerRecord(*row) for row in rows]


def held_for(tx: Tx, job_id: str) -> int:
    """Credits held for a job's unfinished steps."""
    row = tx.one(_HELD, (job_id,))
    assert row is not None
    return int(row[0])


def charged_for(tx: Tx, job_id: str) -> int:
    """Credits charged to a job so far."""
    row = tx.one(_CHARGED, (job_id,))
    assert row is not None
    return int(row[0])


def insert_key(tx: Tx, key: KeyRecord) -> None:
    """A key is made."""
    tx.execute(columns.insert(KeyRecord, "keys"), columns.getter(KeyRecord)(key))


def key_by_digest(tx: Tx, digest: str) -> KeyRecord | None:
    """The key whose SHA-256 this is."""
    row = tx.one(f"{_KEY} WHERE digest = ?", (digest,))
    return KeyRecord(*row) if row else None


def keys(tx: Tx, account_id: str | None = None) -> list[KeyRecord]:
    """All keys, or those of one account, oldest first."""
    if account_id is None:
        return [KeyRecord(*row) for row in tx.all(f"{_KEY} ORDER BY id")]
    rows = tx.all(f"{_KEY} WHERE account_id = ? ORDER BY id", (account_id,))
    return [KeyRecord(*row) for row in rows]


def ended_keys(tx: Tx, key_ids: list[str], now: int) -> list[str]:
    """Those of the keys that are revoked, have expired or are gone."""
    live: set[str] = set()
    for start in range(0, len(key_ids), 500):
        chunk = key_ids[start : start + 500]
        sql = (
            f"SELECT id FROM keys WHERE id IN ({', '.join('?' * len(chunk))})"
            " AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)"
        )
        live.update(row[0] for row in tx.all(sql, (*chunk, now)))
    return [key_id for key_id in key_ids if key_id not in live]


def revoke_key(tx: Tx, key_id: str, now: int) -> bool:
    """False when there is no such live key."""
    sql = "UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
    return tx.execute(sql, (now, key_id)) == 1


def touch_key(tx: Tx, key_id: str, now: int) -> None:
    """The key was used; an older use than the one that is kept changes nothing."""
    sql = "UPDATE keys SET last_used_at = ? WHERE id = ? AND COALESCE(last_used_at, 0) < ?"
    tx.execute(sql, (now, key_id, now))
