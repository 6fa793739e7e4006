"""Signing in to the web pages: a link that works once, then a session (design: 4.21).

Neither opens the API, and an API key opens no page: the three kinds of secret are looked up in
three different tables.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final

from agentpost.db import accounts
from agentpost.db import sessions as rows
from agentpost.db.accounts import AccountRecord
from agentpost.db.session import Tx
from agentpost.domain.errors import not_found
from agentpost.domain.times import SECOND
from agentpost.services.accounts import digest
from agentpost.services.context import House

LOGIN_LINK_SECONDS: Final = 15 * 60
SESSION_SECONDS: Final = 30 * 24 * 3_600
SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class LoginLink:
    """A link just made; ``url`` carries the secret, which is stored nowhere."""

    account: AccountRecord
    url: str
    expires_at: int


async def remember_address(house: House) -> None:
    """Keep where this server's pages are: a command beside it does not know the port it took."""
    app_url = house.settings.public_app_url
    await house.db.write(lambda tx: rows.put_address(tx, app_url))


async def make_link(house: House, id_or_email: str | None = None) -> LoginLink:
    """A link that signs one browser in, once, within `LOGIN_LINK_SECONDS`.

    Args:
        id_or_email: whose; may be left out while there is one account only.

    Raises:
        Refusal: ``not_found``, there is no such account.
        ValueError: none was named, and there is none or more than one.
    """
    token = secrets.token_urlsafe(SECRET_BYTES)

    def fn(tx: Tx) -> LoginLink:
        now = house.clock.now()
        account = _only(tx) if id_or_email is None else accounts.find(tx, id_or_email)
        if account is None:
            raise not_found("account")
        expires_at = now + LOGIN_LINK_SECONDS * SECOND
        rows.insert_token(tx, digest(token), account.id, expires_at)
        return LoginLink(account, f"{_app_url(tx, house)}/login/{token}", expires_at)

    return await house.db.write(fn)


async def can_log_in(house: House, token: str) -> bool:
    """Whether the link would sign in now. Looking does not spend it."""
    wanted, now = digest(token), house.clock.now()
    return await house.db.read(lambda tx: rows.token_account(tx, wanted, now)) is not None


async def log_in(house: House, token: str) -> str | None:
    """Spend a link: the secret of a new session, good for `SESSION_SECONDS`; None when the link is
    unknown, over or spent."""
    spent, secret = digest(token), secrets.token_urlsafe(SECRET_BYTES)

    def fn(tx: Tx) -> str | None:
        now = house.clock.now()
        account_id = rows.token_account(tx, spent, now)
        if account_id is None or not rows.spend_token(tx, spent, now):
            return None
        rows.insert_session(tx, digest(secret), account_id, now, now + SESSION_SECONDS * SECOND)
        return secret

    return await house.db.write(fn)


async def account_of(house: House, secret: str) -> str | None:
    """The account id a session is for; None when it is unknown, over or ended."""
    wanted, now = digest(secret), house.clock.now()
    return await house.db.read(lambda tx: rows.session_account(tx, wanted, now))


async def log_out(house: House, secret: str) -> None:
    """End a session; ending an unknown one changes nothing."""
    ended = digest(secret)
    await house.db.write(lambda tx: rows.delete_session(tx, ended))


def _only(tx: Tx) -> AccountRecord:
    found = accounts.all_(tx)
    if not found:
        raise ValueError("there is no account yet: start the server once, or make one")
    if len(found) > 1:
        raise ValueError("there are several accounts: name one by its id or e-mail address")
    return found[0]


def _app_url(tx: Tx, house: House) -> str:
    """What was set, else where the server last started."""
    settings = house.settings
    if settings.app_url or settings.base_url:
        return settings.public_app_url
    return rows.address(tx) or settings.public_app_url
