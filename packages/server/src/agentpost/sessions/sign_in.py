"""Signing in with a password, and changing it (design: Signing in)."""

from typing import Final

from agentpost.accounts.actions import digest
from agentpost.audit import actions as audit
from agentpost.audit.actions import Action, Actor
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.limits import PASSWORD_BYTES_MAX
from agentpost.domain.times import SECOND
from agentpost.sessions import actions as sessions, rows as session_rows, throttle
from agentpost.sessions.actions import Visitor
from agentpost.sessions.passwords import check_password
from agentpost.users import actions as users, rows as user_rows
from agentpost.users.records import UserRecord

FRESH_SECONDS: Final = 15 * 60
"""Who has no password yet may choose one for so long after signing in: a browser that was left open
must not get one."""


class WrongPassword(ValueError):
    """It is not the present password."""


async def with_password(ctx: AppContext, email: str, password: str, visitor: Visitor) -> str | None:
    """The secret of a new session; None when there is no such user or it is not their password,
    which takes the same time. Raises ``rate_limited`` after too many tries, `Overloaded`."""
    address = users.normal_email(email)
    counted = await throttle.count_try(ctx, visitor.address, address, visitor.device)
    user = await ctx.db.read(lambda tx: user_rows.by_email(tx, address))
    secret = await _begin(ctx, user, password, visitor)
    if secret is None:
        await record_failure(ctx, address, visitor, "password")
    else:
        await throttle.give_back(ctx, counted)
    return secret


async def _begin(
    ctx: AppContext, user: UserRecord | None, password: str, visitor: Visitor
) -> str | None:
    """The secret of a new session of the user, when that is the password."""
    stored = user.password if user else None
    too_long = len(password.encode("utf-8", "surrogatepass")) > PASSWORD_BYTES_MAX
    better = await ctx.passwords.check(stored, "" if too_long else password)
    if user is None or stored is None or better is None:
        return None
    user_id = user.id

    def fn(tx: Tx) -> str | None:
        now = user_rows.lock(tx, user_id)
        if now is None or now.password != stored:
            return None  # changed or removed while we hashed
        if better != stored:
            user_rows.replace_password(tx, better, now.id, stored)
        return sessions.begin(tx, ctx, now, visitor)

    return await ctx.db.write(fn)


async def record_failure(ctx: AppContext, email: str, visitor: Visitor, means: str) -> None:
    """Tell the audit log that somebody could not sign in; ``email``: as whom, "" when nobody was
    named. ``means``: ``password``, ``link`` or ``single sign-on``.

    Those of one network are bounded together; tries that were refused since there were too many
    are not told: anybody could make the server write.
    """
    actor = Actor(email, "web", visitor.address)
    action = Action("sign-in", email, {"with": means})
    network = f"sign-in {throttle.network_of(visitor.address)}"
    await audit.record_refused(ctx, actor, action, network)


async def change_password(
    ctx: AppContext, user: UserRecord, present: str, password: str, secret: str, visitor: Visitor
) -> None:
    """Change one's own password; the user's other sessions and links end.

    Args:
        present: the password so far; not looked at while there is none.
        secret: of the session that asks, which goes on.

    Raises `WrongPassword`; `ValueError` for a password that cannot be, and when there is none so
    far and the session is older than `FRESH_SECONDS`; ``rate_limited``, `Overloaded`.
    """
    check_password(password)
    signed_in = await sessions.signed_in(ctx, secret)
    stored = signed_in.user.password if signed_in and signed_in.user.id == user.id else None
    if stored is not None:
        counted = await throttle.count_try(ctx, visitor.address, user.email, visitor.device)
        if await ctx.passwords.check(stored, present[:PASSWORD_BYTES_MAX]) is None:
            raise WrongPassword("this is not your present password")
        await throttle.give_back(ctx, counted)
    elif signed_in is None or ctx.clock.now() - signed_in.since > FRESH_SECONDS * SECOND:
        raise ValueError("sign in again first: this browser has been signed in for a while")
    hashed = await ctx.passwords.hash(password)

    def fn(tx: Tx) -> None:
        now = user_rows.lock(tx, user.id)
        if now is None or now.password != stored:
            raise WrongPassword("it was changed meanwhile")
        user_rows.set_password(tx, user.id, hashed)
        session_rows.delete_sessions(tx, user.id, digest(secret))
        session_rows.delete_links(tx, user.id)

    await ctx.db.write(fn)
