"""Measures what an account notices of another one that does its worst within its limits.

``python benchmarks/fairness.py [--only NAME]``: a fresh server for each attack, one quiet, one for
all attacks together. Ends with 1 when a bar is missed, with 2 when something could not be measured.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import sys
import time
from collections.abc import Awaitable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.attacks import ATTACKS, FAILURES
from benchmarks.beside import Beside, Calls
from benchmarks.hostile import prepared
from benchmarks.load import ECHO, Load, LoadError, percentile
from benchmarks.servers import PRODUCT, Cores, Server, ServerFailed, raise_open_files, running

ACCOUNT = "owner@localhost"
"""Whose key the server begins with: the other account, which may send as much as it likes."""
QUIET = "quiet"
ALL = "all"
LEAD_SECONDS = 3.0
"""How long an attack goes on before the other account is measured."""
MEASURED_SECONDS = 10.0
WARM_UPS = 5
PROBE_SECONDS = 0.02
"""Between two reads of /v1/me, and between two echoes: enough of them for a 99th percentile."""
PAUSE_SECONDS = 0.1
SAMPLE_SECONDS = 0.25
FOLLOW_SECONDS = 5
QUESTION_BAR_SECONDS = 2.0
CHART_BAR_SECONDS = 10.0
ME_BAR_MS = 20.0
RATIO_BAR = 2.0
"""By how much an attack may move the 99th percentile of another account's call. That account asks
its questions and has its chart drawn before the attack, too, so these count in both."""
ME, ECHOED = "/v1/me", "echo"
PATIENCE_SECONDS = 15.0
"""After that a question or chart counts as not answered."""
MEGABYTE = 2**20
HOSTILE_CREDITS = 1_000
SAMPLE = "month,revenue\nJan,120\nFeb,135\nMar,128\nApr,151\nMay,170\nJun,182\n"
LIMITS = {
    "AGENT": "benchmarks.fairness_agent:agent",
    "REQUESTS_PER_MINUTE": "600",
    "MESSAGES_PER_HOUR": "120",
    "MESSAGES_PER_DAY": "1000",
    "WAITS_PER_HOUR": "1500",
    "WORK_READS_PER_HOUR": "600",
    "RUNNING_JOBS_MAX": "5",
}
"""The server's own limits, which other benchmarks lift."""


@dataclass(slots=True)
class Figures:
    """What the other account saw; None: not answered within `PATIENCE_SECONDS`."""

    questions: list[float | None] = field(default_factory=list)
    chart: float | None = None
    beside: Beside = field(default_factory=Beside)
    memory_mb: float = 0.0
    problems: list[str] = field(default_factory=list)

    @property
    def question(self) -> float | None:
        """The slowest file question in seconds."""
        answered = [seconds for seconds in self.questions if seconds is not None]
        return max(answered) if len(answered) == len(self.questions) and answered else None

    @property
    def me_p95_ms(self) -> float | None:
        """`/v1/me`, as 19 of 20 reads kept within."""
        taken = self.beside.loaded.get(ME)
        return percentile(taken, 0.95) * 1000 if taken else None

    @property
    def bars(self) -> list[tuple[float | None, float]]:
        """Each figure beside its bar."""
        return [
            (self.question, QUESTION_BAR_SECONDS),
            (self.me_p95_ms, ME_BAR_MS),
            (self.chart, CHART_BAR_SECONDS),
            (self.beside.ratio(ME), RATIO_BAR),
            (self.beside.ratio(ECHOED), RATIO_BAR),
        ]

    @property
    def passed(self) -> bool:
        """Whether every bar is kept."""
        return all(value is not None and value <= bar for value, bar in self.bars)


async def measure(name: str) -> Figures:
    """A fresh server, an attack on it, and another account beside it."""
    async with contextlib.AsyncExitStack() as held:
        hostile = await held.enter_async_context(prepared(name)) if name != QUIET else None
        server = await held.enter_async_context(running(PRODUCT, Cores(None, None), LIMITS))
        account = await server.another("hostile@example.com", granted=HOSTILE_CREDITS)
        await server.lift_limits(ACCOUNT)
        load = await held.enter_async_context(Load(server))
        await _chart(load)  # what the first use of anything costs is not what is measured
        calls: Calls = {
            ME: lambda: load.read("/v1/me"),
            ECHOED: lambda: load.run(ECHO, "echo"),
        }
        for call in list(calls.values()) * WARM_UPS:
            await call()
        await server.settle()
        figures = Figures()
        beside = figures.beside
        async with beside.asking(calls, PROBE_SECONDS, beside.quiet):
            await _measured(server, load, Figures())
        if hostile is not None:
            hostile.begin(account)
            await asyncio.sleep(LEAD_SECONDS)
        async with beside.asking(calls, PROBE_SECONDS, beside.loaded):
            await _measured(server, load, figures)
        figures.problems += [*(hostile.problems() if hostile else []), *beside.problems]
        return figures


async def _measured(server: Server, load: Load, figures: Figures) -> None:
    async def watch() -> None:
        while True:
            figures.memory_mb = max(figures.memory_mb, server.usage().rss / MEGABYTE)
            await asyncio.sleep(SAMPLE_SECONDS)

    async def ask() -> None:
        until = time.monotonic() + MEASURED_SECONDS
        while time.monotonic() < until:
            figures.questions.append(await _timed(_question(load, len(figures.questions)), figures))
            await asyncio.sleep(PAUSE_SECONDS)

    async def chart() -> None:
        figures.chart = await _timed(_chart(load), figures)

    watching = asyncio.create_task(watch())
    await asyncio.gather(ask(), chart())
    watching.cancel()


async def _timed(work: Awaitable[None], figures: Figures) -> float | None:
    """The seconds it took; None when it failed or took too long."""
    began = time.perf_counter()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await work
    except FAILURES as error:
        figures.problems.append(repr(error)[:200])
        return None
    return time.perf_counter() - began


async def _question(load: Load, number: int) -> None:
    await _answered(load, "What is the total revenue?", f"question-{number}")


async def _chart(load: Load) -> None:
    await _answered(load, "Chart revenue by month", "chart")


async def _answered(load: Load, text: str, conversation: str) -> None:
    """A message with a file, followed to its end; raises `LoadError`."""
    file = {"name": "sales.csv", "base64": base64.b64encode(SAMPLE.encode()).decode()}
    body = {"message": text, "files": [file], "conversation": conversation}
    message = await load.write("/v1/messages", body, 201)
    while not message["final"]:
        message = await load.read(f"/v1/messages/{message['id']}?wait={FOLLOW_SECONDS}")
    if message["status"] != "completed":
        raise LoadError(f"{text!r} ended {message['status']}: {message.get('reason')}")


# --- the command ----------------------------------------------------------------------------------
def table(measured: dict[str, Figures]) -> str:
    """Every attack with its figures, bars and verdict."""
    bars = (QUESTION_BAR_SECONDS, ME_BAR_MS, CHART_BAR_SECONDS, RATIO_BAR, RATIO_BAR)
    limits = "".join(f"{f'<= {bar:.0f}':>12}" for bar in bars)
    columns = ("question s", "me p95 ms", "chart s", "me p99", "echo p99")
    rows = [
        f"{'attack':<10}{''.join(f'{column:>12}' for column in columns)}   memory MB   verdict",
        f"{'must be':<10}{limits}",
    ]
    for name, figures in measured.items():
        shown = [
            _shown(figures.question, PATIENCE_SECONDS, 2),
            _shown(figures.me_p95_ms, 0.0, 1),
            _shown(figures.chart, PATIENCE_SECONDS, 2),
            *(f"x {figures.beside.ratio(call):.1f}" for call in (ME, ECHOED)),
        ]
        verdict = "pass" if figures.passed else "MISSED"
        columns_of = "".join(f"{value:>12}" for value in shown)
        rows.append(f"{name:<10}{columns_of}{figures.memory_mb:>12.0f}   {verdict}")
    return "\n".join(rows)


def _shown(value: float | None, most: float, digits: int) -> str:
    return f"> {most:.0f}" if value is None else f"{value:.{digits}f}"


async def run(names: list[str]) -> tuple[dict[str, Figures], list[str]]:
    """Figures by attack, and what could not be measured."""
    measured: dict[str, Figures] = {}
    failures: list[str] = []
    for name in names:
        began = time.monotonic()
        try:
            measured[name] = await measure(name)
        except (ServerFailed, *FAILURES) as error:
            failures.append(f"{name}: {error!r}")
            print(failures[-1], *getattr(error, "__notes__", ()), sep="\n", file=sys.stderr)
            continue
        took = time.monotonic() - began
        print(f"{name}: measured in {took:.0f} s", *measured[name].problems[:3], file=sys.stderr)
    return measured, failures


def main() -> int:
    """The command; its exit status."""
    names = [QUIET, *ATTACKS, ALL]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--only", action="append", choices=names, metavar="NAME", help=f"of {', '.join(names)}"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there too")
    asked = parser.parse_args()
    raise_open_files()
    measured, failures = asyncio.run(run(asked.only or names))
    print(table(measured))
    for failure in failures:
        print(f"NOT MEASURED {failure}")
    if asked.json:
        figures: dict[str, Any] = {name: asdict(each) for name, each in measured.items()}
        asked.json.write_text(json.dumps(figures, indent=2) + "\n")
    if failures:
        return 2
    return 0 if all(figures.passed for figures in measured.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
