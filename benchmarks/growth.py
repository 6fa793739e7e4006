"""What agentpost costs when much has gathered: ``python benchmarks/growth.py [--messages N]``.

A server is measured on a fresh database; the database is filled; the same is measured again. The
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
from contextlib import asynccontextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.fill import fill
from benchmarks.load import ECHO, Load, Sample, for_runs, for_seconds
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
from agentpost.services import doctor
from agentpost.settings import load_settings
from agentpost.tasks.purge import Purge

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


async def measure(instance: Instance, seconds: float, known: list[str]) -> Figures:
    """Everything a client sees; ``known`` are ids of messages, and gets those of echoes."""
    figures: Figures = {}
    async with instance.serving() as server, Load(server) as load:
        await load.closed_loop(8, ECHO, for_runs(200))
        echo = await _timed(server, load, "echo", figures, 32, ECHO, seconds)
        known.extend(echo.ids[:READS] if not known else ())
        await _timed(server, load, "job", figures, 8, "job", seconds)
        await _timed(server, load, "conversation", figures, 1, ECHO, seconds, LARGE)
        figures["events_ms"] = await _events(load, known)
        await _held(server, load, figures)
    figures.update(await asyncio.to_thread(instance.aside))
    return figures


async def _timed(
    server: Server,
    load: Load,
    name: str,
    figures: Figures,
    clients: int,
    text: str,
    seconds: float,
    conversation: str | None = None,
) -> Sample:
    before = server.usage().cpu
    sample = await load.closed_loop(clients, text, for_seconds(seconds), conversation)
    if sample.errors:
        raise RuntimeError(f"{name}: {sample.errors[0]}")
    figures[f"{name}_per_s"] = sample.rate
    figures[f"{name}_cpu_ms"] = (server.usage().cpu - before) * 1000 / sample.runs
    return sample


async def _events(load: Load, known: list[str]) -> float:
    """The whole log of a message that has ended, in ms; the median."""
    times = []
    for message_id in known[:READS]:
        began = time.perf_counter()
        page = await load.read(f"/v1/messages/{message_id}/events")
        assert page["done"], page
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


async def _held(server: Server, load: Load, figures: Figures) -> None:
    """CPU that held waits cost while nothing happens, and the time to wake one."""
    sent = [await load.send(f"wait {n}", f"held-{n}") for n in range(HELD)]

    async def wait(message_id: str) -> float:
        while not (await load.read(f"/v1/messages/{message_id}?wait=45"))["final"]:
            pass
        return time.perf_counter()

    held = [asyncio.create_task(wait(message["id"])) for message in sent]
    await asyncio.sleep(2)
    before = server.usage().cpu
    await asyncio.sleep(HELD_SECONDS)
    figures["held_idle_cpu_ms_per_s"] = (server.usage().cpu - before) * 1000 / HELD_SECONDS
    times = []
    for n, task in enumerate(held):
        began = time.perf_counter()
        await load.send(f"release {n}", f"release-{n % 8}")
        times.append(await task - began)
    figures["held_wake_ms"] = statistics.median(times) * 1000


async def run(messages: int, seconds: float, folder: Path) -> dict[str, Figures]:
    """Empty, then full."""
    instance = Instance(folder)
    pin(instance.cores.load)
    known: list[str] = []
    print("measuring the fresh database", file=sys.stderr)
    empty = await measure(instance, seconds, known)
    async with instance.serving() as server, Load(server) as load:
        echo = await load.run(ECHO, "template")
        job = await load.run("job", "template")
        await load.run(ECHO, LARGE)
        await asyncio.sleep(2)  # the request log is written beside
    size = instance.bytes()
    began = time.perf_counter()
    await asyncio.to_thread(fill, instance.database, messages, echo=echo, job=job, large=LARGE)
    print(f"filled in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    per_message = (instance.bytes() - size) / messages
    full = await measure(instance, seconds, known)
    full["database_bytes_per_message"] = per_message
    return {"empty": empty, "full": full}


def table(figures: dict[str, Figures]) -> str:
    """Empty against full, a figure a line."""
    empty, full = figures["empty"], figures["full"]
    lines = ["| Figure | Empty | Full | Ratio |", "|---|---|---|---|"]
    for name, value in full.items():
        before = empty.get(name)
        ratio = f"{value / before:.2f}" if before else ""
        lines.append(
            f"| `{name}` | {'' if before is None else f'{before:.4g}'} | {value:.4g} | {ratio} |"
        )
    return "\n".join(lines)


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--messages", type=int, default=1_000_000, help="how many to fill in")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each closed loop")
    parser.add_argument("--folder", type=Path, help="where to make the temporary folder")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    asked = parser.parse_args()
    raise_open_files()
    os.environ.pop("AGENTPOST_DATA_DIR", None)
    folder = Path(tempfile.mkdtemp(prefix="bench-growth-", dir=asked.folder))
    try:
        figures = asyncio.run(run(asked.messages, asked.seconds, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(table(figures))
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
