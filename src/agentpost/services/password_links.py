"""Links by which people set their password, once: for who was invited and for who forgot it.

With a mail server they are mailed. A mail waits as an address and a purpose; its link is made when
it is sent, and only if there is such a user then. So no row holds a secret, and asking for a mail
is the same work for every address. Without a mail server whoever invites hands the link on.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from agentpost.clock import new_id
from agentpost.db import accounts, logins
from agentpost.db import users as rows
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.domain.mail_addresses import check_mail_address
from agentpost.domain.passwords import check_password
from agentpost.domain.roles import Role
from agentpost.domain.times import DAY, HOUR
from agentpost.domain.user_records import LoginTokenRecord, UserMailRecord, UserRecord
from agentpost.services import sessions, throttle, users
from agentpost.services.accounts import digest
from agentpost.services.context import AppContext
from agentpost.services.transactions import read_transaction


class Purpose(StrEnum):
    """What a link is for."""

    INVITATION = "invitation"
    RESET = "reset"


LASTS: Final = {Purpose.INVITATION: 3 * DAY, Purpose.RESET: HOUR}
"""For how many microseconds a link works."""


@dataclass(frozen=True, slots=True)
class PasswordLink:
    """A link just made; ``url`` carries the secret, which is stored nowhere."""

    user: UserRecord
    url: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class Invited:
    """A new user; ``link`` is None when it goes by mail."""

    user: UserRecord
    link: PasswordLink | None


def sends_mail(ctx: AppContext) -> bool:
    """Whether there is a mail server."""
    return bool(ctx.settings.smtp_url.get_secret_value())


async def invite(
    ctx: AppContext, by: UserRecord, account_id: str, email: str, role: Role
) -> Invited:
    """Make a user and send the link, or return it. Raises as `users.invite`."""
    user = await users.invite(ctx, by, account_id, email, role)
    return Invited(user, await _send_or_make(ctx, user))


async def create(ctx: AppContext, account: str, email: str, role: Role) -> PasswordLink:
    """Make a user of an account named by its id or address, and a link; raises as
    `users.create`."""
    user = await users.create(ctx, account, email, role)
    return await make(ctx, user.id)


async def invite_first(ctx: AppContext, account_id: str) -> Invited:
    """Send the link to the one who leads an account, or return it; raises ``not_found``."""

    def fn(tx: Tx) -> UserRecord:
        account = accounts.get(tx, account_id)
        return users.own(tx, account)

    user = await ctx.db.write(fn)
    return Invited(user, await _send_or_make(ctx, user))


async def make(ctx: AppContext, user: str, by: UserRecord | None = None) -> PasswordLink:
    """A fresh link for a user named by id or address; earlier ones end.

    ``by``: who makes it, None for a command. Raises ``not_found``; `Refusal` for somebody above
    ``by``, whose place the link would give them, and for ``by`` themselves: a browser left open
    must not get a new password without the present one.
    """

    def fn(tx: Tx) -> PasswordLink:
        found = users.managed(tx, user, by)
        if by is not None and by.id == found.id:
            raise Refusal(
                ErrorCode.BAD_REQUEST,
                "Change your own password on your profile, or ask for a link by mail.",
            )
        return make_in(tx, ctx, found, Purpose.INVITATION)

    return await ctx.db.write(fn)


def make_in(tx: Tx, ctx: AppContext, user: UserRecord, purpose: Purpose) -> PasswordLink:
    """`make` within a transaction."""
    token = sessions.new_secret()
    expires_at = ctx.clock.now() + LASTS[purpose]
    for each in Purpose:
        logins.delete_links(tx, user.id, each.value)
    logins.insert_token(
        tx, LoginTokenRecord(digest(token), user.account_id, expires_at, user.id, purpose.value)
    )
    return PasswordLink(user, f"{sessions.app_url(tx, ctx)}/password/{token}", expires_at)


async def ask_for_mail(ctx: AppContext, email: str, address: str) -> None:
    """Somebody at ``address`` forgot the password of ``email``: mail a link, if that is a user.

    Raises `ValueError` for what is no mail address, ``rate_limited`` when there were too many.
    """
    wanted = users.normal_email(email)
    check_mail_address(wanted)
    await throttle.count_mail(ctx, address, wanted)
    await ctx.db.write(lambda tx: _queue(tx, ctx, wanted, Purpose.RESET))


@read_transaction
def holder(tx: Tx, ctx: AppContext, token: str) -> UserRecord | None:
    """Whose password a link sets; None when it is unknown, over or spent."""
    return _holder(tx, digest(token), ctx.clock.now())


async def set_password(
    ctx: AppContext,
    token: str,
    password: str,
    browser: str,
    before: str | None,
    address: str = "",
) -> str | None:
    """Spend a link: the user has that password, and every session of theirs ends.

    Returns the secret of a new session (see `sessions.begin`), None when the link is unknown, over
    or spent. Raises `ValueError` for a password that cannot be, `Overloaded`.
    """
    check_password(password)
    spent, secret = digest(token), sessions.new_secret()
    if await holder(ctx, token) is None:
        return None  # no work for strangers
    hashed = await ctx.passwords.hash(password)

    def fn(tx: Tx) -> str | None:
        now = ctx.clock.now()
        user = _holder(tx, spent, now)
        if user is None or not logins.spend_token(tx, spent, now):
            return None
        rows.set_password(tx, user.id, hashed)
        logins.delete_sessions(tx, user.id)
        logins.delete_links(tx, user.id)
        sessions.begin(tx, ctx, user, secret, browser, before, address)
        return secret

    return await ctx.db.write(fn)


async def _send_or_make(ctx: AppContext, user: UserRecord) -> PasswordLink | None:
    if not sends_mail(ctx):
        return await make(ctx, user.id)
    if user.email != user.address:
        return None
    await ctx.db.write(lambda tx: _queue(tx, ctx, user.email, Purpose.INVITATION))
    return None


def _queue(tx: Tx, ctx: AppContext, email: str, purpose: Purpose) -> None:
    now = ctx.clock.now()
    rows.insert_mail(tx, UserMailRecord(new_id(ids.MAIL, now), email, purpose.value, now, now))


def _holder(tx: Tx, token_digest: str, now: int) -> UserRecord | None:
    found = logins.token(tx, token_digest, now)
    if found is None or found.purpose is None or found.user_id is None:
        return None
    user = rows.get(tx, found.user_id)
    return user if user is not None and user.email == user.address else None
