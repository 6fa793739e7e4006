"""What work may still use by the ceilings of its message and key (design: Spend ceilings)."""

from agentpost.credits import ceiling_rows
from agentpost.credits.rules import Ceiling, Headroom, WorkCeilings
from agentpost.db.session import Tx
from agentpost.domain.times import DAY
from agentpost.record import signals as s
from agentpost.record.records import AccountRecord


def for_job(tx: Tx, account: AccountRecord, job_id: str | None, now: int) -> Headroom:
    """What a job may still use. The account is locked, so nothing moves meanwhile."""
    ceilings = ceiling_rows.of_job(tx, job_id) if job_id is not None else None
    return within(tx, account, ceilings, now)


def short(amount: int, headroom: Headroom, now: int) -> s.ShortOfCredits:
    """The signal that work needs more (millionths) than the headroom that was found."""
    until = (now // DAY + 1) * DAY if headroom.ceiling is Ceiling.DAY else None
    return s.ShortOfCredits(amount, headroom.ceiling, until)


def within(tx: Tx, account: AccountRecord, ceilings: WorkCeilings | None, now: int) -> Headroom:
    """What the work of a message may still use (see `for_job`): the least of what is available and
    of what each ceiling leaves. None: nothing but the account limits it.

    When both are alike, the balance is the reason: raising a ceiling would not help.
    """
    least = Headroom(account.wallet.available)
    if ceilings is not None and ceilings.max_credits is not None:
        left = ceilings.max_credits - ceiling_rows.used_by_message(tx, ceilings.message_id)
        if left < least.left:
            least = Headroom(max(left, 0), Ceiling.MESSAGE)
    if ceilings is not None and ceilings.per_day is not None:
        used = ceiling_rows.used_by_key(tx, account.id, ceilings.key_id, now // DAY * DAY)
        if ceilings.per_day - used < least.left:
            least = Headroom(max(ceilings.per_day - used, 0), Ceiling.DAY)
    return least
