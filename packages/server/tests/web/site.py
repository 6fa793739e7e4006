"""A wired context with its pages on a real port, and a browser of sorts."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from argon2 import PasswordHasher

from agentpost import bootstrap
from agentpost.accounts import actions as accounts
from agentpost.api.app import ApiRoutes
from agentpost.api.auth import Keys
from agentpost.api.operation import Api
from agentpost.blobs import deletion_rows
from agentpost.clock import ManualClock, new_id
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.http.application import Application, Route
from agentpost.jobs import work_rows
from agentpost.jobs.rules import JobKind, JobState
from agentpost.record.records import ConversationRecord, FileRecord, WorkRecord
from agentpost.sessions import actions as sessions, password_links
from agentpost.sessions.passwords import Passwords
from agentpost.settings import load_settings
from agentpost.turns.conversation_rows import CONVERSATIONS
from agentpost.users import actions as users, rows as user_rows
from agentpost.users.records import UserRecord
from agentpost.users.role_rules import Role
from agentpost.web.routes import PageRoutes
from tests.client.scripted import served
from tests.harness.context import blank_database, file_record, work_record
from tests.harness.driver import Hands
from tests.harness.rows import insert

T = TypeVar("T")
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
COUNTERS = ("epoch", "calls", "calls_at_takeover", "takeovers", "recover_requests")
MESSAGE_COUNTERS = (
    "attachments",
    "turn_epoch",
    "jobs",
    "reply_files",
    "seq",
    "version",
    "state_version",
)
AMOUNTS = ("credits_used", "credits_needed")


class Site:
    """One account, "ann"; its context is used from this thread while the server runs in another."""

    def __init__(
        self, url: str, ctx: AppContext, clock: ManualClock, routes: Sequence[Route]
    ) -> None:
        self.url = url
        self.routes = routes
        self.ctx = ctx
        self.clock = clock
        self.ann = asyncio.run(accounts.create(ctx, "ann@example.com", "Ann", 12.5)).id

    def token(self, account_id: str | None = None) -> str:
        link = asyncio.run(sessions.make_link(self.ctx, account_id or self.ann))
        return link.url.rpartition("/")[2]

    def browser(self, account_id: str | None = None, **headers: str) -> httpx2.Client:
        """Signed in by its cookie, as a user or as an account's own; follows no redirect."""
        secret = asyncio.run(sessions.log_in(self.ctx, self.token(account_id)))
        assert secret is not None
        return self.stranger(cookies={"agentpost_session": secret}, headers=headers)

    def password_path(self, user: str) -> str:
        """The path of a new link with which a user chooses a password, by id or address."""
        return "/" + asyncio.run(password_links.make(self.ctx, user)).url.split("/", 3)[3]

    def user(self, email: str, role: Role, password: str = "", account_id: str = "") -> UserRecord:
        """A new user, by default of Ann's account; with a password they can sign in by it."""
        ctx = self.ctx
        made = asyncio.run(users.create(ctx, account_id or self.ann, email, role))
        if password:
            hashed = asyncio.run(Passwords(CHEAP).hash(password))  # for this loop
            self.write(lambda tx: user_rows.set_password(tx, made.id, hashed))
        return made

    def stranger(self, **given: Any) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, **given)

    def write(self, fn: Callable[[Tx], T]) -> T:
        return asyncio.run(self.ctx.db.write(fn))

    def work(self, account_id: str | None = None, **fields: Any) -> WorkRecord:
        now = self.clock.now()
        conversation = self.conversation(account_id or self.ann)
        given = {
            "title": "A chart",
            "text": "Six rows.",
            "conversation_id": conversation.id,
            **fields,
        }
        record = work_record(account_id or self.ann, now, **given)
        self.write(lambda tx: work_rows.WORKS.insert(tx, record))
        return record

    def conversation(self, account_id: str, owner: str = "key_1") -> ConversationRecord:
        """A new one, by default of a key."""
        now = self.clock.now()
        made = new_id(ids.CONVERSATION, now)
        record = ConversationRecord(made, account_id, owner, made, now)
        self.write(lambda tx: CONVERSATIONS.insert(tx, record))
        return record

    def file(self, work: WorkRecord, path: str, name: str) -> FileRecord:
        now = self.clock.now()
        of = {"work_id": work.id, "account_id": work.account_id, "created_at": now}
        record = file_record(new_id("blob_", now), path=path, name=name, size=5, **of)

        def put(tx: Tx) -> None:
            deletion_rows.schedule_delete(tx, [record.blob], 0)
            work_rows.put_file(tx, record)

        self.write(put)
        return record

    def stored_file(
        self, work: WorkRecord, name: str, content_type: str, content: bytes
    ) -> FileRecord:
        """A file with its bytes."""
        file = self.file(work, name, name)
        asyncio.run(self.ctx.storage.put(file.blob, content))
        sql = "UPDATE files SET content_type = ?, size = ? WHERE blob = ?"
        self.write(lambda tx: tx.execute(sql, (content_type, len(content), file.blob)))
        return file

    def message(self, text: str, account_id: str | None = None, **fields: Any) -> None:
        now = self.clock.now()
        given = {
            "id": new_id(ids.MESSAGE, now),
            "account_id": account_id or self.ann,
            "text": text,
            "status": "completed",
            "turn_state": "ended",
            "final": 1,
            "turn_deaths": 0,
            "notes_json": "[]",
            **dict.fromkeys(("key_id", "conversation_id", "fingerprint"), "x"),
            **dict.fromkeys(MESSAGE_COUNTERS, 0),
            **dict.fromkeys(
                ("turn_wait_deadline", "reply_deadline", "created_at", "updated_at"), now
            ),
            "expires_at": now + 1_000_000_000,
            **fields,
        }
        self.insert("messages", **given)

    def job(self, work: WorkRecord, state: JobState, step: str | None = None, **fields: Any) -> str:
        """The id of a new one."""
        now = self.clock.now()
        job_id = new_id(ids.JOB, now)
        given = {
            "id": job_id,
            "account_id": work.account_id,
            "conversation_id": work.conversation_id,
            "message_id": "msg_1",
            "work_id": work.id,
            "kind": JobKind.EXECUTION.value,
            "title": work.title,
            "state": state.value,
            "fn": "agent:chart",
            "args_json": "{}",
            "step": step,
            "created_at": now,
            **dict.fromkeys((*COUNTERS, *AMOUNTS), 0),
            **fields,
        }
        self.insert("jobs", **given)
        return job_id

    def insert(self, table: str, **row: object) -> None:
        """A row of these columns."""
        self.write(lambda tx: insert(tx, table, **row))


@contextmanager
def open_site(folder: Path, **settings: Any) -> Iterator[Site]:
    """A site in a folder of its own."""
    clock = ManualClock()
    wanted = load_settings(data_dir=str(folder), **settings)
    (folder / "agentpost.db").write_bytes(blank_database())
    installation = asyncio.run(bootstrap.open_installation(wanted, clock))
    ctx = installation.ctx
    ctx.turns = Hands()  # a turn begins and goes on
    ctx.passwords = Passwords(CHEAP)
    api = ApiRoutes(Api(ctx, Keys(ctx)), installation.signer, is_ready=lambda: True)
    groups = PageRoutes(ctx), api
    app = Application(groups, no_request=api.no_request, no_room=api.no_room)
    try:
        with served(app) as url:
            yield Site(url, ctx, clock, [route for group in groups for route in group.routes])
    finally:
        asyncio.run(bootstrap.close(ctx))
