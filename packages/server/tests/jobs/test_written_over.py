"""A file that its own job writes again: what it had goes when nobody can name it any more.

A job that is run again answers from its journal, so bytes a recorded call named stay as long as a
job that may have recorded them is open. On both databases (design: Files of a work).
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from agentpost.blobs import actions as blobs, audit
from agentpost.jobs import actions as jobs, works
from agentpost.jobs.actions import JobClaim
from agentpost.messages.rules import TurnFailure
from agentpost.nodes import upkeep
from agentpost.record.tickets import TurnTicket
from agentpost.retention import actions as retention
from agentpost.storage.base import BlobMissing
from agentpost.turns import actions as turns
from tests.harness.context import Harness, file_record, open_harness
from tests.harness.ends import fail, finish

HOUR, DAY = 3_600, 86_400
A = "a.txt"


@pytest.fixture
async def harness(tmp_path: Path, schema_url: str | None) -> AsyncIterator[Harness]:
    """A context on each database, where the bytes stored are still counted right in the end."""
    async with open_harness(tmp_path, postgres_url=schema_url) as made:
        yield made
        assert await audit.audit_sizes(made.ctx, full=True) == []
        assert await audit.audit_sizes(made.ctx, full=False) == []


async def write(harness: Harness, owned: JobClaim, path: str = A) -> str:
    """`job.write`; the blob's key."""
    harness.tick()
    file = await harness.file(owned, path)
    call = harness.call(owned.job_id)
    await jobs.record_call(harness.ctx, owned, call, 0, (), file)
    return file.blob


async def reply(harness: Harness, ticket: TurnTicket) -> str:
    """`turn.write`; the blob's key."""
    blob = f"replies/{harness.tick()}"
    await blobs.store(harness.ctx, blob, b"x")
    file = file_record(blob, account_id=harness.account_id, message_id=ticket.message.id)
    await turns.record_call(harness.ctx, ticket, harness.call(ticket.message.id), file)
    return blob


async def which_remain(harness: Harness, *keys: str, after: float = 0) -> list[bool]:
    """Which of them are there so many seconds later, when what is due has gone."""
    harness.tick(after)
    await blobs.sweep(harness.ctx)
    found = []
    for key in keys:
        try:
            await harness.ctx.storage.size(key)
        except BlobMissing:
            found.append(False)
        else:
            found.append(True)
    return found


def rows(harness: Harness) -> int:
    return int(harness.one("SELECT COUNT(*) FROM files")[0])


def shown_files(harness: Harness, message_id: str) -> list[str]:
    return [file["file_id"] for file in harness.view(message_id)["files"]]


# --- a job writes over ----------------------------------------------------------------------------
async def test_a_file_that_a_job_wrote_over_stays_until_it_has_ended(harness: Harness) -> None:
    message_id, [job] = await harness.working()
    old, older, new = [await write(harness, job) for _ in range(3)]
    assert await which_remain(harness, old, older, new, after=6 * DAY) == [True] * 3
    assert len(shown_files(harness, message_id)) == 1, "the job lists its last"

    await finish(harness.ctx, job, "Done.", None, "{}")
    assert await which_remain(harness, old, older, new, after=HOUR - 1) == [True] * 3, (
        "a step may read it"
    )
    assert await which_remain(harness, old, older, new, after=1) == [False, False, True]
    assert rows(harness) == 1
    assert len(shown_files(harness, message_id)) == 1


async def fails(harness: Harness, job: JobClaim) -> None:
    await fail(harness.ctx, job, "No.")


async def is_stopped(harness: Harness, job: JobClaim) -> None:
    await works.stop(harness.ctx, harness.account_id, work_of(harness, job))


async def loses_its_work(harness: Harness, job: JobClaim) -> None:
    await works.delete(harness.ctx, harness.account_id, work_of(harness, job))
    await retention.deleted_works(harness.ctx)


async def expires_queued(harness: Harness, job: JobClaim) -> None:
    with pytest.raises(jobs.OutOfCredits):
        await jobs.hold(harness.ctx, job, harness.call(job.job_id), 10**12)
    assert all(await which_remain(harness, *blobs_of(harness), after=HOUR)), (
        "it may still be resumed"
    )
    harness.tick(DAY)
    await upkeep.expire_jobs(harness.ctx)


async def ends_late(harness: Harness, job: JobClaim) -> None:
    harness.tick(7 * DAY)
    await upkeep.expire_jobs(harness.ctx)
    assert all(await which_remain(harness, *blobs_of(harness), after=HOUR)), "it goes on"
    await finish(harness.ctx, job, "Done.", None, "{}")


async def is_purged(harness: Harness, job: JobClaim) -> None:
    harness.tick(7 * DAY)
    await upkeep.expire_jobs(harness.ctx)
    harness.tick(14 * DAY)
    await retention.messages(harness.ctx)
    assert harness.all("SELECT id FROM jobs") == []


ENDS = [fails, is_stopped, loses_its_work, expires_queued, ends_late, is_purged]


def work_of(harness: Harness, job: JobClaim) -> str:
    return str(harness.one("SELECT work_id FROM jobs WHERE id = ?", job.job_id)[0])


def blobs_of(harness: Harness) -> list[str]:
    return [row[0] for row in harness.all("SELECT blob FROM files")]


@pytest.mark.parametrize("end", ENDS)
async def test_it_goes_however_the_job_ends(
    harness: Harness, end: Callable[[Harness, JobClaim], Awaitable[None]]
) -> None:
    _, [job] = await harness.working()
    old, new = await write(harness, job), await write(harness, job)
    await end(harness, job)
    assert await which_remain(harness, old, new, after=HOUR) == [False, end is not loses_its_work]
    assert rows(harness) == (0 if end is loses_its_work else 1)
    assert harness.all("SELECT blob FROM pending_deletions") == []


# --- several jobs ---------------------------------------------------------------------------------
async def test_it_stays_for_another_job_of_the_work(harness: Harness) -> None:
    """The other one may have recorded it in its list of the work's files."""
    _, [first] = await harness.working()
    old, new = await write(harness, first), await write(harness, first)
    ticket = await harness.begin_turn("more")
    second = harness.owned((await harness.start(ticket, work_id=work_of(harness, first))).job_id)
    await harness.end(ticket)
    await finish(harness.ctx, first, "Done.", None, "{}")
    assert await which_remain(harness, old, new, after=DAY) == [True, True]
    await finish(harness.ctx, second, "Done.", None, "{}")
    assert await which_remain(harness, old, new, after=HOUR) == [False, True]


async def test_a_job_lists_a_path_once_whoever_wrote_in_between(harness: Harness) -> None:
    message_id, [first] = await harness.working()
    ticket = await harness.begin_turn("more")
    second = harness.owned((await harness.start(ticket, work_id=work_of(harness, first))).job_id)
    await harness.end(ticket)
    written = [await write(harness, job) for job in (first, second, first)]
    assert (
        len(shown_files(harness, message_id)) == len(shown_files(harness, ticket.message.id)) == 1
    )
    for job in (first, second):
        await finish(harness.ctx, job, "Done.", None, "{}")
    assert await which_remain(harness, *written, after=HOUR) == [False, True, True]


async def test_a_version_of_a_purged_message_stays_for_a_job_of_the_work(harness: Harness) -> None:
    _, [first] = await harness.working()
    old = await write(harness, first)
    await finish(harness.ctx, first, "Done.", None, "{}")
    harness.tick(20 * DAY)
    ticket = await harness.begin_turn("more")
    second = harness.owned((await harness.start(ticket, work_id=work_of(harness, first))).job_id)
    await harness.end(ticket)
    new = await write(harness, second)
    harness.tick(2 * DAY)
    await retention.messages(harness.ctx)
    assert harness.all("SELECT id FROM jobs") == [(second.job_id,)], "the first message is gone"
    assert await which_remain(harness, old, new, after=DAY) == [True, True]
    await finish(harness.ctx, second, "Done.", None, "{}")
    assert await which_remain(harness, old, new, after=HOUR) == [False, True]


# --- replies --------------------------------------------------------------------------------------
async def test_a_reply_written_over_goes_after_its_turn(harness: Harness) -> None:
    ticket = await harness.begin_turn()
    old, new = await reply(harness, ticket), await reply(harness, ticket)
    assert await which_remain(harness, old, new, after=2 * HOUR) == [True, True]
    assert len(shown_files(harness, ticket.message.id)) == 1
    await turns.end(harness.ctx, ticket, TurnFailure.ERROR)
    assert await which_remain(harness, old, new, after=HOUR) == [False, True]
    assert rows(harness) == 1


async def test_a_reply_written_over_stays_for_the_jobs_of_its_turn(harness: Harness) -> None:
    """They may have been started with it."""
    ticket = await harness.begin_turn()
    old = await reply(harness, ticket)
    job = harness.owned((await harness.start(ticket)).job_id)
    new = await reply(harness, ticket)
    await harness.end(ticket)
    assert await which_remain(harness, old, new, after=DAY) == [True, True]
    await finish(harness.ctx, job, "Done.", None, "{}")
    assert await which_remain(harness, old, new, after=HOUR) == [False, True]
