"""People who may sign in to the web app: invited, given a role, removed (design: Signing in).

A user belongs to one account, and one e-mail address to one user. An invitation is no user before
the person accepts it; several may be open for one address. An address of ``oidc_domains`` belongs
to ``oidc_account``. Each account has a user of its own from the start, with the account's address.
An account keeps at least one owner, the server at least one operator.
"""

from dataclasses import replace
from typing import Final

import structlog

from agentpost.accounts import rows as account_rows
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.db import meta
from agentpost.db.filtered import cut_page
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, Refusal, not_found
from agentpost.record.records import AccountRecord
from agentpost.sessions import rows as session_rows
from agentpost.transactions import read_transaction, write_transaction
from agentpost.users import rows as user_rows
from agentpost.users.address_rules import check_mail_address
from agentpost.users.records import UserRecord
from agentpost.users.role_rules import Right, Role, may, may_manage

log = structlog.get_logger(__name__)

_SHOWN: Final = 50
_LOCK: Final = "users_lock"
BY_OPERATOR: Final = "the operator of this server"
LAST_OWNER: Final = "This is the account's last owner. Make somebody else an owner first."
LAST_OPERATOR: Final = "This is the last operator. Make somebody else an operator first."


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
    return user if user_rows.insert(tx, user) else None


def own(tx: Tx, account: AccountRecord) -> UserRecord:
    """Who a link for the account signs in: its first owner, or its own user, who is made now where
    there is none; raises ``not_found``."""
    leaders = user_rows.leaders(tx, account.id, 1)
    owner = leaders[0] if leaders else insert_own(tx, account)
    if owner is None:
        raise not_found("user")
    return owner


def find(tx: Tx, id_or_email: str) -> UserRecord:
    """A user or else an invitation, by id or e-mail address. Raises ``not_found``; ``bad_request``
    for an address that several accounts invited."""
    address = normal_email(id_or_email)
    user = user_rows.get(tx, id_or_email) or user_rows.by_email(tx, address)
    if user is not None:
        return user
    open_ones = user_rows.invitations(tx, address, 2)
    if not open_ones:
        raise not_found("user")
    if len(open_ones) > 1:
        raise Refusal(
            ErrorCode.BAD_REQUEST,
            f"{address} is invited by several accounts: name the invitation by its id, which"
            " `agentpost users list` shows.",
        )
    return open_ones[0]


@write_transaction
def create(tx: Tx, ctx: AppContext, account: str, email: str, role: Role) -> UserRecord:
    """A new user of an account, named by its id or address; see `add`. Raises ``not_found``."""
    record = account_rows.find_existing(tx, account)
    return add(tx, ctx, record.id, email, role)


@write_transaction
def invite(
    tx: Tx, ctx: AppContext, by: UserRecord, account_id: str, email: str, role: Role
) -> UserRecord:
    """An invitation by somebody who is signed in: to their own account, an operator to any.

    An address that somebody of another account has looks invited, though it cannot be accepted
    while they are there: else owners could find out who uses this server. Operators are told.

    Raises:
        Refusal: ``not_found``; ``bad_request`` for a role above the inviter's.
        ValueError: no mail can reach the address, it is a user or invited already, or it belongs
            to ``oidc_account``.
    """
    _check(tx, by, account_id, role)
    address = normal_email(email)
    check_mail_address(address)
    user = user_rows.by_email(tx, address)
    if user is not None and (user.account_id == account_id or may(by.role, Right.OPERATE)):
        raise ValueError(f"there is a user with the address {address} already")
    now = ctx.clock.now()
    email = f"{address} {account_id}"
    invitation = UserRecord(new_id(ids.USER, now), account_id, email, role, now)
    invitation.invited_by, invitation.invited_email = by.email, address
    _check_home(tx, ctx, invitation)
    if not user_rows.insert(tx, invitation):
        raise ValueError(f"{address} is invited already")
    return invitation


def add(tx: Tx, ctx: AppContext, account_id: str, email: str, role: Role) -> UserRecord:
    """A new user, by the operator's command or settings, who cannot sign in before there is a
    password or an identity provider. An invitation to the same account ends.

    Raises `ValueError` when no mail can reach the address, it is somebody's already, or it belongs
    to ``oidc_account``.
    """
    address = normal_email(email)
    check_mail_address(address)
    invitation = _invitation(tx, address, account_id)
    if invitation is not None:
        user_rows.delete(tx, invitation.id)
    now = ctx.clock.now()
    user_id = new_id(ids.USER, now)
    user = UserRecord(user_id, account_id, address, role, now, invited_by=BY_OPERATOR)
    _check_home(tx, ctx, user)
    if not user_rows.insert(tx, user):
        raise ValueError(f"there is a user with the address {address} already")
    return user


def accept(tx: Tx, ctx: AppContext, invitation: UserRecord) -> UserRecord:
    """The user that an invitation makes; a user is returned as it is. The caller knows that the
    person with the address accepts. Raises ``bad_request`` when the address is a user by now, or
    belongs to ``oidc_account``."""
    if not invitation.is_invitation:
        return invitation
    user = replace(invitation, email=invitation.address, invited_email=None)
    user_rows.delete(tx, invitation.id)
    if is_astray(tx, ctx, user) or not user_rows.insert(tx, user):
        raise Refusal(
            ErrorCode.BAD_REQUEST,
            f"{user.email} is of another account, and an address belongs to one account. Ask an"
            " owner there to remove that user first.",
        )
    return user


def settle(tx: Tx, ctx: AppContext, email: str) -> UserRecord | None:
    """A new user of ``oidc_account``, when the address is of ``oidc_domains``: with the role that
    the account invited them for, else a member."""
    account = _home(tx, ctx, email)
    if account is None:
        return None
    invitation = _invitation(tx, email, account.id)
    return add(tx, ctx, account.id, email, invitation.role if invitation else Role.MEMBER)


def is_astray(tx: Tx, ctx: AppContext, user: UserRecord) -> bool:
    """Whether the user's address belongs to an account which they are not of. Operators are of any:
    only an operator makes them."""
    account = None if user.role == Role.OPERATOR else _home(tx, ctx, user.address)
    return account is not None and account.id != user.account_id


def _invitation(tx: Tx, address: str, account_id: str) -> UserRecord | None:
    return user_rows.by_email(tx, f"{address} {account_id}")


def _home(tx: Tx, ctx: AppContext, address: str) -> AccountRecord | None:
    """The account that addresses of ``oidc_domains`` belong to; None for other addresses."""
    settings = ctx.settings
    domains = {domain.lower().removeprefix("@") for domain in settings.oidc_domains}
    if not settings.oidc_issuer or address.rpartition("@")[2] not in domains:
        return None
    account = account_rows.find(tx, settings.oidc_account)
    if account is None:
        log.error("oidc_account_unknown", account=settings.oidc_account)
    return account


def _check_home(tx: Tx, ctx: AppContext, user: UserRecord) -> None:
    if is_astray(tx, ctx, user):
        domain = user.address.rpartition("@")[2]
        raise ValueError(
            f"addresses of {domain} belong to another account, which single sign-on brings them to"
        )


@read_transaction
def list_(
    tx: Tx, _: AppContext, account_id: str, before: str | None = None
) -> tuple[list[UserRecord], str | None]:
    """The account's users who were made before that one, newest first; the id to go on from."""
    records = user_rows.page(tx, account_id, before or ids.last(ids.USER), _SHOWN + 1)
    return cut_page(records, _SHOWN)


async def all_(ctx: AppContext) -> list[UserRecord]:
    """Every user of every account, oldest first."""
    return await ctx.db.read(user_rows.all_)


@write_transaction
def remove(tx: Tx, _: AppContext, user: str, by: UserRecord | None = None) -> UserRecord:
    """Remove a user, named by id or address; sessions and links end with them. ``by``: who does it,
    None for a command. Raises ``not_found``, also for somebody of another account; `Refusal` for
    somebody above ``by``, the last owner and the last operator."""
    _lock(tx)
    subject = get_managed(tx, user, by)
    _keep_leaders(tx, subject, None)
    user_rows.delete(tx, subject.id)
    end_sessions(tx, subject)
    return subject


@write_transaction
def set_role(
    tx: Tx, _: AppContext, user: str, role: Role, by: UserRecord | None = None
) -> UserRecord:
    """Change the role of a user, whose sessions end; raises as `remove`."""
    _lock(tx)
    subject = get_managed(tx, user, by)
    now = user_rows.get(tx, by.id) if by is not None else None
    if now is not None and not may_manage(now.role, role):
        raise _above()
    if subject.role == role:
        return subject
    _keep_leaders(tx, subject, role)
    user_rows.set_role(tx, subject.id, role.value)
    end_sessions(tx, subject)
    return subject


@write_transaction
def ensure_operator(tx: Tx, ctx: AppContext, email: str) -> None:
    """An operator with that address, in the first account, unless there is a user who has it.
    Raises `ValueError` when no mail can reach the address."""
    check_mail_address(normal_email(email))
    accounts = account_rows.all_(tx)
    if accounts and user_rows.by_email(tx, normal_email(email)) is None:
        add(tx, ctx, accounts[0].id, email, Role.OPERATOR)


def get_managed(tx: Tx, user: str, by: UserRecord | None) -> UserRecord:
    """The user, when ``by`` may manage them; raises as `remove`."""
    record = find(tx, user)
    if by is not None:
        _check(tx, by, record.account_id, record.role)
    return record


def _check(tx: Tx, by: UserRecord, account_id: str, other: Role) -> None:
    """By the role that they have now, which may have changed since the page was asked for."""
    now = user_rows.get(tx, by.id)
    if now is None or (account_id != now.account_id and not may(now.role, Right.OPERATE)):
        raise not_found("user")
    if not may_manage(now.role, other):
        raise _above()


def _above() -> Refusal:
    return Refusal(ErrorCode.BAD_REQUEST, "Only an operator can change an operator.")


def _lock(tx: Tx) -> None:
    """Until the commit: of two changes at once each would count the other's user as a leader."""
    meta.put(tx, _LOCK, "")


def _keep_leaders(tx: Tx, user: UserRecord, role: Role | None) -> None:
    """Refuse what would leave the account without an owner, or the server without an operator."""
    if user.is_invitation:
        return
    if user.role == Role.OPERATOR and role != Role.OPERATOR and user_rows.operators(tx) == 1:
        raise Refusal(ErrorCode.BAD_REQUEST, LAST_OPERATOR)
    leads = role in (Role.OWNER, Role.OPERATOR)
    if not leads and [each.id for each in user_rows.leaders(tx, user.account_id, 2)] == [user.id]:
        raise Refusal(ErrorCode.BAD_REQUEST, LAST_OWNER)


def end_sessions(tx: Tx, user: UserRecord) -> None:
    """End the sessions of a user, and links that were not used."""
    session_rows.delete_sessions(tx, user.id, "")
    session_rows.delete_links(tx, user.id)
