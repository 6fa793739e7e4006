"""The life of a whole server in one process: what is started and ended, and in which order."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial

import structlog

from agentpost.agents import registry
from agentpost.api.app import OPERATIONS, ApiRoutes
from agentpost.api.auth import Keys
from agentpost.api.operation import Api
from agentpost.bootstrap import (
    close_context,
    ends_of,
    heartbeat,
    open_context,
    prepare_folder,
    upgrade_database,
    way_out,
)
from agentpost.clock import Clock
from agentpost.cluster.membership import Nodes
from agentpost.cluster.reconciler import RunReconciler
from agentpost.db.lock import FolderLock
from agentpost.delivery.dispatcher import Deliveries
from agentpost.http.application import Application, RouteGroup
from agentpost.runtime.job_worker import JobRunner
from agentpost.runtime.run_turn import TurnRunner
from agentpost.runtime.steps import make_steps
from agentpost.services import accounts, maintenance, sessions, storage_identity
from agentpost.services.accounts import NewKey
from agentpost.services.context import AppContext
from agentpost.services.mail import SmtpServer
from agentpost.services.sessions import LoginLink
from agentpost.settings import Settings
from agentpost.storage.scratch import Scratch
from agentpost.tasks.background import Background
from agentpost.tasks.shutdown import end_all
from agentpost.threads.loop import AgentLoop
from agentpost.web.pages import PageRoutes

log = structlog.get_logger(__name__)
STOP_SECONDS = 5.0
LOOP_SECONDS = 2.0
"""What is left to do on the agent loop when all runs have ended, or are never going to."""


class Server:
    """A whole server in this process, without its socket.

    `start` before the socket listens, `begin_shutdown` when it is to stop, then `stop`.
    """

    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = clock
        self._ready = False
        self._lock: FolderLock | None = None
        self._loop: AgentLoop | None = None
        self._turns: TurnRunner | None = None
        self._job_runner: JobRunner | None = None
        self.first_key: NewKey | None = None
        self.first_login: LoginLink | None = None
        self.app: Application

    async def start(self) -> None:
        """Set everything up and take up what was left behind; raises `DatabaseBusy`."""
        settings = self._settings
        folder = prepare_folder(settings)
        alone = not settings.database_url.get_secret_value()
        if alone and settings.role != "all":
            raise ValueError(f"ROLE={settings.role} needs a DATABASE_URL; SQLite has one process.")
        smtp_url = settings.smtp_url.get_secret_value()
        smtp = SmtpServer.parse(smtp_url) if smtp_url else None
        if alone:
            self._lock = FolderLock(folder)
            self._lock.acquire()
        await asyncio.to_thread(upgrade_database, settings)
        agent = registry.resolve(settings.agent)
        self._parts = await open_context(settings, self._clock)
        ctx = self._parts.ctx
        try:
            await storage_identity.settle(ctx)
        except ValueError:
            await close_context(self._parts)
            raise
        ctx.agent_name = agent.name
        self._loop = AgentLoop()
        self._loop.start()
        self._scratch = await asyncio.to_thread(Scratch, folder / "scratch", ctx.node)
        steps = make_steps(ctx, self._scratch.folder)
        self._pool = steps.pool
        job_runner = self._job_runner = (
            JobRunner(ctx, self._loop, steps) if settings.role != "api" else None
        )
        if settings.role != "worker":
            ctx.turns = self._turns = TurnRunner(ctx, self._loop, agent.run, steps)
        await self._loop.run(self._pool.start())
        self._deliveries = Deliveries(ctx, way_out(settings), alone=alone)
        await self._deliveries.start()
        ctx.sender = self._deliveries
        await self._bootstrap_account(ctx)
        await ctx.limiter.start()
        await maintenance.refresh(ctx)
        self._nodes = Nodes(ctx, job_runner, heartbeat(settings, ctx))
        await self._nodes.enter()
        await ctx.engine.start(job_runner)
        await self._nodes.recover_open()
        reconciler = RunReconciler(ctx, self._turns, job_runner)
        parts = (job_runner, self._nodes, reconciler, smtp, self._parts.checks)
        self._background = Background(ctx, *parts)
        self._background.start()
        keys = Keys(ctx)
        self.app = self._application(ctx, keys)
        self._parts.external_commit.target = [
            self._background.wake,
            self._deliveries.poll,
            keys.forget,
        ]
        if settings.egress_allow:
            log.warning("egress_open", allowed=settings.egress_allow)
        if not (alone or settings.role == "worker" or settings.redis_url.get_secret_value()):
            log.info("limits_per_node", advice="set REDIS_URL to count over all nodes")
        self._ready = True

    def _application(self, ctx: AppContext, keys: Keys) -> Application:
        """What is served; a worker answers health checks and links to files."""
        is_worker = self._settings.role == "worker"
        api = ApiRoutes(
            Api(ctx, keys),
            self._parts.signer,
            is_ready=lambda: self._ready,
            receiver=None if is_worker else self._parts.receiver,
            operations=() if is_worker else OPERATIONS,
        )
        groups: list[RouteGroup] = [api] if is_worker else [PageRoutes(ctx), api]
        return Application(groups, no_request=api.no_request)

    async def _bootstrap_account(self, ctx: AppContext) -> None:
        given = self._settings.bootstrap_api_key.get_secret_value()
        secret = given or accounts.generate_secret(self._settings.key_prefix)
        self.first_key = await accounts.bootstrap(ctx, secret, self._settings.bootstrap_credits)
        if self._settings.role == "worker":  # serves no pages
            return
        await sessions.remember_address(ctx)
        if self.first_key is not None:
            account_id = self.first_key.record.account_id
            self.first_login = await sessions.make_link(ctx, account_id)

    @property
    def ctx(self) -> AppContext:
        """The wired parts."""
        return self._parts.ctx

    def begin_shutdown(self) -> None:
        """Held waits answer now: the socket is about to close."""
        self._ready = False
        self._parts.ctx.wakeups.begin_shutdown()

    async def stop(self) -> bool:
        """End what runs; unfinished turns and jobs go on at the next start.

        False when a part could not be ended: it may still be running, only the process' end is
        left.
        """
        ctx = self._parts.ctx
        # What runs ends before the pool: a step whose worker dies under it would count as failed.
        runners = [runner for runner in (self._turns, self._job_runner) if runner is not None]
        return await end_all(
            [
                ("background", self._background.stop),
                ("request log", ctx.requests.flush),
                ("engine", ctx.engine.stop),
                *(
                    (type(runner).__name__, partial(runner.stop, STOP_SECONDS))
                    for runner in runners
                ),
                ("nodes", self._nodes.leave),
                ("agent loop", self._stop_loop),
                ("deliveries", self._deliveries.stop),
                *ends_of(ctx),
                ("scratch folder", partial(asyncio.to_thread, self._scratch.close)),
                ("folder", self._release),
            ]
        )

    async def _stop_loop(self) -> None:
        assert self._loop is not None
        with contextlib.suppress(TimeoutError):  # an agent may be blocking its loop for good
            async with asyncio.timeout(LOOP_SECONDS):
                await self._loop.run(self._parts.ctx.egress.aclose())
                await self._loop.run(self._pool.aclose())
        if not await asyncio.to_thread(self._loop.stop, LOOP_SECONDS):
            raise TimeoutError("an agent blocks its loop, or a thread that it started there")

    async def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
