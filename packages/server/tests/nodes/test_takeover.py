"""Jobs that change hands: claims, fencing and poison (design: Ownership)."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from agentpost.domain.errors import Fenced
from agentpost.jobs import actions as jobs
from agentpost.jobs.actions import JobClaim
from agentpost.jobs.rules import POISON_FAILURE
from agentpost.messages.rules import WhenBusy
from agentpost.nodes import actions as nodes, upkeep
from agentpost.nodes.membership import Nodes
from agentpost.nodes.quarantine import Quarantine
from agentpost.runtime.run_job import JobRunner
from agentpost.turns import actions as turns
from tests.harness.context import NODE, Harness, open_harness
from tests.harness.ends import fail, finish


async def test_a_job_taken_over_is_fenced(harness: Harness) -> None:
    message_id, [old] = await harness.working()
    ticket = await jobs.claim(harness.ctx, old.job_id, NODE)
    assert ticket is not None
    new = JobClaim(old.job_id, old.account_id, ticket.epoch)
    writes: list[Callable[..., Awaitable[object]]] = [
        partial(jobs.record_call, call=harness.call(old.job_id)),
        partial(jobs.hold, call=harness.call(old.job_id), cost=1),
        partial(jobs.charge, call=harness.call(old.job_id), amount=1, note=""),
        partial(jobs.progress, call=harness.call(old.job_id), step="x"),
        partial(
            jobs.record_call,
            call=harness.call(old.job_id),
            file=await harness.file(old, "x"),
            cost=0,
        ),
        partial(jobs.read_inbox, call=harness.call(old.job_id), after=0, keep_empty=True),
        partial(finish, text="", question=None, state_json="{}"),
        partial(fail, text=""),
    ]
    before, log = harness.view(message_id), harness.log(message_id)
    for write in writes:
        with pytest.raises(Fenced):
            await write(harness.ctx, old)
    assert (harness.view(message_id), harness.log(message_id)) == (before, log)
    assert harness.all("SELECT * FROM calls WHERE owner = ?", old.job_id) == []
    await finish(harness.ctx, new, "Done.", None, "{}")
    assert harness.view(message_id)["status"] == "completed"


async def test_only_one_node_takes_a_job_over(harness: Harness) -> None:
    """A claim names the owner it takes from (design: Ownership)."""
    _, [job] = await harness.working()
    assert await jobs.claim(harness.ctx, job.job_id, "node_other") is None
    assert await jobs.claim(harness.ctx, job.job_id, None) is None
    assert await jobs.claim(harness.ctx, job.job_id, NODE) is not None


async def taken_over_from_dead_node(harness: Harness, job: JobClaim) -> bool:
    """Whether a node that has just come takes the job from the one that had it."""
    gone = harness.ctx.node
    harness.ctx.node = f"{gone}+"
    return await jobs.claim(harness.ctx, job.job_id, gone) is not None


async def restarted(harness: Harness, job: JobClaim) -> bool:
    """Whether the next node takes a job that the one before gave back when it left."""
    await nodes.leave(harness.ctx)
    harness.ctx.node = f"{harness.ctx.node}+"
    _, [left] = await upkeep.left_behind(harness.ctx, set())
    assert (left.id, left.node) == (job.job_id, None)
    return await jobs.claim(harness.ctx, job.job_id, None) is not None


async def lost(harness: Harness, job: JobClaim) -> bool:
    """Whether the node that had the job, and does not run it, takes it once more."""
    return await jobs.claim(harness.ctx, job.job_id, harness.ctx.node) is not None


async def records(harness: Harness, job: JobClaim) -> bool:
    owned, call = harness.owned(job.job_id), harness.call(job.job_id)
    await jobs.record_call(harness.ctx, owned, call)
    return True


@pytest.mark.parametrize(
    "history",
    [
        [(taken_over_from_dead_node, 5)],
        [(taken_over_from_dead_node, 5), (records, 1), (taken_over_from_dead_node, 5)],
        [(taken_over_from_dead_node, 4), (lost, 7), (taken_over_from_dead_node, 1), (lost, 1)],
        [(restarted, 7), (taken_over_from_dead_node, 5), (restarted, 1)],
        [
            *[(taken_over_from_dead_node, 5), (records, 1), (restarted, 1)],
            (taken_over_from_dead_node, 5),
        ],
    ],
    ids=["gets nowhere", "records a call", "is lost", "is given back", "records before a stop"],
)
async def test_a_job_fails_with_the_sixth_node_that_dies_in_a_row(
    harness: Harness, history: list[tuple[Callable[..., Awaitable[bool]], int]]
) -> None:
    """A recorded call begins the count again. A fault of ours and a deploy say nothing of the job:
    what the dead left counts as before (design: Ownership; Work that ends its process)."""
    message_id, [job] = await harness.working()
    for happens, times in history:
        for _ in range(times):
            assert await happens(harness, job)
    assert harness.job(message_id)["status"] == "running"
    assert not await taken_over_from_dead_node(harness, job)
    shown = harness.view(message_id)
    assert (shown["status"], shown["reason"]) == ("failed", "execution_failed")
    assert shown["final"]
    assert harness.log(message_id)[-1]["text"] == POISON_FAILURE


async def test_a_suspected_job_is_left_to_those_who_run_it_apart(harness: Harness) -> None:
    _, [job] = await harness.working()
    for deaths in range(2):
        await nodes.leave(harness.ctx)
        claim = partial(jobs.claim, harness.ctx, job.job_id, may_be_suspect=False)
        assert await claim() is not None, f"{deaths} deaths are no reason"
        assert await taken_over_from_dead_node(harness, job)
    await nodes.leave(harness.ctx)
    assert await claim() is None
    _, [left] = await upkeep.left_behind(harness.ctx, set())
    assert left == (job.job_id, None, 2)
    assert await jobs.claim(harness.ctx, job.job_id) is not None


async def turn_taken_over_from_dead_node(harness: Harness, message_id: str) -> None:
    gone = harness.ctx.node
    harness.ctx.node = f"{gone}+"
    await turns.reclaim(harness.ctx, message_id, gone)


async def test_a_turn_whose_nodes_die_fails_in_the_end(harness: Harness) -> None:
    message_id = (await harness.begin_turn()).message.id
    later = (await harness.send("later", busy=WhenBusy.QUEUE)).message.id
    for _ in range(5):
        await turn_taken_over_from_dead_node(harness, message_id)
        await turns.reclaim(harness.ctx, message_id, harness.ctx.node)  # lost here: not counted
        assert harness.view(message_id)["status"] == "processing"
    await turn_taken_over_from_dead_node(harness, message_id)
    assert harness.view(message_id)["reason"] == "turn_failed"
    [entry] = harness.log(message_id)
    assert (entry["reason"], "given up" in entry["text"]) == ("poisoned", True)
    await harness.end(harness.ticket(later))
    assert harness.view(later)["status"] == "completed"


async def test_a_suspected_turn_may_wait_and_then_has_all_its_time(harness: Harness) -> None:
    ctx, limit = harness.ctx, harness.ctx.settings.turn_limit_seconds
    await nodes.beat(ctx)
    message_id = (await harness.begin_turn()).message.id
    await turn_taken_over_from_dead_node(harness, message_id)
    gone = ctx.node
    harness.tick(3 * limit)
    await upkeep.abandon_turns(ctx)
    assert harness.view(message_id)["status"] == "processing", "its node is dead: it waits"
    ctx.node = f"{gone}+"
    await nodes.beat(ctx)
    await turns.reclaim(ctx, message_id, gone)
    harness.tick(limit / 2)
    await upkeep.abandon_turns(ctx)
    assert harness.view(message_id)["status"] == "processing"
    await turns.reclaim(ctx, message_id, ctx.node)  # lost here: it gets no more time for that
    harness.tick(limit)
    await upkeep.abandon_turns(ctx)
    assert harness.log(message_id)[0]["reason"] == "abandoned"


async def test_a_node_that_leaves_gives_back_only_its_own(harness: Harness) -> None:
    _, [job] = await harness.working()
    here, harness.ctx.node = harness.ctx.node, "node_other"
    await nodes.leave(harness.ctx)
    assert harness.one("SELECT node, epoch FROM jobs WHERE id = ?", job.job_id) == (here, 1)


class Claims:
    """Stands for a `JobRunner`: keeps what it was asked to claim."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def reclaim(self, job_id: str, node: str) -> None:
        """See `JobRunner.reclaim`."""
        self.asked.append((job_id, node))


async def test_a_single_server_asks_again_for_what_it_could_not_claim_at_its_start(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path) as harness:
        _, [job] = await harness.working()
        harness.ctx.node = "node_next"
        claims = Claims()
        nodes = Nodes(harness.ctx, cast("JobRunner", claims), None, Quarantine(None, None))
        await nodes.enter()
        await nodes.recover_open()
        await nodes.watch()
        assert claims.asked == [(job.job_id, NODE)] * 2, "the first claim failed"

        await jobs.claim(harness.ctx, job.job_id, NODE)
        for _ in range(2):
            await nodes.watch()
        assert len(claims.asked) == 2, "nothing is open any more"
