"""Jobs that change hands: claims, fencing and poison (design: Ownership)."""

from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from agentpost.domain.errors import Fenced
from agentpost.domain.job import POISON_FAILURE
from agentpost.services import jobs, nodes, upkeep
from agentpost.services.jobs import Owned
from tests.services.house import NODE, Desk


async def test_a_job_taken_over_is_fenced(desk: Desk) -> None:
    """design: Ownership."""
    message_id, [old] = await desk.working()
    ticket = await jobs.take(desk.house, old.job_id, NODE)
    assert ticket is not None
    new = Owned(old.job_id, old.account_id, ticket.epoch)
    writes: list[Callable[..., Awaitable[object]]] = [
        partial(jobs.record_call, call=desk.call(old.job_id)),
        partial(jobs.hold, call=desk.call(old.job_id), cost=1),
        partial(jobs.charge, call=desk.call(old.job_id), amount=1, note=""),
        partial(jobs.progress, call=desk.call(old.job_id), step="x"),
        partial(
            jobs.write_file, call=desk.call(old.job_id), file=await desk.file(old, "x"), cost=0
        ),
        partial(jobs.read_inbox, call=desk.call(old.job_id), after=0, keep_empty=True),
        partial(jobs.finish, text="", question=None, state_json="{}"),
        partial(jobs.fail, text=""),
    ]
    before, log = desk.shown(message_id), desk.log(message_id)
    for write in writes:
        with pytest.raises(Fenced):
            await write(desk.house, old)
    assert (desk.shown(message_id), desk.log(message_id)) == (before, log)
    assert desk.all("SELECT * FROM calls WHERE owner = ?", old.job_id) == []
    await jobs.finish(desk.house, new, "Done.", None, "{}")
    assert desk.shown(message_id)["status"] == "completed"


async def test_only_one_node_takes_a_job_over(desk: Desk) -> None:
    """A claim names the owner it takes from (design: Ownership)."""
    _, [job] = await desk.working()
    assert await jobs.take(desk.house, job.job_id, "node_other") is None
    assert await jobs.take(desk.house, job.job_id, None) is None
    assert await jobs.take(desk.house, job.job_id, NODE) is not None


async def taken_from_the_dead(desk: Desk, job: Owned) -> bool:
    """Whether a node that has just come takes the job from the one that had it."""
    gone = desk.house.node
    desk.house.node = f"{gone}+"
    return await jobs.take(desk.house, job.job_id, gone) is not None


async def test_a_job_that_gets_nowhere_fails(desk: Desk) -> None:
    """5 recoveries without a newly recorded call (design: Ownership)."""
    message_id, [job] = await desk.working()
    for _ in range(5):
        assert await taken_from_the_dead(desk, job)
    await jobs.record_call(desk.house, desk.owned(job.job_id), desk.call(job.job_id))
    for _ in range(5):
        assert await taken_from_the_dead(desk, job)
    assert desk.job(message_id)["status"] == "running"
    assert not await taken_from_the_dead(desk, job)
    shown = desk.shown(message_id)
    assert (shown["status"], shown["reason"], shown["final"]) == (
        "failed",
        "execution_failed",
        True,
    )
    assert desk.log(message_id)[-1]["text"] == POISON_FAILURE


async def test_a_job_that_its_own_node_lost_is_not_counted_against_it(desk: Desk) -> None:
    """A fault of ours says nothing of the job (design: Ownership)."""
    message_id, [job] = await desk.working()
    for _ in range(4):
        assert await taken_from_the_dead(desk, job)
    for _ in range(7):
        assert await jobs.take(desk.house, job.job_id, desk.house.node) is not None
    assert await taken_from_the_dead(desk, job)
    assert await jobs.take(desk.house, job.job_id, desk.house.node) is not None
    assert desk.job(message_id)["status"] == "running"
    assert not await taken_from_the_dead(desk, job), "what the dead left counts as before"


async def restarted(desk: Desk, job: Owned) -> bool:
    """Whether the next node takes a job that the one before gave back when it left."""
    await nodes.leave(desk.house)
    desk.house.node = f"{desk.house.node}+"
    assert (await upkeep.left_behind(desk.house, set())).jobs == [(job.job_id, None)]
    return await jobs.take(desk.house, job.job_id, None) is not None


async def test_a_job_whose_nodes_leave_in_order_is_not_counted_against_it(desk: Desk) -> None:
    """A deploy says nothing of the job (design: Ownership)."""
    message_id, [job] = await desk.working()
    for _ in range(7):
        assert await restarted(desk, job)
    assert desk.one("SELECT recoveries, calls FROM jobs") == (0, 0)
    for _ in range(5):
        assert await taken_from_the_dead(desk, job)
    assert await restarted(desk, job)
    assert desk.job(message_id)["status"] == "running"
    assert not await taken_from_the_dead(desk, job), "what the dead left counts as before"


async def test_a_node_that_leaves_gives_back_only_its_own(desk: Desk) -> None:
    _, [job] = await desk.working()
    here, desk.house.node = desk.house.node, "node_other"
    await nodes.leave(desk.house)
    assert desk.one("SELECT node, epoch FROM jobs WHERE id = ?", job.job_id) == (here, 1)
