"""The database compares what a node owns with what it runs (design: Comparing rows and runs)."""

import pytest

from agentpost.context import AppContext
from agentpost.db import as_json
from agentpost.db.session import Tx
from agentpost.jobs import rows as job_rows
from agentpost.jobs.rules import JobKind, JobState
from agentpost.messages import rows as message_rows
from agentpost.nodes.ownership_rows import Differences
from agentpost.record.records import JobRecord

ROWS = {
    "exe_a": ("here", 1, JobState.RUNNING),
    "exe_b": ("here", 3, JobState.OVERDUE),
    "exe_c": ("there", 2, JobState.RUNNING),
    "exe_d": ("here", 1, JobState.COMPLETED),
    "exe_e": (None, 0, JobState.RUNNING),
}


@pytest.fixture
async def rows(ctx: AppContext) -> AppContext:
    """Jobs of two nodes, on each database."""

    def insert(tx: Tx) -> None:
        for job_id, (node, epoch, state) in ROWS.items():
            job = JobRecord(job_id, "acc", "cnv", "msg", "wrk", JobKind.EXECUTION, "", "", "", 0)
            job.node, job.epoch, job.state = node, epoch, state
            message_rows.JOBS.insert(tx, job)

    await ctx.db.write(insert)
    return ctx


async def test_only_differences_are_read(rows: AppContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(as_json, "_PIECE", 2)  # so that some of these take several
    cases: list[tuple[dict[str, int], dict[str, int], dict[str, int]]] = [
        # what runs, what of it is not owned, what is owned and does not run
        ({"exe_a": 1, "exe_b": 3}, {}, {}),
        ({}, {}, {"exe_a": 1, "exe_b": 3}),
        ({"exe_b": 2}, {"exe_b": 2}, {"exe_a": 1, "exe_b": 3}),
        ({"exe_a": 1, "exe_b": 3, "exe_c": 1}, {"exe_c": 1}, {}),
        ({"exe_a": 1, "exe_c": 2}, {"exe_c": 2}, {"exe_b": 3}),
        ({"exe_a": 1, "exe_b": 3, "exe_d": 1, "exe_x": 1}, {"exe_d": 1, "exe_x": 1}, {}),
        ({"exe_e": 0, "exe_d": 1, "exe_a": 1}, {"exe_e": 0, "exe_d": 1}, {"exe_b": 3}),
    ]
    for runs, not_owned, not_run in cases:
        found = await rows.db.read(lambda tx, of=runs: job_rows.OWNED.differences(tx, "here", of))  # type: ignore[misc]
        assert found == Differences(not_owned, not_run), runs


async def test_only_what_was_left_behind_is_read(rows: AppContext) -> None:
    cases: list[tuple[set[str], list[tuple[str, str | None]]]] = [
        ({"here", "there"}, [("exe_e", None)]),
        ({"there"}, [("exe_a", "here"), ("exe_b", "here"), ("exe_e", None)]),
    ]
    for alive, left in cases:
        found = await rows.db.read(lambda tx, of=alive: job_rows.left_by(tx, of))  # type: ignore[misc]
        assert sorted(row[:2] for row in found) == left
