"""Signing in to the web pages: a link that works once, then a session (design: Signing in).

Neither opens the API, and an API key opens no page: the three kinds of secret are looked up in
three different tables.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final

from agentpost.db import accounts
from agentpost.db import logins as rows
from agentpost.db.session import Tx
from agentpost.domain.errors import not_found
from agentpost.domain.records import AccountRecord, SessionRecord
from agentpost.domain.times import SECOND, seconds
from agentpost.services.accounts import digest
from agentpost.services.context import AppContext

LOGIN_LINK_SECONDS: Final = 15 * 60
SESSION_SECONDS: Final = 30 * 24 * 3_600
_SECRET_BYTES: Final = 32
_TOUCH_SECONDS: Final = 60
"""How exact it is kept when a session was last used: not every page is a write."""
_BROWSER_CHARACTERS_MAX: Final = 200
_SESSIONS_SHOWN: Final = 50


@dataclass(frozen=True, slots=True)
class LoginLink:
    """A link just made; ``url`` carries the secret, which is stored nowhere."""

    account: AccountRecord
    url: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session for people; ``is_asking``: it is the one that asks. Times in microseconds."""

    browser: str
    created_at: int
    last_used_at: int
    is_asking: bool


async def remember_address(ctx: AppContext) -> None:
    """Keep where this server's pages are: a command beside it does not know the port it took."""
    app_url = ctx.settings.public_app_url
    await ctx.db.write(lambda tx: rows.put_address(tx, app_url))


async def make_link(ctx: AppContext, id_or_email: str | None = None) -> LoginLink:
    """A link that signs one browser in, once, within `LOGIN_LINK_SECONDS`.

    Args:
        id_or_email: whose; may be left out while there is one account only.

    Raises:
        Refusal: ``not_found``, there is no such account.
        ValueError: none was named, and there is none or more than one.
    """
    token = secrets.token_urlsafe(_SECRET_BYTES)

    def fn(tx: Tx) -> LoginLink:
        now = ctx.clock.now()
        account = _only(tx) if id_or_email is None else accounts.find(tx, id_or_email)
        if account is None:
            raise not_found("account")
        expires_at = now + LOGIN_LINK_SECONDS * SECOND
        rows.insert_token(tx, digest(token), account.id, expires_at)
        return LoginLink(account, f"{_app_url(tx, ctx)}/login/{token}", expires_at)

    return await ctx.db.write(fn)


async def can_log_in(ctx: AppContext, token: str) -> bool:
    """Whether the link would sign in now. Looking does not spend it."""
    wanted, now = digest(token), ctx.clock.now()
    return await ctx.db.read(lambda tx: rows.token_account(tx, wanted, now)) is not None


async def log_in(ctx: AppContext, token: str, browser: str = "") -> str | None:
    """Spend a link: the secret of a new session, good for `SESSION_SECONDS`; None when the link is
    unknown, over or spent. ``browser``: what it calls itself, for the list of sessions."""
    spent, secret = digest(token), secrets.token_urlsafe(_SECRET_BYTES)

    def fn(tx: Tx) -> str | None:
        now = ctx.clock.now()
        account_id = rows.token_account(tx, spent, now)
        if account_id is None or not rows.spend_token(tx, spent, now):
            return None
        session = SessionRecord(
            digest=digest(secret),
            account_id=account_id,
            created_at=now,
            expires_at=now + SESSION_SECONDS * SECOND,
            last_used_at=now,
            browser=browser[:_BROWSER_CHARACTERS_MAX],
        )
        rows.insert_session(tx, session)
        return secret

    return await ctx.db.write(fn)


async def account_of(ctx: AppContext, secret: str) -> str | None:
    """The account id a session is for; None when it is unknown, over, ended or was not used for
    ``session_idle_seconds``."""
    wanted, now = digest(secret), ctx.clock.now()
    used_after = _used_after(ctx, now)
    session = await ctx.db.read(lambda tx: rows.live_session(tx, wanted, now, used_after))
    if session is None:
        return None
    if now - session.last_used_at >= _TOUCH_SECONDS * SECOND:
        await ctx.db.write(lambda tx: rows.touch_session(tx, wanted, now))
    return session.account_id


async def of_account(ctx: AppContext, account_id: str, secret: str) -> list[SessionSummary]:
    """The account's sessions, the newest first; ``secret``: that of the session which asks."""
    asking, now = digest(secret), ctx.clock.now()
    used_after = _used_after(ctx, now)
    found = await ctx.db.read(
        lambda tx: rows.live_sessions(tx, account_id, now, used_after, _SESSIONS_SHOWN)
    )
    return [
        SessionSummary(
            each.browser or "", each.created_at, each.last_used_at, each.digest == asking
        )
        for each in found
    ]


async def log_out(ctx: AppContext, secret: str) -> None:
    """End a session; ending an unknown one changes nothing."""
    ended = digest(secret)
    await ctx.db.write(lambda tx: rows.delete_session(tx, ended))


async def log_out_everywhere(ctx: AppContext, account_id: str) -> None:
    """End every session of the account; login links that were not used yet end with them."""
    await ctx.db.write(lambda tx: rows.delete_all(tx, account_id))


def _used_after(ctx: AppContext, now: int) -> int:
    return now - seconds(ctx.settings.session_idle_seconds)


def _only(tx: Tx) -> AccountRecord:
    found = accounts.all_(tx)
    if not found:
        raise ValueError("there is no account yet: start the server once, or make one")
    if len(found) > 1:
        raise ValueError("there are several accounts: name one by its id or e-mail address")
    return found[0]


def _app_url(tx: Tx, ctx: AppContext) -> str:
    """The setting if it was given, else the address of the last start."""
    settings = ctx.settings
    if settings.app_url or settings.base_url:
        return settings.public_app_url
    return rows.address(tx) or settings.public_app_url
