"""A process that has ended is not written to, on either loop: uvloop raises no `OSError` there."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from agentpost.agents.adapters.programs import Program
from agentpost.agents.adapters.surroundings import Surroundings
from agentpost.agents.deaths import NotBegun
from agentpost.processes.worker import CallLimits, WorkerProcess
from tests.processes.pools import ON_BOTH_LOOPS, anyio_backend
from tests.waiting import eventually_async

__all__ = ["anyio_backend"]
pytestmark = ON_BOTH_LOOPS


async def test_a_worker_that_has_ended_has_not_begun(tmp_path: Path) -> None:
    worker = await WorkerProcess.spawn(tmp_path / "worker", dict(os.environ))
    worker.kill()
    await worker.wait_until_ended()
    await eventually_async(worker._writer.is_closing)
    with pytest.raises(NotBegun):
        await worker.ask(b"request", CallLimits("late", 10.0))


async def test_a_program_that_has_ended_is_told_nothing() -> None:
    surroundings = cast("Surroundings", SimpleNamespace(environment=dict(os.environ)))
    program = await Program.start([sys.executable, "-c", "pass"], surroundings)
    assert await program.code() == 0
    assert program._process.stdin is not None
    await eventually_async(program._process.stdin.is_closing)
    await program.say({"op": "turn"})
    assert await program.line() is None
    program.kill()
