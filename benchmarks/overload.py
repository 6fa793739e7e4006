"""Measures what a server does under more than it can serve: open-loop arrivals of echo messages.

``python benchmarks/overload.py [--seconds 600] [--times 3]``: measures first what a closed loop of
clients gets done, then sends that many times as many, each on a connection of its own, whether or
not earlier ones were answered. Beside them another account works on a connection that stays open,
and somebody asks `/readyz`. Ends with 1 when a bar is missed, with 2 when the client was late.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

import aiohttp
import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.arrivals import LOST, NONE, Answers, arrive, message
from benchmarks.beside import Beside, Calls
from benchmarks.load import ECHO, Load, decode, for_seconds, percentile
from benchmarks.servers import PRODUCT, Cores, Server, raise_open_files, running

T = TypeVar("T")
CLIENTS = 16
"""Of the closed loop that finds out what can be served."""
CALIBRATION_SECONDS = 10.0
PATIENCE_SECONDS = 60.0
"""An arrival without an answer by then counts as ``none``."""
SAMPLE_SECONDS = 1.0
PROBE_SECONDS = 0.25
REFUSAL_BAR_SECONDS = 2.0
GROWTH_BAR = 1.25
SERVED_BAR = 0.7
BESIDE_BAR = 2.0
"""By how much the load may move the 99th percentile of another account's echo."""
LATE_SECONDS_MAX = 2.0
"""A client that began a call later than that had too little CPU time: nothing is measured."""
ECHOED = "echo"
MEGABYTE = 2**20
_SHARES = (0.5, 0.99)


@dataclass(slots=True)
class Figures:
    """Rates in messages a second, memory in MB and open files by second, latencies in seconds.

    ``beside``: the account on the open connection, and `/readyz`. ``cpu``: seconds of server and
    client.
    """

    sustainable: float = 0.0
    offered: float = 0.0
    memory: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    answers: Answers = field(default_factory=Answers)
    beside: Beside = field(default_factory=Beside)
    seconds: float = 0.0
    cpu: tuple[float, float] = (0.0, 0.0)

    @property
    def growth(self) -> float:
        """The most memory of the second half, as a multiple of that of the first."""
        middle = len(self.memory) // 2
        return max(self.memory[middle:]) / max(self.memory[:middle])

    @property
    def refusal_p99(self) -> float:
        """Seconds in which 99 of 100 refusals came."""
        refused = [s for code in ("429", "503") for s in self.answers.taken.get(code, [])]
        return percentile(refused, 0.99) if refused else 0.0

    @property
    def served_share(self) -> float:
        """What was served in a second, as a share of what is served alone."""
        return len(self.answers.taken.get("201", [])) / self.seconds / self.sustainable

    @property
    def unanswered(self) -> int:
        """Calls whose connection broke, or that got no answer in time."""
        return sum(len(self.answers.taken.get(code, [])) for code in (NONE, LOST))

    @property
    def passed(self) -> bool:
        """Whether the bars are kept."""
        return (
            self.served_share >= SERVED_BAR
            and self.beside.ratio(ECHOED) <= BESIDE_BAR
            and not self.unanswered
            and self.growth <= GROWTH_BAR
            and self.refusal_p99 <= REFUSAL_BAR_SECONDS
            and not self.answers.without_retry_after
        )


async def measure(seconds: float, times: float) -> Figures:
    """Calibrate, then send ``times`` as much for so long."""
    figures = Figures()
    async with running(PRODUCT, Cores(None, None)) as server:
        other = await server.another("other@example.com", granted=1_000_000)
        async with Load(server) as load:
            await load.closed_loop(CLIENTS, ECHO, for_seconds(2.0))
            sample = await load.closed_loop(CLIENTS, ECHO, for_seconds(CALIBRATION_SECONDS))
        figures.sustainable = sample.rate
        print(f"a closed loop gets {sample.rate:.0f} done in a second", file=sys.stderr)
        figures.offered = sample.rate * times
        async with Load(other) as kept:
            calls, beside = _calls(server, kept), figures.beside
            async with beside.asking(calls, PROBE_SECONDS, beside.quiet):
                await asyncio.sleep(CALIBRATION_SECONDS)
            watching = asyncio.create_task(_watch(server, figures))
            async with beside.asking(calls, PROBE_SECONDS, beside.loaded):
                theirs = server.usage().cpu
                figures.answers, figures.seconds, ours = await _apart(
                    _arrivals, server, figures.offered, seconds
                )
                figures.cpu = server.usage().cpu - theirs, ours
            watching.cancel()
    return figures


async def _apart(fn: Callable[..., T], *args: object) -> T:
    """Call it in a process of its own: what else is measured here does not wait for it then."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return await asyncio.get_running_loop().run_in_executor(pool, fn, *args)


def _arrivals(server: Server, rate: float, seconds: float) -> tuple[Answers, float, float]:
    """Messages at that rate for so long: their answers, and the seconds and CPU seconds it took."""

    def request(number: int) -> bytes:
        return message(server, ECHO, f"overload-{number}")

    began, ours = time.perf_counter(), time.process_time()
    answers = uvloop.run(arrive(server, rate, seconds, PATIENCE_SECONDS, request))
    return answers, time.perf_counter() - began, time.process_time() - ours


async def _watch(server: Server, figures: Figures) -> None:
    while True:
        usage = await asyncio.to_thread(server.usage)
        figures.memory.append(usage.rss / MEGABYTE)
        figures.files.append(sum(1 for _ in Path(f"/proc/{server.pid}/fd").iterdir()))
        await asyncio.sleep(SAMPLE_SECONDS)


def _calls(server: Server, kept: Load) -> Calls:
    async def ready() -> None:
        async with aiohttp.ClientSession(server.url) as session, session.get("/readyz") as answer:
            await decode(answer, 200)

    return {
        "/v1/me": lambda: kept.read("/v1/me"),
        ECHOED: lambda: kept.run(ECHO, "kept"),
        "/readyz": ready,
    }


def table(figures: Figures) -> str:
    """Rates, memory, and each status with its number and latencies."""
    half = len(figures.memory) // 2
    answers, took = figures.answers, figures.seconds
    rows = [
        f"alone {figures.sustainable:.0f}/s, offered {figures.offered:.0f}/s",
        f"served {figures.served_share:.2f} of that; {figures.unanswered:,} without an answer",
        f"at most {answers.most_open:,} calls open; the client was late by {answers.late:.2f} s",
        f"CPU {figures.cpu[0]:.1f} s of the server, {figures.cpu[1]:.1f} s of the client",
        f"memory in the first half {max(figures.memory[:half]):.0f} MB",
        f"in the second {max(figures.memory[half:]):.0f} MB (x {figures.growth:.2f})",
        f"open files at most {max(figures.files[:half])} and {max(figures.files[half:])}",
        "answer      number   a second    p50 s    p99 s    max s",
    ]
    for code, taken in sorted(answers.taken.items()):
        p50, p99 = percentile(taken, 0.5), percentile(taken, 0.99)
        number = f"{len(taken):>10}{len(taken) / took:>11.0f}"
        rows.append(f"{code:<8}{number}{p50:>9.2f}{p99:>9.2f}{max(taken):>9.2f}")
    rows.append("beside it     quiet p50, p99 ms    p50, p99 ms  p50, p99 ratio")
    beside = figures.beside
    for name, taken in beside.loaded.items():
        ms = [percentile(t, share) * 1000 for t in (beside.quiet[name], taken) for share in _SHARES]
        rows.append(
            f"{name:<8}{ms[0]:>17.0f}{ms[1]:>8.0f}{ms[2]:>9.0f}{ms[3]:>7.0f}"
            f"{beside.ratio(name, 0.5):>9.1f}{beside.ratio(name):>7.1f}"
        )
    if answers.late > LATE_SECONDS_MAX:
        rows.append("NOT MEASURED: the client was late, so all of this is its own lateness")
    else:
        rows.append("pass" if figures.passed else "MISSED")
    return "\n".join(rows)


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600, help="of overload (600)")
    parser.add_argument("--times", type=float, default=3, help="what can be served (3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there too")
    asked = parser.parse_args()
    raise_open_files()
    figures = uvloop.run(measure(asked.seconds, asked.times))
    print(table(figures))
    if asked.json:
        asked.json.write_text(json.dumps(asdict(figures), indent=2) + "\n")
    if figures.answers.late > LATE_SECONDS_MAX:
        return 2
    return 0 if figures.passed else 1


if __name__ == "__main__":
    sys.exit(main())
