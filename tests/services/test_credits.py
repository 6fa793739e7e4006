"""Credits against a real record: ledger, holds, parking, topping up (design: Credits)."""

import asyncio

import pytest

from agentpost.domain.errors import Fenced, Refusal
from agentpost.domain.journal import CallState
from agentpost.services import accounts, credits, jobs, upkeep
from agentpost.services.jobs import OutOfCredits, Owned
from tests.services.house import NODE, Desk

CREDIT = 1_000_000
LEDGER = "SELECT kind, SUM(amount) FROM ledger GROUP BY kind"


def wallet(desk: Desk) -> tuple[float, float]:
    """(balance, held) in credits, checked against the sum of the ledger's lines."""
    balance, held = desk.one("SELECT balance, held FROM accounts")
    moved: dict[str, int] = {row[0]: row[1] for row in desk.all(LEDGER)}
    assert balance == moved.get("grant", 0) - moved.get("charge", 0)
    assert held == moved.get("hold", 0) - moved.get("release", 0)
    return balance / CREDIT, held / CREDIT


async def hold(desk: Desk, job: Owned, cost: float) -> int:
    """Begin a step with a cost; its call number."""
    call = desk.call(job.job_id, CallState.HELD)
    desk.tick()
    await jobs.hold(desk.house, job, call, round(cost * CREDIT))
    return call.n


async def settle(desk: Desk, job: Owned, n: int, cost: float, *, failed: bool = False) -> None:
    """End a step that was begun."""
    call = desk.call(job.job_id, CallState.ERROR if failed else CallState.DONE, n)
    desk.tick()
    await jobs.record_call(desk.house, job, call, round(cost * CREDIT))


async def charge(desk: Desk, job: Owned, amount: float) -> None:
    desk.tick()
    call = desk.call(job.job_id)
    await jobs.charge(desk.house, job, call, round(amount * CREDIT), "a note")


async def add(desk: Desk, amount: float) -> None:
    desk.tick()
    await credits.add(desk.house, desk.account_id, amount)


async def test_a_step_is_held_then_charged(desk: Desk) -> None:
    message_id, [job] = await desk.working()
    n = await hold(desk, job, 30)
    assert wallet(desk) == (100, 30)
    assert desk.shown(message_id)["credits_used"] == 0
    await settle(desk, job, n, 30)
    assert wallet(desk) == (70, 0)
    assert desk.shown(message_id)["credits_used"] == 30


async def test_a_failed_step_costs_nothing(desk: Desk) -> None:
    message_id, [job] = await desk.working()
    n = await hold(desk, job, 30)
    await settle(desk, job, n, 30, failed=True)
    assert wallet(desk) == (100, 0)
    assert desk.shown(message_id)["credits_used"] == 0


async def test_a_charge_takes_what_there_is_and_the_next_one_parks(desk: Desk) -> None:
    message_id, [job] = await desk.working()
    await charge(desk, job, 60)
    await charge(desk, job, 60)
    assert wallet(desk) == (0, 0)
    assert desk.shown(message_id)["credits_used"] == 100
    assert desk.job(message_id)["status"] == "running"
    with pytest.raises(OutOfCredits):
        await charge(desk, job, 0.000_001)
    assert desk.job(message_id)["status"] == "blocked"


async def test_follow_ups_do_not_pay(desk: Desk) -> None:
    """Credits count on the message that started the job (design: Credits)."""
    first, [job] = await desk.working()
    ticket = await desk.begun("more")
    await desk.join(ticket, job.job_id)
    await desk.end(ticket)
    await charge(desk, job, 5)
    assert desk.shown(first)["credits_used"] == 5
    assert desk.shown(ticket.message.id)["credits_used"] == 0


@pytest.mark.rule(
    "Reasons out_of_credits", "Message event log result", "Webhook events job.blocked"
)
async def test_a_job_parks_in_the_middle_and_goes_on(desk: Desk) -> None:
    """Blocked, queued for a day, continued by a top-up (design: Credits)."""
    message_id, [job] = await desk.working("Chart")
    started_at = desk.job(message_id)["started_at"]
    with pytest.raises(OutOfCredits):
        await hold(desk, job, 101)
    shown = desk.shown(message_id)
    assert (shown["status"], shown["reason"]) == ("blocked", "out_of_credits")
    assert (shown["final"], shown["resume"]) == (False, "add_credits")
    assert (shown["jobs"][0]["queued"], shown["jobs"][0]["settled_at"]) == (True, None)
    assert desk.log(message_id)[-1]["outcome"] == "stalled_credits"
    assert desk.names(message_id) == ["message.blocked", "job.blocked"]
    assert desk.all("SELECT n FROM calls WHERE owner = ?", job.job_id) == []  # never journaled
    with pytest.raises(Fenced):
        await charge(desk, job, 1)
    await add(desk, 1)
    assert desk.job(message_id)["status"] == "running"
    assert desk.job(message_id)["started_at"] == started_at
    again = desk.owned(job.job_id)
    assert desk.engine.placed[-1] == (job.job_id, again.epoch)
    assert again.epoch == job.epoch + 1
    await hold(desk, again, 101)
    assert wallet(desk) == (101, 101)


async def test_a_top_up_that_is_too_small_resumes_nothing(desk: Desk) -> None:
    message_id, [job] = await desk.working()
    with pytest.raises(OutOfCredits):
        await hold(desk, job, 150)
    await add(desk, 49.999_999)
    assert desk.job(message_id)["status"] == "blocked"
    await add(desk, 0.000_001)
    assert desk.job(message_id)["status"] == "running"


async def test_parking_gives_its_holds_back_and_does_not_resume_for_them(desk: Desk) -> None:
    """Two steps at once: what the first one held is needed again, so it is no new credit."""
    message_id, [job] = await desk.working()
    await hold(desk, job, 60)
    with pytest.raises(OutOfCredits):
        await hold(desk, job, 60)
    assert wallet(desk) == (100, 0)
    await upkeep.resume_queued(desk.house)
    assert desk.job(message_id)["status"] == "blocked"
    await add(desk, 20)
    assert desk.job(message_id)["status"] == "running"
    again = desk.owned(job.job_id)
    await hold(desk, again, 60)
    await hold(desk, again, 60)
    assert wallet(desk) == (120, 120)


async def test_a_step_that_ends_after_its_job_was_parked_is_fenced(desk: Desk) -> None:
    """Its hold went back when the job was parked: nothing is charged, nothing recorded."""
    _, [job] = await desk.working()
    n = await hold(desk, job, 60)
    with pytest.raises(OutOfCredits):
        await hold(desk, job, 60)
    for failed in (False, True):
        with pytest.raises(Fenced):
            await settle(desk, job, n, 60, failed=failed)
    held = desk.call(job.job_id, n=n)
    with pytest.raises(Fenced):
        await jobs.write_file(desk.house, job, held, await desk.file(job, "a.txt"), 60 * CREDIT)
    assert wallet(desk) == (100, 0)
    assert desk.all("SELECT * FROM calls WHERE owner = ?", job.job_id) == []
    assert desk.all("SELECT * FROM files") == []


async def test_a_parked_job_frees_its_slot_at_once(desk: Desk) -> None:
    """Queued work resumes on a freed slot, a parked job's too (design: Credits)."""
    _, [spender] = await desk.working("Spend")
    await charge(desk, spender, 100)
    waiting, _ = await desk.working("waits")
    await jobs.finish(desk.house, spender, "", None, "{}")
    await accounts.set_hosting_fees(desk.house, desk.account_id, True)
    await add(desk, 10)
    await accounts.set_hosting_fees(desk.house, desk.account_id, False)
    _, running = await desk.working(*"abcde")
    with pytest.raises(OutOfCredits):
        await hold(desk, running[0], 11)
    assert desk.job(waiting)["status"] == "running"


async def test_what_is_held_for_a_job_goes_back_when_it_ends(desk: Desk) -> None:
    _, [job] = await desk.working()
    await hold(desk, job, 30)
    await jobs.fail(desk.house, job, "No.")
    assert wallet(desk) == (100, 0)


async def test_a_hold_survives_a_crash(desk: Desk) -> None:
    """The step in flight may run again; its cost is held once (design: The journal)."""
    _, [job] = await desk.working()
    n = await hold(desk, job, 30)
    ticket = await jobs.take(desk.house, job.job_id, NODE)
    assert ticket is not None
    assert ticket.calls[n].state is CallState.HELD
    assert wallet(desk) == (100, 30)
    await settle(desk, desk.owned(job.job_id), n, 30)
    assert wallet(desk) == (70, 0)


async def test_the_oldest_resumes_first_and_a_big_one_does_not_block_the_rest(desk: Desk) -> None:
    """Oldest first; two jobs are not resumed for the same credits (design: Credits)."""
    ids = []
    for cost in (120, 104, 103):
        message_id, [job] = await desk.working()
        with pytest.raises(OutOfCredits):
            await hold(desk, job, cost)
        ids.append(message_id)
    await add(desk, 5)
    assert [desk.job(m)["status"] for m in ids] == ["blocked", "running", "blocked"]


async def test_as_many_resume_as_there_are_slots_however_long_the_queue(desk: Desk) -> None:
    """In the order of the queue, past those that need more than there is."""
    messages = []
    for cost in (101, 2_000, *[101] * 7):
        message_id, [job] = await desk.working()
        with pytest.raises(OutOfCredits):
            await hold(desk, job, cost)
        messages.append(message_id)
    await add(desk, 900)
    states = [desk.job(message_id)["status"] for message_id in messages]
    assert states == ["running", "blocked", *["running"] * 4, *["blocked"] * 3]


@pytest.mark.rule("Limits running-jobs")
async def test_starts_at_the_same_moment_respect_the_cap(desk: Desk) -> None:
    """5 at once, whatever the conversations."""
    tickets = [await desk.begun(conversation=str(n)) for n in range(12)]
    started = await asyncio.gather(*(desk.start(ticket) for ticket in tickets))
    states = [s.state for s in started]
    assert (states.count("running"), states.count("refused")) == (5, 7)


async def test_charges_at_the_same_moment_never_overdraw(desk: Desk) -> None:
    _, running = await desk.working(*"abcde")
    outcomes = await asyncio.gather(
        *(charge(desk, job, 30) for job in running), return_exceptions=True
    )
    assert [type(o) for o in outcomes].count(OutOfCredits) == 1
    assert wallet(desk) == (0, 0)


async def test_only_an_amount_that_is_there_can_be_moved(desk: Desk) -> None:
    """Less than zero takes credits back, at most what is available."""
    for amount in (0, -1_000_000, float("nan"), float("inf"), 0.000_000_1):
        with pytest.raises(ValueError, match="credits"):
            await add(desk, amount)
    with pytest.raises(Refusal, match="account"):
        await credits.add(desk.house, "nobody@example.com", 1)
    assert wallet(desk) == (100, 0)
