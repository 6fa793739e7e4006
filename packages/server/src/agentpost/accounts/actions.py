"""Accounts and API keys (spec: Authentication, Account; design: Keys and ids).

A key keeps its id through a rotation. What belongs to it (messages, conversations, idempotency
keys, schedules, its limits and the credits it used today) is the same for both secrets.
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from agentpost.accounts import network_rules, rows as account_rows, scope_rules
from agentpost.accounts.network_rules import Network
from agentpost.accounts.scope_rules import DEFAULT_SCOPES, Scope
from agentpost.caller import Caller
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.credits.actions import Purpose, add_line
from agentpost.credits.rules import LedgerKind
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.credits import to_millionths
from agentpost.domain.errors import not_found
from agentpost.domain.times import DAY, SECOND, iso, seconds
from agentpost.limits.allowances import rules_of
from agentpost.record.records import AccountRecord, KeyRecord
from agentpost.transactions import write_transaction
from agentpost.users import actions as users
from agentpost.users.address_rules import check_mail_address
from agentpost.users.role_rules import Role

PLAN = "self_hosted"
KEY_NAME_CHARACTERS_MAX = 100
LIVE_KEYS_MAX = 200
OVERLAP_SECONDS = DAY // SECOND
OVERLAP_SECONDS_MAX = 90 * DAY // SECOND
_KEY_BYTES = 24
DEFAULT_EMAIL = "owner@localhost"


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made; ``secret`` is shown once and stored nowhere."""

    record: KeyRecord
    secret: str


def digest(secret: str) -> str:
    """How a key is stored and looked up: SHA-256. Keys are long and random, so a fast hash is
    enough, and looking up by it leaks nothing through timing."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def generate_secret(prefix: str) -> str:
    """A fresh key."""
    return prefix + secrets.token_urlsafe(_KEY_BYTES)


@dataclass(frozen=True, slots=True)
class KnownKey:
    """What a door needs of a key to let its caller in.

    Attributes:
        expires_at: when the secret that was sent ends, which a rotation may have moved.
        revoked_at: also when its account was disabled.
        networks: from where it may be used; none: from everywhere.
    """

    caller: Caller
    expires_at: int | None
    revoked_at: int | None
    networks: tuple[Network, ...] = ()


def is_live(key: KnownKey | KeyRecord, now: int) -> bool:
    """Neither revoked nor expired; ``now`` in microseconds."""
    return key.revoked_at is None and (key.expires_at is None or now < key.expires_at)


async def find_key(ctx: AppContext, secret: str) -> KnownKey | None:
    """The key, live or not; None when there is no such key."""
    secret_digest = digest(secret)

    def fn(tx: Tx) -> tuple[KeyRecord, AccountRecord] | None:
        key = account_rows.key_by_digest(tx, secret_digest)
        return (key, account_rows.get(tx, key.account_id)) if key else None

    key_and_account = await ctx.db.read(fn)
    if key_and_account is None:
        return None
    key, account = key_and_account
    rules = rules_of(ctx.settings, account.limits_json)
    caller = Caller(
        key.id,
        key.name,
        key.account_id,
        rules,
        scope_rules.of_stored(key.scopes),
        key.max_credits_per_day,
        secret_digest,
    )
    ended_at = account.disabled_at if key.revoked_at is None else key.revoked_at
    ends = [key.expires_at, None if key.digest == secret_digest else key.old_until]
    expires_at = min((end for end in ends if end is not None), default=None)
    return KnownKey(caller, expires_at, ended_at, network_rules.of_stored(key.networks))


@write_transaction
def create(tx: Tx, ctx: AppContext, email: str, name: str, amount: float = 0) -> AccountRecord:
    """A new account with a user who owns it; raises `ValueError` when no mail can reach the
    address, it is taken, or the credits are no number."""
    check_mail_address(email)
    millionths = to_millionths(amount)
    account = _insert(tx, ctx, email, name, millionths)
    if account is None:
        raise ValueError(f"there is an account with the address {email} already")
    if users.insert_own(tx, account) is None:
        raise ValueError(f"there is a user with the address {email} already")
    return account


@write_transaction
def bootstrap(tx: Tx, ctx: AppContext, secret: str, amount: float) -> NewKey | None:
    """The default account with its first key, on the very first start; None when accounts exist."""
    millionths = to_millionths(amount)
    if account_rows.all_(tx):
        return None
    account = _insert(tx, ctx, DEFAULT_EMAIL, "Owner", millionths)
    if account is None:
        return None  # another node was faster
    users.insert_own(tx, account, Role.OPERATOR)
    record = _new_key(ctx, account.id, "default", secret, None)
    account_rows.KEYS.insert(tx, record)
    return NewKey(record, secret)


async def create_key(
    ctx: AppContext,
    id_or_email: str,
    name: str,
    lifetime_seconds: float | None = None,
    key_scopes: frozenset[Scope] = DEFAULT_SCOPES,
    max_credits_per_day: float | None = None,
    allowed: Sequence[Network] = (),
) -> NewKey:
    """A new key for an account, with the scopes ``key_scopes``, which may be used from the networks
    ``allowed``, or from everywhere when there are none.

    Raises ``not_found``; `ValueError` for a name that is empty or longer than
    `KEY_NAME_CHARACTERS_MAX`, for credits that are no number above zero, and when the account has
    `LIVE_KEYS_MAX` keys.
    """
    name = name.strip()
    if not name:
        raise ValueError("give the key a name, such as the program that will use it")
    if len(name) > KEY_NAME_CHARACTERS_MAX:
        raise ValueError(f"a key's name has at most {KEY_NAME_CHARACTERS_MAX} characters")
    secret = generate_secret(ctx.settings.key_prefix)
    ceiling = None if max_credits_per_day is None else to_millionths(max_credits_per_day)
    if ceiling == 0:
        raise ValueError("the credits a key may use in a day must be more than zero")

    def fn(tx: Tx) -> NewKey:
        account = account_rows.find_existing(tx, id_or_email)
        live = [key for key in account_rows.keys(tx, account.id) if is_live(key, ctx.clock.now())]
        if len(live) >= LIVE_KEYS_MAX:
            raise ValueError(f"there are {LIVE_KEYS_MAX} keys already: revoke those not used")
        record = _new_key(ctx, account.id, name, secret, lifetime_seconds)
        record.scopes = scope_rules.to_stored(key_scopes)
        record.max_credits_per_day = ceiling
        record.networks = network_rules.to_stored(allowed)
        account_rows.KEYS.insert(tx, record)
        return NewKey(record, secret)

    return await ctx.db.write(fn)


async def revoke_key(ctx: AppContext, key_id: str, account_id: str | None = None) -> None:
    """The key stops working within a second, for held calls too; raises ``not_found``, also for
    the key of another account than the one given."""
    now = ctx.clock.now()
    if not await ctx.db.write(lambda tx: account_rows.revoke_key(tx, key_id, now, account_id)):
        raise not_found("live key")


async def rotate(
    ctx: AppContext,
    key_id: str,
    overlap_seconds: float = OVERLAP_SECONDS,
    account_id: str | None = None,
) -> NewKey:
    """A new secret for a live key; the one so far stays good for ``overlap_seconds``.

    With 0, every earlier secret ends now, within a second everywhere, and their held calls with it.

    Raises ``not_found``, also for the key of another account than the one given; `ValueError` for
    an overlap that cannot be, and while the secret before this one is still good, unless the
    overlap is 0: a program that still sends that one would be cut off unseen.
    """
    if not 0 <= overlap_seconds <= OVERLAP_SECONDS_MAX:
        raise ValueError(f"the overlap is between 0 and {OVERLAP_SECONDS_MAX // 86_400} days")
    secret = generate_secret(ctx.settings.key_prefix)

    def fn(tx: Tx) -> NewKey:
        now = ctx.clock.now()
        key = _live(tx, key_id, account_id, now)
        if overlap_seconds and key.old_until is not None and key.old_until > now:
            raise ValueError(
                f"the secret before, …{key.old_hint}, is good until {iso(key.old_until)}: rotate"
                " again after that, or with an overlap of 0, which ends all earlier secrets now"
            )
        key.old_digest = key.digest if overlap_seconds else None
        key.old_hint = key.hint if overlap_seconds else None
        key.old_until = now + seconds(overlap_seconds) if overlap_seconds else None
        key.digest, key.hint = digest(secret), secret[-4:]
        account_rows.save_secrets(tx, key)
        return NewKey(key, secret)

    return await ctx.db.write(fn)


@write_transaction
def allow(
    tx: Tx, ctx: AppContext, key_id: str, allowed: Sequence[Network], account_id: str | None = None
) -> KeyRecord:
    """From where a live key may be used from now on, within a second; no network: from everywhere.
    Raises ``not_found``, also for the key of another account than the one given."""
    key = _live(tx, key_id, account_id, ctx.clock.now())
    key.networks = network_rules.to_stored(allowed)
    account_rows.save_networks(tx, key_id, key.networks)
    return key


def _live(tx: Tx, key_id: str, account_id: str | None, now: int) -> KeyRecord:
    key = account_rows.lock_key(tx, key_id)
    if key is None or not is_live(key, now) or account_id not in (None, key.account_id):
        raise not_found("live key")
    return key


async def end_held_calls(ctx: AppContext) -> None:
    """End the held calls of keys that any process has revoked or rotated, or that have expired."""
    holders = ctx.held_calls.holders()
    if holders:
        now = ctx.clock.now()
        for holder in await ctx.db.read(lambda tx: account_rows.ended_holders(tx, holders, now)):
            ctx.held_calls.end(holder)


async def keys_of(ctx: AppContext, account_id: str) -> list[KeyRecord]:
    """The keys of an account, newest first."""
    return (await ctx.db.read(lambda tx: account_rows.keys(tx, account_id)))[::-1]


async def get(ctx: AppContext, account_id: str) -> AccountRecord:
    """An account by the id our own rows carry."""
    return await ctx.db.read(lambda tx: account_rows.get(tx, account_id))


async def find(ctx: AppContext, id_or_email: str) -> AccountRecord:
    """An account by id or e-mail address; raises ``not_found``."""
    return await ctx.db.read(lambda tx: account_rows.find_existing(tx, id_or_email))


async def set_hosting_fees(ctx: AppContext, id_or_email: str, due: bool) -> None:
    """While fees are due no new work starts (spec: Reasons); raises ``not_found``."""
    account = await find(ctx, id_or_email)
    await ctx.db.write(lambda tx: account_rows.set_hosting_fees(tx, account.id, int(due)))


@write_transaction
def set_disabled(tx: Tx, ctx: AppContext, id_or_email: str, *, disabled: bool) -> AccountRecord:
    """Refuse the account's keys, sessions and schedules, or take them again (docs/cli.md). Work
    that runs goes on to its end, and its webhooks are sent. Raises ``not_found``."""
    account = account_rows.find_existing(tx, id_or_email)
    if account.deleted_at is not None:
        raise ValueError("the account is being deleted: that cannot be taken back")
    at = (account.disabled_at or ctx.clock.now()) if disabled else None
    account_rows.set_disabled(tx, account.id, at)
    return account_rows.get(tx, account.id)


def _insert(
    tx: Tx, ctx: AppContext, email: str, name: str, millionths: int
) -> AccountRecord | None:
    now = ctx.clock.now()
    account = AccountRecord(
        id=new_id(ids.ACCOUNT, now),
        email=email,
        name=name,
        plan=PLAN,
        created_at=now,
        balance=millionths,
    )
    if not account_rows.insert(tx, account):
        return None
    if millionths:
        purpose = Purpose(note="opening balance")
        add_line(tx, account.id, LedgerKind.GRANT, millionths, purpose, now)
    return account


def _new_key(
    ctx: AppContext, account_id: str, name: str, secret: str, lifetime: float | None
) -> KeyRecord:
    now = ctx.clock.now()
    return KeyRecord(
        id=new_id(ids.KEY, now),
        account_id=account_id,
        name=name,
        digest=digest(secret),
        hint=secret[-4:],
        created_at=now,
        expires_at=now + seconds(lifetime) if lifetime is not None else None,
    )
