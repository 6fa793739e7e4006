"""Workers of a server whose installation keeps no byte code keep their own, for its next start."""

from pathlib import Path

import pytest

from agentpost.clock import ManualClock
from agentpost.processes import bytecode
from agentpost.runtime.steps import make_steps
from tests.harness.databases import open_context


@pytest.mark.parametrize("is_kept", [False, True])
async def test_workers_keep_byte_code_where_nobody_else_does(
    is_kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bytecode, "is_kept", lambda: is_kept)
    monkeypatch.setenv(bytecode.NOT_WRITTEN, "1")
    async with open_context(tmp_path, ManualClock(), None) as ctx:
        pool = make_steps(ctx.settings, ctx.storage, tmp_path / "scratch").pool
        await pool.start()
        assert await pool.call("builtins:len", [[1, 2]], account="a", key="k") == 2
        await pool.aclose()
        kept = (ctx.settings.data_path / "bytecode").rglob("*.pyc")
        assert ("worker_process" in {path.name.partition(".")[0] for path in kept}) is not is_kept
