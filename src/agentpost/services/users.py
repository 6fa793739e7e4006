"""People who may sign in to the web app: invited, given a role, removed (design: Signing in).

A user belongs to one account, and one e-mail address to one user. Each account has a user of its
own from the start, with the account's address. An account keeps at least one owner, the server at
least one operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentpost.clock import new_id
from agentpost.db import accounts as account_rows
from agentpost.db import logins, meta
from agentpost.db import users as rows
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, Refusal, not_found
from agentpost.domain.mail_addresses import check_mail_address
from agentpost.domain.records import AccountRecord
from agentpost.domain.roles import Right, Role, may, may_manage
from agentpost.domain.user_records import UserRecord
from agentpost.services.context import AppContext
from agentpost.services.transactions import read_transaction, write_transaction

_SHOWN: Final = 50
_ALL_AT_ONCE: Final = 500
_LOCK: Final = "users_lock"
LAST_OWNER: Final = "This is the account's last owner. Make somebody else an owner first."
LAST_OPERATOR: Final = "This is the last operator. Make somebody else an operator first."


@dataclass(frozen=True, slots=True)
class UserPage:
    """Users, newest first; ``more``: the id to go on from, None at the end."""

    users: Sequence[UserRecord]
    more: str | None


def normal_email(text: str) -> str:
    """An address as users have it: in lower case, since nobody has two that differ in that."""
    return text.strip().lower()


def insert_own(tx: Tx, account: AccountRecord, role: Role = Role.OWNER) -> UserRecord | None:
    """The account's own user, with its address; None when somebody else has that address."""
    user = UserRecord(
        id=ids.USER + account.id.removeprefix(ids.ACCOUNT),
        account_id=account.id,
        email=normal_email(account.email),
        role=role,
        created_at=account.created_at,
    )
    return user if rows.insert(tx, user) else None


def own(tx: Tx, account: AccountRecord) -> UserRecord:
    """Who a link for the account signs in: its first owner; raises ``not_found``.

    An account that an earlier version made beside this one gets its own user now.
    """
    leaders = rows.leaders(tx, account.id, 1)
    found = leaders[0] if leaders else insert_own(tx, account)
    if found is None:
        raise not_found("user")
    return found


def find(tx: Tx, id_or_email: str) -> UserRecord:
    """By id or e-mail address; raises ``not_found``."""
    user = rows.get(tx, id_or_email) or rows.by_email(tx, normal_email(id_or_email))
    if user is None:
        raise not_found("user")
    return user


@write_transaction
def create(tx: Tx, ctx: AppContext, account: str, email: str, role: Role) -> UserRecord:
    """A new user of an account, named by its id or address; see `add`. Raises ``not_found``."""
    found = account_rows.find(tx, account)
    if found is None:
        raise not_found("account")
    return add(tx, ctx, found.id, email, role)


@write_transaction
def invite(
    tx: Tx, ctx: AppContext, by: UserRecord, account_id: str, email: str, role: Role
) -> UserRecord:
    """`create` by somebody who is signed in: in their own account, an operator in any. Raises
    ``not_found``, `Refusal` for a role above their own.

    An address that somebody of another account has looks invited, though nobody can take that up:
    else owners could find out who uses this server. Operators may, and are told.
    """
    _check(tx, by, account_id, role)
    address = normal_email(email)
    taken = rows.by_email(tx, address)
    if taken is None or taken.account_id == account_id or may(by.role, Right.OPERATE):
        return add(tx, ctx, account_id, email, role)
    now = ctx.clock.now()
    elsewhere = f"{address} {account_id}"
    user = UserRecord(new_id(ids.USER, now), account_id, elsewhere, role, now)
    if not rows.insert(tx, user):
        raise _taken(address)
    return user


def add(tx: Tx, ctx: AppContext, account_id: str, email: str, role: Role) -> UserRecord:
    """A new user, who cannot sign in before there is a password or an identity provider.

    Raises `ValueError` when no mail can reach the address, or it is somebody's already.
    """
    address = normal_email(email)
    check_mail_address(address)
    now = ctx.clock.now()
    user = UserRecord(new_id(ids.USER, now), account_id, address, role, now)
    if not rows.insert(tx, user):
        raise _taken(address)
    return user


def _taken(address: str) -> ValueError:
    return ValueError(f"there is a user with the address {address} already")


@read_transaction
def list_(tx: Tx, _: AppContext, account_id: str, before: str | None = None) -> UserPage:
    """The account's users who were made before that one."""
    found = rows.page(tx, account_id, before or ids.last(ids.USER), _SHOWN + 1)
    shown = found[:_SHOWN]
    return UserPage(shown, shown[-1].id if len(found) > _SHOWN else None)


async def all_(ctx: AppContext) -> list[UserRecord]:
    """Every user of every account, oldest first."""
    found: list[UserRecord] = []
    while True:
        last = found[-1].id if found else ""
        more = await ctx.db.read(lambda tx: rows.after(tx, last, _ALL_AT_ONCE))  # noqa: B023
        found += more
        if len(more) < _ALL_AT_ONCE:
            return found


@write_transaction
def remove(tx: Tx, _: AppContext, user: str, by: UserRecord | None = None) -> UserRecord:
    """Remove a user, named by id or address; sessions and links end with them.

    ``by``: who does it, None for a command. Raises ``not_found``, also for somebody of another
    account; `Refusal` for somebody above ``by``, the last owner and the last operator.
    """
    _lock(tx)
    found = managed(tx, user, by)
    _keep_leaders(tx, found, None)
    rows.delete(tx, found.id)
    _end_sessions(tx, found)
    return found


@write_transaction
def set_role(
    tx: Tx, _: AppContext, user: str, role: Role, by: UserRecord | None = None
) -> UserRecord:
    """Change the role of a user, whose sessions end; raises as `remove`."""
    _lock(tx)
    found = managed(tx, user, by)
    now = rows.get(tx, by.id) if by is not None else None
    if now is not None and not may_manage(now.role, role):
        raise _above()
    if found.role == role:
        return found
    _keep_leaders(tx, found, role)
    rows.set_role(tx, found.id, role)
    _end_sessions(tx, found)
    return found


async def ensure_operator(ctx: AppContext, email: str) -> None:
    """An operator with that address, in the first account, unless there is a user who has it.
    Raises `ValueError` when no mail can reach the address."""
    check_mail_address(normal_email(email))

    def fn(tx: Tx) -> None:
        accounts = account_rows.all_(tx)
        if accounts and rows.by_email(tx, normal_email(email)) is None:
            add(tx, ctx, accounts[0].id, email, Role.OPERATOR)

    await ctx.db.write(fn)


def managed(tx: Tx, user: str, by: UserRecord | None) -> UserRecord:
    """The user, when ``by`` may manage them; raises as `remove`."""
    found = find(tx, user)
    if by is not None:
        _check(tx, by, found.account_id, found.role)
    return found


def _check(tx: Tx, by: UserRecord, account_id: str, other: Role) -> None:
    """By the role that they have now, which may have changed since the page was asked for."""
    now = rows.get(tx, by.id)
    if now is None or (account_id != now.account_id and not may(now.role, Right.OPERATE)):
        raise not_found("user")
    if not may_manage(now.role, other):
        raise _above()


def _above() -> Refusal:
    return Refusal(ErrorCode.BAD_REQUEST, "Only an operator may do this with an operator.")


def _lock(tx: Tx) -> None:
    """Until the commit: of two changes at once each would count the other's user as a leader."""
    meta.put(tx, _LOCK, "")


def _keep_leaders(tx: Tx, user: UserRecord, role: Role | None) -> None:
    """Refuse what would leave the account without an owner, or the server without an operator."""
    if user.role == Role.OPERATOR and role != Role.OPERATOR and rows.operators(tx) == 1:
        raise Refusal(ErrorCode.BAD_REQUEST, LAST_OPERATOR)
    leads = role in (Role.OWNER, Role.OPERATOR)
    if not leads and [each.id for each in rows.leaders(tx, user.account_id, 2)] == [user.id]:
        raise Refusal(ErrorCode.BAD_REQUEST, LAST_OWNER)


def _end_sessions(tx: Tx, user: UserRecord) -> None:
    logins.delete_sessions(tx, user.id)
    logins.delete_links(tx, user.id)
    if user.role != Role.MEMBER:
        logins.delete_unnamed(tx, user.account_id)
