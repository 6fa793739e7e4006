"""Measures how long one account's calls wait while another account sends the worst bodies.

``python benchmarks/stalls.py [--only REGEX]``: each of `worst_bodies` is sent by eight senders of
one key, again and again, beside ``GET /v1/me`` of another account. The senders are a process of
their own. They send to a second server, which shares nothing with the first but the machine, and
to the same one in turn: the ratio of the two is what the server does to others, without what a
busy machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.beside import FAILURES, Beside
from benchmarks.load import Load, percentile
from benchmarks.servers import PRODUCT, UNLIMITED, Cores, Server, raise_open_files, running
from benchmarks.worst_bodies import worst_bodies

SENDERS = 8
ROUNDS = 4
"""Each body is sent to the one server and to the other so often, in turn."""
ROUND_SECONDS = 1.0
QUIET_SECONDS = 1.0
PROBE_SECONDS = 0.01
WARM_UP_SECONDS = 0.5
WARM_UPS = 50
ME = "/v1/me"
RATIO_BAR = 2.0
"""How often the 95th percentile beside senders to another server the one beside senders to the same
server may be."""
LIMITS = {"REQUESTS_PER_MINUTE": UNLIMITED, "MESSAGES_PER_HOUR": UNLIMITED}
"""Calls that are refused for their number would cost less."""


# --- the senders ----------------------------------------------------------------------------------
async def send_as_told() -> None:
    """Send what each line of the standard input says until the next line; print the answers."""
    bodies, lines = list(worst_bodies()), asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        url, key, number = json.loads(line)
        _, (method, path), body = bodies[number]
        statuses = Counter[int]()
        senders = [
            asyncio.create_task(_send(method, url + path, key, body, statuses))
            for _ in range(SENDERS)
        ]
        await lines.readline()
        for sender in senders:
            sender.cancel()
        await asyncio.gather(*senders, return_exceptions=True)
        print(json.dumps(statuses), flush=True)


async def _send(method: str, url: str, key: str, body: bytes, statuses: Counter[int]) -> None:
    """Send it until cancelled."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    headers["Accept"] = "application/json, text/event-stream"
    async with aiohttp.ClientSession(headers=headers) as session:
        while True:
            try:
                async with session.request(method, url, data=body) as answer:
                    await answer.read()
                    statuses[answer.status] += 1
            except FAILURES:
                statuses[0] += 1


@dataclass
class Senders:
    """The process of the senders."""

    process: asyncio.subprocess.Process

    @contextlib.asynccontextmanager
    async def sending(self, server: Server, number: int, into: Counter[str]) -> AsyncIterator[None]:
        """Meanwhile the body of that number is sent to the server, and answers are counted."""
        assert self.process.stdin is not None, "it is a pipe"
        assert self.process.stdout is not None, "it is a pipe"
        self.process.stdin.write(json.dumps([server.url, server.key, number]).encode() + b"\n")
        try:
            yield
        finally:
            self.process.stdin.write(b"\n")
            into.update(json.loads(await self.process.stdout.readline()))


@contextlib.asynccontextmanager
async def senders_beside() -> AsyncIterator[Senders]:
    """Start the senders; they end with the context."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        __file__,
        "--send",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Senders(process)
    finally:
        process.kill()
        await process.wait()


# --- the measurement ------------------------------------------------------------------------------
async def measure(
    load: Load, senders: Senders, elsewhere: Server, here: Server, number: int
) -> tuple[str, float]:
    """The figures of one body as text, and the ratio.

    ``elsewhere`` and ``here``: the servers it is sent to, of which the load reads the latter.
    """
    calls = {ME: lambda: load.read(ME)}
    quiet: dict[str, list[float]] = {}
    beside, statuses, others = Beside(), Counter[str](), Counter[str]()
    async with beside.asking(calls, PROBE_SECONDS, quiet):
        await asyncio.sleep(QUIET_SECONDS)
    for server, answers in ((elsewhere, others), (here, statuses)):  # a door is loaded when called
        async with senders.sending(server, number, answers):
            await asyncio.sleep(WARM_UP_SECONDS)
    for _ in range(ROUNDS):
        for server, taken, answers in (
            (elsewhere, beside.quiet, others),
            (here, beside.loaded, statuses),
        ):
            async with (
                senders.sending(server, number, answers),
                beside.asking(calls, PROBE_SECONDS, taken),
            ):
                await asyncio.sleep(ROUND_SECONDS)
    figures = [
        percentile(taken.get(ME, []), share) * 1000
        for taken in (quiet, beside.quiet, beside.loaded)
        for share in (0.5, 0.95)
    ]
    ratio = beside.ratio(ME, 0.95)
    shown = "".join(f"{figure:>8.1f}" for figure in figures)
    return f"{shown}{ratio:>7.1f}   {dict(statuses)} {dict(others)}", ratio


async def run(pattern: str) -> int:
    """How many bodies missed the bar."""
    missed = 0
    async with contextlib.AsyncExitStack() as held:
        here, elsewhere = [
            await held.enter_async_context(running(PRODUCT, Cores(None, None), LIMITS))
            for _ in range(2)
        ]
        senders = await held.enter_async_context(senders_beside())
        load = await held.enter_async_context(Load(here))
        for _ in range(WARM_UPS):
            await load.read(ME)
        print(f"{'ms:':<36}{'quiet':>14}{'elsewhere':>16}{'here':>16}   ratio of the p95")
        print(f"{'':<36}{'p50     p95' * 1:>14}{'p50     p95':>16}{'p50     p95':>16}")
        for number, (name, _, _) in enumerate(worst_bodies()):
            if not re.search(pattern, name):
                continue
            hostile = await here.another(f"hostile{number}@example.com")
            shown, ratio = await measure(load, senders, elsewhere, hostile, number)
            missed += ratio > RATIO_BAR
            print(f"{name[:35]:<36}{shown}", flush=True)
    return missed


def main() -> int:
    """The command; its exit status is 1 when a body missed the bar."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="bodies by their names")
    parser.add_argument("--send", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    raise_open_files()
    if arguments.send:
        asyncio.run(send_as_told())
        return 0
    return min(1, asyncio.run(run(arguments.only)))


if __name__ == "__main__":
    sys.exit(main())
