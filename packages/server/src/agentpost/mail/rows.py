"""Mail to account owners: written in the transaction of its reason, sent by a node with SMTP."""

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.db.statements import All, ChangeOf
from agentpost.record.records import MailRecord

MAILS = Mapper(MailRecord, "mails")


# The account's newest mails, newest first.
list_ = All[MailRecord, str, int](MAILS, "WHERE account_id = ? ORDER BY id DESC LIMIT ?")


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


# The mail server took it.
record_sent = ChangeOf[str, int](
    "UPDATE mails SET sent_at = ?, next_attempt_at = NULL, attempts = attempts + 1,"
    " last_error = NULL WHERE id = ?"
)
# The mail server did not take it.
record_failure = ChangeOf[str, str, int](
    "UPDATE mails SET attempts = attempts + 1, last_error = ?, next_attempt_at = ? WHERE id = ?"
)
