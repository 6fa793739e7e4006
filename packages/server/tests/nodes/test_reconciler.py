"""What a node owns is run there, and nothing else is (design: Comparing rows and runs)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import pytest

from agentpost.agents import Job, Turn
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.jobs import works
from agentpost.nodes import ownership
from agentpost.nodes.ownership_rows import Differences
from agentpost.operations import doctor, health
from tests.harness.databases import ON_SQLITE
from tests.runtime.conftest import here
from tests.runtime.running import Fault, Running, Script, step
from tests.waiting import eventually_async

__all__ = ["here"]
JOB = "SELECT state, epoch, takeovers FROM jobs"


async def two_steps(job: Job) -> str:
    """The second one waits for the gate; an author's handler takes what it can get."""
    await job.step(step, "first")
    try:
        await job.step(behind_gate, "second", cost=1)
    except Exception as error:
        Script.seen.append(f"caught {error!r}")
    Script.seen.append("went on")
    return "ok"


async def behind_gate(name: str) -> str:
    Script.seen.append(name)
    while not Script.gate.is_set():  # noqa: ASYNC110 - the test opens it on another thread
        await asyncio.sleep(0.005)
    return name


async def interrupted(here: Running, when: str) -> str:
    """A message whose job met a fault while its second step was recorded."""
    Script.job = two_steps
    message_id = await here.send()
    await eventually_async(lambda: Script.seen == ["first", "second"])
    here.db.failing = when
    Script.gate.set()
    await eventually_async(lambda: here.db.fails)
    await here.idle()
    assert here.row(JOB) == ("running", 1, 0)
    return message_id


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_job_that_met_a_fault_is_run_again(here: Running, when: str) -> None:
    message_id = await interrupted(here, when)
    here.db.failing = ""
    await here.reconciler.reconcile()
    assert here.row(JOB) == ("running", 1, 0), "one look is not enough"
    await here.reconciler.reconcile()
    done = await here.final(message_id)
    assert (done["status"], done["credits_used"]) == ("completed", 1)
    again = ["second"] if when == "before" else []  # "after": it was recorded, we only did not know
    assert Script.seen == ["first", "second", *again, "went on"]
    assert here.row(JOB) == ("completed", 2, 0), "it does not count towards poison"
    assert here.row("SELECT balance, held FROM accounts") == (99_000_000, 0)


@ON_SQLITE
async def test_a_job_that_cannot_be_claimed_yet_is_claimed_later(here: Running) -> None:
    message_id = await interrupted(here, "before")
    for _ in range(3):
        with suppress(Fault):  # the doctor cannot be told either
            await here.reconciler.reconcile()
        await here.idle()
    assert here.row(JOB) == ("running", 1, 0)
    here.db.failing = ""
    for _ in range(4):
        await here.reconciler.reconcile()
    assert (await here.final(message_id))["status"] == "completed"


@ON_SQLITE
async def test_a_job_that_keeps_getting_lost_is_run_more_and_more_rarely(here: Running) -> None:
    async def fails_to_record(job: Job) -> str:
        while not Script.gate.is_set():  # noqa: ASYNC110 - the test opens it on another thread
            await asyncio.sleep(0.005)
        here.db.failing = "before"
        await job.progress("never recorded")
        return "ok"

    Script.job = fails_to_record
    message_id = await here.send()
    await eventually_async(lambda: _ended(here, message_id))
    Script.gate.set()
    epochs = []
    for _ in range(20):
        await eventually_async(lambda: here.db.fails)
        await here.idle()
        here.db.failing, here.db.fails = "", 1
        await here.reconciler.reconcile()
        await here.idle()
        epochs.append(here.row(JOB)[1])
    assert epochs[:6] == [1, 2, 2, 2, 2, 3]
    assert epochs[-1] == 4
    assert here.view(message_id)["status"] == "processing"
    [finding] = await doctor.examine(here.ctx)
    assert finding.problem == "its node is alive but does not run it"

    Script.job = done_at_once
    while not here.view(message_id)["final"]:
        await here.reconciler.reconcile()
        await here.idle()
    await here.reconciler.reconcile()
    assert await doctor.examine(here.ctx) == []
    assert here.row("SELECT COUNT(*) FROM meta WHERE name > 'missing' AND name < 'missinh'") == (0,)


async def done_at_once(_: object) -> str:
    return "ok"


async def until_ended(left: list[str]) -> None:
    """An author's function was stopped and cleans up for ever, unless it is ended."""
    Script.seen.append("stopped")
    try:
        await asyncio.Event().wait()
    finally:
        left.append("left")


@ON_SQLITE
@pytest.mark.parametrize("kind", ["job", "turn"])
async def test_what_does_not_leave_is_ended_when_its_successor_comes(
    here: Running, kind: str
) -> None:
    """Stopped by a fault, it is still about to clean up; its work goes on all the same."""
    left: list[str] = []

    async def lingers(call: Callable[[], Awaitable[object]]) -> None:
        if len(Script.seen) == 0:
            here.db.failing = "before"
            try:
                await call()
            finally:
                await until_ended(left)

    async def turn(turn: Turn) -> None:
        await lingers(lambda: turn.step(done_at_once, "never recorded"))
        turn.reply("said")

    async def job(job: Job) -> str:
        await eventually_async(Script.gate.is_set)
        await lingers(lambda: job.progress("never recorded"))
        return "ok"

    if kind == "turn":
        Script.turn = turn
    Script.job = job
    message_id = await here.send()
    if kind == "job":
        await eventually_async(lambda: _ended(here, message_id))
        Script.gate.set()
    await eventually_async(lambda: "stopped" in Script.seen)
    here.db.failing = ""
    assert left == []
    for _ in range(2):
        await here.reconciler.reconcile()
    assert (await here.final(message_id))["status"] == "completed"
    await here.idle()
    assert left == ["left"]


@ON_SQLITE
async def test_a_parked_job_that_does_not_leave_is_ended(here: Running) -> None:
    left: list[str] = []

    async def lingers(job: Job) -> str:
        try:
            await job.step(step, "too expensive", cost=1000)
        finally:
            await until_ended(left)
        return "ok"

    Script.job = lingers
    message_id = await here.send()
    await eventually_async(lambda: here.view(message_id)["status"] == "blocked")
    await eventually_async(lambda: "stopped" in Script.seen)
    assert not left
    await here.reconciler.reconcile()
    await here.idle()
    assert left == ["left"]


@ON_SQLITE
async def test_a_job_that_waits_behind_a_blocked_loop_is_not_missing(here: Running) -> None:
    async def block(_: Job) -> str:
        Script.seen.append("blocks")
        Script.gate.wait()
        return "ok"

    Script.job = block
    first, second = [await here.send() for _ in range(2)]
    await eventually_async(lambda: Script.seen)
    waiting = await here.send()
    for _ in range(6):
        await here.reconciler.reconcile()
    Script.gate.set()
    for message_id in (first, second, waiting):
        assert (await here.final(message_id))["status"] == "completed"
    assert here.row("SELECT MAX(epoch) FROM jobs") == (1,)
    assert here.row("SELECT MAX(turn_epoch) FROM messages") == (1,)


async def test_a_job_that_is_not_ours_any_more_is_ended(
    here: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The word to stop it got lost, as while a node's listener is down."""
    ended: list[str] = []

    async def long_step(job: Job) -> str:
        try:
            await job.step(behind_gate, "long")
        finally:
            await asyncio.sleep(0)
            ended.append("cleaned up")
        return "ok"

    Script.job = long_step
    message_id = await here.send()
    await eventually_async(lambda: Script.seen == ["long"])
    await here.reconciler.reconcile()
    assert not ended, "what is ours goes on"
    monkeypatch.setattr(here.ctx.engine, "abort", lambda tx, job_id: None)
    await stop_work(here, message_id)
    assert not ended
    await here.reconciler.reconcile()
    await here.idle()
    assert ended == ["cleaned up"]


async def stop_work(here: Running, message_id: str) -> None:
    work_id = here.view(message_id)["jobs"][0]["work_id"]
    await works.stop(here.ctx, here.caller.account_id, work_id)
    assert here.view(message_id)["jobs"][0]["status"] == "cancelled"


@ON_SQLITE
async def test_a_stop_while_a_job_is_being_claimed_is_not_missed(here: Running) -> None:
    """It has been read as ours, its function has not begun: the word to stop comes in between."""
    read, go_on = asyncio.Event(), asyncio.Event()
    real, tests_loop = here.db.read, asyncio.get_running_loop()

    async def held(fn: Callable[[Tx], object]) -> object:
        result = await real(fn)
        if asyncio.get_running_loop() is not tests_loop:
            tests_loop.call_soon_threadsafe(read.set)
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(go_on.wait(), tests_loop))
        return result

    async def begun(_: Job) -> str:
        Script.seen.append("begun")
        return "ok"

    Script.job = begun
    here.db.read = held  # type: ignore[method-assign,assignment]
    here.ctx.handover.take_job = lambda *_: None  # type: ignore[method-assign]
    message_id = await here.send()
    await read.wait()
    await eventually_async(
        lambda: here.view(message_id)["reply"] is None and _ended(here, message_id)
    )
    here.db.read = real  # type: ignore[method-assign]
    await stop_work(here, message_id)
    go_on.set()
    await here.idle()
    assert Script.seen == []


def _ended(here: Running, message_id: str) -> bool:
    return here.row(f"SELECT turn_state FROM messages WHERE id = '{message_id}'") == ("ended",)


@ON_SQLITE
async def test_swallowing_a_stop_does_not_make_an_end(here: Running) -> None:
    """An author's handler that takes everything cannot finish what was stopped."""

    async def swallow(job: Job) -> str:
        await job.step(step, "first")
        here.db.failing = "before"
        try:
            await job.progress("second")
        except BaseException:
            here.db.failing = ""
        Script.seen.append("swallowed")
        return "finished all the same"

    Script.job = swallow
    message_id = await here.send()
    await eventually_async(lambda: "swallowed" in Script.seen)
    await here.idle()
    assert here.row(JOB) == ("running", 1, 0)
    assert here.view(message_id)["status"] == "processing"


@ON_SQLITE
async def test_a_look_that_can_find_nothing_new_reads_nothing(
    here: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where every commit is seen: however much waits, it costs nothing while nothing happens."""
    Script.job = two_steps
    message_id = await here.send()
    await eventually_async(lambda: Script.seen == ["first", "second"])
    reads: list[None] = []
    real = ownership.differences

    async def differences(
        ctx: AppContext, running: Mapping[str, Callable[[], dict[str, int]]]
    ) -> dict[str, Differences]:
        reads.append(None)
        return await real(ctx, running)

    monkeypatch.setattr(ownership, "differences", differences)
    for _ in range(3):
        await here.reconciler.reconcile()
        await health.check_database(here.ctx)  # which takes back what it writes
    seen = here.ctx.db.changes is not None
    assert len(reads) == (1 if seen else 3)
    Script.gate.set()
    await here.final(message_id)
    await here.reconciler.reconcile()
    assert len(reads) == (2 if seen else 4)
