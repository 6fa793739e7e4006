"""What the storage or the worker pool fail to do is our fault, what an author gives is his own."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agentpost.agents import Job, Turn
from tests.harness.databases import ON_SQLITE
from tests.runtime.running import Running, Script, start_work
from tests.waiting import eventually_async

pytestmark = ON_SQLITE


async def attempt(call: Awaitable[object]) -> None:
    """What an author's own handler would see."""
    try:
        await call
    except Exception as error:
        Script.seen.append(type(error).__name__)


def plain() -> str:
    """A step for a worker process."""
    return "made"


async def write_and_read(job: Job) -> str:
    file = await job.write("a.txt", "text")
    Script.seen.append("written")
    while not Script.gate.is_set():  # noqa: ASYNC110 - the test opens it on another thread
        await asyncio.sleep(0.005)
    await attempt(file.path())
    return "ok"


async def plain_step(job: Job) -> str:
    await attempt(job.step(plain))
    return "ok"


async def goes_on_later(here: Running, message_id: str, mend: Callable[[], None]) -> None:
    """Nothing is written as an end, the author sees nothing, and it goes on once all is well."""
    await eventually_async(lambda: here.row("SELECT COUNT(*) FROM jobs") == (1,))
    await here.idle()
    assert here.view(message_id)["status"] == "processing"
    mend()
    for _ in range(2):
        await here.reconciler.reconcile()
    assert (await here.final(message_id))["status"] == "completed"
    assert [name for name in Script.seen if name != "written"] == []


async def test_a_storage_that_gives_nothing(here: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> object:
        raise TimeoutError("the bucket does not answer")

    Script.job = write_and_read
    message_id = await here.send()
    await eventually_async(lambda: Script.seen)
    monkeypatch.setattr(here.ctx.storage, "local", refuse)
    Script.gate.set()
    await goes_on_later(here, message_id, monkeypatch.undo)


async def test_a_pool_that_can_start_nobody(here: Running, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.write_text("in the way")
    Script.job = plain_step
    message_id = await here.send()
    await goes_on_later(here, message_id, scratch.unlink)


async def test_a_mistake_in_what_an_author_gives_is_his_own(here: Running, tmp_path: Path) -> None:
    async def given(job: Job) -> str:
        await attempt(job.write("a.txt", tmp_path / "missing"))
        await attempt(job.write("b.txt", tmp_path))
        await attempt(job.write("c.txt", builds_a_number))  # type: ignore[arg-type]
        await job.write("d.txt", "text", label="odd \ud800\0 label")
        return "ok"

    async def turn(turn: Turn) -> None:
        await attempt(turn.start(_never, title="x", work="no work \ud800\0 of ours"))
        await attempt(turn.write("a.txt", tmp_path / "missing"))
        assert not await turn.stop("no job \ud800\0 of ours")
        assert not await turn.join("no job \ud800\0 of ours")
        await start_work(turn)

    Script.turn, Script.job = turn, given
    done = await here.final(await here.send())
    assert done["status"] == "completed"
    assert [file["label"] for file in done["files"]] == ["odd ? label"]
    assert Script.seen == [
        "LookupError",
        "FileNotFoundError",
        "FileNotFoundError",
        "IsADirectoryError",
        "TypeError",
    ]


async def builds_a_number() -> bytes:
    return 5  # type: ignore[return-value]


async def _never(_: Job) -> str:
    return "never run"
