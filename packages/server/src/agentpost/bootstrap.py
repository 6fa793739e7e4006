"""Settings -> adapters: the only place that names concrete classes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agentpost import extras
from agentpost.agents.adapters.surroundings import ModelSettings, Surroundings
from agentpost.backups.rows import refuse_unfinished_restore
from agentpost.clock import Clock, SystemClock, new_id
from agentpost.context import AppContext, Subscribers
from agentpost.db import migrate
from agentpost.db.session import Database
from agentpost.db.sqlite import SqliteDatabase
from agentpost.domain import ids
from agentpost.domain.times import SECOND
from agentpost.egress.addresses import AllowList, DenyList
from agentpost.egress.client import Egress
from agentpost.engine.base import Engine
from agentpost.engine.dispatch import NoticeEngine
from agentpost.files.links import SignedLinks
from agentpost.nodes.heartbeat import Heartbeat
from agentpost.operations import health_state
from agentpost.operations.health import Check
from agentpost.processes.capacity import default_memory_bytes
from agentpost.processes.environment import worker_environment
from agentpost.processes.scanner import Scanner, parse_command
from agentpost.ratelimit.base import RateLimiter
from agentpost.ratelimit.memory import MemoryLimiter
from agentpost.requests.actions import RequestLog
from agentpost.secrets.actions import server_secrets
from agentpost.secrets.encryption import SecretCipher
from agentpost.settings import Settings
from agentpost.storage.base import Storage
from agentpost.storage.incoming import Incoming, Receiver
from agentpost.storage.local import LocalIncoming, LocalStorage
from agentpost.storage.post_policy import PolicySigner
from agentpost.storage.signing import CursorSigner, LinkSigner
from agentpost.tasks.shutdown import End, end_all
from agentpost.wakeups.base import Wakeups
from agentpost.webhooks.signing import signed_headers

if TYPE_CHECKING:
    from agentpost.backups.restore import Target


DATABASE = "agentpost.db"


def prepare_folder(settings: Settings) -> Path:
    """The data folder, private to us; raises `OSError` when it cannot be made."""
    folder = settings.data_path
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        why = error.strerror
        raise OSError(f"AGENTPOST_DATA_DIR: {folder} cannot be made: {why}") from None
    refuse_unfinished_restore(folder)
    return folder


def is_new(settings: Settings) -> bool:
    """Whether there is no database yet where the settings say; PostgreSQL's is always there."""
    if settings.postgres_url:
        return False
    return not (settings.data_path / DATABASE).exists()


def upgrade_database(settings: Settings) -> None:
    """Bring the schema up to date."""
    url = settings.postgres_url
    if url:
        from agentpost.db.postgres_check import check_installed

        check_installed()
        migrate.upgrade_postgres(url)
    else:
        migrate.upgrade_sqlite(prepare_folder(settings) / DATABASE)


@dataclass(frozen=True, slots=True)
class Installation:
    """The context with the adapters that the settings ask for, and what a server needs besides.
    ``receiver`` takes posted uploads, where clients post them to this server. ``checks`` are those
    of the parts that not every server has."""

    ctx: AppContext
    receiver: Receiver | None
    signer: LinkSigner
    checks: Mapping[str, Check]


async def open_installation(settings: Settings, clock: Clock | None = None) -> Installation:
    """Open the database, whose schema must be there, and connect. Raises `OSError`, and
    `ValueError` for a scanner that is not there."""
    folder = prepare_folder(settings)
    scanner, egress = _scanner(settings), way_out(settings)
    clock = clock or SystemClock()
    node = new_id(ids.NODE, clock.now())
    external_commit = Subscribers[[]]()
    checks: dict[str, Check] = {}
    db, wakeups, engine = _open_database(settings, folder, node, external_commit, checks)
    with migrate.usable(folder / DATABASE):
        await asyncio.to_thread(db.open)
        (secret, *before), decrypting = await server_secrets(db, settings)
    storage, incoming, receiver = _storage(settings, folder, PolicySigner(secret, before))
    limiter = _limiter(settings, checks)
    await wakeups.start()
    signer = LinkSigner(secret, settings.public_file_url, before)
    ctx = AppContext(
        settings=settings,
        clock=clock,
        db=db,
        storage=storage,
        incoming=incoming,
        wakeups=wakeups,
        engine=engine,
        egress=egress,
        links=SignedLinks(
            signer, clock, app_url=settings.public_app_url, link_seconds=settings.link_seconds
        ),
        cursors=CursorSigner(secret, before),
        cipher=SecretCipher(decrypting),
        limiter=limiter,
        requests=RequestLog(db, clock, settings.key_prefix),
        node=node,
        new_egress=partial(way_out, settings),
        external_commit=external_commit,
        scanner=scanner,
    )
    return Installation(ctx, receiver, signer, checks)


def _scanner(settings: Settings) -> Scanner | None:
    """What scans files; raises `ValueError` for a program that is not there."""
    if not settings.scan_command:
        return None
    return Scanner(
        parse_command(settings.scan_command),
        settings.scan_seconds,
        settings.scan_processes,
        worker_environment(os.environ, threads=1),
    )


async def open_context(settings: Settings, clock: Clock | None = None) -> AppContext:
    """The context of a command; end with `close`. Raises as `open_installation`."""
    return (await open_installation(settings, clock)).ctx


async def close(ctx: AppContext) -> None:
    """Disconnect everything."""
    await end_all(ends_of(ctx))


def ends_of(ctx: AppContext) -> list[End]:
    """How each adapter is ended, in order."""
    return [
        ("wakeups", ctx.wakeups.stop),
        ("limiter", ctx.limiter.stop),
        ("storage", ctx.storage.aclose),
        ("database", partial(asyncio.to_thread, ctx.db.close)),
    ]


def _open_database(
    settings: Settings,
    folder: Path,
    node: str,
    external_commit: Callable[[], None],
    checks: dict[str, Check],
) -> tuple[Database, Wakeups, Engine]:
    """PostgreSQL when a database URL is set, else SQLite; with what nodes tell each other by."""
    url, durability = settings.postgres_url, settings.durability
    if not url:
        path = folder / DATABASE
        db = SqliteDatabase(path, durability=durability, on_external_commit=external_commit)
        return db, Wakeups(), Engine(node)
    from agentpost.db.postgres import PostgresDatabase
    from agentpost.wakeups.notices import PostgresNotices
    from agentpost.wakeups.postgres import PostgresWakeups

    notices = PostgresNotices(url)
    checks[health_state.NOTICES] = notices.check
    wakeups = PostgresWakeups(url, notices)
    return PostgresDatabase(url, durability=durability), wakeups, NoticeEngine(node, notices)


def heartbeat(settings: Settings, ctx: AppContext) -> Heartbeat | None:
    """A heartbeat, where there can be other nodes."""
    url = settings.postgres_url
    if not url:
        return None
    from agentpost.db.postgres import PostgresDedicatedConnection

    line = PostgresDedicatedConnection(url)
    held, rejoin = ctx.held_calls.count, ctx.wakeups.rejoin
    heart = Heartbeat(line, ctx.node, ctx.clock, ctx.lease, held, rejoin)
    ctx.silent = heart.silent
    ctx.wakeups.ask_for_readers(heart.readers_elsewhere)
    ctx.engine.ask_for_workers(heart.workers_elsewhere)
    return heart


def way_out(settings: Settings) -> Egress:
    """A way out; one for each event loop that makes requests."""
    ca_file = Path(settings.egress_ca_file) if settings.egress_ca_file else None
    try:
        return Egress(
            AllowList.parse(settings.egress_allow),
            deny=DenyList.parse(settings.egress_deny),
            ports=settings.egress_ports,
            ca_file=ca_file,
        )
    except OSError as error:
        raise OSError(f"AGENTPOST_EGRESS_CA_FILE: {ca_file}: {error.strerror or error}") from None


def surroundings(settings: Settings, egress: Egress) -> Surroundings:
    """What the server has for an agent that is no code of its own process; ``egress`` is that of
    the agent loop."""
    secret = settings.agent_secret.get_secret_value()

    def sign(key: str, body: bytes) -> dict[str, str]:
        return signed_headers([secret], key, SystemClock().now() // SECOND, body)

    return Surroundings(
        environment=worker_environment(os.environ, settings.worker_env, threads=1),
        memory_bytes=settings.worker_memory_bytes or default_memory_bytes(),
        cpu_seconds=settings.step_cpu_seconds,
        program_idle_seconds=settings.program_idle_seconds,
        way_out=egress,
        secret=secret,
        sign=sign,
        llm=ModelSettings(
            **{each.name: getattr(settings, f"llm_{each.name}") for each in fields(ModelSettings)}
        ),
    )


def restore_target(settings: Settings) -> Target:
    """Where the settings say that a restored installation is to be."""
    from agentpost.backups.restore import Target

    def postgres() -> Database:
        from agentpost.db.postgres import PostgresDatabase

        return PostgresDatabase(settings.postgres_url)

    def storage() -> Storage:
        if settings.storage_url:
            return _bucket(settings)
        return LocalStorage(settings.data_path / "blobs")

    return Target(settings, storage, postgres)


def _bucket(settings: Settings) -> Storage:
    extras.require("s3", extras.S3_ASKED)
    from agentpost.storage.s3 import S3Storage

    return S3Storage.from_url(settings.storage_url, settings.data_path / "cache")


def _limiter(settings: Settings, checks: dict[str, Check]) -> RateLimiter:
    """Windows in Redis when a URL is set; else each node counts for itself."""
    url = settings.redis_url.get_secret_value()
    if not url:
        return MemoryLimiter()
    extras.require("redis", extras.REDIS_ASKED)
    from agentpost.ratelimit.redis import RedisLimiter

    limiter = RedisLimiter(url, MemoryLimiter())
    checks[health_state.REDIS] = limiter.check
    return limiter


def _storage(
    settings: Settings, folder: Path, policies: PolicySigner
) -> tuple[Storage, Incoming, Receiver | None]:
    """Where blobs are, how uploads come in, and what receives them here, if anything does."""
    if not settings.storage_url:
        local = LocalStorage(folder / "blobs")
        incoming = LocalIncoming(local, policies, settings.public_upload_url)
        return local, incoming, incoming
    storage = _bucket(settings)
    from agentpost.storage.s3_incoming import S3Incoming

    return storage, S3Incoming(settings.storage_url, settings.upload_url), None
