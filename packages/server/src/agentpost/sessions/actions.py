"""Signing in to the web pages: a link that works once, then a session (design: Signing in).

Neither opens the API, and an API key opens no page: the three kinds of secret are looked up in
three different tables.
"""

import secrets
from dataclasses import dataclass
from typing import Final

from agentpost.accounts import rows as account_rows
from agentpost.accounts.actions import digest
from agentpost.audit import actions as audit
from agentpost.audit.actions import Action, Actor
from agentpost.context import AppContext
from agentpost.db import meta
from agentpost.db.session import Tx
from agentpost.domain.errors import not_found
from agentpost.domain.times import SECOND, seconds
from agentpost.record.records import AccountRecord
from agentpost.sessions import rows as session_rows
from agentpost.transactions import read_transaction, write_transaction
from agentpost.users import actions as users, rows as user_rows
from agentpost.users.records import (
    SESSION_ID_CHARACTERS,
    LoginTokenRecord,
    SessionRecord,
    UserRecord,
)

LOGIN_LINK_SECONDS: Final = 15 * 60
SECRET_BYTES: Final = 32
_TOUCH_SECONDS: Final = 60
"""How exact it is kept when a session was last used: not every page is a write."""
_BROWSER_CHARACTERS_MAX: Final = 200
_ADDRESS_CHARACTERS_MAX: Final = 100
_SESSIONS_SHOWN: Final = 50
_ADDRESS: Final = "app_url"
"""Where the pages of the running server are, in `meta`."""


@dataclass(frozen=True, slots=True)
class LoginLink:
    """A link just made; ``url`` carries the secret, which is stored nowhere."""

    account: AccountRecord
    url: str
    expires_at: int
    user: UserRecord


@dataclass(frozen=True, slots=True)
class Visitor:
    """The browser that signs in.

    Attributes:
        address: where it connects from.
        browser: what it calls itself.
        before: the secret of the session that it has, which ends.
        device: the id of the user who has signed in with it before, "" for none.
    """

    address: str = ""
    browser: str = ""
    before: str | None = None
    device: str = ""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who a session is for. ``since``: when it began, in microseconds."""

    user: UserRecord
    account: AccountRecord
    since: int


async def remember_address(ctx: AppContext) -> None:
    """Keep where this server's pages are: a command beside it does not know the port it took."""
    app_url = ctx.settings.public_app_url
    await ctx.db.write(lambda tx: meta.put(tx, _ADDRESS, app_url))


@write_transaction
def make_link(tx: Tx, ctx: AppContext, id_or_email: str | None = None) -> LoginLink:
    """A link that signs one browser in, once, within `LOGIN_LINK_SECONDS`.

    Args:
        id_or_email: of a user, or of an account: then its first owner. May be left out while there
            is one account only.

    Raises:
        Refusal: ``not_found``, there is no such account or user.
        ValueError: none was named, and there is none or more than one; the user has not accepted
            the invitation.
    """
    token = new_secret()
    expires_at = ctx.clock.now() + LOGIN_LINK_SECONDS * SECOND
    account = account_rows.only(tx) if id_or_email is None else account_rows.find(tx, id_or_email)
    user = users.own(tx, account) if account else users.find(tx, id_or_email or "")
    if user.is_invitation:
        raise ValueError(f"{user.address} has not accepted the invitation yet")
    account = account or account_rows.get(tx, user.account_id)
    record = LoginTokenRecord(digest(token), account.id, expires_at, user.id)
    session_rows.LOGIN_TOKENS.insert(tx, record)
    return LoginLink(account, f"{app_url(tx, ctx)}/login/{token}", expires_at, user)


@read_transaction
def can_log_in(tx: Tx, ctx: AppContext, token: str) -> str | None:
    """Whom the link would sign in now, by their address. Looking does not spend it."""
    token_digest, now = digest(token), ctx.clock.now()
    record = session_rows.token(tx, token_digest, now)
    if record is None or record.purpose is not None:
        return None
    user = user_rows.get(tx, record.user_id) if record.user_id else None
    return user.email if user else account_rows.get(tx, record.account_id).email


@write_transaction
def log_in(tx: Tx, ctx: AppContext, token: str, visitor: Visitor = Visitor()) -> str | None:
    """Spend a link: the secret of a new session, good for ``session_seconds``; None when the link
    is unknown, over or spent. See `begin`."""
    spent, now = digest(token), ctx.clock.now()
    record = session_rows.token(tx, spent, now)
    if record is None or record.purpose is not None or not session_rows.spend_token(tx, spent, now):
        return None
    user = _user(tx, record)
    return None if user is None else begin(tx, ctx, user, visitor)


def new_secret() -> str:
    """The secret of a session or a link; never one that a browser brought."""
    return secrets.token_urlsafe(SECRET_BYTES)


def begin(tx: Tx, ctx: AppContext, user: UserRecord, visitor: Visitor) -> str:
    """A new session for a user; its secret, which the browser gets after the commit."""
    now, secret = ctx.clock.now(), new_secret()
    if visitor.before:
        session_rows.end_session(tx, digest(visitor.before), now)
    session = SessionRecord(
        digest=digest(secret),
        account_id=user.account_id,
        created_at=now,
        expires_at=now + seconds(ctx.settings.session_seconds),
        last_used_at=now,
        browser=visitor.browser[:_BROWSER_CHARACTERS_MAX],
        user_id=user.id,
        address=visitor.address[:_ADDRESS_CHARACTERS_MAX],
    )
    session_rows.SESSIONS.insert(tx, session)
    audit_own(tx, ctx, user, "sign-in", visitor.address)
    user_rows.touch(tx, user.id, now)
    return secret


def audit_own(
    tx: Tx, ctx: AppContext, user: UserRecord, name: str, address: str, **detail: str
) -> None:
    """Record what a user did with their sign-in, in the transaction that does it."""
    actor = Actor(user.email, "web", address)
    action = Action(name, user.email, {"account_id": user.account_id, **detail})
    audit.add(tx, audit.entry(ctx.clock.now(), actor, action, audit.DONE))


async def signed_in(ctx: AppContext, secret: str, address: str = "") -> SignedIn | None:
    """Who the session is for; None when it is unknown, over, ended, was not used for
    ``session_idle_seconds``, or its account is disabled. ``address``: where it is used from."""
    secret_digest, now = digest(secret), ctx.clock.now()
    used_after = _used_after(ctx, now)

    def fn(tx: Tx) -> tuple[SessionRecord, UserRecord, AccountRecord] | None:
        session = session_rows.live_session(tx, secret_digest, now, used_after)
        user = _user(tx, session) if session else None
        if session is None or user is None:
            return None
        account = account_rows.get(tx, user.account_id)
        return (session, user, account) if account.disabled_at is None else None

    found = await ctx.db.read(fn)
    if found is None:
        return None
    session, user, account = found
    if now - session.last_used_at >= _TOUCH_SECONDS * SECOND:
        last_address = address[:_ADDRESS_CHARACTERS_MAX] or session.address
        await ctx.db.write(
            lambda tx: session_rows.touch_session(tx, secret_digest, now, last_address)
        )
    return SignedIn(user, account, session.created_at)


async def of_user(ctx: AppContext, user_id: str) -> list[SessionRecord]:
    """The user's sessions, the newest first."""
    return await ctx.db.read(lambda tx: _live(tx, ctx, user_id, ctx.clock.now()))


@read_transaction
def of_everybody(
    tx: Tx, ctx: AppContext, id_or_email: str | None = None
) -> list[tuple[SessionRecord, UserRecord]]:
    """Every live session with its user, the newest first; only a user's or an account's when one is
    named. Raises ``not_found``."""
    now = ctx.clock.now()
    user_id, account_id = _find_owner(tx, id_or_email)
    records = session_rows.all_live(tx, now, _used_after(ctx, now), user_id, account_id)
    whose = [(each, _user(tx, each)) for each in records]
    return [(each, user) for each, user in whose if user is not None]


@write_transaction
def end_by_operator(tx: Tx, ctx: AppContext, session_id: str) -> None:
    """End a session by the id that `of_everybody` says, at once; raises ``not_found``."""
    now = ctx.clock.now()
    if not (
        session_id and session_rows.delete_by_beginning(tx, SESSION_ID_CHARACTERS, session_id, now)
    ):
        raise not_found("session")


@write_transaction
def end_all(tx: Tx, ctx: AppContext, id_or_email: str | None = None) -> int:
    """End every session, or those of a user or account; how many. Links to sign in that were not
    used end with them. Raises ``not_found``."""
    user_id, account_id = _find_owner(tx, id_or_email)
    return session_rows.delete_all(tx, user_id, account_id, ctx.clock.now())


@write_transaction
def end(tx: Tx, ctx: AppContext, user_id: str, session_id: str) -> str:
    """End one session of the user; its digest. Raises ``not_found``."""
    for each in _live(tx, ctx, user_id, ctx.clock.now()):
        if each.id == session_id:
            session_rows.delete_session(tx, each.digest)
            return each.digest
    raise not_found("session")


async def log_out(ctx: AppContext, secret: str) -> None:
    """End a session; ending an unknown one changes nothing."""
    ended = digest(secret)
    await ctx.db.write(lambda tx: session_rows.end_session(tx, ended, ctx.clock.now()))


async def log_out_everywhere(ctx: AppContext, user: UserRecord) -> None:
    """End every session of the user; links that were not used yet end with them."""
    await ctx.db.write(lambda tx: users.end_sessions(tx, user))


def app_url(tx: Tx, ctx: AppContext) -> str:
    """Where the pages are: the setting if it was given, else the address of the last start."""
    settings = ctx.settings
    if settings.app_url or settings.base_url:
        return settings.public_app_url
    return meta.get(tx, _ADDRESS) or settings.public_app_url


def _find_owner(tx: Tx, id_or_email: str | None) -> tuple[str | None, str | None]:
    """The user's id or the account's; both None when nobody is named. A user's address comes first:
    the account of the same address has more users."""
    if id_or_email is None:
        return None, None
    user = user_rows.get(tx, id_or_email) or user_rows.by_email(tx, id_or_email.lower())
    if user is not None:
        return user.id, None
    account = account_rows.find(tx, id_or_email)
    if account is None:
        raise not_found("user or account")
    return None, account.id


def _live(tx: Tx, ctx: AppContext, user_id: str, now: int) -> list[SessionRecord]:
    return session_rows.live_sessions(tx, user_id, now, _used_after(ctx, now), _SESSIONS_SHOWN)


def _user(tx: Tx, record: SessionRecord | LoginTokenRecord) -> UserRecord | None:
    user = user_rows.get(tx, record.user_id)
    return None if user is None or user.is_invitation else user


def _used_after(ctx: AppContext, now: int) -> int:
    return now - seconds(ctx.settings.session_idle_seconds)
