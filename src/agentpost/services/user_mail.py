"""Sends mails with links to users; the link is made in the moment of sending."""

from __future__ import annotations

from email.message import EmailMessage
from typing import Final

import structlog

from agentpost.db import users as rows
from agentpost.db.session import Tx
from agentpost.domain.errors import reason_of
from agentpost.domain.times import DAY, seconds
from agentpost.domain.user_records import UserMailRecord
from agentpost.services import mail, password_links
from agentpost.services.context import AppContext
from agentpost.services.mail import SmtpServer
from agentpost.services.password_links import PasswordLink, Purpose

log = structlog.get_logger(__name__)

_BATCH: Final = 3
_GIVEN_UP_AFTER: Final = DAY
_SUBJECTS: Final = {
    Purpose.INVITATION: "You are invited to agentpost",
    Purpose.RESET: "Your new password for agentpost",
}
_TEXTS: Final = {
    Purpose.INVITATION: (
        "You may sign in to agentpost with this address. Choose your password here:\n\n"
        "    {url}\n\n"
        "The link works once, for three days. If it is over, ask for another one with\n"
        "'Forgot your password?' on the sign-in page.\n"
    ),
    Purpose.RESET: (
        "Somebody, probably you, asked for a new password for this address. Choose it here:\n\n"
        "    {url}\n\n"
        "The link works once, for an hour. If it was not you, there is nothing to do: your\n"
        "password stays as it is.\n"
    ),
}


async def send_due(ctx: AppContext, server: SmtpServer) -> None:
    """Send what waits. What is for nobody is dropped; what could not be sent is tried again for a
    day."""
    now = ctx.clock.now()
    until = now + seconds(mail.RETRY_SECONDS)
    for each in await ctx.db.write(lambda tx: rows.claim_mails(tx, now, until, _BATCH)):
        await _send(ctx, server, each)


async def _send(ctx: AppContext, server: SmtpServer, waiting: UserMailRecord) -> None:
    purpose = Purpose(waiting.purpose)

    def fn(tx: Tx) -> PasswordLink | None:
        user = rows.by_email(tx, waiting.email)
        if user is None or ctx.clock.now() - waiting.created_at > _GIVEN_UP_AFTER:
            rows.delete_mail(tx, waiting.id)
            return None
        return password_links.make_in(tx, ctx, user, purpose)

    link = await ctx.db.write(fn)
    if link is None:
        return
    try:
        await mail.hand_over(server, _message(server, waiting, link, purpose))
    except Exception as error:  # whatever it is: the mails behind this one do not wait for it
        log.warning("mail_not_sent", mail_id=waiting.id, error=reason_of(error))
        return
    await ctx.db.write(lambda tx: rows.delete_mail(tx, waiting.id))


def _message(
    server: SmtpServer, waiting: UserMailRecord, link: PasswordLink, purpose: Purpose
) -> EmailMessage:
    return mail.compose(
        server,
        mail_id=waiting.id,
        recipient=link.user.email,
        subject=_SUBJECTS[purpose],
        text=_TEXTS[purpose].format(url=link.url),
        at=waiting.created_at,
    )
