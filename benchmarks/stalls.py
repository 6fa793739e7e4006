"""Measures how long one account's calls wait while another account sends the worst bodies.

``python benchmarks/stalls.py [--only REGEX]``: one server; each of `worst_bodies` is sent by eight
senders of one key, again and again, beside ``GET /v1/me`` of another account.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import sys
from collections import Counter
from pathlib import Path

import aiohttp

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.beside import FAILURES, Beside
from benchmarks.load import Load, percentile
from benchmarks.servers import PRODUCT, Cores, Server, raise_open_files, running
from benchmarks.worst_bodies import Route, worst_bodies

SENDERS = 8
MEASURED_SECONDS = 3.0
PROBE_SECONDS = 0.01
WARM_UPS = 50
ME = "/v1/me"
RATIO_BAR = 2.0
"""How often the quiet 95th percentile a stalled one may be."""
LIMITS = {"REQUESTS_PER_MINUTE": "600"}


async def _send(server: Server, route: Route, body: bytes, statuses: Counter[int]) -> None:
    """Send it until cancelled."""
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    headers["Accept"] = "application/json, text/event-stream"
    method, path = route
    async with aiohttp.ClientSession(headers=headers) as session:
        while True:
            try:
                async with session.request(method, server.url + path, data=body) as answer:
                    await answer.read()
                    statuses[answer.status] += 1
            except FAILURES:
                statuses[0] += 1


async def measure(server: Server, load: Load, route: Route, body: bytes) -> tuple[str, float]:
    """The figures of one body as text, and the ratio."""
    calls = {ME: lambda: load.read(ME)}
    beside, statuses = Beside(), Counter[int]()
    async with beside.asking(calls, PROBE_SECONDS, beside.quiet):
        await asyncio.sleep(MEASURED_SECONDS / 2)
    senders = [asyncio.create_task(_send(server, route, body, statuses)) for _ in range(SENDERS)]
    async with beside.asking(calls, PROBE_SECONDS, beside.loaded):
        await asyncio.sleep(MEASURED_SECONDS)
    for sender in senders:
        sender.cancel()
    await asyncio.gather(*senders, return_exceptions=True)
    figures = [
        percentile(taken.get(ME, []), share) * 1000
        for taken in (beside.quiet, beside.loaded)
        for share in (0.5, 0.95)
    ]
    ratio = beside.ratio(ME, 0.95)
    shown = "".join(f"{figure:>10.1f}" for figure in figures)
    return f"{shown}{ratio:>8.1f}   {dict(statuses)}", ratio


async def run(pattern: str) -> int:
    """How many bodies missed the bar."""
    missed = 0
    async with contextlib.AsyncExitStack() as held:
        server = await held.enter_async_context(running(PRODUCT, Cores(None, None), LIMITS))
        await server.lift_limits("owner@localhost")
        load = await held.enter_async_context(Load(server))
        for _ in range(WARM_UPS):
            await load.read(ME)
        titles = ("quiet p50", "p95", "beside p50", "p95", "ratio")
        print(f"{'':<34}{'ms:':<4}{'  '.join(titles)}   answers by status")
        for number, (name, route, body) in enumerate(worst_bodies()):
            if not re.search(pattern, name):
                continue
            sender = await server.another(f"hostile{number}@example.com")
            shown, ratio = await measure(sender, load, route, body)
            missed += ratio > RATIO_BAR
            print(f"{name[:33]:<34}{shown}", flush=True)
    return missed


def main() -> int:
    """The command; its exit status is 1 when a body missed the bar."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="bodies by their names")
    raise_open_files()
    return min(1, asyncio.run(run(parser.parse_args().only)))


if __name__ == "__main__":
    sys.exit(main())
