"""The whole engine in this process: real services on a real database, with time in our hands.

Nothing runs by itself. Turns and jobs that become due are only recorded, and the test plays agent
and worker: it starts, ends, charges and crashes what it likes, and moves the clock.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from agentpost.accounts import actions as accounts
from agentpost.agents import Started
from agentpost.blobs import actions as blobs
from agentpost.caller import Caller
from agentpost.clock import ManualClock, new_id
from agentpost.context import AppContext
from agentpost.db.postgres import PostgresDatabase
from agentpost.db.session import Database, Row, Tx
from agentpost.db.sqlite import SqliteDatabase
from agentpost.domain import ids
from agentpost.egress.addresses import AllowList
from agentpost.egress.client import Egress
from agentpost.engine.base import Engine
from agentpost.files.links import SignedLinks
from agentpost.following.shapes import EntryShape
from agentpost.jobs import starting
from agentpost.jobs.actions import JobClaim
from agentpost.jobs.starting import Start
from agentpost.limits.allowances import rules_of
from agentpost.messages import rows as message_rows, sending
from agentpost.messages.new_messages import NewMessage
from agentpost.messages.rules import TurnFailure
from agentpost.messages.sending import Acceptance
from agentpost.messages.shapes import MessageShape
from agentpost.ratelimit.memory import MemoryLimiter
from agentpost.record.journal_rules import Call, CallState
from agentpost.record.records import FileRecord, RequestRecord, WorkRecord
from agentpost.record.tickets import TurnTicket
from agentpost.requests.actions import RequestLog
from agentpost.secrets.encryption import SecretCipher
from agentpost.settings import Settings, load_settings
from agentpost.storage.local import LocalIncoming, LocalStorage
from agentpost.storage.post_policy import PolicySigner
from agentpost.storage.signing import CursorSigner, LinkSigner
from agentpost.turns import actions as turns
from agentpost.turns.actions import TurnResult
from agentpost.wakeups.base import Transaction, Wakeups
from tests.harness.rows import insert
from tests.servers import empty_sqlite

NODE = "node_test"
Shape = dict[str, Any]


class RecordingEngine(Engine):
    """An `Engine` that owns every job placed and runs none."""

    def __init__(self) -> None:
        super().__init__(NODE)
        self.placed: list[tuple[str, int]] = []
        self.aborted: list[str] = []

    def dispatch(self, tx: Transaction, job_id: str, epoch: int) -> str | None:
        """See `Engine.dispatch`."""
        tx.after(lambda: self.placed.append((job_id, epoch)))
        return NODE

    def abort(self, tx: Transaction, job_id: str) -> None:
        """See `Engine.abort`."""
        tx.after(lambda: self.aborted.append(job_id))


class RecordingRunner:
    """A `TurnRunner` that keeps every ticket and runs none."""

    def __init__(self) -> None:
        self.tickets: list[TurnTicket] = []

    def run(self, ctx: AppContext, ticket: TurnTicket) -> None:
        """See `TurnRunner.run`."""
        self.tickets.append(ticket)

    def abort(self, message_id: str) -> None:
        """See `TurnRunner.abort`."""


class PlainLinks:
    """Links without signatures, so that two renderings of the same thing are equal."""

    def chat(self, work_id: str) -> str:
        """See `Links.chat`."""
        return f"https://app.test/chat/{work_id}"

    def file(self, file_id: str, revision: str) -> str:
        """See `Links.file`."""
        return f"https://files.test/{file_id}"

    def expiry(self) -> int:
        """See `SigningLinks.expiry`."""
        return 1

    def until(self, expires_at: int) -> PlainLinks:
        """See `SigningLinks.until`."""
        return self


@dataclass(slots=True)
class Harness:
    """A wired context with one account, and hands to do what agents, clients and clocks do."""

    ctx: AppContext
    clock: ManualClock
    engine: RecordingEngine
    runner: RecordingRunner
    account_id: str
    caller: Caller
    stored_order: str
    """The database's own columns for the order in which rows were stored."""
    _calls: dict[str, int] = field(default_factory=dict)
    _blobs: Iterator[int] = field(default_factory=itertools.count)

    # --- what a client does -----------------------------------------------------------------------
    async def send(self, text: str = "hello", *, conversation: str = "", **more: Any) -> Acceptance:
        """POST a message, without waiting for its turn. ``more``: fields of `NewMessage`."""
        now = self.tick()
        new = NewMessage(text, conversation, **more)
        message_id = new_id(ids.MESSAGE, now)
        return await sending.accept(self.ctx, self.caller, new, message_id)

    async def begin_turn(self, text: str = "hello", **more: Any) -> TurnTicket:
        """A message whose turn has begun."""
        accepted = await self.send(text, **more)
        return self.ticket(accepted.message.id)

    def view(self, message_id: str) -> Shape:
        """The message as GET answers it."""
        return self.ctx.db.read_now(lambda tx: self.shown_in(tx, message_id))

    def shown_in(self, tx: Tx, message_id: str) -> Shape:
        """`shown`, inside a transaction."""
        row = message_rows.get(tx, message_id)
        assert row is not None
        snapshot = message_rows.snapshot(tx, row)
        return Shape(json.loads(MessageShape.of(snapshot, self.ctx.links).json()))

    def job(self, message_id: str, n: int = 0) -> Shape:
        """The message's n-th job as GET answers it."""
        return Shape(self.view(message_id)["jobs"][n])

    # --- what an agent does -----------------------------------------------------------------------
    def ticket(self, message_id: str) -> TurnTicket:
        """The newest ticket of the message's turn."""
        return [t for t in self.runner.tickets if t.message.id == message_id][-1]

    async def start(
        self, ticket: TurnTicket, title: str = "Work", work_id: str | None = None
    ) -> Started:
        """`turn.start`."""
        self.tick()
        start = Start("tests:job", "{}", title, work_id)
        call = self.call(ticket.message.id)
        answer: Any = await starting.start_job(self.ctx, ticket, call, start)
        return Started(**answer)

    async def join(self, ticket: TurnTicket, job_id: str) -> bool:
        """`turn.join`."""
        self.tick()
        call = self.call(ticket.message.id)
        return await turns.join_job(self.ctx, ticket, call, job_id, None)

    async def stop(self, ticket: TurnTicket, job_id: str) -> bool:
        """`turn.stop`."""
        self.tick()
        return await turns.stop_job(self.ctx, ticket, self.call(ticket.message.id), job_id)

    async def end(
        self, ticket: TurnTicket, reply: str | None = "On it.", question: str | None = None
    ) -> None:
        """The agent's function returned."""
        self.tick()
        await turns.end(self.ctx, ticket, TurnResult(reply, question, None))

    async def break_turn(self, ticket: TurnTicket, detail: TurnFailure = TurnFailure.ERROR) -> None:
        """The agent's function raised, said nothing or took too long."""
        self.tick()
        await turns.end(self.ctx, ticket, detail)

    async def working(self, *titles: str) -> tuple[str, list[JobClaim]]:
        """A message whose turn has started these jobs and ended: (message id, its jobs)."""
        ticket = await self.begin_turn()
        started = [await self.start(ticket, title) for title in titles or ("Work",)]
        await self.end(ticket)
        return ticket.message.id, [self.owned(s.job_id) for s in started]

    def owned(self, job_id: str) -> JobClaim:
        """The job as its present runner names it."""
        row = self.one("SELECT epoch FROM jobs WHERE id = ?", job_id)
        return JobClaim(job_id, self.account_id, row[0])

    def call(self, owner: str, state: CallState = CallState.DONE, n: int | None = None) -> Call:
        """A call to record: the owner's next, or its n-th once more."""
        if n is None:
            n = self._calls[owner] = self._calls.get(owner, 0) + 1
        return Call(n, f"call:{n}", state, "null")

    async def file(self, owned: JobClaim, path: str) -> FileRecord:
        """A file such as the job would write, its bytes stored."""
        blob = f"blobs/{next(self._blobs)}"
        await blobs.store(self.ctx, blob, b"x")
        row = self.one("SELECT message_id, work_id FROM jobs WHERE id = ?", owned.job_id)
        of = {"message_id": row[0], "work_id": row[1], "job_id": owned.job_id}
        name = path.rpartition("/")[2]
        return file_record(blob, account_id=owned.account_id, path=path, name=name, **of)

    # --- what is recorded -------------------------------------------------------------------------
    def all(self, sql: str, *params: object) -> list[Row]:
        """Rows of a query."""
        return self.ctx.db.read_now(lambda tx: tx.all(sql, params))

    def one(self, sql: str, *params: object) -> Row:
        """The row of a query."""
        rows = self.all(sql, *params)
        assert len(rows) == 1, (sql, rows)
        return rows[0]

    def log(self, message_id: str) -> list[Shape]:
        """The message's event log, oldest first, as bodies with type and job."""
        sql = "SELECT type, job_id, body_json FROM entries WHERE message_id = ? ORDER BY seq"
        rows = [
            (kind, job_id, json.loads(body)) for kind, job_id, body in self.all(sql, message_id)
        ]
        for _, _, body in rows:
            assert set(body) <= set(EntryShape.__struct_fields__), "what a client is never shown"
        return [{"type": kind, "job_id": job_id, **body} for kind, job_id, body in rows]

    def types(self, message_id: str) -> list[str]:
        """The types in the message's event log."""
        return [entry["type"] for entry in self.log(message_id)]

    def events(self, message_id: str, kind: str = "") -> list[tuple[str, Shape]]:
        """(name, data) of the message's webhook events whose name starts so, oldest first."""
        sql = "SELECT name, data_json FROM events WHERE message_id = ? ORDER BY"
        rows = self.all(f"{sql} {self.stored_order}", message_id)
        found = [(name, json.loads(data)) for name, data in rows]
        return [(name, data) for name, data in found if name.startswith(kind)]

    def names(self, message_id: str, kind: str = "") -> list[str]:
        """`events`, only their names."""
        return [name for name, _ in self.events(message_id, kind)]

    async def listen(self) -> str:
        """Register a webhook endpoint for every event; its id."""
        now = self.tick()
        endpoint_id = new_id(ids.ENDPOINT, now)
        secret = self.ctx.cipher.encrypt(endpoint_id, "whsec_")
        row = {"id": endpoint_id, "account_id": self.account_id, "url": "https://hooks.test/"}
        row |= {"events_json": '["*"]', "secret": secret}
        await self.ctx.db.write(lambda tx: insert(tx, "endpoints", **row, created_at=now))
        return endpoint_id

    def tick(self, seconds: float = 0.001) -> int:
        """Let a moment pass, so that what happens later has a later time; the time then."""
        self.clock.advance(seconds)
        return self.clock.now()


@cache
def blank_database() -> bytes:
    """A database file with its schema and no rows."""
    return empty_sqlite().read_bytes()


@cache
def _unused_egress() -> Egress:
    """Nothing here calls out; reading the system's certificates once is enough."""
    return Egress(AllowList.parse([]))


def work_record(account_id: str, now: int, **fields: Any) -> WorkRecord:
    """A work that began just now, in a conversation that need not be there."""
    record = WorkRecord(
        id=new_id(ids.WORK, now),
        account_id=account_id,
        conversation_id="cnv_1",
        title="Work",
        text="",
        question=None,
        state_json="{}",
        home=0,
        created_at=now,
        updated_at=now,
        deleted_at=None,
    )
    return replace(record, **fields)


def file_record(blob: str, **fields: Any) -> FileRecord:
    """A text of one byte."""
    record = FileRecord("", "a.txt", "acc_1", "a.txt", "text/plain", "text", 1, '"r1"', blob)
    return replace(record, **fields)


def request_record(account_id: str | None, at: int, **fields: Any) -> RequestRecord:
    """A line of the request log: the account was read."""
    row = (new_id(ids.REQUEST, at), at, account_id, "key_1", "GET", "/v1/me", 200, None, 1, 0, 0)
    return replace(RequestRecord(*row), **fields)


def wired(settings: Settings, clock: ManualClock, db: Database, **own: Any) -> AppContext:
    """A context with its blobs in the settings' folder, and with these parts of its own."""
    storage = LocalStorage(settings.data_path / "blobs")
    return AppContext(
        settings=settings,
        clock=clock,
        db=db,
        storage=storage,
        incoming=LocalIncoming(storage, PolicySigner(b"secret"), "https://uploads.test"),
        wakeups=Wakeups(),
        cursors=CursorSigner(b"secret"),
        cipher=SecretCipher([b"secret"]),
        limiter=MemoryLimiter(),
        requests=RequestLog(db, clock, "svc_key_"),
        node=NODE,
        **own,
    )


def signed_links(settings: Settings, clock: ManualClock) -> SignedLinks:
    """Links as a server makes them."""
    signer = LinkSigner(b"secret", settings.public_file_url)
    app_url, link_seconds = settings.public_app_url, settings.link_seconds
    return SignedLinks(signer, clock, app_url=app_url, link_seconds=link_seconds)


@asynccontextmanager
async def open_harness(
    folder: Path,
    *,
    balance: float = 100,
    listening: bool = True,
    postgres_url: str | None = None,
    **settings: Any,
) -> AsyncIterator[Harness]:
    """A context in that empty folder, its account and key made, one endpoint listening to all.

    Its records are in the folder, or in a PostgreSQL database that has its schema.
    """
    clock, engine, runner = ManualClock(), RecordingEngine(), RecordingRunner()
    db: Database
    if postgres_url is None:
        (folder / "agentpost.db").write_bytes(blank_database())
        db = SqliteDatabase(folder / "agentpost.db", durability="normal")
    else:
        db = PostgresDatabase(postgres_url, durability="normal")
    ctx = wired(
        load_settings(data_dir=str(folder), **settings),
        clock,
        db,
        engine=engine,
        egress=_unused_egress(),
        links=PlainLinks(),
        turns=runner,
    )
    ctx.db.open()
    try:
        account = await accounts.create(ctx, "a@example.com", "A", balance)
        key = (await accounts.create_key(ctx, account.id, "first")).record
        caller = Caller(key.id, key.name, account.id, rules_of(ctx.settings))
        order = "rowid" if postgres_url is None else "xmin::text::bigint, cmin::text::bigint"
        harness = Harness(ctx, clock, engine, runner, account.id, caller, order)
        if listening:
            await harness.listen()
        yield harness
    finally:
        await ctx.storage.aclose()
        ctx.db.close()
