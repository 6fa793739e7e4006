"""A file that its own job writes again: what it had goes when nobody can name it any more.

A job that is run again answers from its journal, so bytes a recorded call named stay as long as a
job that may have recorded them is open. On both databases (design: Files of a work).
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from agentpost.domain.message import TurnFailure
from agentpost.domain.record import FileRecord
from agentpost.services import blobs, jobs, retention, turns, upkeep, works
from agentpost.services.jobs import Owned
from agentpost.services.tickets import TurnTicket
from agentpost.storage.base import BlobMissing
from tests.services.both import schema_url
from tests.services.house import Desk, opened

__all__ = ["schema_url"]

HOUR, DAY = 3_600, 86_400
A = "a.txt"


@pytest.fixture
async def desk(tmp_path: Path, schema_url: str | None) -> AsyncIterator[Desk]:
    """A house on each database."""
    async with opened(tmp_path, postgres_url=schema_url) as made:
        yield made


async def write(desk: Desk, owned: Owned, path: str = A) -> str:
    """`job.write`; the blob's key."""
    desk.tick()
    file = await desk.file(owned, path)
    call = desk.call(owned.job_id)
    return (await jobs.write_file(desk.house, owned, call, file, 0)).blob


async def reply(desk: Desk, ticket: TurnTicket) -> str:
    """`turn.write`; the blob's key."""
    blob = f"replies/{desk.tick()}"
    await blobs.store(desk.house, blob, b"x")
    file = FileRecord(
        work_id="",
        path=A,
        account_id=desk.account_id,
        message_id=ticket.message.id,
        job_id=None,
        name=A,
        content_type="text/plain",
        kind="text",
        size=1,
        revision='"r1"',
        blob=blob,
        label=None,
        created_at=0,
    )
    await turns.write_file(desk.house, ticket, desk.call(ticket.message.id), file)
    return blob


async def kept(desk: Desk, *keys: str, after: float = 0) -> list[bool]:
    """Which of them are there so many seconds later, when what is due has gone."""
    desk.tick(after)
    await blobs.sweep(desk.house)
    found = []
    for key in keys:
        try:
            await desk.house.storage.size(key)
        except BlobMissing:
            found.append(False)
        else:
            found.append(True)
    return found


def rows(desk: Desk) -> int:
    return int(desk.one("SELECT COUNT(*) FROM files")[0])


def shown_files(desk: Desk, message_id: str) -> list[str]:
    return [file["file_id"] for file in desk.shown(message_id)["files"]]


# --- a job writes over ----------------------------------------------------------------------------
async def test_what_a_job_wrote_over_stays_until_it_has_ended(desk: Desk) -> None:
    message_id, [job] = await desk.working()
    old, older, new = [await write(desk, job) for _ in range(3)]
    assert await kept(desk, old, older, new, after=6 * DAY) == [True] * 3
    assert len(shown_files(desk, message_id)) == 1, "the job lists its last"

    await jobs.finish(desk.house, job, "Done.", None, "{}")
    assert await kept(desk, old, older, new, after=HOUR - 1) == [True] * 3, "a step may read it"
    assert await kept(desk, old, older, new, after=1) == [False, False, True]
    assert rows(desk) == 1
    assert len(shown_files(desk, message_id)) == 1


async def fails(desk: Desk, job: Owned) -> None:
    await jobs.fail(desk.house, job, "No.")


async def is_stopped(desk: Desk, job: Owned) -> None:
    await works.stop(desk.house, desk.account_id, work_of(desk, job))


async def loses_its_work(desk: Desk, job: Owned) -> None:
    await works.delete(desk.house, desk.account_id, work_of(desk, job))
    await retention.deleted_works(desk.house)


async def expires_queued(desk: Desk, job: Owned) -> None:
    with pytest.raises(jobs.OutOfCredits):
        await jobs.hold(desk.house, job, desk.call(job.job_id), 10**12)
    assert all(await kept(desk, *blobs_of(desk), after=HOUR)), "it may still be resumed"
    desk.tick(DAY)
    await upkeep.expire_jobs(desk.house)


async def ends_late(desk: Desk, job: Owned) -> None:
    desk.tick(7 * DAY)
    await upkeep.expire_jobs(desk.house)
    assert all(await kept(desk, *blobs_of(desk), after=HOUR)), "it goes on"
    await jobs.finish(desk.house, job, "Done.", None, "{}")


async def is_purged(desk: Desk, job: Owned) -> None:
    desk.tick(7 * DAY)
    await upkeep.expire_jobs(desk.house)
    desk.tick(14 * DAY)
    await retention.messages(desk.house)
    assert desk.all("SELECT id FROM jobs") == []


ENDS = [fails, is_stopped, loses_its_work, expires_queued, ends_late, is_purged]


def work_of(desk: Desk, job: Owned) -> str:
    return str(desk.one("SELECT work_id FROM jobs WHERE id = ?", job.job_id)[0])


def blobs_of(desk: Desk) -> list[str]:
    return [row[0] for row in desk.all("SELECT blob FROM files")]


@pytest.mark.parametrize("end", ENDS)
async def test_it_goes_however_the_job_ends(
    desk: Desk, end: Callable[[Desk, Owned], Awaitable[None]]
) -> None:
    _, [job] = await desk.working()
    old, new = await write(desk, job), await write(desk, job)
    await end(desk, job)
    assert await kept(desk, old, new, after=HOUR) == [False, end is not loses_its_work]
    assert rows(desk) == (0 if end is loses_its_work else 1)
    assert desk.all("SELECT blob FROM doomed_blobs") == []


# --- several jobs ---------------------------------------------------------------------------------
async def test_it_stays_for_another_job_of_the_work(desk: Desk) -> None:
    """The other one may have recorded it in its list of the work's files."""
    _, [first] = await desk.working()
    old, new = await write(desk, first), await write(desk, first)
    ticket = await desk.begun("more")
    second = desk.owned((await desk.start(ticket, work_id=work_of(desk, first))).job_id)
    await desk.end(ticket)
    await jobs.finish(desk.house, first, "Done.", None, "{}")
    assert await kept(desk, old, new, after=DAY) == [True, True]
    await jobs.finish(desk.house, second, "Done.", None, "{}")
    assert await kept(desk, old, new, after=HOUR) == [False, True]


async def test_a_job_lists_a_path_once_whoever_wrote_in_between(desk: Desk) -> None:
    message_id, [first] = await desk.working()
    ticket = await desk.begun("more")
    second = desk.owned((await desk.start(ticket, work_id=work_of(desk, first))).job_id)
    await desk.end(ticket)
    written = [await write(desk, job) for job in (first, second, first)]
    assert len(shown_files(desk, message_id)) == len(shown_files(desk, ticket.message.id)) == 1
    for job in (first, second):
        await jobs.finish(desk.house, job, "Done.", None, "{}")
    assert await kept(desk, *written, after=HOUR) == [False, True, True]


async def test_a_version_of_a_purged_message_stays_for_a_job_of_the_work(desk: Desk) -> None:
    _, [first] = await desk.working()
    old = await write(desk, first)
    await jobs.finish(desk.house, first, "Done.", None, "{}")
    desk.tick(20 * DAY)
    ticket = await desk.begun("more")
    second = desk.owned((await desk.start(ticket, work_id=work_of(desk, first))).job_id)
    await desk.end(ticket)
    new = await write(desk, second)
    desk.tick(2 * DAY)
    await retention.messages(desk.house)
    assert desk.all("SELECT id FROM jobs") == [(second.job_id,)], "the first message is gone"
    assert await kept(desk, old, new, after=DAY) == [True, True]
    await jobs.finish(desk.house, second, "Done.", None, "{}")
    assert await kept(desk, old, new, after=HOUR) == [False, True]


# --- replies --------------------------------------------------------------------------------------
async def test_a_reply_written_over_goes_after_its_turn(desk: Desk) -> None:
    ticket = await desk.begun()
    old, new = await reply(desk, ticket), await reply(desk, ticket)
    assert await kept(desk, old, new, after=2 * HOUR) == [True, True]
    assert len(shown_files(desk, ticket.message.id)) == 1
    await turns.fail(desk.house, ticket, TurnFailure.ERROR)
    assert await kept(desk, old, new, after=HOUR) == [False, True]
    assert rows(desk) == 1


async def test_a_reply_written_over_stays_for_the_jobs_of_its_turn(desk: Desk) -> None:
    """They may have been started with it."""
    ticket = await desk.begun()
    old = await reply(desk, ticket)
    job = desk.owned((await desk.start(ticket)).job_id)
    new = await reply(desk, ticket)
    await desk.end(ticket)
    assert await kept(desk, old, new, after=DAY) == [True, True]
    await jobs.finish(desk.house, job, "Done.", None, "{}")
    assert await kept(desk, old, new, after=HOUR) == [False, True]
