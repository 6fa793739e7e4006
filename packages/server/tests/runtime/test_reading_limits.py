"""Reading a file takes a share of its account, ends in time, and never ends the turn."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from agentpost.agents import File, Unreadable
from agentpost.agents.deaths import NoWorker
from agentpost.processes.pool import WorkerPool
from agentpost.runtime import steps as runtime_steps
from agentpost.runtime.steps import Steps
from agentpost.storage.base import Storage
from tests.processes.watching import pid_in
from tests.waiting import PATIENCE

READERS = """
import ctypes, os, time

def text_of(file):
    what = file.local.read_text()
    if what == "hang":
        note = str(file.local) + ".pid"
        with open(note + ".new", "w") as out:
            out.write(str(os.getpid()))
        os.rename(note + ".new", note)
        time.sleep(600)
    if what == "spin":
        sum(range(10**15))
    if what == "hoard":
        bytearray(2 * 1024**3)
    if what == "crash":
        ctypes.string_at(0)
    return what
"""


class Folder:
    """A storage whose blobs are files named by their contents."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def local(self, blob: str) -> Path:
        path = self._folder / blob
        path.write_text(blob.split("-", maxsplit=1)[0])
        return path


@pytest.fixture
async def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[WorkerPool]:
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "odd_readers.py").write_text(READERS)
    monkeypatch.syspath_prepend(tmp_path / "user")
    monkeypatch.setattr(runtime_steps, "TEXT_OF", "odd_readers:text_of")
    made = WorkerPool(
        2,
        scratch=tmp_path / "scratch",
        seconds=60,
        cpu_seconds=60,
        memory_bytes=512 * 1024**2,
    )
    yield made
    await made.aclose()


def steps_of(pool: WorkerPool, folder: Path, account: str, seconds: float = PATIENCE) -> Steps:
    storage = cast("Storage", Folder(folder))
    return Steps(pool, storage, account, read_seconds=seconds)


def file(what: str) -> File:
    return File("file_1", "data.txt", "text/plain", "data", 4, '"r"', "work_1", blob=what)


async def test_reading_takes_the_share_of_its_account(pool: WorkerPool, tmp_path: Path) -> None:
    greedy, other = (steps_of(pool, tmp_path, account) for account in ("a", "b"))
    held = [asyncio.create_task(greedy.text(file(f"hang-{n}"))) for n in range(3)]
    await pid_in(tmp_path / "hang-0.pid")
    async with asyncio.timeout(PATIENCE):
        assert await other.text(file("hello")) == "hello"
    assert not (tmp_path / "hang-1.pid").exists()
    assert not any(task.done() for task in held)
    for task in held:
        task.cancel()
    await asyncio.gather(*held, return_exceptions=True)


@pytest.mark.parametrize(
    ("what", "seconds", "reported"),
    [
        ("hang", 0.3, "reading it takes longer than 0.3 seconds"),
        ("spin", 1, "takes "),  # by the clock or by CPU time, whichever comes first
        ("hoard", PATIENCE, "it takes too much memory or time, or is damaged"),
        ("crash", PATIENCE, "it takes too much memory or time, or is damaged"),
    ],
)
async def test_a_file_that_cannot_be_read_within_limits_is_unreadable(
    pool: WorkerPool, tmp_path: Path, what: str, seconds: float, reported: str
) -> None:
    steps = steps_of(pool, tmp_path, "a", seconds)
    with pytest.raises(Unreadable, match=f"data.txt could not be read: .*{reported}"):
        await steps.text(file(what))
    assert await steps_of(pool, tmp_path, "a").text(file("hello")) == "hello"


async def test_a_pool_that_cannot_start_a_worker_is_no_fault_of_the_file(
    pool: WorkerPool, tmp_path: Path
) -> None:
    (tmp_path / "scratch").write_text("in the way")
    with pytest.raises(NoWorker):
        await steps_of(pool, tmp_path, "a").text(file("hello"))
    (tmp_path / "scratch").unlink()
