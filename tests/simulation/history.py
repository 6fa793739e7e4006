"""One history: nodes, clients and faults from a number, then rest, then what has to hold."""

# ruff: noqa: ASYNC110 - waiting by steps of simulated time costs nothing

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import traceback
from collections.abc import Callable, Coroutine
from functools import cache, partial
from random import Random
from types import SimpleNamespace
from typing import Any

from agentpost import clock as clock_module
from agentpost.accounts import actions as accounts
from agentpost.caller import Caller
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.credits import actions as credits
from agentpost.db.session import Row
from agentpost.domain import ids
from agentpost.domain.errors import Refusal
from agentpost.following import followers
from agentpost.jobs import recovery, works
from agentpost.limits.allowances import rules_of
from agentpost.messages import lists, sending
from agentpost.messages.new_messages import NewMessage
from agentpost.messages.rules import WhenBusy
from agentpost.record.records import Snapshot
from agentpost.schedules import actions as schedules
from agentpost.schedules.actions import NewSchedule
from agentpost.schedules.rules import Missed
from agentpost.settings import Settings, load_settings
from agentpost.webhooks import deliveries
from tests.harness.invariants import Watch
from tests.simulation import checks
from tests.simulation.known import Acknowledged, Outcome, Reading
from tests.simulation.loop import Deadlock, use_time_of
from tests.simulation.node import Node
from tests.simulation.operations import Operation, drawn
from tests.simulation.world import SECRET, Broken, Odds, World

DAY = 86_400.0
ROUNDS_MAX = 120
"""Of sweeps after the last operation; what is open then is stuck."""


@cache
def _settings(alone: bool) -> Settings:
    url = "" if alone else "postgresql://simulated"
    return load_settings(
        data_dir="simulated", database_url=url, turn_reply_seconds=10, sweep_seconds=2
    )


class History:
    """The history of a number; ``only`` plays these of its operations and no others."""

    def __init__(
        self, schema: bytes, seed: int, *, only: frozenset[int] | None = None, tracing: bool = False
    ) -> None:
        rng = Random(seed)
        self.alone = rng.random() < 0.4
        self._balance = rng.choice((0, 3, 3, 100))
        self.operations = [op for op in drawn(rng) if only is None or op.n in only]
        self.world = World(schema, seed, tracing=tracing)
        self.acknowledged: list[Acknowledged] = []
        self._settings = _settings(self.alone)
        self._caller: Caller
        self._watch: Watch
        self._logs: dict[str, list[Row]] = {}
        self._keys_tried: set[str] = set()
        self._keys_repeated: set[str] = set()

    def play(self) -> Outcome:
        """Play it to its end."""
        world = self.world
        undo, real = use_time_of(world.clock), vars(clock_module)["os"]
        vars(clock_module)["os"] = SimpleNamespace(urandom=Random(1).randbytes)
        vars(clock_module)["_chances"].clear()  # drawn ahead, by the history before
        asyncio.set_event_loop(world.loop)
        world.loop.set_exception_handler(lambda *_: None)
        broken: str | None = None
        try:
            world.loop.run_until_complete(self._play())
        except Broken as found:
            broken = str(found)
        except AssertionError as failed:
            broken = f"AssertionError: {failed}" if str(failed) else _where(failed)
        except Deadlock:
            broken = "everything waits for something that never happens"
        finally:
            self._close()
            vars(clock_module)["os"] = real
            vars(clock_module)["_chances"].clear()  # which nobody else could guess
            undo()
        return Outcome(broken, world.commits, world.trace or [])

    def _close(self) -> None:
        loop = self.world.loop
        for node in self.world.nodes:
            node.dead = True
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        with contextlib.suppress(Deadlock):
            if tasks:
                loop.run_until_complete(asyncio.wait(tasks, timeout=1))
        loop.close()
        asyncio.set_event_loop(None)

    async def _play(self) -> None:
        world = self.world
        odds, world.odds = world.odds, Odds()
        first = await self._new_node()
        account = await accounts.create(first.ctx, "a@example.com", "A", self._balance)
        key = (await accounts.create_key(first.ctx, account.id, "first")).record
        self._caller = Caller(key.id, key.name, account.id, rules_of(first.ctx.settings))
        self._listen()
        if not self.alone:
            await self._new_node()
        self._watch = Watch(Reading(world, first.ctx), clock_set=True)
        world.odds = odds
        tasks = [asyncio.create_task(self._tick())]
        for operation in self.operations:
            doing = partial(self._do, operation)
            world.loop.call_later(operation.at, _begin, doing, tasks)
        last = self.operations[-1].at if self.operations else 0.0
        await self._until(last + 2.0)
        world.odds, world.receiver = Odds(), "up"
        await self._rest()
        for task in tasks[1:]:
            if task.done() and task.exception() is not None:
                raise AssertionError(f"an operation raised {task.exception()!r}")
        self._check_now()
        checks.check(self)

    async def _until(self, at: float) -> None:
        while self.world.loop.time() < at and self.world.broken is None:
            await asyncio.sleep(min(1.0, max(at - self.world.loop.time(), 0.001)))
        self._stop_if_broken()

    def _stop_if_broken(self) -> None:
        if self.world.broken is not None:
            raise self.world.broken

    async def _new_node(self, fails: int = 0) -> Node:
        """A process that starts, again and again until it does; its commit of that number fails."""
        while True:
            node = Node(self.world, self._settings, alone=self.alone)
            node.fail_in, fails = fails, 0
            try:
                await node.start()
            except sqlite3.Error as error:
                self.world.tell(node.id, f"did not start: {error}")
                node.die()
                await asyncio.sleep(1.0)
            else:
                return node

    async def _tick(self) -> None:
        """A few sweeps of some node, now and then, as long as things happen."""
        world = self.world
        while True:
            await asyncio.sleep(world.rng.choice((0.5, 1.0, 1.0, 2.0)))
            if alive := world.alive():
                node = world.rng.choice(alive)
                names = [name for name, _ in node.sweeps if world.rng.random() < 0.25]
                asyncio.create_task(node.sweep(names))  # noqa: RUF006

    # --- what clients, operators and faults do ----------------------------------------------------
    async def _do(self, operation: Operation) -> None:
        self.world.tell("outside", str(operation))
        await getattr(self, f"_{operation.do}")(**operation.given)

    async def _node(self) -> Node:
        while not (alive := self.world.alive()):
            await asyncio.sleep(0.5)
        return self.world.rng.choice(alive)

    async def _call(self, doing: Any, patience: float = 20.0) -> Any:
        """An operator's command on some node; None when nothing was heard of it."""
        node = await self._node()
        task = asyncio.create_task(doing(node.ctx))
        await asyncio.wait({task}, timeout=patience)
        return task.result() if task.done() and task.exception() is None else None

    async def _send(
        self,
        plan: dict[str, Any],
        conversation: str,
        key: str | None,
        busy: str,
        wait: int,
        patience: float,
    ) -> None:
        """POST until there is an answer, with a key; once, without."""
        text = json.dumps(plan)
        new = NewMessage(
            text,
            conversation,
            idempotency_key=key,
            busy=WhenBusy(busy),
            held=wait > 0,
            wait_seconds=wait or None,
        )
        for _ in range(30):
            node = await self._node()
            if key is not None:
                (self._keys_repeated if key in self._keys_tried else self._keys_tried).add(key)
            task = asyncio.create_task(self._post(node.ctx, new))
            await asyncio.wait({task}, timeout=patience)
            if task.done() and isinstance(task.exception(), Refusal):
                return  # another body under this key
            if task.done() and task.exception() is None:
                message_id = task.result()[0].message.id
                self.acknowledged.append(Acknowledged(message_id, key, text))
                self.world.tell("client", f"was told of {message_id}")
                return
            if key is None:
                return

    async def _post(self, ctx: AppContext, new: NewMessage) -> tuple[Snapshot, bool]:
        admitted = await sending.admit(ctx, self._caller, new)
        return await sending.send(ctx, self._caller, admitted, followers.nobody_hangs_up)

    async def _send_again(self, n: int) -> None:
        """A client that does not trust the answer it got."""
        keyed = [each for each in self.acknowledged if each.key is not None]
        if keyed:
            again = keyed[n % len(keyed)]
            await self._send(json.loads(again.text), *("", again.key, "wait", 0, 10.0))

    def _some_message(self, n: int) -> str | None:
        rows = self.world.rows("SELECT id FROM messages ORDER BY id")
        return str(rows[n % len(rows)][0]) if rows else None

    async def _cancel(self, n: int) -> None:
        if (message_id := self._some_message(n)) is not None:
            await self._call(lambda ctx: lists.cancel_for(ctx, self._caller.account_id, message_id))

    async def _stop_work(self, n: int) -> None:
        rows = self.world.rows("SELECT id FROM works WHERE home = 0 ORDER BY id")
        if rows:
            work_id = rows[n % len(rows)][0]
            await self._call(lambda ctx: works.stop(ctx, self._caller.account_id, work_id))

    async def _recover(self, n: int) -> None:
        if (message_id := self._some_message(n)) is not None:
            sql = "SELECT job_id FROM message_jobs WHERE message_id = ?"
            for (job_id,) in self.world.rows(sql, message_id):
                self._watch.note_recovery(job_id)
            account_id = self._caller.account_id
            await self._call(lambda ctx: recovery.recover_for(ctx, account_id, message_id))

    async def _top_up(self, amount: int) -> None:
        await self._call(lambda ctx: credits.add(ctx, self._caller.account_id, amount))

    async def _schedule(self, plan: dict[str, Any], **given: int) -> None:
        at = self.world.clock.now() + given["in"] * 1_000_000
        message = {"message": json.dumps(plan)}
        new = NewSchedule(None, at, "UTC", Missed.RUN_ONCE, message)
        await self._call(lambda ctx: schedules.create(ctx, self._caller, new))

    async def _redeliver(self, n: int) -> None:
        sql = "SELECT event_id, endpoint_id FROM deliveries ORDER BY event_id"
        if rows := self.world.rows(sql):
            event_id, endpoint_id = rows[n % len(rows)]
            account_id = self._caller.account_id
            await self._call(
                lambda ctx: deliveries.redeliver(ctx, account_id, endpoint_id, event_id)
            )

    async def _look(self) -> None:
        self._check_now()

    def _check_now(self) -> None:
        for key in self._keys_repeated:  # which may have given a busy message another chance
            sql = "SELECT id FROM messages WHERE idempotency_key = ?"
            for (message_id,) in self.world.rows(sql, key):
                self._watch.resent(message_id)
        self._watch.check()
        checks.check_logs_only_grow(self.world, self._logs)

    async def _crash(self, node: int, commits: int, when: str, again: float, fails: int) -> None:
        """A node dies, at once or at a commit; another one comes in its place, whose commit of that
        number fails (0: none)."""
        if not (alive := self.world.alive()):
            return
        dying = alive[node % len(alive)]
        if commits:
            dying.crash_at(commits, when)
        else:
            dying.die()
        while not dying.dead:
            await asyncio.sleep(0.5)
        if dying.replaced:
            return
        dying.replaced = True
        await asyncio.sleep(again)
        await self._new_node(fails)

    async def _freeze(self, node: int, seconds: float) -> None:
        if alive := self.world.alive():
            alive[node % len(alive)].freeze(seconds)

    async def _receiver(self, mode: str) -> None:
        self.world.receiver = mode

    async def _jump(self, seconds: float) -> None:
        """The clock is set; nothing has really passed."""
        self.world.clock.set(seconds)

    def _listen(self) -> None:
        """One endpoint for all events."""
        world = self.world
        now = world.clock.now()
        values = (new_id(ids.ENDPOINT, now), self._caller.account_id, SECRET, now)
        world.write_now(
            lambda tx: tx.execute(
                "INSERT INTO endpoints (id, account_id, url, events_json, secret, created_at)"
                " VALUES (?, ?, 'https://hooks.test/', '[\"*\"]', ?, ?)",
                values,
            )
        )

    # --- coming to an end -------------------------------------------------------------------------
    async def _rest(self) -> None:
        """No fault any more: sweep until nothing is open; the time of retries passes quickly."""
        world = self.world
        while len(world.alive()) < 2 - self.alone or any(
            node.frozen_until > world.loop.time() for node in world.alive()
        ):
            for node in world.alive():
                node.crash_at(0, "")
            await self._until(world.loop.time() + 1.0)
        world.at_rest = True
        for _ in range(ROUNDS_MAX):
            self._stop_if_broken()
            for node in world.alive():
                asyncio.create_task(node.sweep())  # noqa: RUF006
            await asyncio.sleep(1.0)
            if not checks.unfinished(world):
                return
            if checks.only_waits_for_credits(world):
                await self._top_up(20)
            elif checks.only_waits_for_retries(world):
                due = world.count(
                    "SELECT MIN(next_attempt_at) FROM deliveries WHERE status = 'pending'"
                )
                world.clock.set(max(due - world.clock.now(), 0) / 1_000_000 + 1)
        world.breaks(f"it does not come to an end: {checks.unfinished(world)}")
        self._stop_if_broken()


def _begin(doing: Callable[[], Coroutine[Any, Any, None]], tasks: list[asyncio.Task[None]]) -> None:
    tasks.append(asyncio.get_running_loop().create_task(doing()))


def _where(error: AssertionError) -> str:
    """The line of an assertion without a text."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.name}: {frame.line}"
