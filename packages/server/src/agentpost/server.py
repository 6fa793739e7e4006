"""The life of a whole server in one process: what is started and ended, and in which order.

`agentpost.wiring` makes the parts.
"""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import structlog

from agentpost.accounts import actions as accounts
from agentpost.accounts.actions import NewKey
from agentpost.agents import registry
from agentpost.agents.registry import Agent, UnknownAgent
from agentpost.blobs import identity
from agentpost.bootstrap import (
    close,
    ends_of,
    open_installation,
    prepare_folder,
    upgrade_database,
)
from agentpost.clock import Clock
from agentpost.context import AppContext
from agentpost.db.lock import FolderLock
from agentpost.http.application import Application
from agentpost.observability import traces
from agentpost.operations import maintenance, step_places
from agentpost.processes.environment import Interpreter
from agentpost.runtime.isolated.description import describe
from agentpost.runtime.run_job import JobRunner
from agentpost.runtime.run_turn import TurnRunner
from agentpost.runtime.runs import Run
from agentpost.sessions import actions as sessions
from agentpost.sessions.actions import LoginLink
from agentpost.settings import Settings
from agentpost.storage.scratch import Scratch
from agentpost.tasks.draining import Drain
from agentpost.tasks.shutdown import end_all
from agentpost.turns import actions as turns
from agentpost.users import actions as users
from agentpost.wiring import Parts, wire

log = structlog.get_logger(__name__)
STOP_SECONDS = 5.0
INTERRUPT_SECONDS = 2.0
"""For what runs to notice that its code was replaced; a run that does not is left to itself."""
WARM_UP_AFTER_SECONDS = 3.0
"""From ready on; a server that does not live so long is spared the work."""
LOOP_SECONDS = 2.0
"""What is left to do on the agent loop when all runs have ended, or are never going to."""


@dataclass(frozen=True, slots=True)
class FirstAccount:
    """What a server's first start makes, each shown once; ``login``: where it serves pages."""

    key: NewKey
    login: LoginLink | None


class Server:
    """A running server in this process, without its socket; made by `start`.

    `begin_shutdown` when the socket is to close, then `stop`; `begin_drain` and `finish_drain` come
    before them where there is time.
    """

    def __init__(
        self,
        parts: Parts,
        scratch: Scratch,
        lock: FolderLock,
        ready: threading.Event,
        first: FirstAccount | None,
    ) -> None:
        self._parts = parts
        self._scratch = scratch
        self._lock = lock
        self._ready = ready
        self._drain = Drain(parts.ctx, parts.turns, parts.jobs, parts.background, parts.deliveries)
        self.first = first

    @property
    def app(self) -> Application:
        """What the socket serves."""
        return self._parts.application

    @property
    def ctx(self) -> AppContext:
        """The wired context."""
        return self._parts.ctx

    async def begin_drain(self) -> None:
        """Be unready and take no more work; requests are still served (see `Drain`)."""
        self._ready.clear()
        await self._drain.begin()

    async def finish_drain(self, seconds: float, hurried: asyncio.Event) -> None:
        """The socket closes: let what is under way end, at most that long or until ``hurried``;
        then held waits answer."""
        await self._drain.finish(seconds, hurried)
        self.begin_shutdown()

    def begin_shutdown(self) -> None:
        """Held waits answer now: the socket is about to close."""
        self._ready.clear()
        self.ctx.wakeups.begin_shutdown()

    async def reload(self, load: Callable[[], Agent]) -> None:
        """Serve from now on with the agent that ``load`` imports again, on a thread of its own.

        Turns and jobs that run are interrupted as by a shutdown, before ``load`` puts other objects
        in the place of those their code names, and repeated from their records afterwards: with the
        new code, or with that of before when ``load`` raises. Others begin when it has ended. Its
        `UnknownAgent` is passed on; then plain step functions wait for the next `reload`, since
        worker processes cannot import code that is broken.
        """
        parts, (turn_runner, job_runner) = self._parts, self._runners()
        runners = (turn_runner.runs, job_runner.runs)
        for runs in runners:
            runs.hold()
        try:
            turn_ids, job_ids = await self._interrupt()
            try:
                agent = await asyncio.to_thread(load)
            except UnknownAgent:
                with contextlib.suppress(Exception):  # the database: the next sweep repeats it
                    await parts.loop.run(parts.pool.hold())
                    await self._reclaim(turn_ids, job_ids)
                raise
            turn_runner.agent = agent.run
            await parts.loop.run(parts.pool.renew(agent.worker_imports))
            await self._reclaim(turn_ids, job_ids)
        finally:
            for runs in runners:
                runs.release()
        if agent.warm_up is not None:
            parts.loop.submit(partial(_warm_up, agent.warm_up))

    def _runners(self) -> tuple[TurnRunner, JobRunner]:
        turn_runner, job_runner = self._parts.turns, self._parts.jobs
        assert turn_runner is not None, "one process has all the roles"
        assert job_runner is not None, "one process has all the roles"
        return turn_runner, job_runner

    async def _interrupt(self) -> tuple[set[str], set[str]]:
        """End all that runs, turns and jobs at once; whose runs they were."""
        turn_runner, job_runner = self._runners()
        turn_ids, job_ids = await asyncio.gather(
            turn_runner.runs.interrupt(INTERRUPT_SECONDS),
            job_runner.runs.interrupt(INTERRUPT_SECONDS),
        )
        return set(turn_ids), set(job_ids)

    async def _reclaim(self, turn_ids: set[str], job_ids: set[str]) -> None:
        _, job_runner = self._runners()
        for job_id in sorted(job_ids):
            job_runner.reclaim(job_id, self.ctx.node)
        for turn_id in sorted(turn_ids):
            await turns.reclaim(self.ctx, turn_id, self.ctx.node)

    def when_diverged(self, tell: Callable[[Run], None]) -> None:
        """Have ``tell`` called with each run that made other calls than are recorded, on the agent
        loop's thread."""
        for runner in (self._parts.turns, self._parts.jobs):
            if runner is not None:
                runner.runs.on_diverged = tell

    async def stop(self) -> bool:
        """End what runs; unfinished turns and jobs go on at the next start. False when a part could
        not be ended: it may still be running, only the process' end is left."""
        parts = self._parts
        # What runs ends before the pool: a step whose worker dies under it would count as failed.
        runners = [runner for runner in (parts.turns, parts.jobs) if runner is not None]
        return await end_all(
            [
                ("background", parts.background.stop),
                ("request log", parts.ctx.requests.flush),
                ("engine", parts.ctx.engine.stop),
                *(
                    (type(runner).__name__, partial(runner.stop, STOP_SECONDS))
                    for runner in runners
                ),
                ("nodes", parts.nodes.leave),
                ("agent loop", partial(_stop_loop, parts)),
                ("deliveries", parts.deliveries.stop),
                ("traces", partial(asyncio.to_thread, traces.close)),
                *ends_of(parts.ctx),
                ("scratch folder", partial(asyncio.to_thread, self._scratch.close)),
                ("folder", partial(asyncio.to_thread, self._lock.release)),
            ]
        )


async def start(settings: Settings, clock: Clock | None = None) -> Server:
    """Start a server and take up what was left behind. Raises `DatabaseBusy`, and `OSError` and
    `ValueError` for settings that cannot be used."""
    folder = prepare_folder(settings)
    alone = not settings.database_url.get_secret_value()
    if alone and settings.role != "all":
        raise ValueError(
            f"AGENTPOST_ROLE={settings.role} needs an AGENTPOST_DATABASE_URL; SQLite has one"
            " process."
        )
    lock = FolderLock(folder)
    if alone:
        lock.acquire()
    await asyncio.to_thread(upgrade_database, settings)
    problem = await step_places.trouble(settings)
    if problem:
        raise OSError(problem)
    if settings.agent_processes and registry.is_code(settings.agent):
        with step_places.launch(settings) as launch:
            agent = await asyncio.to_thread(
                describe,
                settings.agent,
                settings.worker_env,
                launch,
                Interpreter(settings.agent_python),
            )
    else:
        if settings.agent_processes:
            log.warning("agent_processes_ignored", reason="the agent is no code of an author's")
        agent = registry.resolve(settings.agent)
    installation = await open_installation(settings, clock)
    ctx = installation.ctx
    scratch = await asyncio.to_thread(Scratch, folder / "scratch", ctx.node)
    ready = threading.Event()
    try:
        parts = wire(settings, installation, agent, scratch=scratch.folder, is_ready=ready.is_set)
        await identity.settle(ctx)
    except (OSError, ValueError):
        await close(ctx)
        scratch.close()
        raise
    if settings.otlp_endpoint:
        traces.configure(settings.otlp_endpoint, settings.otlp_share, ctx.node)
    first = await _start(parts)
    if settings.egress_allow:
        log.warning("egress_open", allowed=settings.egress_allow)
    if not (alone or settings.role == "worker" or settings.redis_url.get_secret_value()):
        log.info("limits_per_node", advice="set AGENTPOST_REDIS_URL to count over all nodes")
    ready.set()
    if parts.turns is not None and agent.warm_up is not None:
        parts.loop.submit(partial(_warm_up, agent.warm_up))
    return Server(parts, scratch, lock, ready, first)


async def _start(parts: Parts) -> FirstAccount | None:
    """Start the parts in their order."""
    ctx = parts.ctx
    parts.loop.start()
    await parts.loop.run(parts.pool.start())
    if parts.processes is not None:
        await parts.loop.run(parts.processes.start())
    await parts.deliveries.start()
    first = await _first_account(ctx)
    await ctx.limiter.start()
    await maintenance.refresh(ctx)
    await parts.nodes.enter()
    await ctx.engine.start(parts.jobs)
    await parts.nodes.recover_open()
    parts.background.start()
    return first


async def _warm_up(load: Callable[[], Awaitable[None]]) -> None:
    """Let the agent load what its turns need, before the first message asks for it. On the agent
    loop: a thread beside it would load the same twice when a message comes meanwhile."""
    await asyncio.sleep(WARM_UP_AFTER_SECONDS)
    await load()


async def _first_account(ctx: AppContext) -> FirstAccount | None:
    """Make the default account when there is none."""
    settings = ctx.settings
    given = settings.bootstrap_api_key.get_secret_value()
    secret = given or accounts.generate_secret(settings.key_prefix)
    key = await accounts.bootstrap(ctx, secret, settings.bootstrap_credits)
    if settings.bootstrap_email:
        await users.ensure_operator(ctx, settings.bootstrap_email)
    serves_pages = settings.role != "worker"
    if serves_pages:
        await sessions.remember_address(ctx)
    if key is None:
        return None
    login = await sessions.make_link(ctx, key.record.account_id) if serves_pages else None
    return FirstAccount(key, login)


async def _stop_loop(parts: Parts) -> None:
    with contextlib.suppress(TimeoutError):  # an agent may be blocking its loop for good
        async with asyncio.timeout(LOOP_SECONDS):
            await parts.loop.run(parts.ctx.egress.aclose())
            await parts.loop.run(parts.pool.aclose())
            if parts.processes is not None:
                await parts.loop.run(parts.processes.aclose())
    if not await asyncio.to_thread(parts.loop.stop, LOOP_SECONDS):
        raise TimeoutError("an agent blocks its loop, or a thread that it started there")
