"""Mail to account owners: written in the transaction of its reason, sent by a node with SMTP."""

from __future__ import annotations

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.record.records import MailRecord

MAILS = Mapper(MailRecord, "mails")


def list_(tx: Tx, account_id: str, limit: int) -> list[MailRecord]:
    """The account's newest mails, newest first."""
    sql = f"{MAILS.select} WHERE account_id = ? ORDER BY id DESC LIMIT ?"
    return MAILS.all(tx, sql, (account_id, limit))


def claim(tx: Tx, now: int, until: int, limit: int) -> list[MailRecord]:
    """Take unsent mails that are due; due again at ``until`` unless they are said to be sent."""
    sql = (
        f"{MAILS.select} WHERE sent_at IS NULL AND next_attempt_at <= ?"
        " ORDER BY next_attempt_at LIMIT ? /*skip locked*/"
    )
    mails = MAILS.all(tx, sql, (now, limit))
    for mail in mails:
        tx.execute("UPDATE mails SET next_attempt_at = ? WHERE id = ?", (until, mail.id))
    return mails


def record_sent(tx: Tx, mail_id: str, now: int) -> None:
    """The mail server took it."""
    tx.execute(
        "UPDATE mails SET sent_at = ?, next_attempt_at = NULL, attempts = attempts + 1,"
        " last_error = NULL WHERE id = ?",
        (now, mail_id),
    )


def record_failure(tx: Tx, mail_id: str, error: str, next_attempt_at: int) -> None:
    """The mail server did not take it."""
    tx.execute(
        "UPDATE mails SET attempts = attempts + 1, last_error = ?, next_attempt_at = ?"
        " WHERE id = ?",
        (error, next_attempt_at, mail_id),
    )
