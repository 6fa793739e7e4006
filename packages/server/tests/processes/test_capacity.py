"""What the pool's size and memory are when the operator does not say."""

from pathlib import Path

import pytest

from agentpost.processes import capacity
from agentpost.processes.capacity import MIB

GIB = 1024 * MIB


@pytest.mark.parametrize(
    ("processors", "workers"), [(1, 2), (2, 3), (4, 5), (7, 8), (8, 8), (64, 8)]
)
def test_workers(monkeypatch: pytest.MonkeyPatch, processors: int, workers: int) -> None:
    monkeypatch.setattr(capacity, "processors", lambda: processors)
    assert capacity.default_workers() == workers


@pytest.mark.parametrize(
    ("host", "each"),
    [(512 * MIB, 384 * MIB), (2 * GIB, 512 * MIB), (4 * GIB, GIB), (64 * GIB, GIB)],
)
def test_memory_of_a_worker(host: int, each: int) -> None:
    assert capacity.default_memory_bytes(host) == each


def test_a_container_may_have_less_memory_than_its_host(tmp_path: Path) -> None:
    host = capacity.memory_bytes(())
    limit = tmp_path / "memory.max"
    assert host > 0
    assert capacity.memory_bytes((limit,)) == host, "there is no such file"
    limit.write_text("max\n")
    assert capacity.memory_bytes((limit,)) == host
    limit.write_text("1048576\n")
    assert capacity.memory_bytes((limit,)) == MIB
