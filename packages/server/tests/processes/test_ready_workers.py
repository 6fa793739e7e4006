"""Which process takes a call, and what it has imported by then."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from agentpost.author.worker_process import import_while_idle
from agentpost.processes import pool
from agentpost.processes.worker import YIELDING
from tests.processes.pools import MakeBench, anyio_backend, bench, steps
from tests.processes.watching import pid_in
from tests.waiting import PATIENCE, eventually_async

__all__ = ["anyio_backend", "bench", "steps"]

AUTOGROUP = Path("/proc/self/autogroup")


async def test_an_idle_worker_imports_what_it_was_told(
    bench: MakeBench, steps: Path, tmp_path: Path
) -> None:
    note = tmp_path / "imported"
    (steps / "heavy_one.py").write_text(f"from pathlib import Path\nPath({str(note)!r}).touch()\n")
    (steps / "broken_one.py").write_text("raise SystemExit('no')\n")
    one = bench(imports=["not_there", "broken_one", "heavy_one"])
    await one.pool.start()
    await eventually_async(note.exists)
    assert await one.call("same", 1) == 1


def test_imports_wait_for_a_request() -> None:
    asked = []
    answers = iter([True, False, False, True, True])

    def idle_for(seconds: float) -> bool:
        asked.append(seconds > 0)
        return next(answers)

    names = ["colorsys", "this_is_not_there", "chunk_is_not_there"]
    sys.modules.pop("colorsys", None)
    import_while_idle(names, idle_for)
    assert "colorsys" in sys.modules
    for _ in range(3):
        import_while_idle(names, idle_for)
    assert asked == [True, False, True, True, False], "it waits first, then goes on at once"


async def test_an_account_gets_the_worker_that_it_used_last(bench: MakeBench) -> None:
    one = bench(3)
    own: dict[str, int] = {}
    for _ in range(2):
        calls = {name: one.begin("nap", 0.2, account=name) for name in ("a", "b")}
        pids = {name: await call for name, call in calls.items()}
        assert pids == (own := own or pids)
    for name in ("a", "b", "a"):
        assert await one.call("pid", account=name) == own[name]


async def test_the_last_ready_worker_is_kept_for_another_account(
    bench: MakeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_SPARE_SECONDS", 0.0)
    one = bench(3)
    await one.pool.start()
    first = one.begin("hang", f"{tmp_path}/first")
    await pid_in(tmp_path / "first")
    await eventually_async(lambda: len(list(one.scratch.iterdir())) == 2)
    pids = {await one.call("pid", account="b")}
    second = one.begin("hang", f"{tmp_path}/second")
    assert await pid_in(tmp_path / "second") not in pids
    assert await one.call("pid", account="c") in pids
    for call in (first, second):
        call.cancel()
    await asyncio.wait([first, second])


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="the kernel groups no processes by session")
async def test_a_long_call_yields_to_those_of_other_accounts(
    bench: MakeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_LONG_SECONDS", 0.05)
    one = bench(3)
    calls = [one.begin("until", f"{tmp_path}/{n}") for n in range(2)]
    pids = [await pid_in(tmp_path / str(n)) for n in range(2)]
    assert [niceness(pid) for pid in pids] == [0, 0], "there is no other account"
    async with asyncio.timeout(PATIENCE):
        while [niceness(pid) for pid in pids] != [YIELDING] * 2:
            await one.call("same", 1, account="b")
    for n in range(2):
        (tmp_path / f"{n}.end").touch()
    assert await asyncio.gather(*calls) == pids
    await eventually_async(lambda: [niceness(pid) for pid in pids] == [0, 0])


def niceness(pid: int) -> int:
    return int(Path(f"/proc/{pid}/autogroup").read_text().rsplit(maxsplit=1)[-1])
