"""Accounts, their keys and credits. The actions decide; nothing here checks a rule."""

from agentpost.db import as_json
from agentpost.db.filtered import containing
from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.db.statements import All, ChangeOf, First, Lock, Number, Only, Pairs, Save
from agentpost.domain.errors import not_found
from agentpost.record.records import AccountRecord, KeyRecord, LedgerRecord

ACCOUNTS = Mapper(AccountRecord, "accounts", "ON CONFLICT (email) DO NOTHING")
KEYS = Mapper(KeyRecord, "keys")
LEDGER = Mapper(LedgerRecord, "ledger")

_SEARCH = (
    f"{ACCOUNTS.select} WHERE id < ? AND (id = ? OR LOWER(email) LIKE ? ESCAPE '!'"
    " OR LOWER(name) LIKE ? ESCAPE '!') ORDER BY id DESC LIMIT ?"
)
_OF_JOB = "FROM ledger WHERE job_id = ?"
_BY_DIGEST = f"{KEYS.select} WHERE digest = ? OR old_digest = ?"
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


# False when the e-mail address is taken.
insert = ACCOUNTS.insert
# By id; the id comes from our own rows.
get = Only[AccountRecord, str](ACCOUNTS, "WHERE id = ?")
# `get`, held until the commit: required before credits or slots are moved.
lock = Only[AccountRecord, str](ACCOUNTS, "WHERE id = ? /*for update*/")
# `lock` for who needs nothing of it, or reads it with what it locks next.
lock_only = Lock[str]("SELECT 1 FROM accounts WHERE id = ? /*for update*/")


def find(tx: Tx, id_or_email: str) -> AccountRecord | None:
    """By id or e-mail address, for the command line."""
    sql = f"{ACCOUNTS.select} WHERE id = ? OR email = ?"
    return ACCOUNTS.one(tx, sql, (id_or_email, id_or_email))


def search(tx: Tx, text: str, *, before: str, limit: int) -> list[AccountRecord]:
    """Accounts older than the id ``before``, newest first, with the text in their name or address,
    or as their id."""
    like = containing(text)
    return ACCOUNTS.all(tx, _SEARCH, (before, text, like, like, limit))


def find_existing(tx: Tx, id_or_email: str) -> AccountRecord:
    """`find`; raises ``not_found``."""
    account = find(tx, id_or_email)
    if account is None:
        raise not_found("account")
    return account


# Every account, oldest first.
all_ = All[AccountRecord](ACCOUNTS, "ORDER BY id")


def only(tx: Tx) -> AccountRecord:
    """The account of a server that has one; raises `ValueError` when none or several are there."""
    accounts = all_(tx)
    if not accounts:
        raise ValueError("there is no account yet: start the server once, or make one")
    if len(accounts) > 1:
        raise ValueError("there are several accounts: name one by its id or e-mail address")
    return accounts[0]


# Write the credits, available or held and held; the caller holds the lock.
save_wallet = ChangeOf[str, int, int]("UPDATE accounts SET balance = ?, held = ? WHERE id = ?")
# Whether new work is refused until fees are paid, 1 or 0.
set_hosting_fees = ChangeOf[str, int]("UPDATE accounts SET hosting_fees_due = ? WHERE id = ?")
# Whether keys and sessions are refused, and since when.
set_disabled = ChangeOf[str, int | None]("UPDATE accounts SET disabled_at = ? WHERE id = ?")
# The limits of the account that differ from the settings; the caller holds the lock.
set_limits = ChangeOf[str, str]("UPDATE accounts SET limits_json = ? WHERE id = ?")
# The newest moves, newest first.
ledger = All[LedgerRecord, str, int](LEDGER, "WHERE account_id = ? ORDER BY id DESC LIMIT ?")
# Credits held for a job's unfinished steps.
held_for = Number[str](
    "SELECT COALESCE(SUM(CASE WHEN kind = 'hold' THEN amount WHEN kind = 'release'"
    f" THEN -amount ELSE 0 END), 0) {_OF_JOB}"
)
# Credits charged to a job so far.
charged_for = Number[str](f"SELECT COALESCE(SUM(amount), 0) {_OF_JOB} AND kind = 'charge'")


def key_by_digest(tx: Tx, digest: str) -> KeyRecord | None:
    """The key whose secret, or whose secret before the last rotation, has this SHA-256."""
    return KEYS.one(tx, _BY_DIGEST, (digest, digest))


# The key with this id, live or not.
key_by_id = First[KeyRecord, str](KEYS, "WHERE id = ?")


def keys(tx: Tx, account_id: str | None = None) -> list[KeyRecord]:
    """All keys, or those of one account, oldest first."""
    if account_id is None:
        return KEYS.all(tx, f"{KEYS.select} ORDER BY id")
    return KEYS.all(tx, f"{KEYS.select} WHERE account_id = ? ORDER BY id", (account_id,))


# The names of an account's keys, by id.
key_names = Pairs[str, str, str]("SELECT id, name FROM keys WHERE account_id = ?")
# The key with this id, held until the commit.
lock_key = First[KeyRecord, str](KEYS, "WHERE id = ? /*for update*/")
# Write the digests of a rotated key; the caller holds the lock.
save_secrets = Save(KEYS, "digest", "hint", "old_digest", "old_hint", "old_until")
# From where the key may be used from now on.
save_networks = ChangeOf[str, str | None]("UPDATE keys SET networks = ? WHERE id = ?")


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
