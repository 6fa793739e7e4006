"""Why an author's code failed, as `agentpost explain` tells it."""

import logging
import sys
from typing import Any

import pytest

from agentpost.agents import Job, JobFailed, Turn
from agentpost.author.causes import cause_of
from agentpost.author.output import _Handler, _StandardStream
from agentpost.explain import timeline
from agentpost.retention import rows as retention_rows
from tests.harness.databases import ON_SQLITE
from tests.runtime.running import Running, Script

pytestmark = ON_SQLITE


async def failing_turn(turn: Turn) -> None:
    """Breaks."""
    raise KeyError("total")


async def failing_job(job: Job) -> str:
    """Breaks in a step."""
    await job.step(failing_step)
    return "never"


async def failing_step() -> None:
    """Breaks."""
    raise ValueError("no such order:\nsee the shop")


async def refusing_job(job: Job) -> str:
    """Fails on purpose, in words for its user."""
    raise JobFailed("That is not for sale.")


async def printing_job(job: Job) -> str:
    """Says something between two calls, and in a step."""
    print("before the step")
    await job.step(printing_step)
    logging.getLogger("shop").warning("after the step")
    return "done"


async def printing_step() -> None:
    """Says something, without an end of the line."""
    print("in the step", end="")


async def output(here: Running, message_id: str, account_id: str | None = None) -> list[Any]:
    """What the timeline says that the agent said."""
    found = await timeline.build(here.ctx, message_id, account_id)
    lines = [line.facts for line in found.lines if line.source == "output"]
    return [(facts["call"], facts["level"], facts["text"]) for facts in lines]


async def causes(here: Running, message_id: str, account_id: str | None = None) -> list[str]:
    """What the timeline says."""
    found = await timeline.build(here.ctx, message_id, account_id)
    return [line.facts["cause"] for line in found.lines if line.facts.get("cause")]


async def test_the_operator_reads_the_exception_and_its_line(here: Running) -> None:
    Script.job = failing_job
    failed = await here.send()
    assert (await here.final(failed))["reason"] == "execution_failed"
    [cause] = await causes(here, failed)
    assert cause.startswith("ValueError: no such order: (test_causes.py, line ")
    assert cause.endswith(", in failing_step)")
    assert await causes(here, failed, here.caller.account_id) == []

    Script.job = refusing_job
    refused = await here.send()
    await here.final(refused)
    assert await causes(here, refused) == []

    Script.turn = failing_turn
    broken = await here.send()
    assert (await here.final(broken))["reason"] == "turn_failed"
    [cause] = await causes(here, broken)
    assert cause.startswith("KeyError: 'total' (test_causes.py, line ")


async def test_the_operator_reads_what_the_code_printed(
    here: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", _StandardStream(sys.stdout, "stdout"))
    handler = _Handler()
    logging.getLogger().addHandler(handler)
    Script.job = printing_job
    sent = await here.send()
    assert (await here.final(sent))["status"] == "completed"
    await here.idle()
    logging.getLogger().removeHandler(handler)
    assert await output(here, sent) == [
        (None, "info", "before the step"),
        (1, "info", "in the step"),
        (None, "warning", "after the step"),
    ]
    assert await output(here, sent, here.caller.account_id) == []
    whole = await timeline.build(here.ctx, sent)
    assert whole.total == len(whole.lines)
    part = await timeline.build(here.ctx, sent, part_lines=2)
    assert part.total == whole.total
    assert part.lines == whole.lines[-((whole.total - 1) % 2 + 1) :]
    (job_id,) = here.row("SELECT id FROM jobs")
    gone = await here.ctx.db.write(lambda tx: retention_rows.delete_job_parts(tx, job_id, 100))
    assert gone >= 3
    assert here.row("SELECT COUNT(*) FROM agent_lines") == (0,)


@pytest.mark.usefixtures("schema_url")
def test_a_long_text_is_cut() -> None:
    cause = cause_of(ValueError("x" * 10_000))
    assert len(cause) == 500
    assert cause.endswith("…")
