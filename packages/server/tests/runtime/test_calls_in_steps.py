"""What the body of a step may call on its job or turn, and what comes of it when it runs again."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, ClassVar

import pytest

from agentpost.agents import Job, NotAllowedInStep, Turn
from agentpost.credits import actions as credits
from tests.harness.databases import ON_SQLITE
from tests.runtime.running import Running, Script, step
from tests.waiting import eventually_async

pytestmark = ON_SQLITE
JOB = "SELECT state, calls, credits_used FROM jobs"
WALLET = "SELECT balance, held FROM accounts"


class Inner:
    """The body of the step below: what it does with the job, new for each test."""

    job: ClassVar[Job]
    turn: ClassVar[Turn]
    does: ClassVar[Callable[[], Awaitable[object]]]
    runs: ClassVar[int] = 0


@pytest.fixture(autouse=True)
def no_run() -> None:
    """None is counted yet."""
    Inner.runs = 0


async def body() -> str:
    """A step that calls back."""
    Inner.runs += 1
    return str(await Inner.does())


async def contents() -> str:
    """The same for a file."""
    return await body()


async def one_step(job: Job) -> str:
    """The job: something before, the step, something after."""
    Inner.job = job
    await job.step(step, "before")
    reported = await job.step(body)
    await job.progress("after")
    return str(reported)


async def finished(
    here: Running,
    does: Callable[[], Awaitable[object]],
    job: Callable[[Job], Awaitable[str]] = one_step,
) -> dict[str, Any]:
    """The message of a job whose step does this."""
    Inner.does, Script.job = does, job
    return await here.final(await here.send())


async def run_again(here: Running) -> dict[str, Any]:
    """The job has begun, loses what its last call recorded to a fault, and runs again."""
    message_id = await here.send()
    await eventually_async(lambda: here.db.fails)
    await here.idle()
    here.db.failing = ""
    for _ in range(2):
        await here.reconciler.reconcile()
    return await here.final(message_id)


def steps_reported(here: Running) -> list[str]:
    found = here.ctx.db.read_now(
        lambda tx: tx.all("SELECT body_json FROM entries WHERE type = 'progress' ORDER BY seq")
    )
    return [row[0].split('"step":"')[1].split('"')[0] for row in found]


# --- progress -------------------------------------------------------------------------------------
async def test_progress_is_reported_at_once_and_is_no_call_of_the_job(here: Running) -> None:
    reported_inside: list[str] = []

    async def does() -> None:
        await Inner.job.progress("inside")
        reported_inside.extend(steps_reported(here))

    assert (await finished(here, does))["status"] == "completed"
    assert reported_inside == ["inside"]
    assert steps_reported(here) == ["inside", "after"]
    assert here.row(JOB)[:2] == ("completed", 3)
    assert here.row("SELECT COUNT(*) FROM calls WHERE owner IN (SELECT id FROM jobs)") == (3,)


@pytest.mark.parametrize(
    ("after", "reported"),
    [(False, ["inside 1", "inside 2", "after"]), (True, ["inside 1", "after"])],
)
async def test_a_step_that_runs_again_tells_again_and_goes_the_same_way(
    here: Running, after: bool, reported: list[str]
) -> None:
    """The step's record is lost, or the one of the call behind it."""

    async def does() -> None:
        await Inner.job.progress(f"inside {Inner.runs}")
        if not after and Inner.runs == 1:
            here.db.failing = "before"

    async def job(job: Job) -> str:
        Inner.job = job
        await job.step(body)
        if after and Inner.runs == 1 and not here.db.fails:
            here.db.failing = "before"
        await job.progress("after")
        return "ok"

    Inner.does, Script.job = does, job
    assert (await run_again(here))["status"] == "completed"
    assert steps_reported(here) == reported


async def test_progress_from_tasks_and_threads_of_the_step_is_the_step_s(here: Running) -> None:
    def in_thread(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.run_coroutine_threadsafe(_progress("thread"), loop).result()

    async def does() -> None:
        await asyncio.gather(_progress("gathered"), asyncio.create_task(_progress("task")))
        loop = asyncio.get_running_loop()
        await asyncio.to_thread(in_thread, loop)
        with ThreadPoolExecutor(1) as pool:
            await loop.run_in_executor(pool, copy_context().run, in_thread, loop)

    assert (await finished(here, does))["status"] == "completed"
    assert sorted(steps_reported(here)) == ["after", "gathered", "task", "thread", "thread"]
    assert here.row(JOB)[1] == 3


async def _progress(text: str) -> None:
    await Inner.job.progress(text)


async def test_a_thread_that_nobody_can_place_is_refused(here: Running) -> None:
    """It does not inherit the step's context, and the job must not take its call for its own."""

    async def does() -> str:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        texts: list[str] = []

        def in_thread() -> None:
            try:
                asyncio.run_coroutine_threadsafe(_progress("lost"), loop).result()
            except NotAllowedInStep as error:
                texts.append(str(error))
            loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=in_thread).start()
        await ended.wait()
        return texts[0]

    assert (await finished(here, does))["status"] == "completed"
    assert "asyncio.to_thread" in str(here.row("SELECT result FROM jobs")[0])
    assert steps_reported(here) == ["after"]


async def test_steps_beside_each_other_keep_their_calls_apart(here: Running) -> None:
    async def beside(job: Job) -> str:
        Inner.job = job
        await asyncio.gather(job.step(body), job.progress("between"), job.step(body))
        return "ok"

    async def does() -> None:
        await Inner.job.progress("inside")
        await Inner.job.charge(1)

    assert (await finished(here, does, beside))["credits_used"] == 2
    assert sorted(steps_reported(here)) == ["between", "inside", "inside"]
    assert here.row(JOB)[1] == 3


# --- charge ---------------------------------------------------------------------------------------
async def test_charges_come_with_the_step_s_record(here: Running) -> None:
    async def does() -> None:
        await Inner.job.charge(2, "tokens")
        await Inner.job.charge(1)
        Script.seen.append(f"{here.row(WALLET)[0]}")

    assert (await finished(here, does))["credits_used"] == 3
    assert Script.seen == ["before", "100000000"], "not before the step is recorded"
    assert here.row(WALLET) == (97_000_000, 0)
    assert here.row("SELECT note FROM ledger WHERE note <> '' AND kind = 'charge'") == ("tokens",)


@pytest.mark.parametrize(("lost", "runs"), [("before", 2), ("after", 1)])
async def test_a_step_whose_record_is_lost_or_only_thought_lost_charges_once(
    here: Running, lost: str, runs: int
) -> None:
    async def does() -> None:
        await Inner.job.charge(2)
        here.db.failing = lost if Inner.runs == 1 else ""

    Inner.does, Script.job = does, one_step
    assert (await run_again(here))["credits_used"] == 2
    assert (Inner.runs, here.row(WALLET)) == (runs, (98_000_000, 0))


async def test_credits_spent_by_a_failed_step_and_its_tries_are_charged(here: Running) -> None:
    async def job(job: Job) -> str:
        Inner.job = job
        with pytest.raises(OSError, match="down"):
            await job.step(body, cost=5, retries=2)
        return "ok"

    async def does() -> None:
        await Inner.job.charge(1)
        raise OSError("down")

    assert (await finished(here, does, job))["credits_used"] == 3
    assert here.row(WALLET) == (97_000_000, 0), "the price of the step itself is given back"


async def test_the_contents_of_a_file_may_charge_and_tell(here: Running) -> None:
    async def job(job: Job) -> str:
        Inner.job = job
        await job.write("a.txt", contents, cost=1)  # type: ignore[arg-type]
        return "ok"

    async def does() -> str:
        await Inner.job.progress("inside")
        await Inner.job.charge(2)
        return "text"

    done = await finished(here, does, job)
    assert (done["status"], done["credits_used"]) == ("completed", 3)
    assert steps_reported(here) == ["inside", "Wrote a.txt"]


async def test_charges_beyond_the_balance_park_the_job_and_not_the_step(here: Running) -> None:
    """The body has run: it is paid after the top-up, and does not run for it again."""

    async def does() -> str:
        await Inner.job.charge(150)  # takes the 100 there are
        await Inner.job.charge(3)
        await Inner.job.charge(4)
        return "value"

    Inner.does, Script.job = does, one_step
    message_id = await here.send()
    await eventually_async(lambda: here.view(message_id)["status"] == "blocked")
    assert here.row(WALLET) == (0, 0)
    await here.idle()
    await credits.add(here.ctx, "owner@example.com", 2)
    await eventually_async(
        lambda: here.row("SELECT COUNT(*) FROM ledger WHERE kind = 'charge'") == (2,)
    )
    await eventually_async(lambda: here.view(message_id)["status"] == "blocked")
    assert here.row(WALLET) == (0, 0), "the first takes what is there, the second waits"
    await here.idle()
    await credits.add(here.ctx, "owner@example.com", 10)
    done = await here.final(message_id)
    assert (done["status"], done["credits_used"]) == ("completed", 106)
    assert here.row("SELECT result FROM jobs") == ("value",)
    assert Inner.runs == 1
    assert here.row(WALLET) == (6_000_000, 0)
    assert here.row("SELECT COUNT(*) FROM calls WHERE state = 'owed'") == (0,)


async def test_a_charge_after_the_step_ended_is_refused(here: Running) -> None:
    left: list[asyncio.Task[None]] = []

    async def late(go: asyncio.Event) -> None:
        await go.wait()
        await Inner.job.charge(1)

    async def job(job: Job) -> str:
        Inner.job = job
        await job.step(body)
        go.set()
        with pytest.raises(NotAllowedInStep, match="has ended"):
            await left[0]
        return "ok"

    async def does() -> None:
        left.append(asyncio.create_task(late(go)))

    go = asyncio.Event()
    assert (await finished(here, does, job))["credits_used"] == 0


# --- what is refused ------------------------------------------------------------------------------
JOB_CALLS: dict[str, Callable[[Job], object]] = {
    "step": lambda job: job.step(step, "inner"),
    "write": lambda job: job.write("a.txt", "text"),
    "files": lambda job: job.files(),
    "inbox": lambda job: job.inbox(),
    "ask": lambda job: job.ask("why?"),
}
TURN_CALLS: dict[str, Callable[[Turn], object]] = {
    "step": lambda turn: turn.step(step, "inner"),
    "write": lambda turn: turn.write("a.txt", "text"),
    "start": lambda turn: turn.start(one_step, "Inner"),
    "join": lambda turn: turn.join("exe_1"),
    "stop": lambda turn: turn.stop("exe_1"),
    "ask": lambda turn: turn.ask("why?"),
    "reply": lambda turn: turn.reply("text"),
}


def refusals(calls: Mapping[str, Callable[[Any], object]], of: Job | Turn) -> str:
    """A line for each call that begins with its name."""
    lines = []
    for call in calls.values():
        with pytest.raises(NotAllowedInStep) as refused:
            call(of)
        lines.append(str(refused.value))
    return "\n".join(lines)


def are_refused(lines: str, calls: Mapping[str, object]) -> None:
    for name, line in zip(calls, lines.splitlines(), strict=True):
        assert line.startswith(f"{name} cannot be called inside a step")


async def test_other_calls_of_a_job_are_refused_with_a_sentence(here: Running) -> None:
    async def does() -> object:
        return refusals(JOB_CALLS, Inner.job)

    done = await finished(here, does)
    assert (done["status"], done["question"]) == ("completed", None)
    are_refused(str(here.row("SELECT result FROM jobs")[0]), JOB_CALLS)
    assert here.row(JOB)[1] == 3


async def test_calls_of_a_turn_are_refused_with_a_sentence(here: Running) -> None:
    async def does() -> object:
        return refusals(TURN_CALLS, Inner.turn)

    async def turn(turn: Turn) -> None:
        Inner.turn = turn
        turn.reply(await turn.step(body))

    Inner.does, Script.turn = does, turn
    done = await here.final(await here.send())
    are_refused(done["reply"], TURN_CALLS)
    assert (done["question"], done["jobs"], done["files"]) == (None, [], [])


async def test_a_refused_call_is_the_step_s_error_and_is_not_tried_again(here: Running) -> None:
    async def does() -> None:
        await Inner.job.step(step, "inner")

    async def job(job: Job) -> str:
        Inner.job = job
        with pytest.raises(NotAllowedInStep):
            await job.step(body, retries=5)
        return "ok"

    assert (await finished(here, does, job))["status"] == "completed"
    assert (Inner.runs, Script.seen) == (1, [])
