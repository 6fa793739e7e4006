"""What agentpost costs when much has gathered: ``python benchmarks/growth.py [--messages N]``.

Two servers are measured side by side: one has a fresh database, the other one that was filled. The
rows of the fill are copies of what the server itself wrote for an echo and for a job of one step,
with ids, times and places of their own, so they are what the server would have written.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.fill import fill
from benchmarks.load import ECHO, Load, for_runs, for_seconds
from benchmarks.servers import (
    PRODUCT,
    STOP_SECONDS,
    Cores,
    Server,
    command,
    environment,
    free_port,
    pin,
    raise_open_files,
    spawn,
    tail,
    until_ready,
)

LARGE = "large"
"""The conversation that gets a tenth of all messages."""
HELD = 500
HELD_SECONDS = 5.0
READS = 300
Figures = dict[str, float]

ASIDE = """
import asyncio, json, os, time
from agentpost import bootstrap
from agentpost.operations import doctor
from agentpost.settings import load_settings
from agentpost.tasks.background import Purge

async def main():
    ctx = await bootstrap.open_context(load_settings())
    began, cpu = time.perf_counter(), time.process_time()
    findings = await doctor.examine(ctx)
    examined, cpu_of_doctor = time.perf_counter() - began, time.process_time() - cpu
    purge, pieces = Purge(ctx), 0
    began, cpu = time.perf_counter(), time.process_time()
    while purge._rest_until <= ctx.clock.passed():
        await purge.run()
        pieces += 1
    first, cpu_of_purge = time.perf_counter() - began, time.process_time() - cpu
    purge._rest_until = 0
    began = time.perf_counter()
    await purge.run()
    print(json.dumps({
        "doctor_ms": examined * 1000, "doctor_findings": len(findings),
        "purge_first_round_ms": first * 1000, "purge_first_round_sweeps": pieces,
        "purge_next_round_ms": (time.perf_counter() - began) * 1000,
    }))
    await bootstrap.close(ctx)

asyncio.run(main())
"""


class Instance:
    """A data folder and the settings of its server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.key, self.port = f"svc_key_{secrets.token_hex(24)}", free_port()
        self.environment = environment(folder, self.key, self.port)
        self.database = folder / "data" / "agentpost.db"
        self.cores = Cores.choose()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Server]:
        """The server runs; it is stopped in order at the end."""
        log, began = self.folder / "server.log", time.monotonic()
        process = spawn(command(PRODUCT), self.environment, self.folder, log, self.cores)
        url = f"http://127.0.0.1:{self.port}"
        try:
            await until_ready(process, url)
            ready = time.monotonic() - began
            yield Server(PRODUCT, url, self.key, process.pid, ready, self.folder)
        except Exception as error:
            error.add_note(tail(log))
            raise
        finally:
            process.terminate()
            process.wait(STOP_SECONDS * 4)

    def aside(self) -> Figures:
        """Doctor and purge, in a process of their own, while no server runs."""
        out = subprocess.check_output(
            [sys.executable, "-c", ASIDE], env=self.environment, cwd=self.folder
        )
        figures: Figures = json.loads(out.splitlines()[-1])
        return figures

    def bytes(self) -> int:
        """Of the database with its companions."""
        return sum(path.stat().st_size for path in self.folder.glob("data/agentpost.db*"))


class Side:
    """A server that runs, what loads it, and what was measured of it, a value for each round."""

    def __init__(self, server: Server, load: Load, known: list[str]) -> None:
        self.server, self.load, self.known = server, load, known
        self.rounds: dict[str, list[float]] = {}

    def add(self, name: str, value: float) -> None:
        """One more round of a figure."""
        self.rounds.setdefault(name, []).append(value)

    async def loop(
        self, name: str, clients: int, text: str, seconds: float, conversation: str | None = None
    ) -> None:
        """Runs a second of a closed loop, and CPU time for each."""
        before = self.server.usage().cpu
        sample = await self.load.closed_loop(clients, text, for_seconds(seconds), conversation)
        if sample.errors:
            raise RuntimeError(f"{name}: {sample.errors[0]}")
        self.add(f"{name}_per_s", sample.rate)
        self.add(f"{name}_cpu_ms", (self.server.usage().cpu - before) * 1000 / sample.runs)

    async def logs(self) -> None:
        """The whole log of a message that has ended, in ms; the median."""
        times = []
        for message_id in self.known:
            began = time.perf_counter()
            page = await self.load.read(f"/v1/messages/{message_id}/events")
            assert page["done"], page
            times.append(time.perf_counter() - began)
        self.add("events_ms", statistics.median(times) * 1000)

    async def held(self) -> None:
        """CPU that held waits cost while nothing happens, and the time to wake one."""
        sent = [await self.load.send(f"wait {n}", f"held-{n}") for n in range(HELD)]

        async def wait(message_id: str) -> float:
            while not (await self.load.read(f"/v1/messages/{message_id}?wait=45"))["final"]:
                pass
            return time.perf_counter()

        held = [asyncio.create_task(wait(message["id"])) for message in sent]
        await asyncio.sleep(2)
        before = self.server.usage().cpu
        await asyncio.sleep(HELD_SECONDS)
        self.add("held_idle_cpu_ms_per_s", (self.server.usage().cpu - before) * 1000 / HELD_SECONDS)
        times = []
        for n, task in enumerate(held):
            began = time.perf_counter()
            await self.load.send(f"release {n}", f"release-{n % 8}")
            times.append(await task - began)
        self.add("held_wake_ms", statistics.median(times) * 1000)


async def prepare(instance: Instance) -> tuple[str, str, list[str]]:
    """A first echo and job, which the fill copies, and ids of messages that have ended."""
    async with instance.serving() as server, Load(server) as load:
        echo = await load.run(ECHO, "template")
        job = await load.run("job", "template")
        await load.run(ECHO, LARGE)
        known = (await load.closed_loop(8, ECHO, for_runs(READS))).ids[:READS]
        await asyncio.sleep(2)  # the request log is written beside
    return echo, job, known


async def measure(sides: dict[str, Side], rounds: int, seconds: float) -> None:
    """Each figure of every side in the same minute, since the machine is not equally fast in each;
    the sides take turns in going first."""
    order = list(sides.values())
    for side in order:
        await side.load.closed_loop(8, ECHO, for_runs(200))
    for _ in range(rounds):
        order.reverse()
        for side in order:
            await side.loop("echo", 32, ECHO, seconds)
        for side in order:
            await side.loop("job", 8, "job", seconds)
        for side in order:
            await side.loop("conversation", 1, ECHO, seconds, LARGE)
        for side in order:
            await side.logs()
    for side in order:
        await side.held()


async def run(messages: int, rounds: int, seconds: float, folder: Path) -> dict[str, Figures]:
    """An empty database beside a full one."""
    instances = {name: Instance(folder / name) for name in ("empty", "full")}
    full = instances["full"]
    pin(full.cores.load)
    prepared = {name: await prepare(instance) for name, instance in instances.items()}
    echo, job, _ = prepared["full"]
    size, began = full.bytes(), time.perf_counter()
    await asyncio.to_thread(fill, full.database, messages, echo=echo, job=job, large=LARGE)
    print(f"filled in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    per_message = (full.bytes() - size) / messages
    async with AsyncExitStack() as running:
        sides = {}
        for name, instance in instances.items():
            server = await running.enter_async_context(instance.serving())
            load = await running.enter_async_context(Load(server))
            sides[name] = Side(server, load, prepared[name][2])
        await measure(sides, rounds, seconds)
    for _ in range(rounds):
        for name, instance in instances.items():
            for figure, value in (await asyncio.to_thread(instance.aside)).items():
                sides[name].add(figure, value)
    figures = {
        name: {figure: statistics.median(values) for figure, values in side.rounds.items()}
        for name, side in sides.items()
    }
    figures["ratio"] = {
        figure: statistics.median(
            after / before
            for before, after in zip(values, sides["full"].rounds[figure], strict=True)
        )
        for figure, values in sides["empty"].rounds.items()
        if all(values)
    }
    figures["full"]["database_bytes_per_message"] = per_message
    return figures


def table(figures: dict[str, Figures]) -> str:
    """Empty against full, a figure a line; the ratio is the median of the rounds' own."""
    empty, full, ratios = figures["empty"], figures["full"], figures["ratio"]
    lines = ["| Figure | Empty | Full | Ratio |", "|---|---|---|---|"]
    for name, value in full.items():
        before = f"{empty[name]:.4g}" if name in empty else ""
        ratio = f"{ratios[name]:.2f}" if name in ratios else ""
        lines.append(f"| `{name}` | {before} | {value:.4g} | {ratio} |")
    return "\n".join(lines)


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--messages", type=int, default=1_000_000, help="how many to fill in")
    parser.add_argument("--rounds", type=int, default=5, help="of each figure")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each closed loop")
    parser.add_argument("--folder", type=Path, help="where to make the temporary folder")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    asked = parser.parse_args()
    raise_open_files()
    os.environ.pop("AGENTPOST_DATA_DIR", None)
    folder = Path(tempfile.mkdtemp(prefix="bench-growth-", dir=asked.folder))
    try:
        figures = asyncio.run(run(asked.messages, asked.rounds, asked.seconds, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(table(figures))
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
