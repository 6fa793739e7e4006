"""Workers find byte code, whoever has to keep it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from agentpost.processes import bytecode
from tests.processes.pools import Bench, anyio_backend, bench, steps

__all__ = ["anyio_backend", "bench", "steps"]


@pytest.mark.parametrize("is_forbidden", [False, True])
def test_loaded_modules_show_whether_byte_code_is_kept(
    is_forbidden: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"some_library_{is_forbidden}".lower()
    (tmp_path / f"{name}.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", is_forbidden)
    assert bytecode.is_kept(importlib.import_module(name)) is not is_forbidden


async def test_workers_keep_byte_code_in_the_folder_they_are_given(
    bench: Callable[..., Bench], steps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(bytecode.NOT_WRITTEN, "1")
    kept = tmp_path / "kept"
    one = bench(bytecode_folder=kept)
    await one.call("add", 1, 2)
    assert [found.suffix for found in kept.rglob("some_steps.*")] == [".pyc"]
    assert [found.name for found in steps.iterdir()] == ["some_steps.py"], "not beside the source"


async def test_workers_write_no_byte_code_where_the_server_may_not(
    bench: Callable[..., Bench], steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(bytecode.NOT_WRITTEN, "1")
    await bench().call("add", 1, 2)
    assert [found.name for found in steps.iterdir()] == ["some_steps.py"]
