"""Measures agentpost beside the floor server: ``python benchmarks/run.py [--quick]``.

Every scenario gets a fresh server on one core while the load runs on the other; floor and product
take turns, round by round, so that a noisy neighbour hits both. Ends with 1 when a scenario failed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import sys
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import aiohttp

from benchmarks import postgres, report
from benchmarks.load import LoadError
from benchmarks.scenarios import SCENARIOS, Figures, Scenario, ScenarioFailed, Sizes
from benchmarks.servers import (
    FLOOR,
    PRODUCT,
    Cores,
    Server,
    ServerFailed,
    pin,
    raise_open_files,
    running,
)

FAILURES = (
    ScenarioFailed,
    ServerFailed,
    LoadError,
    aiohttp.ClientError,
    OSError,
    EOFError,
    TimeoutError,
)
"""What ends one scenario only; anything else is a fault of the benchmark itself."""
OPEN_FILES_SPARE = 500
"""Descriptors either side needs besides the held connections."""


class Session:
    """One call of the command: what to run and what was found."""

    def __init__(self, sizes: Sizes, servers: list[str], *, on_postgres: bool) -> None:
        self.sizes = sizes
        self.on_postgres = on_postgres
        self.servers = servers
        self.cores = Cores.choose()
        self.figures: dict[tuple[str, str], list[Figures]] = {}
        self.failures: list[str] = []

    async def run(self, scenarios: list[Scenario]) -> None:
        """All rounds of all scenarios, the servers alternating."""
        pin(self.cores.load)
        for turn in range(self.sizes.rounds):
            for scenario in scenarios:
                if (turn and not scenario.repeats) or (scenario.split and not self.on_postgres):
                    continue
                for server in self.servers:
                    if server == FLOOR and not scenario.floor:
                        continue
                    await self._one(scenario, server, turn)

    async def _one(self, scenario: Scenario, name: str, turn: int) -> None:
        where = f"round {turn + 1}, {scenario.name}, {name}"
        try:
            async with self._running(name, split=scenario.split) as server:
                figures = await scenario.run(server, self.sizes)
        except FAILURES as error:
            self.failures.append(f"{where}: {type(error).__name__}: {error}")
            print(self.failures[-1], *getattr(error, "__notes__", ()), sep="\n", file=sys.stderr)
            return
        self.figures.setdefault((scenario.name, name), []).append(figures)
        values = ", ".join(f"{name} {report.number(value)}" for name, value in figures.items())
        print(f"{where}: {values}", file=sys.stderr)

    def _running(self, name: str, *, split: bool) -> AbstractAsyncContextManager[Server]:
        if name == PRODUCT and self.on_postgres:
            return postgres.product(self.cores, split=split)
        return running(name, self.cores)

    def rows(self) -> list[report.Row]:
        """The table."""
        goals = report.POSTGRES_GOALS if self.on_postgres else report.GOALS
        return report.rows(self.figures, goals)

    def as_json(self) -> dict[str, object]:
        """Everything measured, with what it was measured on."""
        return {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "python": platform.python_version(),
            "system": platform.platform(),
            "database": "postgresql" if self.on_postgres else "sqlite",
            "cores": {"server": self.cores.server, "load": self.cores.load},
            "rows": [row.as_json() for row in self.rows()],
            "rounds": [
                {"scenario": scenario, "server": server, "figures": figures}
                for (scenario, server), measured in self.figures.items()
                for figures in measured
            ],
            "failures": self.failures,
        }


def fitting(sizes: Sizes) -> Sizes:
    """As many held waits as the limit on open files allows; says so when it allows fewer."""
    room = raise_open_files() - OPEN_FILES_SPARE
    if room >= sizes.waits:
        return sizes
    print(f"only {room} held waits: raise the limit on open files (ulimit -n)", file=sys.stderr)
    return replace(sizes, waits=room, wakes=min(sizes.wakes, room))


def arguments() -> argparse.Namespace:
    """What the caller asked for."""
    names = [scenario.name for scenario in SCENARIOS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one short round, for a first look")
    parser.add_argument(
        "--only", action="append", choices=names, metavar="NAME", help=f"one of {', '.join(names)}"
    )
    parser.add_argument("--server", action="append", choices=[FLOOR, PRODUCT], help="one server")
    parser.add_argument(
        "--postgres", action="store_true", help="agentpost with a PostgreSQL of its own"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there too")
    return parser.parse_args()


def new_loop() -> asyncio.AbstractEventLoop:
    """uvloop where it exists: the client must not be what is measured."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def main() -> int:
    """The command; its exit status."""
    asked = arguments()
    sizes = fitting(Sizes.quick() if asked.quick else Sizes())
    session = Session(sizes, asked.server or [FLOOR, PRODUCT], on_postgres=asked.postgres)
    chosen = [scenario for scenario in SCENARIOS if not asked.only or scenario.name in asked.only]
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(session.run(chosen))
    print(report.table(session.rows()))
    for failure in session.failures:
        print(f"FAILED {failure}")
    if asked.json:
        asked.json.write_text(json.dumps(session.as_json(), indent=2) + "\n")
    return 1 if session.failures else 0


if __name__ == "__main__":
    sys.exit(main())
