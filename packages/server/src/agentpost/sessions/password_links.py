"""Links by which people accept an invitation or set their password, once.

With a mail server they are mailed. A mail waits as an address and a purpose; its link is made when
it is sent, and only if there is such a user then. So no row holds a secret, and asking for a mail
is the same work for every address. Without a mail server the operator hands the link on, or the
person signs in at the identity provider and accepts there. An inviter who is not an operator never
gets the link: with it they could be that person.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from agentpost.accounts import rows as account_rows
from agentpost.accounts.actions import digest
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.domain.times import DAY, HOUR, MINUTE
from agentpost.record.records import AccountRecord
from agentpost.sessions import actions as sessions, rows as session_rows, throttle
from agentpost.sessions.actions import Visitor
from agentpost.sessions.passwords import check_password
from agentpost.transactions import write_transaction
from agentpost.users import actions as users, rows as user_rows
from agentpost.users.address_rules import check_mail_address
from agentpost.users.records import LoginTokenRecord, UserMailRecord, UserRecord
from agentpost.users.role_rules import Right, Role, may


class Purpose(StrEnum):
    """What a link is for."""

    INVITATION = "invitation"
    RESET = "reset"
    ARRIVAL = "arrival"
    """The identity provider has proven who the person is: no password is set."""


LASTS: Final = {Purpose.INVITATION: 3 * DAY, Purpose.RESET: HOUR, Purpose.ARRIVAL: 15 * MINUTE}
"""For how many microseconds a link works."""
_OFFERS_MAX: Final = 20


@dataclass(frozen=True, slots=True)
class PasswordLink:
    """A link just made; ``url`` carries the secret, which is stored nowhere. It is "" for who is
    not to see the link: it goes by mail, or only an operator may have it."""

    user: UserRecord
    url: str = ""
    expires_at: int = 0


@dataclass(frozen=True, slots=True)
class Offer:
    """What the holder of ``token`` may accept: to be ``user`` of ``account``.

    Attributes:
        oidc_subject: who the holder is at the identity provider; None: they choose a password.
        is_question: whether nobody has accepted to be that user yet.
    """

    token: str
    user: UserRecord
    account: AccountRecord
    oidc_subject: str | None
    is_question: bool


def sends_mail(ctx: AppContext) -> bool:
    """Whether there is a mail server."""
    return bool(ctx.settings.smtp_url.get_secret_value())


async def invite(
    ctx: AppContext, by: UserRecord, account_id: str, email: str, role: Role
) -> PasswordLink:
    """Invite somebody, and mail the link or return it to an operator. Raises as `users.invite`."""
    return await _hand_over(ctx, await users.invite(ctx, by, account_id, email, role), by)


async def renew(ctx: AppContext, user_id: str, by: UserRecord) -> PasswordLink:
    """A fresh link for a user, which is returned, or for an invitation, as by `invite`. Raises as
    `make`; ``rate_limited`` when too many were mailed."""
    user = await ctx.db.read(lambda tx: users.get_managed(tx, user_id, by))
    if not user.is_invitation:
        return await make(ctx, user.id, by)
    if sends_mail(ctx):
        await throttle.count_mail(ctx, by.id, user.address)
    return await _hand_over(ctx, user, by)


async def invite_first(ctx: AppContext, account_id: str) -> PasswordLink:
    """Send the link to the one who leads an account, or return it; raises ``not_found``."""
    user = await ctx.db.write(lambda tx: users.own(tx, account_rows.get(tx, account_id)))
    return await _hand_over(ctx, user, None)


@write_transaction
def make(tx: Tx, ctx: AppContext, user: str, by: UserRecord | None = None) -> PasswordLink:
    """A fresh link for a user named by id or address; earlier ones end.

    ``by``: who makes it, None for a command. Raises ``not_found``; `Refusal` for somebody above
    ``by``, whose place the link would give them, and for ``by`` themselves: a browser left open
    must not get a new password without the present one. Only an operator gets the link of an
    invitation, or of somebody who signs in at the identity provider.
    """
    managed_user = users.get_managed(tx, user, by)
    if by is not None and by.id == managed_user.id:
        raise Refusal(
            ErrorCode.BAD_REQUEST,
            "Change your own password on your profile, or ask for a link by mail.",
        )
    if by is not None and not may(by.role, Right.OPERATE):
        if managed_user.is_invitation:
            raise Refusal(ErrorCode.BAD_REQUEST, "Only an operator gets this link.")
        if managed_user.oidc_subject is not None:
            raise Refusal(
                ErrorCode.BAD_REQUEST,
                f"{managed_user.email} signs in at the identity provider.",
            )
    return make_in(tx, ctx, managed_user, Purpose.INVITATION)


def make_in(tx: Tx, ctx: AppContext, user: UserRecord, purpose: Purpose) -> PasswordLink:
    """`make` within a transaction."""
    for each in (Purpose.INVITATION, Purpose.RESET):
        session_rows.delete_links_for(tx, user.id, each.value)
    token, expires_at = _insert_token(tx, ctx, user, purpose)
    return PasswordLink(user, f"{sessions.app_url(tx, ctx)}/password/{token}", expires_at)


def offers(tx: Tx, ctx: AppContext, email: str, subject: str) -> list[Offer]:
    """What somebody may accept whom the identity provider has just proven to be ``subject`` with
    that address: open invitations."""
    result = []
    for each in user_rows.invitations(tx, email, _OFFERS_MAX):
        session_rows.delete_links_for(tx, each.id, Purpose.ARRIVAL.value)
        token, _ = _insert_token(tx, ctx, each, Purpose.ARRIVAL, subject)
        result.append(Offer(token, each, account_rows.get(tx, each.account_id), subject, True))
    return result


def _insert_token(
    tx: Tx, ctx: AppContext, user: UserRecord, purpose: Purpose, subject: str | None = None
) -> tuple[str, int]:
    token, expires_at = sessions.new_secret(), ctx.clock.now() + LASTS[purpose]
    record = LoginTokenRecord(digest(token), user.account_id, expires_at, user.id, purpose.value)
    record.oidc_subject = subject
    session_rows.LOGIN_TOKENS.insert(tx, record)
    return token, expires_at


def tie(tx: Tx, ctx: AppContext, user: UserRecord, subject: str, address: str) -> None:
    """The first sign-in at the identity provider: they are known by ``subject`` from now on. An
    earlier password, its sessions and links end, since somebody else may have set it."""
    sessions.audit_own(tx, ctx, user, "users single-sign-on", address)
    user_rows.set_subject(tx, user.id, subject)
    users.end_sessions(tx, user)


async def ask_for_mail(ctx: AppContext, email: str, address: str) -> None:
    """Somebody at ``address`` forgot the password of ``email``: mail a link, if that is a user.
    Raises `ValueError` for what is no mail address, ``rate_limited`` when there were too many."""
    address_of_user = users.normal_email(email)
    check_mail_address(address_of_user)
    await throttle.count_mail(ctx, address, address_of_user)
    await ctx.db.write(lambda tx: _queue(tx, ctx, address_of_user, Purpose.RESET))


def offer(tx: Tx, ctx: AppContext, token: str) -> Offer | None:
    """What a link is for; None when it is unknown, over or spent."""
    link = session_rows.token(tx, digest(token), ctx.clock.now())
    if link is None or link.purpose is None:
        return None
    user, subject = user_rows.get(tx, link.user_id), link.oidc_subject
    if user is None or (subject is not None and user_rows.by_subject(tx, subject) is not None):
        return None
    account = account_rows.get(tx, user.account_id)
    return Offer(token, user, account, subject, user.is_invitation or subject is not None)


async def set_password(ctx: AppContext, token: str, password: str, visitor: Visitor) -> str | None:
    """Spend a link: an invitation is accepted, the user has that password, or none when the
    identity provider has proven who they are, and every session of theirs ends.

    Returns the secret of a new session (see `sessions.begin`), None when the link is unknown, over
    or spent. Raises `ValueError` for a password that cannot be, as `users.accept`, `Overloaded`.
    """
    password_hash = ""
    usable = await ctx.db.read(lambda tx: offer(tx, ctx, token))
    if usable is None:
        return None  # no work for strangers
    if usable.oidc_subject is None:
        check_password(password)
        password_hash = await ctx.passwords.hash(password)

    def fn(tx: Tx) -> str | None:
        spent = offer(tx, ctx, token)
        if spent is None or not session_rows.spend_token(tx, digest(token), ctx.clock.now()):
            return None
        user = users.accept(tx, ctx, spent.user)
        if spent.user.is_invitation:
            sessions.audit_own(tx, ctx, user, "users accept", visitor.address)
        if spent.oidc_subject is not None:
            tie(tx, ctx, user, spent.oidc_subject, visitor.address)
        else:
            sessions.audit_own(tx, ctx, user, "users password", visitor.address, by="link")
            user_rows.set_password(tx, user.id, password_hash)
            users.end_sessions(tx, user)
        return sessions.begin(tx, ctx, user, visitor)

    return await ctx.db.write(fn)


async def _hand_over(ctx: AppContext, user: UserRecord, by: UserRecord | None) -> PasswordLink:
    """Mail the link. Without a mail server: return it, that of an invitation to operators only."""
    if sends_mail(ctx):
        await ctx.db.write(lambda tx: _queue(tx, ctx, user.email, Purpose.INVITATION))
        return PasswordLink(user)
    if user.is_invitation and by is not None and not may(by.role, Right.OPERATE):
        return PasswordLink(user)
    return await make(ctx, user.id)


def _queue(tx: Tx, ctx: AppContext, email: str, purpose: Purpose) -> None:
    now = ctx.clock.now()
    user_rows.USER_MAILS.insert(
        tx, UserMailRecord(new_id(ids.MAIL, now), email, purpose.value, now, now)
    )
