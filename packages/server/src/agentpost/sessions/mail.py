"""Sends mails with links to users; the link is made in the moment of sending."""

from typing import Final

from agentpost.accounts import rows as account_rows
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.times import DAY, seconds
from agentpost.mail import actions as mail
from agentpost.mail.actions import SmtpServer
from agentpost.record.records import MailRecord
from agentpost.sessions import password_links
from agentpost.sessions.password_links import PasswordLink, Purpose
from agentpost.users import actions as users, rows as user_rows
from agentpost.users.records import UserMailRecord

_BATCH: Final = 3
_GIVEN_UP_AFTER: Final = DAY
_SUBJECTS: Final = {
    Purpose.INVITATION: "You are invited to agentpost",
    Purpose.RESET: "Reset your agentpost password",
}
_TEXTS: Final = {
    Purpose.INVITATION: (
        "{inviter} invited you to the account {account} on agentpost.\n"
        "Accept the invitation and set your password:\n\n"
        "    {url}\n\n"
        "The link works once and expires in three days. Ignore this e-mail if you did not expect\n"
        "it.\n"
    ),
    Purpose.RESET: (
        "A new password was requested for this address. Set it here:\n\n"
        "    {url}\n\n"
        "The link works once and expires in one hour. Ignore this e-mail if you did not request\n"
        "it: your password does not change.\n"
    ),
}


async def send_due(ctx: AppContext, server: SmtpServer) -> None:
    """Send what waits. What is for nobody is dropped; what could not be sent is tried again for a
    day."""
    now = ctx.clock.now()
    until = now + seconds(mail.RETRY_SECONDS)
    for each in await ctx.db.write(lambda tx: user_rows.claim_mails(tx, now, until, _BATCH)):
        await _send(ctx, server, each)


async def _send(ctx: AppContext, server: SmtpServer, waiting: UserMailRecord) -> None:
    purpose = Purpose(waiting.purpose)

    def fn(tx: Tx) -> tuple[PasswordLink, str] | None:
        user = user_rows.by_email(tx, waiting.email)
        is_late = ctx.clock.now() - waiting.created_at > _GIVEN_UP_AFTER
        if user is None or is_late or (user.is_invitation and user_rows.by_email(tx, user.address)):
            user_rows.delete_mail(tx, waiting.id)
            return None
        account = account_rows.get(tx, user.account_id)
        return password_links.make_in(tx, ctx, user, purpose), account.name or account.email

    parts = await ctx.db.write(fn)
    if parts is None:
        return
    link, account = parts
    inviter = link.user.invited_by or users.BY_OPERATOR
    text = _TEXTS[purpose].format(url=link.url, account=account, inviter=inviter)
    subject, at = _SUBJECTS[purpose], waiting.created_at
    whole = MailRecord(waiting.id, link.user.account_id, link.user.address, subject, text, at)
    if await mail.hand_over(server, whole) is None:
        await ctx.db.write(lambda tx: user_rows.delete_mail(tx, waiting.id))
