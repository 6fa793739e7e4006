"""Jobs that change hands: claims, fencing and poison (design: 2, ownership and fencing)."""

from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from agentpost.domain.errors import Fenced
from agentpost.domain.job import POISON_FAILURE
from agentpost.services import jobs, nodes, upkeep
from agentpost.services.jobs import Owned
from tests.services.house import NODE, Desk


async def test_a_job_taken_over_is_fenced(desk: Desk) -> None:
    """design: 2, ownership and fencing."""
    message_id, [old] = await desk.working()
    ticket = await jobs.claim(desk.ctx, old.job_id, NODE)
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
            await write(desk.ctx, old)
    assert (desk.shown(message_id), desk.log(message_id)) == (before, log)
    assert desk.all("SELECT * FROM calls WHERE owner = ?", old.job_id) == []
    await jobs.finish(desk.ctx, new, "Done.", None, "{}")
    assert desk.shown(message_id)["status"] == "completed"


async def test_only_one_node_takes_a_job_over(desk: Desk) -> None:
    """design: 2: a claim names the owner it takes from."""
    _, [job] = await desk.working()
    assert await jobs.claim(desk.ctx, job.job_id, "node_other") is None
    assert await jobs.claim(desk.ctx, job.job_id, None) is None
    assert await jobs.claim(desk.ctx, job.job_id, NODE) is not None


async def taken_from_the_dead(desk: Desk, job: Owned) -> bool:
    """Whether a node that has just come takes the job from the one that had it."""
    gone = desk.ctx.node
    desk.ctx.node = f"{gone}+"
    return await jobs.claim(desk.ctx, job.job_id, gone) is not None


async def test_a_job_that_gets_nowhere_fails(desk: Desk) -> None:
    """design: 2, poison: 5 recoveries without a newly recorded call."""
    message_id, [job] = await desk.working()
    for _ in range(5):
        assert await taken_from_the_dead(desk, job)
    await jobs.record_call(desk.ctx, desk.owned(job.job_id), desk.call(job.job_id))
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
    """design: 2, poison: a fault of ours says nothing of the job."""
    message_id, [job] = await desk.working()
    for _ in range(4):
        assert await taken_from_the_dead(desk, job)
    for _ in range(7):
        assert await jobs.claim(desk.ctx, job.job_id, desk.ctx.node) is not None
    assert await taken_from_the_dead(desk, job)
    assert await jobs.claim(desk.ctx, job.job_id, desk.ctx.node) is not None
    assert desk.job(message_id)["status"] == "running"
    assert not await taken_from_the_dead(desk, job), "what the dead left counts as before"


async def restarted(desk: Desk, job: Owned) -> bool:
    """Whether the next node takes a job that the one before gave back when it left."""
    await nodes.leave(desk.ctx)
    desk.ctx.node = f"{desk.ctx.node}+"
    assert (await upkeep.left_behind(desk.ctx, set())).jobs == [(job.job_id, None)]
    return await jobs.claim(desk.ctx, job.job_id, None) is not None


async def test_a_job_whose_nodes_leave_in_order_is_not_counted_against_it(desk: Desk) -> None:
    """design: 2, poison: a deploy says nothing of the job."""
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
    here, desk.ctx.node = desk.ctx.node, "node_other"
    await nodes.leave(desk.ctx)
    assert desk.one("SELECT node, epoch FROM jobs WHERE id = ?", job.job_id) == (here, 1)
