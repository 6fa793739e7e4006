"""Workers find byte code, whoever has to keep it: where nobody else does, they keep their own."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from agentpost.clock import ManualClock
from agentpost.processes import environment
from agentpost.runtime.steps import make_steps
from tests.harness.databases import open_context
from tests.processes.pools import MakeBench, anyio_backend, bench, steps

__all__ = ["anyio_backend", "bench", "steps"]


@pytest.mark.parametrize("is_forbidden", [False, True])
def test_loaded_modules_show_whether_byte_code_is_kept(
    is_forbidden: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"some_library_{is_forbidden}".lower()
    (tmp_path / f"{name}.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", is_forbidden)
    assert environment.is_bytecode_kept(importlib.import_module(name)) is not is_forbidden


async def test_workers_keep_byte_code_in_the_folder_they_are_given(
    bench: MakeBench, steps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(environment.NOT_WRITTEN, "1")
    kept = tmp_path / "kept"
    one = bench(bytecode_folder=kept)
    await one.call("add", 1, 2)
    assert [found.suffix for found in kept.rglob("some_steps.*")] == [".pyc"]
    assert [found.name for found in steps.iterdir()] == ["some_steps.py"], "not beside the source"


async def test_workers_write_no_byte_code_where_the_server_may_not(
    bench: MakeBench, steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(environment.NOT_WRITTEN, "1")
    await bench().call("add", 1, 2)
    assert [found.name for found in steps.iterdir()] == ["some_steps.py"]


@pytest.mark.parametrize("is_kept", [False, True])
async def test_workers_keep_byte_code_where_nobody_else_does(
    is_kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "is_bytecode_kept", lambda: is_kept)
    monkeypatch.setenv(environment.NOT_WRITTEN, "1")
    async with open_context(tmp_path, ManualClock(), None) as ctx:
        pool = make_steps(ctx.settings, ctx.storage, tmp_path / "scratch").pool
        await pool.start()
        assert await pool.call("builtins:len", [[1, 2]], account="a", key="k") == 2
        await pool.aclose()
        kept = (ctx.settings.data_path / "bytecode").rglob("*.pyc")
        assert ("worker_process" in {path.name.partition(".")[0] for path in kept}) is not is_kept
