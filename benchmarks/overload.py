"""Measures what a server does under more than it can serve: open-loop arrivals of echo messages.

``python benchmarks/overload.py [--seconds 600] [--times 3]``: measures first what a closed loop of
clients gets done, then sends that many times as many, whether or not earlier ones were answered.
Ends with 1 when memory grew by more than a quarter in the second half or a refusal took too long.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path

import aiohttp

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.load import ECHO, Load, for_seconds, percentile
from benchmarks.servers import PRODUCT, Cores, Server, raise_open_files, running

CLIENTS = 16
"""Of the closed loop that finds out what can be served."""
CALIBRATION_SECONDS = 10.0
PATIENCE_SECONDS = 60.0
"""An arrival without an answer by then counts as ``none``."""
SAMPLE_SECONDS = 1.0
REFUSAL_BAR_SECONDS = 2.0
GROWTH_BAR = 1.25
MEGABYTE = 2**20
NONE = "none"


@dataclass(slots=True)
class Figures:
    """Rates in messages a second, memory in MB by second, latencies in seconds by status."""

    sustainable: float = 0.0
    offered: float = 0.0
    memory: list[float] = field(default_factory=list)
    answers: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    without_retry_after: int = 0
    most_open: int = 0

    @property
    def growth(self) -> float:
        """The most memory of the second half, as a multiple of that of the first."""
        middle = len(self.memory) // 2
        return max(self.memory[middle:]) / max(self.memory[:middle])

    @property
    def refusal_p99(self) -> float:
        """Seconds in which 99 of 100 refusals came."""
        refused = [s for code in ("429", "503") for s in self.answers.get(code, [])]
        return percentile(refused, 0.99) if refused else 0.0

    @property
    def passed(self) -> bool:
        """Whether the bars are kept."""
        return (
            self.growth <= GROWTH_BAR
            and self.refusal_p99 <= REFUSAL_BAR_SECONDS
            and not self.without_retry_after
        )


async def measure(seconds: float, times: float) -> Figures:
    """Calibrate, then send ``times`` as much for so long."""
    figures = Figures()
    async with running(PRODUCT, Cores(None, None)) as server:
        async with Load(server) as load:
            await load.closed_loop(CLIENTS, ECHO, for_seconds(2.0))
            sample = await load.closed_loop(CLIENTS, ECHO, for_seconds(CALIBRATION_SECONDS))
        figures.sustainable = sample.rate
        print(f"a closed loop gets {sample.rate:.0f} done in a second", file=sys.stderr)
        figures.offered = sample.rate * times
        watching = asyncio.create_task(_watch(server, figures))
        await _arrivals(server, figures, seconds)
        watching.cancel()
    return figures


async def _watch(server: Server, figures: Figures) -> None:
    while True:
        usage = await asyncio.to_thread(server.usage)
        figures.memory.append(usage.rss / MEGABYTE)
        await asyncio.sleep(SAMPLE_SECONDS)


async def _arrivals(server: Server, figures: Figures, seconds: float) -> None:
    """Open loop: an arrival is due at its time, however many are still open."""
    open_: set[asyncio.Task[None]] = set()
    async with aiohttp.ClientSession(
        server.url,
        headers={"Authorization": f"Bearer {server.key}"},
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=PATIENCE_SECONDS),
    ) as session:
        began, number = time.perf_counter(), 0
        while (passed := time.perf_counter() - began) < seconds:
            while number < passed * figures.offered:
                task = asyncio.create_task(_arrival(session, figures, number))
                open_.add(task)
                task.add_done_callback(open_.discard)
                number += 1
            figures.most_open = max(figures.most_open, len(open_))
            await asyncio.sleep(0.005)
        await asyncio.gather(*open_)


async def _arrival(session: aiohttp.ClientSession, figures: Figures, number: int) -> None:
    body = {"message": ECHO, "conversation": f"overload-{number}"}
    began, code = time.perf_counter(), NONE
    try:
        async with session.post("/v1/messages", json=body) as response:
            await response.read()
            code = str(response.status)
            if code in ("429", "503") and "Retry-After" not in response.headers:
                figures.without_retry_after += 1
    except (aiohttp.ClientError, TimeoutError, OSError):
        pass
    figures.answers[code].append(time.perf_counter() - began)


def table(figures: Figures) -> str:
    """Rates, memory, and each status with its number and latencies."""
    half = len(figures.memory) // 2
    rows = [
        f"served {figures.sustainable:.0f}/s, offered {figures.offered:.0f}/s",
        f"at most {figures.most_open:,} calls open",
        f"memory in the first half {max(figures.memory[:half]):.0f} MB",
        f"in the second {max(figures.memory[half:]):.0f} MB (x {figures.growth:.2f})",
        "answer      number    p50 s    p99 s    max s",
    ]
    for code, taken in sorted(figures.answers.items()):
        p50, p99 = percentile(taken, 0.5), percentile(taken, 0.99)
        rows.append(f"{code:<8}{len(taken):>10}{p50:>9.2f}{p99:>9.2f}{max(taken):>9.2f}")
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
    figures = asyncio.run(measure(asked.seconds, asked.times))
    print(table(figures))
    if asked.json:
        asked.json.write_text(json.dumps(asdict(figures), indent=2) + "\n")
    return 0 if figures.passed else 1


if __name__ == "__main__":
    sys.exit(main())
