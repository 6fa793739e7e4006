"""A context without a server: the test moves the clock, ends the turns and runs the jobs itself."""

import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.domain import ids
from agentpost.jobs import starting
from agentpost.jobs.actions import JobClaim
from agentpost.jobs.starting import Start
from agentpost.messages import sending
from agentpost.messages.new_messages import NewMessage
from agentpost.messages.sending import Acceptance
from agentpost.messages.shapes import MessageShape
from agentpost.record import reading
from agentpost.record.journal_rules import Call, CallState
from agentpost.record.records import Snapshot
from agentpost.record.tickets import TurnTicket
from agentpost.turns import actions as turns
from agentpost.turns.actions import TurnResult
from tests.harness.context import Harness, open_harness, signed_links
from tests.harness.ends import finish

DAY = 86_400


class Hands:
    """Stands for the runner of turns: takes them and waits for the test."""

    def __init__(self) -> None:
        self.tickets: dict[str, TurnTicket] = {}

    def run(self, ctx: AppContext, ticket: TurnTicket) -> None:
        """See `TurnRunner.run`."""
        self.tickets[ticket.message.id] = ticket

    def abort(self, message_id: str) -> None:
        """See `TurnRunner.abort`."""
        self.tickets.pop(message_id, None)


class ManualHarness:
    """A context with one account and key, and methods for what tests do with it."""

    def __init__(self, made: Harness) -> None:
        self.ctx = made.ctx
        self.clock = made.clock
        self.caller = made.caller
        self.placed = made.engine
        self._made = made
        self._numbers = itertools.count(1)

    async def accept(self, text: str = "hello", **fields: object) -> Acceptance:
        """Take a message in; its turn waits for `end`."""
        new = NewMessage(text=text, **fields)  # type: ignore[arg-type]
        message_id = new_id(ids.MESSAGE, self.clock.now())
        return await sending.accept(self.ctx, self.caller, new, message_id)

    async def end(self, message_id: str, reply: str = "there", question: str | None = None) -> None:
        """The turn ends with a reply, or with a question."""
        ticket = self._made.ticket(message_id)
        await turns.end(self.ctx, ticket, TurnResult(reply, question, None))

    async def say(self, text: str = "hello", **fields: object) -> str:
        """A message that was answered; its id."""
        message_id = (await self.accept(text, **fields)).message.id
        await self.end(message_id)
        return message_id

    async def start(self, message_id: str, work_id: str | None = None) -> JobClaim:
        """The turn starts a job."""
        call = self._call()
        started: Any = await starting.start_job(
            self.ctx,
            self._made.ticket(message_id),
            call,
            Start("tests:work", "{}", "Work", work_id),
        )
        assert started["state"] == "running", started
        return JobClaim(started["job_id"], self.caller.account_id, 1)

    async def join(self, message_id: str, job_id: str) -> None:
        """The turn joins a job."""
        ticket = self._made.ticket(message_id)
        assert await turns.join_job(self.ctx, ticket, self._call(), job_id, "more")

    async def working(self, text: str = "hello") -> tuple[str, JobClaim]:
        """A message whose turn has ended and whose job runs."""
        message_id = (await self.accept(text, conversation=text)).message.id
        owned = await self.start(message_id)
        await self.end(message_id)
        return message_id, owned

    async def finish(self, owned: JobClaim, text: str = "the result") -> None:
        """The job ends well."""
        await finish(self.ctx, owned, text, None, "{}")

    async def snapshot(self, message_id: str) -> Snapshot:
        """The message as last committed, whatever its age."""
        return await reading.current(self.ctx, message_id)

    async def shape(self, message_id: str) -> dict[str, Any]:
        """The message as its key reads it."""
        found = await reading.get(self.ctx, self.caller, message_id)
        return dict(json.loads(MessageShape.of(found, self.ctx.links).json()))

    async def rows(self, sql: str, *params: object) -> list[tuple[object, ...]]:
        """Rows of a query."""
        return await self.ctx.db.read(lambda tx: tx.all(sql, params))

    async def count(self, table: str, condition: str = "1 = 1", *params: object) -> int:
        """How many rows a table has."""
        found = await self.rows(f"SELECT COUNT(*) FROM {table} WHERE {condition}", *params)
        number = found[0][0]
        assert isinstance(number, int)
        return number

    def _call(self) -> Call:
        n = next(self._numbers)
        return Call(n, f"call {n}", CallState.DONE, "null")


@asynccontextmanager
async def manual_harness(folder: Path, **settings: Any) -> AsyncIterator[ManualHarness]:
    """An empty database on SQLite in that folder; ``settings`` by their names in lower case."""
    async with open_harness(folder, balance=1_000, listening=False, **settings) as made:
        made.ctx.links = signed_links(made.ctx.settings, made.clock)
        yield ManualHarness(made)
