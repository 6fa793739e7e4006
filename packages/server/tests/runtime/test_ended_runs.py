"""A run that we have ended does nothing more, whatever its author makes of that (design:
Ownership).
"""

import asyncio
import time
from pathlib import Path

import pytest

from agentpost.agents import Job, Turn
from agentpost.jobs import works
from agentpost.runtime.run_turn import TurnRunner
from tests.harness.databases import ON_SQLITE
from tests.runtime.running import Running, Script, start_work, step
from tests.waiting import eventually_async

pytestmark = ON_SQLITE
JOB = "SELECT state, epoch, calls FROM jobs"
CALLS = "SELECT COUNT(*) FROM calls WHERE owner IN (SELECT id FROM jobs)"


async def forever(name: str) -> str:
    """A step that ends only when it is cancelled."""
    Script.seen.append(name)
    await asyncio.Event().wait()
    return name


async def gives_a_value(name: str) -> str:
    """The same, and takes the cancellation for a reason to return."""
    try:
        return await forever(name)
    except asyncio.CancelledError:
        return "half of it"


async def gives_an_error(name: str) -> str:
    """The same, with an error of its own, as libraries do."""
    try:
        return await forever(name)
    except asyncio.CancelledError:
        raise OSError("interrupted") from None


async def cleans_up(job: Job) -> str:
    try:
        await job.step(forever, "long")
    finally:
        await job.progress("cleaning up")
    return "ok"


async def swallows(job: Job) -> str:
    made_before = job.step(step, "made before")
    try:
        await job.step(forever, "long")
    except BaseException:
        Script.seen.append("swallowed")
    try:
        await made_before
    finally:
        await job.step(step, "more")
    return "ok"


async def returns(job: Job) -> str:
    await job.step(gives_a_value, "long")
    return "ok"


async def fails(job: Job) -> str:
    await job.step(gives_an_error, "long", retries=2)
    return "ok"


@pytest.mark.parametrize("fn", [cleans_up, swallows, returns, fails])
@pytest.mark.parametrize("how", ["client", "shutdown"])
async def test_a_job_that_was_ended_makes_no_call_more(here: Running, fn: object, how: str) -> None:
    Script.job = fn  # type: ignore[assignment]
    message_id = await here.send()
    await eventually_async(lambda: "long" in Script.seen)
    if how == "client":
        work_id = here.view(message_id)["jobs"][0]["work_id"]
        await works.stop(here.ctx, here.caller.account_id, work_id)
    else:
        await here.job_runner.stop(5)
    await here.idle()
    assert [seen for seen in Script.seen if seen != "swallowed"] == ["long"]
    assert here.row(CALLS) == (0,)
    state = "stopped" if how == "client" else "running"
    assert here.row(JOB) == (state, 1, 0)


async def test_a_worker_that_dies_at_the_end_is_no_error_of_its_step(here: Running) -> None:
    """Its run outlived the time it had to leave."""

    async def stays(job: Job) -> str:
        step = asyncio.ensure_future(job.step(in_a_worker, str(gate)))
        step.add_done_callback(lambda _: Script.seen.append("over"))
        await asyncio.shield(step)
        return "ok"

    gate = Path(here.ctx.settings.data_dir) / "gate"
    Script.job = stays
    await here.send()
    await eventually_async(gate.exists)
    await here.job_runner.stop(0.01)
    await here.loop.run(here.pool.aclose())
    await eventually_async(lambda: Script.seen)
    assert here.row(JOB) == ("running", 1, 0)
    assert here.row(CALLS) == (0,)


def in_a_worker(gate: str) -> None:
    """A step that takes longer than anybody waits for."""
    Path(gate).touch()
    time.sleep(60)


async def test_a_turn_that_was_ended_makes_no_call_more(here: Running) -> None:
    async def turn(turn: Turn) -> None:
        try:
            await turn.step(forever, "long")
        except BaseException:
            await start_work(turn)
            raise

    Script.turn = turn
    await here.send()
    await eventually_async(lambda: Script.seen)
    assert isinstance(here.ctx.turns, TurnRunner)
    await here.ctx.turns.stop(5)
    assert here.row("SELECT COUNT(*) FROM calls") == (0,)
    assert here.row("SELECT turn_state FROM messages") == ("running",)
