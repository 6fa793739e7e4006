"""The metrics of this process and of what is open in the database (docs/metrics.md).

Requests are counted as they are answered. All else is read when somebody asks: from the context,
and from the database at most once in `COUNTS_SECONDS`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import structlog

from agentpost.context import AppContext
from agentpost.domain.credits import to_credits
from agentpost.domain.errors import reason_of
from agentpost.domain.times import SECOND, seconds
from agentpost.jobs.rules import JobState
from agentpost.observability.request_metrics import RequestMetrics
from agentpost.operations import health_state, metric_rows
from agentpost.operations.metric_rows import Counted, OpenCounts
from agentpost.version import __version__

if TYPE_CHECKING:
    from prometheus_client import Metric

log = structlog.get_logger(__name__)
COUNTS_SECONDS: Final = 5
"""For how long counts of the database are used again."""
_PATIENCE_SECONDS: Final = 3.0
"""How long a request waits for them; with a database that hangs, the rest is answered."""
_NONE: Final = Counted(0, None)


class Metrics:
    """All metrics of a process. For its event loop. ``is_ready``: whether requests can be
    served."""

    def __init__(self, ctx: AppContext, is_ready: Callable[[], bool]) -> None:
        from prometheus_client import CollectorRegistry, ProcessCollector

        self._ctx = ctx
        self._is_ready = is_ready
        self._registry = CollectorRegistry()
        self._requests = RequestMetrics()
        self.observe = self._requests.observe
        ProcessCollector(registry=self._registry)
        self._counts: OpenCounts | None = None
        self._counted_at = ctx.clock.passed()
        self._counting: asyncio.Task[None] | None = None
        self._families: Sequence[Metric] = ()
        self._registry.register(_Collector(lambda: self._families))

    async def text(self) -> bytes:
        """All metrics in Prometheus' text format, version 0.0.4."""
        from prometheus_client import generate_latest

        await self._refresh()
        self._families = [
            *self._requests.families(),
            *_process(self._ctx, ready=self._is_ready()),
            *_totals(self._ctx),
            *_open(self._ctx, self._counts),
            _gauge(
                "agentpost_counts_age_seconds",
                "Seconds since the counts of the database were read.",
                (self._ctx.clock.passed() - self._counted_at) / SECOND,
            ),
        ]
        return await asyncio.to_thread(generate_latest, self._registry)

    async def _refresh(self) -> None:
        """Read the counts when they are old. One reading at a time: each may hold a connection."""
        age = self._ctx.clock.passed() - self._counted_at
        if self._counting is None:
            if self._counts is not None and age < seconds(COUNTS_SECONDS):
                return
            self._counting = asyncio.create_task(self._count())
        await asyncio.wait({self._counting}, timeout=_PATIENCE_SECONDS)

    async def _count(self) -> None:
        try:
            self._counts = await self._ctx.db.read(metric_rows.read)
            self._counted_at = self._ctx.clock.passed()
        except Exception as error:
            log.warning("metrics_not_counted", reason=reason_of(error))
        finally:
            self._counting = None


class _Collector:
    """Gives a registry the metrics that were made for this request."""

    def __init__(self, families: Callable[[], Sequence[Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families()


def _process(ctx: AppContext, *, ready: bool) -> Iterable[Metric]:
    """What this process is and holds."""
    database = "postgresql" if ctx.settings.database_url.get_secret_value() else "sqlite"
    yield _gauges(
        "agentpost_info",
        "1, with the version, the role and the kind of database as labels.",
        ("version", "role", "database"),
        {(__version__, ctx.settings.role, database): 1},
    )
    ready = ready and not ctx.health.failing()
    yield _gauge("agentpost_ready", "1 while /readyz answers 200.", ready)
    yield _gauge("agentpost_maintenance", "1 while the API is switched off.", ctx.unavailable)
    yield _gauges(
        "agentpost_part_works",
        "1 when the last check of the part went well, else 0.",
        ("part",),
        {(name,): works for name, works in ctx.health.parts().items()},
    )
    free = ctx.health.free_bytes
    yield _gauges(
        "agentpost_storage_free_bytes",
        "Room for files; missing where the storage does not say, as with S3.",
        (),
        {} if free is None else {(): free},
    )
    yield _gauge(
        "agentpost_runs_waiting_for_storage",
        "Turns and jobs of this process that wait until a file can be stored.",
        len(ctx.health.waiting(health_state.STORAGE)),
    )
    yield _gauge(
        "agentpost_jobs_waiting_for_code",
        "Jobs of this process whose code makes another call than the one recorded.",
        len(ctx.health.waiting(health_state.CODE)),
    )
    held_calls = ctx.held_calls.count()
    yield _gauge("agentpost_held_calls", "Calls held until something changes.", held_calls)
    yield _gauge("agentpost_event_streams", "Event streams that are open.", ctx.streams.total())
    yield _gauges(
        "agentpost_sweep_postponed",
        "Rows that a sweep failed on and will try again.",
        ("sweep",),
        {(sweep,): len(rows) for sweep, rows in sorted(ctx.put_off.items())},
    )
    silent = max(ctx.silent().values(), default=0) / SECOND
    yield _gauge(
        "agentpost_node_silent_seconds",
        "Seconds without a beat of the node that has been silent longest, as this one sees it.",
        silent,
    )


def _totals(ctx: AppContext) -> Iterable[Metric]:
    """What has happened in this process since it started."""
    counters = ctx.counters
    yield _counter(
        "agentpost_turns_failed", "Turns that failed.", "reason", counters.turns_failed.totals()
    )
    yield _counter(
        "agentpost_jobs_ended", "Jobs that ended.", "state", counters.jobs_ended.totals()
    )
    total_charged = counters.credits_charged.totals().get("", 0)
    yield _counter(
        "agentpost_credits_charged", "Credits charged.", "", {"": to_credits(total_charged)}
    )
    yield _counter(
        "agentpost_connections_refused",
        "Connections turned away because more came than could be served.",
        "",
        {"": counters.connections_refused.totals().get("", 0)},
    )
    yield _counter(
        "agentpost_task_runs", "Runs of a periodic task.", "task", counters.task_runs.totals()
    )
    yield _counter(
        "agentpost_task_failures",
        "Runs of a periodic task that raised an error.",
        "task",
        counters.task_failures.totals(),
    )


def _open(ctx: AppContext, counts: OpenCounts | None) -> Iterable[Metric]:
    """What is open in the database, the same on every node; no samples until it could be read."""
    now = ctx.clock.now()
    wait = seconds(ctx.settings.queue_wait_seconds)
    turns: dict[str, Counted] = {}
    jobs: dict[str, Counted] = {}
    plain: dict[str, float] = {}
    if counts is not None:
        turns = {"running": counts.turns_running, "waiting": counts.turns_waiting}
        first = counts.jobs_queued.oldest
        queued = Counted(counts.jobs_queued.number, None if first is None else first - wait)
        jobs = {
            JobState.RUNNING.value: counts.jobs.get(JobState.RUNNING.value, _NONE),
            JobState.OVERDUE.value: counts.jobs.get(JobState.OVERDUE.value, _NONE),
            JobState.QUEUED.value: queued,
        }
        plain = {
            "agentpost_jobs_unowned": counts.jobs_unowned.number,
            "agentpost_job_unowned_seconds": _age(counts.jobs_unowned.oldest, now),
            "agentpost_deliveries_pending": counts.deliveries.number,
            "agentpost_delivery_oldest_seconds": _age(counts.deliveries.oldest, now),
            "agentpost_delivery_late_seconds": _age(counts.delivery_due, now),
            "agentpost_mails_pending": counts.mails,
            "agentpost_nodes": counts.nodes,
            "agentpost_credits_held": to_credits(counts.credits_held),
        }
    for kind, by_state in (("turn", turns), ("job", jobs)):
        yield _gauges(
            f"agentpost_{kind}s",
            f"Open {kind}s by state.",
            ("state",),
            {(state,): each.number for state, each in by_state.items()},
        )
        yield _gauges(
            f"agentpost_{kind}_oldest_seconds",
            f"For how long the oldest {kind} has been in its state.",
            ("state",),
            {(state,): _age(each.oldest, now) for state, each in by_state.items()},
        )
    for name, text in _PLAIN.items():
        yield _gauges(name, text, (), {(): plain[name]} if plain else {})


_PLAIN: Final = {
    "agentpost_jobs_unowned": "Jobs that should run and that no node has taken.",
    "agentpost_job_unowned_seconds": "Age of the oldest of them.",
    "agentpost_deliveries_pending": "Webhook deliveries to be made, those to be repeated included.",
    "agentpost_delivery_oldest_seconds": "Age of the oldest event that was not delivered.",
    "agentpost_delivery_late_seconds": "For how long the first attempt that is due has been due.",
    "agentpost_mails_pending": "Mails that were not sent.",
    "agentpost_nodes": "Nodes that have come and were not found dead.",
    "agentpost_credits_held": "Credits promised to steps that run.",
}


def _age(since: int | None, now: int) -> float:
    """Seconds; 0 for nothing, and when the clock was set back."""
    return 0.0 if since is None else max(now - since, 0) / SECOND


def _gauge(name: str, text: str, value: float) -> Metric:
    return _gauges(name, text, (), {(): value})


def _gauges(
    name: str, text: str, labels: Sequence[str], values: Mapping[tuple[str, ...], float]
) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        family.add_metric(key, float(value))
    return family


def _counter(name: str, text: str, label: str, totals: Mapping[str, float]) -> Metric:
    """A counter by one label; "" for none."""
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(name, text, labels=[label] if label else [])
    for kind, total in sorted(totals.items()):
        family.add_metric([kind] if label else [], total)
    return family
