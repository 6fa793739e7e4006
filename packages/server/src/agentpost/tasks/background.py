"""The periodic tasks of a server, and the loop that runs them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from agentpost.account_data import deletion
from agentpost.accounts import actions as accounts
from agentpost.blobs import actions as blobs
from agentpost.context import NODES, AppContext
from agentpost.domain.times import SECOND
from agentpost.files import scanning
from agentpost.following import long_polls
from agentpost.mail import actions as mail
from agentpost.mail.actions import SmtpServer
from agentpost.nodes import upkeep
from agentpost.nodes.membership import WATCH_SECONDS, Nodes
from agentpost.nodes.reconciler import RECONCILE_SECONDS, RunReconciler
from agentpost.operations import health, health_state, maintenance
from agentpost.requests import actions as requests
from agentpost.retention import actions as retention
from agentpost.retention.actions import DueCursor, LogCursor
from agentpost.runtime.run_job import JobRunner
from agentpost.schedules import actions as schedules
from agentpost.sessions import mail as user_mail
from agentpost.uploads import actions as uploads
from agentpost.webhooks import deliveries, secrets

log = structlog.get_logger(__name__)
_BEAT_SECONDS = 0.25
"""Tasks run at multiples of it, so that those of one period run together: a wake-up of each thread
serves all of them."""
_EARLY_SECONDS = 0.01
"""A loop's timers may be early by its clock's resolution."""
_CHECK_SECONDS = 2.0
"""Between two checks of whether a store works."""
_CHECK_REMOTE_SECONDS = 10.0
"""The same for a bucket, where each check is three requests that are paid for."""


@dataclass(frozen=True, slots=True)
class Task:
    """A function run again and again; at most ``seconds`` between the end of one run and the next.

    ``takes_work``: it begins turns or jobs here, so a node that drains runs it no more. ``hint``:
    a hint at that runs it at once (`Wakeups.listen`). ``external``: so does a commit of another
    process, where that can be seen.
    """

    name: str
    run: Callable[[], Awaitable[None]]
    seconds: float
    takes_work: bool = False
    hint: str | None = None
    external: bool = False


class Background:
    """Runs the periodic tasks on the event loop that starts it.

    Args:
        smtp: the mail server; without one mails are kept.
        checks: of more parts than every server has, by the names of `operations.health_state`.
    """

    def __init__(
        self,
        ctx: AppContext,
        job_runner: JobRunner | None,
        nodes: Nodes,
        reconciler: RunReconciler,
        smtp: SmtpServer | None,
        checks: Mapping[str, health.Check],
    ) -> None:
        sweep = ctx.settings.sweep_seconds
        self._ctx = ctx
        self._loops: list[asyncio.Task[None]] = []
        self._taking: list[asyncio.Task[None]] = []
        self._beats = _Beats()
        self._commits = 0  # of other processes
        self._pausing: dict[str, asyncio.Future[None]] = {}  # the tasks that such a commit runs
        self._failing: dict[str, str] = {}  # task -> the fault it has had since it last went well
        self._tasks = [
            Task("recheck_waits", long_polls.Recheck(ctx).run, 1.0, external=True),
            Task("end_held_calls", lambda: accounts.end_held_calls(ctx), 0.5, external=True),
            Task("expire_waiting_turns", lambda: upkeep.expire_waiting_turns(ctx), sweep),
            Task("abandon_turns", lambda: upkeep.abandon_turns(ctx), sweep),
            Task("expire_jobs", lambda: upkeep.expire_jobs(ctx), sweep),
            Task("resume_queued", lambda: upkeep.resume_queued(ctx), sweep),
            Task("run_schedules", lambda: schedules.run_due(ctx), sweep, takes_work=True),
            Task("sweep_blobs", lambda: blobs.sweep(ctx), sweep),
            Task("tidy_storage", ctx.incoming.tidy, 600.0),
            Task("sweep_uploads", lambda: uploads.sweep(ctx), 60.0),
            Task("wake_deliveries", lambda: deliveries.wake_due(ctx), sweep, external=True),
            Task("turn_off_failing", lambda: deliveries.turn_off_failing(ctx), sweep),
            Task("look_for_unknown_keys", secrets.UnknownKeys(ctx).log, 60.0),
            Task("watch_nodes", nodes.watch, WATCH_SECONDS, takes_work=True, hint=NODES),
            Task("compare_runs", reconciler.reconcile, RECONCILE_SECONDS),
            Task("look_at_maintenance", partial(maintenance.refresh, ctx), 0.5, external=True),
            Task("write_request_log", ctx.requests.flush, requests.FLUSH_SECONDS),
            Task("purge", Purge(ctx).run, sweep),
            Task("delete_accounts", lambda: deletion.sweep(ctx), sweep),
        ]
        if job_runner is not None:
            pick_up = partial(self._pick_up, job_runner)
            self._tasks.append(Task("pick_up_jobs", pick_up, sweep, takes_work=True, external=True))
        if smtp is not None:
            self._tasks.append(Task("send_mail", lambda: mail.send_due(ctx, smtp), sweep))
            self._tasks.append(Task("send_links", lambda: user_mail.send_due(ctx, smtp), sweep))
        if ctx.scanner is not None and ctx.settings.role != "worker":
            check = partial(scanning.check, ctx)
            self._tasks.append(Task("check_scanner", check, scanning.CHECK_SECONDS))
        self._tasks += _checks_of(ctx, checks)

    def start(self) -> None:
        """Begin; each task has its own loop, so a slow one holds up no other."""
        loop = asyncio.get_running_loop()
        self._ctx.external_commit.add(partial(loop.call_soon_threadsafe, self._external_commit))
        for task in self._tasks:
            loops = self._taking if task.takes_work else self._loops
            loops.append(asyncio.create_task(self._forever(task)))

    async def take_no_work(self) -> None:
        """End the loops that begin work here; the others run on."""
        await _end(self._taking)

    async def stop(self) -> None:
        """End all loops."""
        await _end([*self._taking, *self._loops])

    async def _forever(self, task: Task) -> None:
        if task.hint is None:
            while True:
                commits = self._commits
                await self._once(task.name, task.run)
                if not task.external:
                    await self._beats.pause(task.seconds)
                elif commits == self._commits:
                    self._pausing[task.name] = self._beats.pause(task.seconds)
                    await self._pausing[task.name]
        with self._ctx.wakeups.listen(task.hint) as wait:
            while not wait.over:
                await self._once(task.name, task.run)
                await wait.wait(_beat_within(task.seconds) - asyncio.get_running_loop().time())

    def _external_commit(self) -> None:
        self._commits += 1
        for pause in self._pausing.values():
            if not pause.done():
                pause.set_result(None)

    async def _pick_up(self, job_runner: JobRunner) -> None:
        """Start jobs without an owner."""
        for job_id in await upkeep.unowned_jobs(self._ctx):
            job_runner.run(job_id, None)

    async def _once(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        counters = self._ctx.counters
        counters.task_runs.add(name)
        try:
            await run()
        except Exception as error:
            counters.task_failures.add(name)
            reason = f"{type(error).__name__}: {error}"
            if self._failing.get(name) != reason:  # logged once for as long as it is the same
                self._failing[name] = reason
                log.error("background_task_failed", task=name, exc_info=error)
        else:
            self._failing.pop(name, None)


def _beat_within(seconds: float) -> float:
    """The time of the last beat within so many; the end of them if those are less than two
    beats."""
    at = asyncio.get_running_loop().time() + seconds
    if seconds < 2 * _BEAT_SECONDS:
        return at
    return (at + _EARLY_SECONDS) // _BEAT_SECONDS * _BEAT_SECONDS


class _Beats:
    """The moments at which pauses end: one timer ends all pauses of a beat."""

    def __init__(self) -> None:
        self._pauses: dict[float, list[asyncio.Future[None]]] = {}

    def pause(self, seconds: float) -> asyncio.Future[None]:
        """Done at `_beat_within` so many seconds."""
        loop, at = asyncio.get_running_loop(), _beat_within(seconds)
        if at not in self._pauses:
            self._pauses[at] = []
            loop.call_at(at, self._end, at)
        pause: asyncio.Future[None] = loop.create_future()
        self._pauses[at].append(pause)
        return pause

    def _end(self, at: float) -> None:
        for pause in self._pauses.pop(at):
            if not pause.done():
                pause.set_result(None)


async def _end(loops: Sequence[asyncio.Task[None]]) -> None:
    for loop in loops:
        loop.cancel()
    await asyncio.gather(*loops, return_exceptions=True)


def _checks_of(ctx: AppContext, checks: Mapping[str, health.Check]) -> list[Task]:
    """The checks of every part whose failing `/readyz` tells."""
    all_checks: dict[str, health.Check] = {
        health_state.DATABASE: lambda: health.check_database(ctx),
        health_state.BLOBS: lambda: health.check_blobs(ctx),
        **checks,
    }
    remote = bool(ctx.settings.storage_url)
    return [
        Task(
            f"check_{name}",
            health.PartCheck(ctx.health, name, check).run,
            _CHECK_REMOTE_SECONDS if remote and name == health_state.BLOBS else _CHECK_SECONDS,
        )
        for name, check in all_checks.items()
    ]


REST_SECONDS = 60
"""Between two rounds: what is due is unseen already, so its rows may wait."""
ANEW_SECONDS = 3_600
"""Between two rounds that begin anew."""


class Purge:
    """Where the rounds stand. A place is None when its part of the round is done."""

    def __init__(self, ctx: AppContext) -> None:
        self._ctx = ctx
        self._message: str | None = ""
        self._with_jobs: DueCursor | None = (0, "")
        self._key: str | None = ""
        self._entry: LogCursor | None = ("", 0)
        self._next = ("", "", ("", 0))
        self._rest_until = ctx.clock.passed()
        self._anew_at = ctx.clock.passed() + ANEW_SECONDS * SECOND

    async def run(self) -> None:
        """The next piece; nothing while it rests."""
        ctx = self._ctx
        if ctx.clock.passed() < self._rest_until:
            return
        message, key, entry = self._next
        if self._message is not None:
            message = retention.old_messages(ctx)
            self._message = await retention.messages(ctx, self._message)
        if self._with_jobs is not None:
            self._with_jobs = await retention.messages_with_jobs(ctx, self._with_jobs)
        if self._key is not None:
            key = retention.keyed_messages(ctx)
            self._key = await retention.keys(ctx, self._key)
        if self._entry is not None:
            entry = (retention.old_entries(ctx), 0)
            self._entry = await retention.entries(ctx, self._entry)
        self._next = (message, key, entry)
        await retention.deleted_works(ctx)
        await retention.rest(ctx)
        cursors = (self._message, self._with_jobs, self._key, self._entry)
        if all(cursor is None for cursor in cursors):
            now = self._ctx.clock.passed()
            self._with_jobs, self._rest_until = (0, ""), now + REST_SECONDS * SECOND
            self._message, self._key, self._entry = self._next
            if now >= self._anew_at:
                self._message, self._entry = "", ("", 0)
                self._anew_at = now + ANEW_SECONDS * SECOND
