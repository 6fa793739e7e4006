"""A worker process killed from outside is an interruption, what a function does to its own process
is that function's failure (design: Ownership)."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agentpost.agents import Job, Turn
from agentpost.jobs.rules import WORKER_KILLED_FAILURE
from agentpost.runtime import journal
from tests.harness.databases import ON_SQLITE
from tests.runtime.killed import built, closes, exits, killed_always, killed_until
from tests.runtime.running import Running, Script

JOB = "SELECT state, epoch, takeovers FROM jobs"


@pytest.fixture(autouse=True)
def no_long_wait_after_a_kill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "AGAIN_SECONDS_FIRST", 0.001)
    monkeypatch.setattr(journal, "AGAIN_SECONDS_MAX", 0.001)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Where a step leaves a file each time it runs."""
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


async def done(here: Running, job: Callable[[Job], Awaitable[str]]) -> dict[str, object]:
    Script.job = job
    return await here.final(await here.send())


async def test_a_step_whose_worker_was_killed_runs_again(here: Running, notes: Path) -> None:
    async def job(job: Job) -> str:
        Script.seen.append(await job.step(killed_until, str(notes), 2, cost=1, timeout=60))
        return "ok"

    shown = await done(here, job)
    assert (shown["status"], shown["credits_used"]) == ("completed", 1)
    assert Script.seen == ["run 2"]
    assert here.row(JOB) == ("completed", 1, 2), "each time is counted"
    assert here.row("SELECT COUNT(*) FROM signals WHERE name = 'StepInterrupted'") == (2,)


@ON_SQLITE
async def test_a_file_whose_builder_was_killed_is_written(here: Running, notes: Path) -> None:
    async def job(job: Job) -> str:
        await job.write("a.txt", built, str(notes), 2, cost=1)
        return "ok"

    shown = await done(here, job)
    assert (shown["status"], shown["credits_used"]) == ("completed", 1)
    assert len(list(notes.iterdir())) == 3


@ON_SQLITE
async def test_a_file_whose_reader_was_killed_is_read(
    here: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = here.pool.call

    async def call(fn_ref: str, *args: object, **options: object) -> object:
        assert fn_ref == "agentpost.extraction.reading:text_of"
        ref = "tests.runtime.killed:read_killed"
        return await real(ref, *args, **options)  # type: ignore[arg-type]

    async def job(job: Job) -> str:
        file = await job.write("a.txt", "text")
        return await file.text()

    monkeypatch.setattr(here.pool, "call", call)
    shown = await done(here, job)
    assert shown["status"] == "completed"
    assert here.row("SELECT result FROM jobs") == ("run 2",)


@ON_SQLITE
async def test_a_step_that_always_gets_its_worker_killed_fails_its_job(
    here: Running, notes: Path
) -> None:
    async def job(job: Job) -> str:
        await job.step(killed_until, str(notes), 0)
        try:
            await job.step(killed_always, str(notes), cost=1, retries=9)
        except Exception as error:
            Script.seen.append(repr(error))
        return "ok"

    shown = await done(here, job)
    assert (shown["status"], shown["reason"]) == ("failed", "execution_failed")
    assert here.row("SELECT result FROM jobs") == (WORKER_KILLED_FAILURE,)
    assert here.row("SELECT balance, held FROM accounts") == (100_000_000, 0)
    assert Script.seen == [], "the author's handler has no say in it"
    assert len(list(notes.iterdir())) == 1 + 1 + 5, "once, and once for each recovery"


@ON_SQLITE
async def test_steps_killed_together_count_once(here: Running, notes: Path) -> None:
    """As when the whole group of workers is killed: that says nothing of any of them."""

    async def job(job: Job) -> str:
        for n in range(3):
            (notes / str(n)).mkdir()
        steps = [job.step(killed_until, str(notes / str(n)), 1) for n in range(3)]
        await asyncio.gather(*steps)
        return "ok"

    shown = await done(here, job)
    assert shown["status"] == "completed"
    assert here.row(JOB) == ("completed", 1, 1)


@ON_SQLITE
@pytest.mark.parametrize("fn", [exits, closes])
async def test_a_function_that_ends_its_own_process_fails(
    here: Running, fn: Callable[[str], None]
) -> None:
    async def job(job: Job) -> str:
        try:
            await job.step(fn, "x")
        except Exception as error:
            Script.seen.append(type(error).__name__)
        return "ok"

    shown = await done(here, job)
    assert shown["status"] == "completed"
    assert Script.seen == ["WorkerDied"]
    assert here.row(JOB) == ("completed", 1, 0)


@ON_SQLITE
async def test_a_turn_s_step_runs_again(here: Running, notes: Path) -> None:
    async def turn(turn: Turn) -> None:
        turn.reply(await turn.step(killed_until, str(notes), 2))

    Script.turn = turn
    assert (await here.final(await here.send()))["reply"] == "run 2"


@ON_SQLITE
async def test_a_turn_whose_step_is_always_killed_fails(here: Running, notes: Path) -> None:
    async def turn(turn: Turn) -> None:
        turn.reply(await turn.step(killed_always, str(notes)))

    Script.turn = turn
    shown = await here.final(await here.send())
    assert (shown["status"], shown["reason"]) == ("failed", "turn_failed")
    (body,) = here.row("SELECT body_json FROM signals WHERE name = 'TurnBroken'")
    assert '"poisoned"' in body
    assert "SIGKILL" in body, "the operator is told why"
