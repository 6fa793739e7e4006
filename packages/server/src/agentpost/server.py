"""A whole server in one process: its parts, each given what it needs in its constructor, and what
is started and ended, in which order."""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog

from agentpost.accounts import actions as accounts
from agentpost.accounts.actions import NewKey
from agentpost.agents import registry, values
from agentpost.agents.registry import Agent, UnknownAgent
from agentpost.api.app import OPERATIONS, ApiRoutes
from agentpost.api.auth import Keys
from agentpost.api.operation import Api
from agentpost.blobs import identity
from agentpost.bootstrap import (
    Installation,
    close,
    ends_of,
    heartbeat,
    open_installation,
    prepare_folder,
    surroundings,
    upgrade_database,
    way_out,
)
from agentpost.clock import Clock
from agentpost.context import AppContext
from agentpost.db.lock import FolderLock
from agentpost.doors.routes import DoorRoutes
from agentpost.http.application import Application, RouteGroup
from agentpost.mail.actions import SmtpServer
from agentpost.nodes.lease import LEASE_SECONDS, Lease
from agentpost.nodes.membership import Nodes
from agentpost.nodes.quarantine import Quarantine
from agentpost.nodes.reconciler import RunReconciler
from agentpost.observability import traces
from agentpost.operations import maintenance, step_places
from agentpost.operations.metrics import Metrics
from agentpost.operations.routes import handler as metrics_handler
from agentpost.processes.environment import Interpreter
from agentpost.runtime.isolated.description import describe
from agentpost.runtime.isolated.pool import AgentProcesses
from agentpost.runtime.run_job import JobRunner
from agentpost.runtime.run_turn import TurnRunner
from agentpost.runtime.runs import Run
from agentpost.runtime.steps import make_steps
from agentpost.sessions import actions as sessions
from agentpost.sessions.actions import LoginLink
from agentpost.settings import Settings
from agentpost.storage.scratch import AGENTS, Scratch
from agentpost.tasks.background import Background
from agentpost.tasks.draining import Drain
from agentpost.tasks.shutdown import end_all
from agentpost.threads.loop import AgentLoop
from agentpost.turns import actions as turns
from agentpost.users import actions as users
from agentpost.web.routes import PageRoutes
from agentpost.webhooks.dispatcher import Deliveries

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

    Attributes:
        ctx: the wired context.
        app: what the socket serves.
        first: what its first start made.
    """

    def __init__(
        self,
        settings: Settings,
        installation: Installation,
        agent: Agent,
        scratch: Scratch,
        lock: FolderLock,
    ) -> None:
        """Make all parts; nothing runs yet. Raises `OSError` and `ValueError` for settings that
        cannot be used."""
        alone = not settings.database_url.get_secret_value()
        smtp_url = settings.smtp_url.get_secret_value()
        smtp = SmtpServer.parse(smtp_url) if smtp_url else None
        ctx = self.ctx = installation.ctx
        self.first: FirstAccount | None = None
        self._scratch = scratch
        self._lock = lock
        self._ready = threading.Event()
        self._loop = AgentLoop()
        processes = self._processes = _agent_processes(settings, scratch.folder)
        rebuild = values.rebuild_error if processes is None else values.stand_in_error
        steps = make_steps(settings, ctx.storage, scratch.folder, agent.worker_imports, rebuild)
        self._pool = steps.pool
        run = agent.run if processes is None else processes.take_turn
        turn_runner = TurnRunner(self._loop, run, steps) if settings.role != "worker" else None
        self._turns = turn_runner
        ctx.agent_name, ctx.examples, ctx.turns = agent.name, agent.examples, turn_runner
        if not alone:
            ctx.lease = Lease(LEASE_SECONDS)
        if agent.attach is not None:
            agent.attach(surroundings(settings, ctx.egress))
        find = values.resolve if processes is None else processes.find_job
        job_runner = JobRunner(ctx, self._loop, steps, find) if settings.role != "api" else None
        self._jobs = job_runner
        quarantine = Quarantine(
            turn_runner.runs if turn_runner else None, job_runner.runs if job_runner else None
        )
        self._nodes = Nodes(ctx, job_runner, heartbeat(settings, ctx), quarantine)
        reconciler = RunReconciler(ctx, turn_runner, job_runner, quarantine)
        self._deliveries = Deliveries(ctx, way_out(settings), alone=alone)
        checks = installation.checks
        self._background = Background(ctx, job_runner, self._nodes, reconciler, smtp, checks)
        self._drain = Drain(ctx, turn_runner, job_runner, self._background, self._deliveries)
        self.app = _application(installation, self._ready.is_set)

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
        turn_runner, job_runner = self._turns, self._jobs
        assert turn_runner is not None, "one process has all the roles"
        assert job_runner is not None, "one process has all the roles"
        runners = (turn_runner.runs, job_runner.runs)
        for runs in runners:
            runs.hold()
        try:
            interrupting = [runs.interrupt(INTERRUPT_SECONDS) for runs in runners]
            turn_ids, job_ids = await asyncio.gather(*interrupting)
            try:
                agent = await asyncio.to_thread(load)
            except UnknownAgent:
                with contextlib.suppress(Exception):  # the database: the next sweep repeats it
                    await self._loop.run(self._pool.hold())
                    await self._reclaim(job_runner, turn_ids, job_ids)
                raise
            turn_runner.agent = agent.run
            await self._loop.run(self._pool.renew(agent.worker_imports))
            await self._reclaim(job_runner, turn_ids, job_ids)
        finally:
            for runs in runners:
                runs.release()
        self._warm_up(agent)

    async def _reclaim(
        self, job_runner: JobRunner, turn_ids: list[str], job_ids: list[str]
    ) -> None:
        for job_id in sorted(set(job_ids)):
            job_runner.reclaim(job_id, self.ctx.node)
        for turn_id in sorted(set(turn_ids)):
            await turns.reclaim(self.ctx, turn_id, self.ctx.node)

    def when_diverged(self, tell: Callable[[Run], None]) -> None:
        """Have ``tell`` called with each run that made other calls than are recorded, on the agent
        loop's thread."""
        for runner in (self._turns, self._jobs):
            if runner is not None:
                runner.runs.on_diverged = tell

    async def stop(self) -> bool:
        """End what runs; unfinished turns and jobs go on at the next start. False when a part could
        not be ended: it may still be running, only the process' end is left."""
        # What runs ends before the pool: a step whose worker dies under it would count as failed.
        runners = [runner for runner in (self._turns, self._jobs) if runner is not None]
        return await end_all(
            [
                ("background", self._background.stop),
                ("request log", self.ctx.requests.flush),
                ("engine", self.ctx.engine.stop),
                *(
                    (type(runner).__name__, partial(runner.stop, STOP_SECONDS))
                    for runner in runners
                ),
                ("nodes", self._nodes.leave),
                ("agent loop", self._stop_loop),
                ("deliveries", self._deliveries.stop),
                ("traces", partial(asyncio.to_thread, traces.close)),
                *ends_of(self.ctx),
                ("scratch folder", partial(asyncio.to_thread, self._scratch.close)),
                ("folder", partial(asyncio.to_thread, self._lock.release)),
            ]
        )

    async def begin(self, agent: Agent) -> None:
        """Start the parts in their order, and be ready."""
        ctx = self.ctx
        self._loop.start()
        await self._loop.run(self._pool.start())
        if self._processes is not None:
            await self._loop.run(self._processes.start())
        await self._deliveries.start()
        self.first = await _first_account(ctx)
        await ctx.limiter.start()
        await maintenance.refresh(ctx)
        await self._nodes.enter()
        await ctx.engine.start(self._jobs)
        await self._nodes.recover_open()
        self._background.start()
        self._ready.set()
        if self._turns is not None:
            self._warm_up(agent)

    def _warm_up(self, agent: Agent) -> None:
        if agent.warm_up is not None:
            self._loop.submit(partial(_warm_up, agent.warm_up))

    async def _stop_loop(self) -> None:
        with contextlib.suppress(TimeoutError):  # an agent may be blocking its loop for good
            async with asyncio.timeout(LOOP_SECONDS):
                await self._loop.run(self.ctx.egress.aclose())
                await self._loop.run(self._pool.aclose())
                if self._processes is not None:
                    await self._loop.run(self._processes.aclose())
        if not await asyncio.to_thread(self._loop.stop, LOOP_SECONDS):
            raise TimeoutError("an agent blocks its loop, or a thread that it started there")


async def start(settings: Settings, clock: Clock | None = None) -> Server:
    """Start a server and take up what was left behind. Raises `DatabaseBusy`, and `OSError` and
    `ValueError` for settings that cannot be used."""
    folder = prepare_folder(settings)
    alone = not settings.database_url.get_secret_value()
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
    try:
        server = Server(settings, installation, agent, scratch, lock)
        await identity.settle(ctx)
    except (OSError, ValueError):
        await close(ctx)
        scratch.close()
        raise
    if settings.otlp_endpoint:
        traces.configure(settings.otlp_endpoint, settings.otlp_share, ctx.node)
    await server.begin(agent)
    if settings.egress_allow:
        log.warning("egress_open", allowed=settings.egress_allow)
    if not (alone or settings.role == "worker" or settings.redis_url.get_secret_value()):
        log.info("limits_per_node", advice="set AGENTPOST_REDIS_URL to count over all nodes")
    return server


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


def _agent_processes(settings: Settings, scratch: Path) -> AgentProcesses | None:
    """None where turns and jobs run in the server's own process."""
    if settings.agent_processes and registry.is_code(settings.agent):
        return AgentProcesses(settings, scratch / AGENTS)
    return None


def _application(installation: Installation, is_ready: Callable[[], bool]) -> Application:
    """What is served; a worker answers health checks and links to files."""
    ctx = installation.ctx
    is_worker = ctx.settings.role == "worker"
    shared = Api(ctx, Keys(ctx))
    token = ctx.settings.metrics_token.get_secret_value()
    metrics = Metrics(ctx, is_ready) if token else None
    api = ApiRoutes(
        shared,
        installation.signer,
        is_ready=is_ready,
        receiver=None if is_worker else installation.receiver,
        operations=() if is_worker else OPERATIONS,
        metrics=metrics_handler(metrics, token) if metrics else None,
    )
    groups: list[RouteGroup] = [api]
    if not is_worker:
        groups = [PageRoutes(ctx), DoorRoutes(shared), api]
    observe = metrics.observe if metrics else None
    return Application(
        groups,
        no_request=api.no_request,
        no_room=api.no_room,
        account_of=api.account_of,
        observe=observe,
    )
