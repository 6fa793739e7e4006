"""Mail to the owner of an account: a row in the commit of its reason, then SMTP when there is one.

Without a mail server a person reads the rows on the mail page (design: Pages and secrets).
"""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from urllib.parse import parse_qs, unquote, urlsplit

import structlog

from agentpost.accounts import rows as account_rows
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import reason_of
from agentpost.domain.times import SECOND, iso, seconds
from agentpost.mail import rows as mail_rows
from agentpost.record.records import MailRecord
from agentpost.requests.redaction import shown_url
from agentpost.transactions import read_transaction
from agentpost.webhooks.records import EndpointRecord

log = structlog.get_logger(__name__)

_SMTP_SECONDS = 30.0
_CLAIM_SECONDS = 120.0
_BATCH = 3
_MAILS_SHOWN_MAX = 50
RETRY_SECONDS = 300.0
_PORTS = {"smtp": 587, "smtps": 465}


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """The mail server, read from ``SMTP_URL``."""

    host: str
    port: int
    tls: bool
    user: str | None
    password: str | None
    sender: str

    @classmethod
    def parse(cls, url: str) -> "SmtpServer":
        """``smtp[s]://[user:password@]host[:port][?from=address]``; raises `ValueError`."""
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError("AGENTPOST_SMTP_URL must be smtp:// or smtps:// and name a host")
        user = unquote(parts.username) if parts.username else None
        senders = parse_qs(parts.query).get("from", [])
        fallback = user if user and "@" in user else f"agentpost@{parts.hostname}"
        return cls(
            parts.hostname,
            parts.port or _PORTS[parts.scheme],
            parts.scheme == "smtps",
            user,
            unquote(parts.password) if parts.password else None,
            senders[0] if senders else fallback,
        )


def endpoint_turned_off(tx: Tx, endpoint: EndpointRecord, now: int) -> None:
    """Tell the owner that an endpoint failed for too long (spec: Webhook events 8)."""
    since = f" since {iso(endpoint.failing_since)}" if endpoint.failing_since is not None else ""
    text = (
        f"Every delivery to your webhook endpoint {endpoint.id} has failed{since}:\n\n"
        f"    {shown_url(endpoint.url)}\n\n"
        f"It was disabled at {iso(now)}, and pending deliveries were dropped.\n"
        "When the receiver works again, enable the endpoint and replay the deliveries.\n"
    )
    mail = MailRecord(
        id=new_id(ids.MAIL, now),
        account_id=endpoint.account_id,
        recipient=account_rows.get(tx, endpoint.account_id).email,
        subject="A webhook endpoint was disabled",
        text=text,
        created_at=now,
        next_attempt_at=now,
    )
    mail_rows.MAILS.insert(tx, mail)


@read_transaction
def mail_queue(tx: Tx, _: AppContext, account_id: str) -> list[MailRecord]:
    """The newest mails to the account's owner, sent or not, newest first."""
    return mail_rows.list_(tx, account_id, _MAILS_SHOWN_MAX)


async def send_due(ctx: AppContext, server: SmtpServer) -> None:
    """Send what waits; what could not be sent, whatever the reason, is tried again later."""
    now = ctx.clock.now()
    until = now + seconds(_CLAIM_SECONDS)
    for mail in await ctx.db.write(lambda tx: mail_rows.claim(tx, now, until, _BATCH)):
        await _send(ctx, server, mail)


async def hand_over(server: SmtpServer, mail: MailRecord) -> str | None:
    """Give a mail to the server; what keeps it from taking it, which is logged: whatever it is, the
    mails behind this one do not wait for it."""
    import aiosmtplib

    try:
        message = EmailMessage()
        message["From"] = server.sender
        message["To"] = mail.recipient
        message["Subject"] = mail.subject
        message["Date"] = format_datetime(datetime.fromtimestamp(mail.created_at / SECOND, UTC))
        message["Message-ID"] = f"<{mail.id}@{server.sender.rpartition('@')[2]}>"
        message.set_content(mail.text)
        async with asyncio.timeout(_SMTP_SECONDS):
            await aiosmtplib.send(
                message,
                hostname=server.host,
                port=server.port,
                use_tls=server.tls,
                username=server.user,
                password=server.password,
            )
    except Exception as error:
        log.warning("mail_not_sent", mail_id=mail.id, error=reason_of(error))
        return reason_of(error)
    return None


async def _send(ctx: AppContext, server: SmtpServer, mail: MailRecord) -> None:
    problem = await hand_over(server, mail)
    if problem is None:
        await ctx.db.write(lambda tx: mail_rows.record_sent(tx, mail.id, ctx.clock.now()))
    else:
        again = ctx.clock.now() + seconds(RETRY_SECONDS)
        await ctx.db.write(lambda tx: mail_rows.record_failure(tx, mail.id, problem, again))
