"""What a start takes up is taken up until it is claimed (design: Ownership)."""

from pathlib import Path
from typing import cast

from agentpost.jobs import actions as jobs
from agentpost.nodes.membership import Nodes
from agentpost.nodes.quarantine import Quarantine
from agentpost.runtime.job_runner import JobRunner
from tests.harness.context import NODE, open_harness


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
