"""Moving credits: every move is a ledger line and a new balance in one transaction (design:
Credits).

All functions take an `AccountRecord` that the caller has locked in this transaction and keep it up
to date.
"""

from dataclasses import dataclass
from typing import Final

from agentpost.accounts import rows as account_rows
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.credits import ceiling_rows
from agentpost.credits.rules import LedgerKind, chargeable
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.credits import to_credits, to_millionths
from agentpost.jobs import rows as job_rows
from agentpost.limits.allowances import allowances_of
from agentpost.record import signals as s, writer
from agentpost.record.records import AccountRecord, LedgerRecord

NOTE_CHARACTERS_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Purpose:
    """The reason of a ledger move: job, call and note."""

    job_id: str | None = None
    call_n: int | None = None
    note: str = ""


def hold(tx: Tx, account: AccountRecord, cost: int, purpose: Purpose, now: int) -> bool:
    """Promise credits to a step; False when the balance has too few. Ceilings are the caller's."""
    if cost > account.wallet.available:
        return False
    _move(tx, account, [(LedgerKind.HOLD, cost)], purpose, now)
    return True


def charge_held(tx: Tx, account: AccountRecord, cost: int, purpose: Purpose, now: int) -> None:
    """The step succeeded: its hold becomes a charge."""
    _move(tx, account, [(LedgerKind.RELEASE, cost), (LedgerKind.CHARGE, cost)], purpose, now)


def release(tx: Tx, account: AccountRecord, cost: int, purpose: Purpose, now: int) -> None:
    """The step failed: its hold is given back."""
    if cost:
        _move(tx, account, [(LedgerKind.RELEASE, cost)], purpose, now)


def release_all(tx: Tx, account: AccountRecord, job_id: str, now: int) -> int:
    """The job leaves its slot: nothing stays held for it. How much was."""
    amount = account_rows.held_for(tx, job_id) if account.held else 0
    release(tx, account, amount, Purpose(job_id, note="the job ended"), now)
    return amount


def charge_done(
    tx: Tx, account: AccountRecord, amount: int, left: int, purpose: Purpose, now: int
) -> int | None:
    """Charge for work already done; what was charged, at most ``left``; None for nothing."""
    charge = chargeable(account.wallet.available, amount, left)
    if charge is not None:
        _move(tx, account, [(LedgerKind.CHARGE, charge)], purpose, now)
    return charge


async def add(ctx: AppContext, id_or_email: str, amount: float, note: str = "") -> AccountRecord:
    """Grant credits and resume queued work, or with an ``amount`` below zero take credits back.

    Only what is available can be taken back: what is held for running steps is promised to them.
    Raises `ValueError` for no amount, for more than is available and for a note that is longer than
    `NOTE_CHARACTERS_MAX`, and ``not_found``.
    """
    millionths = to_millionths(abs(amount)) * (-1 if amount < 0 else 1)
    if millionths == 0:
        raise ValueError("credits to add must be more than zero, credits to remove less")
    if len(note) > NOTE_CHARACTERS_MAX:
        raise ValueError(f"a note has at most {NOTE_CHARACTERS_MAX} characters")

    def grant(tx: Tx) -> AccountRecord:
        account = account_rows.lock(tx, account_rows.find_existing(tx, id_or_email).id)
        now = ctx.clock.now()
        if account.wallet.available + millionths < 0:
            available = f"{to_credits(account.wallet.available):g}"
            raise ValueError(f"only {available} credits are available to be removed")
        _move(tx, account, [(LedgerKind.GRANT, millionths)], Purpose(note=note), now)
        resume_queued(tx, ctx, account, now)
        return account

    return await ctx.db.write(grant)


def resume_queued(
    tx: Tx, ctx: AppContext, account: AccountRecord, now: int, *, slots_freed: int = 0
) -> None:
    """Let queued work go on, oldest first, as far as slots and credits reach.

    A job that needs more than there is does not hold up the ones behind it. What a resumed job
    needs for its next step is set aside here, so two jobs are not resumed for the same credits.
    ``slots_freed``: how many jobs that still count leave their slot later in this transaction.
    """
    available = account.wallet.available
    if available < 1 or account.hosting_fees_due:
        return
    slots = allowances_of(ctx.settings, account.limits_json).running_jobs
    queued = job_rows.resumable(tx, account.id, available, now, slots)
    if not queued:
        return
    slots -= job_rows.count_executing(tx, account.id) - slots_freed
    while queued and slots > 0 and available >= 1:
        for job in queued[:slots]:
            if job.credits_needed <= available:  # the first of them always does
                writer.apply_job(tx, ctx, job.id, s.Resumed(), now)
                available -= job.credits_needed
                slots -= 1
        if slots > 0:
            queued = job_rows.resumable(tx, account.id, available, now, slots)


def _move(
    tx: Tx,
    account: AccountRecord,
    lines: list[tuple[LedgerKind, int]],
    purpose: Purpose,
    now: int,
) -> None:
    wallet = account.wallet
    for kind, amount in lines:
        wallet = wallet.after(kind, amount)
    assert 0 <= wallet.held <= wallet.balance, "credits never go below zero"
    account_rows.save_wallet(tx, account.id, wallet.balance, wallet.held)
    account.balance, account.held = wallet.balance, wallet.held
    key_id = ceiling_rows.key_of_job(tx, purpose.job_id) if purpose.job_id else None
    for kind, amount in lines:
        add_line(tx, account.id, kind, amount, purpose, now, key_id)


def add_line(
    tx: Tx,
    account_id: str,
    kind: LedgerKind,
    amount: int,
    purpose: Purpose,
    now: int,
    key_id: str | None = None,
) -> None:
    """Write a line of the ledger; the caller writes the balance."""
    line = LedgerRecord(
        id=new_id(ids.LEDGER, now),
        account_id=account_id,
        kind=kind.value,
        amount=amount,
        at=now,
        job_id=purpose.job_id,
        call_n=purpose.call_n,
        note=purpose.note,
        key_id=key_id,
    )
    account_rows.LEDGER.insert(tx, line)
