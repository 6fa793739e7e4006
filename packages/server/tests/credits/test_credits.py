"""Credits against a real record: ledger, holds, parking, topping up (design: Credits)."""

import asyncio

import pytest

from agentpost.accounts import actions as accounts
from agentpost.credits import actions as credits
from agentpost.db.session import Tx
from agentpost.domain.errors import Fenced
from agentpost.jobs import actions as jobs
from agentpost.jobs.actions import JobClaim, OutOfCredits
from agentpost.nodes import upkeep
from agentpost.record.journal_rules import CallState
from tests.harness.context import NODE, Harness
from tests.harness.ends import fail, finish

CREDIT = 1_000_000
LEDGER = "SELECT kind, SUM(amount) FROM ledger GROUP BY kind"


def wallet(harness: Harness) -> tuple[float, float]:
    """(balance, held) in credits, checked against the sum of the ledger's lines."""
    balance, held = harness.one("SELECT balance, held FROM accounts")
    moved: dict[str, int] = {row[0]: row[1] for row in harness.all(LEDGER)}
    assert balance == moved.get("grant", 0) - moved.get("charge", 0)
    assert held == moved.get("hold", 0) - moved.get("release", 0)
    return balance / CREDIT, held / CREDIT


async def hold(harness: Harness, job: JobClaim, cost: float) -> int:
    """Begin a step with a cost; its call number."""
    call = harness.call(job.job_id, CallState.HELD)
    harness.tick()
    await jobs.hold(harness.ctx, job, call, round(cost * CREDIT))
    return call.n


async def settle(
    harness: Harness, job: JobClaim, n: int, cost: float, *, failed: bool = False
) -> None:
    """End a step that was begun."""
    call = harness.call(job.job_id, CallState.ERROR if failed else CallState.DONE, n)
    harness.tick()
    await jobs.record_call(harness.ctx, job, call, round(cost * CREDIT))


async def charge(harness: Harness, job: JobClaim, amount: float) -> None:
    harness.tick()
    call = harness.call(job.job_id)
    await jobs.charge(harness.ctx, job, call, round(amount * CREDIT), "a note")


async def add(harness: Harness, amount: float) -> None:
    harness.tick()
    await credits.add(harness.ctx, harness.account_id, amount)


@pytest.mark.parametrize("failed", [False, True])
async def test_a_step_is_held_then_charged_unless_it_fails(harness: Harness, failed: bool) -> None:
    message_id, [job] = await harness.working()
    n = await hold(harness, job, 30)
    assert wallet(harness) == (100, 30)
    assert harness.view(message_id)["credits_used"] == 0
    await settle(harness, job, n, 30, failed=failed)
    assert wallet(harness) == ((100, 0) if failed else (70, 0))
    assert harness.view(message_id)["credits_used"] == (0 if failed else 30)


async def test_follow_ups_do_not_pay(harness: Harness) -> None:
    """Credits count on the message that started the job (design: Credits)."""
    first, [job] = await harness.working()
    ticket = await harness.begin_turn("more")
    await harness.join(ticket, job.job_id)
    await harness.end(ticket)
    await charge(harness, job, 5)
    assert harness.view(first)["credits_used"] == 5
    assert harness.view(ticket.message.id)["credits_used"] == 0


async def test_a_top_up_that_is_too_small_resumes_nothing(harness: Harness) -> None:
    message_id, [job] = await harness.working()
    with pytest.raises(OutOfCredits):
        await hold(harness, job, 150)
    await add(harness, 49.999_999)
    assert harness.job(message_id)["status"] == "blocked"
    await add(harness, 0.000_001)
    assert harness.job(message_id)["status"] == "running"


async def test_parking_gives_its_holds_back_and_does_not_resume_for_them(harness: Harness) -> None:
    """Two steps at once: what the first one held is needed again, so it is no new credit."""
    message_id, [job] = await harness.working()
    await hold(harness, job, 60)
    with pytest.raises(OutOfCredits):
        await hold(harness, job, 60)
    assert wallet(harness) == (100, 0)
    await upkeep.resume_queued(harness.ctx)
    assert harness.job(message_id)["status"] == "blocked"
    await add(harness, 20)
    assert harness.job(message_id)["status"] == "running"
    again = harness.owned(job.job_id)
    await hold(harness, again, 60)
    await hold(harness, again, 60)
    assert wallet(harness) == (120, 120)


async def test_a_step_that_ends_after_its_job_was_parked_is_fenced(harness: Harness) -> None:
    """Its hold went back when the job was parked: nothing is charged, nothing recorded."""
    _, [job] = await harness.working()
    n = await hold(harness, job, 60)
    with pytest.raises(OutOfCredits):
        await hold(harness, job, 60)
    for failed in (False, True):
        with pytest.raises(Fenced):
            await settle(harness, job, n, 60, failed=failed)
    with pytest.raises(Fenced):
        await charge(harness, job, 1)
    held = harness.call(job.job_id, n=n)
    with pytest.raises(Fenced):
        await jobs.record_call(
            harness.ctx, job, held, 60 * CREDIT, (), await harness.file(job, "a.txt")
        )
    assert wallet(harness) == (100, 0)
    assert harness.all("SELECT * FROM calls WHERE owner = ?", job.job_id) == []
    assert harness.all("SELECT * FROM files") == []


async def test_a_parked_job_frees_its_slot_at_once(harness: Harness) -> None:
    """Queued work resumes on a freed slot, a parked job's too (design: Credits)."""
    _, [spender] = await harness.working("Spend")
    await charge(harness, spender, 100)
    waiting, _ = await harness.working("waits")
    await finish(harness.ctx, spender, "", None, "{}")
    await accounts.set_hosting_fees(harness.ctx, harness.account_id, True)
    await add(harness, 10)
    await accounts.set_hosting_fees(harness.ctx, harness.account_id, False)
    _, running = await harness.working(*"abcde")
    with pytest.raises(OutOfCredits):
        await hold(harness, running[0], 11)
    assert harness.job(waiting)["status"] == "running"


async def test_credits_held_for_a_job_go_back_when_it_ends(harness: Harness) -> None:
    _, [job] = await harness.working()
    await hold(harness, job, 30)
    await fail(harness.ctx, job, "No.")
    assert wallet(harness) == (100, 0)


async def test_a_hold_survives_a_crash(harness: Harness) -> None:
    """The step in flight may run again; its cost is held once (design: The journal)."""
    _, [job] = await harness.working()
    n = await hold(harness, job, 30)
    ticket = await jobs.claim(harness.ctx, job.job_id, NODE)
    assert ticket is not None
    assert ticket.calls[n].state is CallState.HELD
    assert wallet(harness) == (100, 30)
    await settle(harness, harness.owned(job.job_id), n, 30)
    assert wallet(harness) == (70, 0)


async def test_a_hold_that_a_crash_of_the_database_took_back_is_neither_released_nor_charged(
    harness: Harness,
) -> None:
    """The step runs again from the journal, with a hold of its own."""
    _, [job, other] = await harness.working("One", "Other")
    n = await hold(harness, job, 30)
    await hold(harness, other, 20)
    harness.ctx.settings = harness.ctx.settings.model_copy(update={"durability": "normal"})

    def take_back(tx: Tx) -> None:
        tx.execute_nowait("DELETE FROM ledger WHERE job_id = ?", (job.job_id,))
        tx.execute_nowait("UPDATE accounts SET held = ?", (20 * CREDIT,))

    await harness.ctx.db.write(take_back)
    with pytest.raises(Fenced):
        await settle(harness, job, n, 30)
    assert wallet(harness) == (100, 20)


async def test_the_oldest_resumes_first_and_a_big_one_does_not_block_the_rest(
    harness: Harness,
) -> None:
    """Oldest first; two jobs are not resumed for the same credits (design: Credits)."""
    ids = []
    for cost in (120, 104, 103):
        message_id, [job] = await harness.working()
        with pytest.raises(OutOfCredits):
            await hold(harness, job, cost)
        ids.append(message_id)
    await add(harness, 5)
    assert [harness.job(m)["status"] for m in ids] == ["blocked", "running", "blocked"]


async def test_as_many_resume_as_there_are_slots_however_long_the_queue(harness: Harness) -> None:
    """In the order of the queue, past those that need more than there is."""
    messages = []
    for cost in (101, 2_000, *[101] * 7):
        message_id, [job] = await harness.working()
        with pytest.raises(OutOfCredits):
            await hold(harness, job, cost)
        messages.append(message_id)
    await add(harness, 900)
    states = [harness.job(message_id)["status"] for message_id in messages]
    assert states == ["running", "blocked", *["running"] * 4, *["blocked"] * 3]


@pytest.mark.rule("Limits running-jobs")
async def test_starts_at_the_same_moment_respect_the_cap(harness: Harness) -> None:
    """5 at once, whatever the conversations."""
    tickets = [await harness.begin_turn(conversation=str(n)) for n in range(12)]
    started = await asyncio.gather(*(harness.start(ticket) for ticket in tickets))
    states = [s.state for s in started]
    assert (states.count("running"), states.count("refused")) == (5, 7)


async def test_charges_at_the_same_moment_never_overdraw(harness: Harness) -> None:
    _, running = await harness.working(*"abcde")
    outcomes = await asyncio.gather(
        *(charge(harness, job, 30) for job in running), return_exceptions=True
    )
    assert [type(o) for o in outcomes].count(OutOfCredits) == 1
    assert wallet(harness) == (0, 0)
