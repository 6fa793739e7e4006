"""The measured situations. Each gets a fresh server and returns its figures by name."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from benchmarks import deliveries, held
from benchmarks.load import ECHO, Load, Sample, for_runs, for_seconds, percentile
from benchmarks.servers import Server

Figures: TypeAlias = dict[str, float]

MIB = 1024 * 1024
MIXED_CLIENTS = 32
MIXED_JOBS = 5
MIXED_STEPS = 20
SHARED_CLIENTS = 8
"""Clients that take turns in one conversation: enough that one is always waiting."""


class ScenarioFailed(Exception):
    """Some runs failed, so the figures would flatter; the text says how many and why."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How long and how much: full by default, small for a quick look."""

    seconds: float = 5.0
    warm_seconds: float = 1.0
    growth_runs: int = 10_000
    growth_warm_runs: int = 500
    waits: int = 10_000
    wakes: int = 300
    rounds: int = 3
    events: int = 2_000
    backlog: int = 10_000

    @classmethod
    def quick(cls) -> Sizes:
        """About a minute in all; too short to be quoted."""
        return cls(1.5, 0.5, 1_500, 200, 1_000, 100, 1, 500, 1_000)


@dataclass(frozen=True, slots=True)
class Scenario:
    """``repeats`` is whether every round runs it: memory is measured once. ``floor`` is whether the
    floor server can do it. ``split``: agentpost has a process for the API and one for jobs, which
    only PostgreSQL allows."""

    name: str
    run: Callable[[Server, Sizes], Awaitable[Figures]]
    repeats: bool = True
    floor: bool = True
    split: bool = False


def closed_loop(clients: int, text: str, conversation: str | None = None) -> Scenario:
    """``clients`` clients sending ``text``, each run followed to its final state."""

    async def run(server: Server, sizes: Sizes) -> Figures:
        async with Load(server) as load:
            warm = for_seconds(sizes.warm_seconds)
            checked(await load.closed_loop(clients, text, warm, conversation))
            before = server.usage().cpu
            going = for_seconds(sizes.seconds)
            sample = checked(await load.closed_loop(clients, text, going, conversation))
            cpu = server.usage().cpu - before
        return {
            "runs_per_s": sample.rate,
            "p50_ms": sample.ms(0.50),
            "p99_ms": sample.ms(0.99),
            "cpu_ms_per_run": cpu / sample.runs * 1000,
            "cpu_share": cpu / sample.seconds,
        }

    names = {ECHO: "echo"}
    label = "conversation" if conversation else f"{names.get(text, text)}-{clients}"
    return Scenario(label, run)


async def mixed(server: Server, sizes: Sizes) -> Figures:
    """Echo clients beside jobs of many steps, started again as they end."""
    steps = f"steps {MIXED_STEPS}"
    async with Load(server) as load:
        warm = for_seconds(sizes.warm_seconds)
        checked(await load.closed_loop(MIXED_CLIENTS, ECHO, warm))
        going = for_seconds(sizes.seconds)
        echo, jobs = await asyncio.gather(
            load.closed_loop(MIXED_CLIENTS, ECHO, going),
            load.closed_loop(MIXED_JOBS, steps, going),
        )
        checked(echo)
        gaps: list[float] = []
        for message_id in checked(jobs).ids:
            stamps: list[int] = json.loads(await load.result(message_id))
            gaps.extend(after - before for before, after in itertools.pairwise(stamps))
    return {
        "echo_per_s": echo.rate,
        "echo_p50_ms": echo.ms(0.50),
        "echo_p99_ms": echo.ms(0.99),
        "step_p50_ms": percentile(gaps, 0.50) / 1000,
        "step_p99_ms": percentile(gaps, 0.99) / 1000,
        "steps_per_s": MIXED_STEPS * jobs.rate,
    }


async def memory(server: Server, sizes: Sizes) -> Figures:
    """Resident memory at rest, and how much more after many runs."""
    await server.settle()
    idle = server.usage().rss
    async with Load(server) as load:
        checked(await load.closed_loop(MIXED_CLIENTS, ECHO, for_runs(sizes.growth_warm_runs)))
        await server.settle()
        warm = server.usage().rss
        checked(await load.closed_loop(MIXED_CLIENTS, ECHO, for_runs(sizes.growth_runs)))
        await server.settle()
        end = server.usage().rss
    return {
        "ready_s": server.ready_seconds,
        "idle_mb": idle / MIB,
        "first_runs_mb": (warm - idle) / MIB,
        "growth_mb": (end - warm) / MIB,
    }


async def waits(server: Server, sizes: Sizes) -> Figures:
    """Long-polls held at once, each on its own message with a running job."""
    began = time.monotonic()
    measured = await held.measure(server, sizes.waits, sizes.wakes)
    return {
        "held": sizes.waits,
        "kib_per_wait": measured.bytes_per_wait / 1024,
        "wake_p50_ms": percentile(measured.after_settled, 0.50) * 1000,
        "wake_p99_ms": percentile(measured.after_settled, 0.99) * 1000,
        "release_p50_ms": percentile(measured.after_release, 0.50) * 1000,
        "release_p99_ms": percentile(measured.after_release, 0.99) * 1000,
        "server_waited": measured.server_waited,
        "load_waited": measured.load_waited,
        "took_s": time.monotonic() - began,
    }


async def webhooks(server: Server, sizes: Sizes) -> Figures:
    """Deliveries to receivers that answer at once, each attempt on record."""
    return _delivered(await deliveries.throughput(server, sizes.events))


async def webhooks_1000(server: Server, sizes: Sizes) -> Figures:
    """The same to a thousand receivers: ten of each of a hundred accounts."""
    return _delivered(await deliveries.throughput(server, sizes.events, 100, 10))


def _delivered(measured: deliveries.Throughput) -> Figures:
    return {
        "per_s": measured.count / measured.seconds,
        "cpu_ms_per_delivery": measured.cpu / measured.count * 1000,
    }


async def isolation(server: Server, sizes: Sizes) -> Figures:
    """From event to arrival at a good receiver, while another one hangs with a backlog."""
    return _spread(await deliveries.beside_a_hanging_one(server, sizes.backlog))


async def isolation_slow(server: Server, sizes: Sizes) -> Figures:
    """The same while two hundred receivers of twenty accounts answer 200 after 9.9 seconds."""
    return _spread(await deliveries.beside_slow_ones(server, sizes.backlog))


def _spread(latencies: list[float]) -> Figures:
    return {
        "p50_ms": percentile(latencies, 0.50) * 1000,
        "p99_ms": percentile(latencies, 0.99) * 1000,
        "max_ms": max(latencies) * 1000,
    }


def checked(sample: Sample) -> Sample:
    """The sample; raises `ScenarioFailed` when a run failed or none finished."""
    if sample.errors:
        raise ScenarioFailed(
            f"{len(sample.errors)} runs failed, {sample.runs} did not; first: {sample.errors[0]}"
        )
    if not sample.runs:
        raise ScenarioFailed("no run finished in time")
    return sample


SCENARIOS = (
    closed_loop(1, ECHO),
    closed_loop(32, ECHO),
    closed_loop(256, ECHO),
    closed_loop(SHARED_CLIENTS, ECHO, "shared"),
    closed_loop(1, "job"),
    closed_loop(32, "job"),
    replace(closed_loop(32, "job"), name="job-32-split", floor=False, split=True),
    Scenario("mixed", mixed),
    Scenario("memory", memory, repeats=False),
    Scenario("waits", waits, repeats=False),
    Scenario("webhooks", webhooks, floor=False),
    Scenario("webhooks-1000", webhooks_1000, floor=False),
    Scenario("isolation", isolation, repeats=False, floor=False),
    Scenario("isolation-slow", isolation_slow, repeats=False, floor=False),
)
