"""The metrics of this process and of what is open in the database (docs/metrics.md).

Requests are counted as they are answered. All else is read when somebody asks: from the context,
and from the database at most once in `COUNTS_SECONDS`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import structlog

from agentpost.context import AppContext
from agentpost.domain.credits import to_credits
from agentpost.domain.errors import reason_of
from agentpost.domain.times import SECOND, seconds
from agentpost.jobs.rules import JobState
from agentpost.messages.rules import TurnState
from agentpost.observability.request_metrics import RequestMetrics
from agentpost.operations import health_state, metric_rows
from agentpost.operations.metric_rows import Counted
from agentpost.version import __version__

if TYPE_CHECKING:
    from prometheus_client import Metric
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

log = structlog.get_logger(__name__)
COUNTS_SECONDS: Final = 5
"""For how long counts of the database are used again."""
_PATIENCE_SECONDS: Final = 3.0
"""How long a request waits for them; with a database that hangs, the rest is answered."""
_STATES: Final = {
    "turns": (TurnState.RUNNING, TurnState.WAITING),
    "jobs": (JobState.RUNNING, JobState.OVERDUE, JobState.QUEUED),
}
_GAUGES: Final = {
    "agentpost_info": (
        "1, with the version, the role and the kind of database as labels.",
        *("version", "role", "database"),
    ),
    "agentpost_ready": ("1 while /readyz answers 200.",),
    "agentpost_maintenance": ("1 while the API is switched off.",),
    "agentpost_part_works": ("1 when the last check of the part went well, else 0.", "part"),
    "agentpost_storage_free_bytes": (
        "Room for files; missing where the storage does not say, as with S3.",
    ),
    "agentpost_runs_waiting_for_storage": (
        "Turns and jobs of this process that wait until a file can be stored.",
    ),
    "agentpost_jobs_waiting_for_code": (
        "Jobs of this process whose code makes another call than the one recorded.",
    ),
    "agentpost_held_calls": ("Calls held until something changes.",),
    "agentpost_event_streams": ("Event streams that are open.",),
    "agentpost_sweep_postponed": ("Rows that a sweep failed on and will try again.", "sweep"),
    "agentpost_node_silent_seconds": (
        "Seconds without a beat of the node that has been silent longest, as this one sees it.",
    ),
    "agentpost_turns": ("Open turns by state.", "state"),
    "agentpost_turn_oldest_seconds": (
        "For how long the oldest turn has been in its state.",
        "state",
    ),
    "agentpost_jobs": ("Open jobs by state.", "state"),
    "agentpost_job_oldest_seconds": ("For how long the oldest job has been in its state.", "state"),
    "agentpost_jobs_unowned": ("Jobs that should run and that no node has taken.",),
    "agentpost_job_unowned_seconds": ("Age of the oldest of them.",),
    "agentpost_deliveries_pending": (
        "Webhook deliveries to be made, those to be repeated included.",
    ),
    "agentpost_delivery_oldest_seconds": ("Age of the oldest event that was not delivered.",),
    "agentpost_delivery_late_seconds": (
        "For how long the first attempt that is due has been due.",
    ),
    "agentpost_mails_pending": ("Mails that were not sent.",),
    "agentpost_nodes": ("Nodes that have come and were not found dead.",),
    "agentpost_credits_held": ("Credits promised to steps that run.",),
    "agentpost_counts_age_seconds": ("Seconds since the counts of the database were read.",),
}
_COUNTERS: Final = {
    "agentpost_turns_failed": ("Turns that failed.", "reason"),
    "agentpost_jobs_ended": ("Jobs that ended.", "state"),
    "agentpost_credits_charged": ("Credits charged.",),
    "agentpost_connections_refused": (
        "Connections turned away because more came than could be served.",
    ),
    "agentpost_task_runs": ("Runs of a periodic task.", "task"),
    "agentpost_task_failures": ("Runs of a periodic task that raised an error.", "task"),
}
"""The text of each metric, and its labels."""
Samples: TypeAlias = float | Mapping[Any, float] | None
"""A number, or several by their label or tuple of labels; None: there is none to tell."""


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
        self._counts: Mapping[str, Counted] | None = None
        self._counted_at = ctx.clock.passed()
        self._counting: asyncio.Task[None] | None = None
        self._families: Sequence[Metric] = ()
        self._registry.register(self)

    def collect(self) -> Sequence[Metric]:
        """What the registry asks for: the metrics that were made for this request."""
        return self._families

    async def text(self) -> bytes:
        """All metrics in Prometheus' text format, version 0.0.4."""
        from prometheus_client import generate_latest
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        await self._refresh()
        ctx, counts = self._ctx, self._counts
        gauges = {**_process(ctx, ready=self._is_ready()), **(_open(ctx, counts) if counts else {})}
        gauges["agentpost_counts_age_seconds"] = (ctx.clock.passed() - self._counted_at) / SECOND
        self._families = [
            *self._requests.families(),
            *_families(GaugeMetricFamily, _GAUGES, gauges),
            *_families(CounterMetricFamily, _COUNTERS, _totals(ctx)),
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


def _families(
    kind: type[CounterMetricFamily | GaugeMetricFamily],
    texts: Mapping[str, tuple[str, ...]],
    samples: Mapping[str, Samples],
) -> Iterable[Metric]:
    for name, (text, *labels) in texts.items():
        family = kind(name, text, labels=labels)
        value = samples.get(name)
        values = value if isinstance(value, Mapping) else {} if value is None else {(): value}
        for key, number in values.items():
            family.add_metric([key] if isinstance(key, str) else key, float(number))
        yield family


def _process(ctx: AppContext, *, ready: bool) -> dict[str, Samples]:
    """What this process is and holds."""
    database = "postgresql" if ctx.settings.database_url.get_secret_value() else "sqlite"
    health = ctx.health
    return {
        "agentpost_info": {(__version__, ctx.settings.role, database): 1},
        "agentpost_ready": ready and not health.failing(),
        "agentpost_maintenance": ctx.unavailable,
        "agentpost_part_works": health.parts(),
        "agentpost_storage_free_bytes": health.free_bytes,
        "agentpost_runs_waiting_for_storage": len(health.waiting(health_state.STORAGE)),
        "agentpost_jobs_waiting_for_code": len(health.waiting(health_state.CODE)),
        "agentpost_held_calls": ctx.held_calls.count(),
        "agentpost_event_streams": ctx.streams.total(),
        "agentpost_sweep_postponed": {
            sweep: len(rows) for sweep, rows in sorted(ctx.put_off.items())
        },
        "agentpost_node_silent_seconds": max(ctx.silent().values(), default=0) / SECOND,
    }


def _totals(ctx: AppContext) -> dict[str, Samples]:
    """What has happened in this process since it started."""
    counters = ctx.counters
    return {
        "agentpost_turns_failed": counters.turns_failed.totals(),
        "agentpost_jobs_ended": counters.jobs_ended.totals(),
        "agentpost_credits_charged": to_credits(counters.credits_charged.totals().get("", 0)),
        "agentpost_connections_refused": counters.connections_refused.totals().get("", 0),
        "agentpost_task_runs": counters.task_runs.totals(),
        "agentpost_task_failures": counters.task_failures.totals(),
    }


def _open(ctx: AppContext, counts: Mapping[str, Counted]) -> dict[str, Samples]:
    """What is open in the database, the same on every node; no samples until it could be read."""
    now = ctx.clock.now()
    numbers = {name: each.number for name, each in counts.items()}
    ages = {name: _age(each.oldest, now) for name, each in counts.items()}
    if (deadline := counts["jobs_queued"].oldest) is not None:
        ages["jobs_queued"] = _age(deadline - seconds(ctx.settings.queue_wait_seconds), now)
    return {
        "agentpost_turns": _by_state("turns", numbers),
        "agentpost_turn_oldest_seconds": _by_state("turns", ages),
        "agentpost_jobs": _by_state("jobs", numbers),
        "agentpost_job_oldest_seconds": _by_state("jobs", ages),
        "agentpost_jobs_unowned": numbers["jobs_unowned"],
        "agentpost_job_unowned_seconds": ages["jobs_unowned"],
        "agentpost_deliveries_pending": numbers["deliveries"],
        "agentpost_delivery_oldest_seconds": ages["deliveries"],
        "agentpost_delivery_late_seconds": _age(counts["deliveries"].due, now),
        "agentpost_mails_pending": numbers["mails"],
        "agentpost_nodes": numbers["nodes"],
        "agentpost_credits_held": to_credits(numbers["credits_held"]),
    }


def _by_state(kind: str, values: Mapping[str, float]) -> dict[str, float]:
    return {state: values.get(f"{kind}_{state}", 0) for state in _STATES[kind]}


def _age(since: int | None, now: int) -> float:
    """Seconds; 0 for nothing, and when the clock was set back."""
    return 0.0 if since is None else max(now - since, 0) / SECOND
