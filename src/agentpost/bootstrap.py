"""Settings -> adapters -> server: the only place that names concrete classes."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog

from agentpost.agents import registry
from agentpost.agents.loop import AgentLoop
from agentpost.api.app import OPERATIONS, App
from agentpost.clock import Clock, SystemClock, new_id
from agentpost.db import migrate
from agentpost.db.lock import FolderLock
from agentpost.db.session import Database
from agentpost.db.sqlite import SqliteDatabase
from agentpost.domain import ids
from agentpost.engine.base import Engine
from agentpost.engine.local import LocalEngine
from agentpost.ratelimit.base import RateLimiter
from agentpost.ratelimit.memory import MemoryLimiter
from agentpost.services import accounts, health_state, maintenance, sessions, storage_identity
from agentpost.services.accounts import NewKey
from agentpost.services.context import House
from agentpost.services.health import Check
from agentpost.services.lease import LEASE_SECONDS, Lease
from agentpost.services.links import SignedLinks
from agentpost.services.mail import SmtpServer
from agentpost.services.nodes import Beats
from agentpost.services.requests import RequestLog
from agentpost.services.secrets import server_secret
from agentpost.services.sessions import LoginLink
from agentpost.settings import Settings
from agentpost.storage.base import Storage
from agentpost.storage.incoming import Incoming, Receiver
from agentpost.storage.local import LocalStorage
from agentpost.storage.local_incoming import LocalIncoming
from agentpost.storage.post_policy import PolicySigner
from agentpost.storage.scratch import Scratch
from agentpost.storage.signing import CursorSigner, LinkSigner
from agentpost.tasks.background import Background
from agentpost.tasks.deliver_webhooks import Deliveries
from agentpost.tasks.heartbeat import Heartbeat
from agentpost.tasks.lookout import Lookout
from agentpost.tasks.nodes import Nodes
from agentpost.tasks.run_turn import TurnRunner
from agentpost.tasks.shutdown import End, end_all
from agentpost.tasks.steps import make_steps
from agentpost.tasks.worker import JobWorker
from agentpost.wakeups.base import Wakeups
from agentpost.wakeups.memory import MemoryWakeups
from agentpost.web import pages
from agentpost.webhooks.addresses import AllowList
from agentpost.webhooks.egress import Egress

log = structlog.get_logger(__name__)
STOP_SECONDS = 5.0
LOOP_SECONDS = 2.0
"""What is left to do on the agent loop when all runs have ended, or are never going to."""


class _Relay:
    """Something to call that is known only later."""

    def __init__(self) -> None:
        self.target: list[object] = []

    def __call__(self) -> None:
        for target in self.target:
            assert callable(target)
            target()


def prepare_folder(settings: Settings) -> Path:
    """The data folder, private to us; raises `OSError` when it cannot be made."""
    folder = settings.data_path
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        why = error.strerror
        raise OSError(f"AGENTPOST_DATA_DIR: {folder} cannot be made: {why}") from None
    return folder


def is_new(settings: Settings) -> bool:
    """Whether there is no database yet where the settings say; PostgreSQL's is always there."""
    if settings.database_url.get_secret_value():
        return False
    return not (settings.data_path / "agentpost.db").exists()


def upgrade_database(settings: Settings) -> None:
    """Bring the schema up to date."""
    url = settings.database_url.get_secret_value()
    if url:
        from agentpost.db.postgres import check_installed
        from agentpost.engine import procrastinate

        check_installed()
        migrate.upgrade_postgres(url)
        procrastinate.upgrade(url)
    else:
        migrate.upgrade_sqlite(prepare_folder(settings) / "agentpost.db")


@dataclass(slots=True)
class Parts:
    """A wired house with what is needed to close it."""

    house: House
    signer: LinkSigner
    foreign_commit: _Relay
    receiver: Receiver | None
    checks: dict[str, Check]


async def open_house(settings: Settings, clock: Clock | None = None) -> Parts:
    """Wire the ports; the schema must be there. Close with `close_house`. Raises `OSError`."""
    folder = prepare_folder(settings)
    clock = clock or SystemClock()
    node = new_id(ids.NODE, clock.now())
    foreign_commit = _Relay()
    checks: dict[str, Check] = {}
    db, wakeups, engine = _scaled(settings, node, checks) or _embedded(
        settings, folder, node, foreign_commit
    )
    with migrate.usable(folder / "agentpost.db"):
        await asyncio.to_thread(db.open)
        secret = await server_secret(db, settings.secret_key.get_secret_value())
    signer = LinkSigner(secret, settings.public_file_url)
    storage, incoming, receiver = _storage(settings, folder, secret)
    house = House(
        settings=settings,
        clock=clock,
        db=db,
        storage=storage,
        incoming=incoming,
        wakeups=wakeups,
        engine=engine,
        egress=_egress(settings),
        links=SignedLinks(
            signer, clock, app_url=settings.public_app_url, link_seconds=settings.link_seconds
        ),
        cursors=CursorSigner(secret),
        limiter=_limiter(settings, checks),
        requests=RequestLog(db, settings.key_prefix, settings.request_log_bytes_per_day),
        node=node,
    )
    await wakeups.start()
    return Parts(house, signer, foreign_commit, receiver, checks)


async def close_house(parts: Parts) -> None:
    """Disconnect everything."""
    await end_all(_ends_of(parts.house))


def _ends_of(house: House) -> list[End]:
    return [
        ("wakeups", house.wakeups.stop),
        ("limiter", house.limiter.stop),
        ("storage", house.storage.aclose),
        ("database", partial(asyncio.to_thread, house.db.close)),
    ]


def _embedded(
    settings: Settings, folder: Path, node: str, foreign_commit: _Relay
) -> tuple[Database, Wakeups, Engine]:
    db = SqliteDatabase(
        folder / "agentpost.db",
        durability=settings.durability,
        on_foreign_commit=foreign_commit,
    )
    return db, MemoryWakeups(), LocalEngine(node)


def _scaled(
    settings: Settings, node: str, checks: dict[str, Check]
) -> tuple[Database, Wakeups, Engine] | None:
    """PostgreSQL, when a database URL is set."""
    url = settings.database_url.get_secret_value()
    if not url:
        return None
    from agentpost.db.postgres import PostgresDatabase
    from agentpost.engine.procrastinate import ProcrastinateEngine
    from agentpost.wakeups.notices import PostgresNotices
    from agentpost.wakeups.postgres import PostgresWakeups

    db = PostgresDatabase(url, durability=settings.durability)
    notices = PostgresNotices(url)
    engine = ProcrastinateEngine(url, node, notices)
    checks.update({health_state.NOTICES: notices.check, health_state.ENGINE: engine.check})
    return db, PostgresWakeups(url, notices), engine


def _heart(settings: Settings, house: House) -> Heartbeat | None:
    """A heartbeat, where there can be other nodes."""
    url = settings.database_url.get_secret_value()
    if not url:
        return None
    from agentpost.db.postgres import PostgresLine

    house.lease = Lease(LEASE_SECONDS)
    return Heartbeat(Beats(PostgresLine(url), house.node, house.clock), house.lease)


def _egress(settings: Settings) -> Egress:
    """A way out; one for each event loop that makes requests."""
    ca_file = Path(settings.egress_ca_file) if settings.egress_ca_file else None
    try:
        return Egress(AllowList.parse(settings.egress_allow), ca_file=ca_file)
    except OSError as error:
        raise OSError(f"AGENTPOST_EGRESS_CA_FILE: {ca_file}: {error.strerror or error}") from None


def _limiter(settings: Settings, checks: dict[str, Check]) -> RateLimiter:
    """Windows in Redis when a URL is set; else each node counts for itself."""
    url = settings.redis_url.get_secret_value()
    if not url:
        return MemoryLimiter()
    try:
        from agentpost.ratelimit.redis import RedisLimiter

        limiter = RedisLimiter(url, MemoryLimiter())
    except ImportError as error:
        raise ValueError(
            "AGENTPOST_REDIS_URL is set, but the package for it is not installed"
            f" ({error}). Install it: pip install 'agentpost[redis]'"
        ) from None
    checks[health_state.REDIS] = limiter.check
    return limiter


def _storage(
    settings: Settings, folder: Path, secret: bytes
) -> tuple[Storage, Incoming, Receiver | None]:
    """Where blobs are, how uploads come in, and what receives them here, if anything does."""
    if not settings.storage_url:
        local = LocalStorage(folder / "blobs")
        incoming = LocalIncoming(local, PolicySigner(secret), settings.public_upload_url)
        return local, incoming, incoming
    from agentpost.storage.s3 import S3Storage
    from agentpost.storage.s3_incoming import S3Incoming

    posted = S3Incoming(settings.storage_url, settings.upload_url)
    return S3Storage.from_url(settings.storage_url, folder / "cache"), posted, None


class Server:
    """A whole server in this process, without its socket.

    `start` before the socket listens, `close_door` when it is to stop, then `stop`.
    """

    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = clock
        self._ready = False
        self._lock: FolderLock | None = None
        self._loop: AgentLoop | None = None
        self._turns: TurnRunner | None = None
        self._worker: JobWorker | None = None
        self.first_key: NewKey | None = None
        self.first_login: LoginLink | None = None
        self.app: App

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
            self._lock.take()
        await asyncio.to_thread(upgrade_database, settings)
        agent = registry.resolve(settings.agent)
        self._parts = await open_house(settings, self._clock)
        house = self._parts.house
        try:
            await storage_identity.settle(house)
        except ValueError:
            await close_house(self._parts)
            raise
        house.agent_name = agent.name
        self._loop = AgentLoop()
        self._loop.start()
        self._scratch = await asyncio.to_thread(Scratch, folder / "scratch", house.node)
        steps = make_steps(house, self._scratch.folder)
        self._pool = steps.pool
        worker = self._worker = (
            JobWorker(house, self._loop, steps) if settings.role != "api" else None
        )
        if settings.role != "worker":
            house.turns = self._turns = TurnRunner(house, self._loop, agent.run, steps)
        await self._loop.run(self._pool.start())
        self._deliveries = Deliveries(house, _egress(settings), alone=alone)
        await self._deliveries.start()
        house.sender = self._deliveries
        await self._bootstrap_account(house)
        await house.limiter.start()
        await maintenance.look(house)
        self._nodes = Nodes(house, worker, _heart(settings, house))
        await self._nodes.enter()
        await house.engine.start(worker)
        await self._nodes.inherit()
        lookout = Lookout(house, self._turns, worker)
        parts = (worker, self._nodes, lookout, smtp, self._parts.checks)
        self._background = Background(house, *parts)
        self._background.start()
        self.app = self._app(house)
        self._parts.foreign_commit.target = [
            self._background.kick,
            self._deliveries.look,
            self.app.keys.forget,
        ]
        if settings.egress_allow:
            log.warning("egress_open", allowed=settings.egress_allow)
        if not (alone or settings.role == "worker" or settings.redis_url.get_secret_value()):
            log.info("limits_per_node", advice="set REDIS_URL to count over all nodes")
        self._ready = True

    def _app(self, house: House) -> App:
        """What is served; a worker answers health checks and links to files."""
        signer, is_worker = self._parts.signer, self._settings.role == "worker"
        return App(
            house,
            signer,
            ready=lambda: self._ready,
            pages=() if is_worker else pages.routes(house),
            operations=() if is_worker else OPERATIONS,
            receiver=None if is_worker else self._parts.receiver,
        )

    async def _bootstrap_account(self, house: House) -> None:
        given = self._settings.bootstrap_api_key.get_secret_value()
        secret = given or accounts.generate_secret(self._settings.key_prefix)
        self.first_key = await accounts.bootstrap(house, secret, self._settings.bootstrap_credits)
        if self._settings.role == "worker":  # serves no pages
            return
        await sessions.remember_address(house)
        if self.first_key is not None:
            account_id = self.first_key.record.account_id
            self.first_login = await sessions.make_link(house, account_id)

    @property
    def house(self) -> House:
        """The wired parts."""
        return self._parts.house

    def close_door(self) -> None:
        """Held waits answer now: the socket is about to close."""
        self._ready = False
        self._parts.house.wakeups.close_door()

    async def stop(self) -> bool:
        """End what runs; unfinished turns and jobs go on at the next start.

        False when a part could not be ended: it may still be running, only the process' end is
        left.
        """
        house = self._parts.house
        # What runs ends before the pool: a step whose worker dies under it would count as failed.
        runners = [runner for runner in (self._turns, self._worker) if runner is not None]
        return await end_all(
            [
                ("background", self._background.stop),
                ("request log", house.requests.flush),
                ("engine", house.engine.stop),
                *(
                    (type(runner).__name__, partial(runner.stop, STOP_SECONDS))
                    for runner in runners
                ),
                ("nodes", self._nodes.leave),
                ("agent loop", self._stop_loop),
                ("deliveries", self._deliveries.stop),
                *_ends_of(house),
                ("scratch folder", partial(asyncio.to_thread, self._scratch.close)),
                ("folder", self._release),
            ]
        )

    async def _stop_loop(self) -> None:
        assert self._loop is not None
        with contextlib.suppress(TimeoutError):  # an agent may be blocking its loop for good
            async with asyncio.timeout(LOOP_SECONDS):
                await self._loop.run(self._parts.house.egress.aclose())
                await self._loop.run(self._pool.aclose())
        if not await asyncio.to_thread(self._loop.stop, LOOP_SECONDS):
            raise TimeoutError("an agent blocks its loop, or a thread that it started there")

    async def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
