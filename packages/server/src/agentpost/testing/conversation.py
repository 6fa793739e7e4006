"""An agent with everything it runs on, in this process: see `agentpost.testing`."""

from __future__ import annotations

import asyncio
import atexit
import base64
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, TypeVar

import structlog

from agentpost.accounts import actions as accounts
from agentpost.agents import AgentFn, registry, values
from agentpost.agents.base import current_step_key
from agentpost.author.causes import author_traceback
from agentpost.author.worker_process import put_result
from agentpost.bootstrap import close, open_context, upgrade_database
from agentpost.caller import Caller
from agentpost.clock import ManualClock
from agentpost.credits import actions as credits
from agentpost.domain import ids
from agentpost.limits.allowances import rules_of
from agentpost.messages import rows as message_rows, sending
from agentpost.messages.new_messages import NewMessage
from agentpost.messages.rules import OPEN_TURNS
from agentpost.processes.pool import Ready, WorkerPool
from agentpost.runtime.journal import Journal
from agentpost.runtime.run_job import JobRunner
from agentpost.runtime.run_turn import TurnRunner
from agentpost.runtime.steps import Steps
from agentpost.settings import Settings, load_settings
from agentpost.testing.faults import CrashPoint, FaultyDatabase, NotRepeatable
from agentpost.testing.outcome import Outcome, outcome
from agentpost.threads.loop import AgentLoop
from agentpost.turns import actions as turns
from agentpost.uploads.attachments import InlineFile

T = TypeVar("T")
Files: TypeAlias = "Mapping[str, bytes | str] | Sequence[str | Path]"
"""Contents by name, or paths."""
_CREDITS = 100.0
_SECONDS = 60.0
_STOP_SECONDS = 2.0
_LOOK_SECONDS = 0.01
_BETWEEN_SECONDS = 1.0
"""By how much the clock moves with each message, so that they have an order."""


def run(
    agent: AgentFn | object | str,
    text: str = "",
    *,
    files: Files = (),
    credits: float = _CREDITS,  # noqa: A002 - the word of the protocol
    crash: CrashPoint | Iterable[CrashPoint] = (),
    replay: bool = True,
    response_schema: dict[str, Any] | None = None,
) -> Outcome:
    """What becomes of one message in a new conversation; see `Conversation` and its `send`."""
    with Conversation(agent, credits=credits, crash=crash, replay=replay) as talk:
        return talk.send(text, files=files, response_schema=response_schema)


class Conversation:
    """A conversation with an agent, to be used in a ``with`` block, also inside a running loop.

    Args:
        agent: the coroutine function, an agent of a framework, or ``module:object``.
        credits: what its account has.
        crash: where the server dies and is started again, once for each point. One that nothing
            reaches is an `AssertionError` at the end of the block.
        replay: whether each turn and job is run a second time from its records when it has ended.
        seconds: how long `send` waits for all work to end.
    """

    def __init__(
        self,
        agent: AgentFn | object | str,
        *,
        credits: float = _CREDITS,  # noqa: A002 - as in `run`
        crash: CrashPoint | Iterable[CrashPoint] = (),
        replay: bool = True,
        seconds: float = _SECONDS,
    ) -> None:
        self.clock = ManualClock()
        self._agent = _function(agent)
        self._credits = credits
        self._points = [crash] if isinstance(crash, CrashPoint) else list(crash)
        self._is_replaying = replay
        self._seconds = seconds
        self._loop = AgentLoop()
        self._sent: list[str] = []
        self._held = ExitStack()

    def __enter__(self) -> Self:
        configure()
        try:
            folder = Path(
                self._held.enter_context(tempfile.TemporaryDirectory(prefix="agentpost-"))
            )
            shutil.copyfile(_empty_database(), folder / "agentpost.db")
            self._loop.start()
            self._held.callback(self._loop.stop, _STOP_SECONDS)
            self._do(self._open(_settings(folder), folder))
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._do(self._close())
        self._held.close()
        if error is None and self._db.points:
            points = ", ".join(map(str, self._db.points))
            raise AssertionError(f"nothing reached {points}: fewer such calls were recorded")

    # --- for the test -----------------------------------------------------------------------------
    def send(
        self,
        text: str = "",
        *,
        files: Files = (),
        answer: Any = None,
        response_schema: dict[str, Any] | None = None,
        metadata: dict[str, str] | None = None,
        wait: bool = True,
    ) -> Outcome:
        """Send a message, wait until nothing runs any more, and say what became of it.

        Args:
            files: contents by name (``{"order.json": b"[]"}``), or paths of files.
            answer: to the typed question of the message before.
            wait: False returns when the agent has had its turn; its jobs run on.

        Raises `NotRepeatable` when a turn or job is not repeatable, and `TimeoutError`.
        """
        self.clock.advance(_BETWEEN_SECONDS)
        new = NewMessage(
            text.strip(),
            files=_inline(files),
            metadata=metadata,
            answer_to=self._sent[-1] if answer is not None else None,
            answer=answer,
            response_schema=response_schema,
        )
        self._sent.append(self._do(sending.post(self._ctx, self._caller, new)).id)
        return self.wait() if wait else self._do(self._wait_until(self._turns_only))

    def wait(self) -> Outcome:
        """Wait until nothing runs any more; what became of the last message. Raises as `send`."""
        return self._do(self._wait_until(self._everything))

    def add_credits(self, amount: float) -> Outcome:
        """Grant credits, which resumes what waits for them; see `wait`."""
        self._do(credits.add(self._ctx, self._caller.account_id, amount))
        return self.wait()

    # --- parts ------------------------------------------------------------------------------------
    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it on the agent's loop and wait."""
        ended: Future[T] = Future()

        async def do() -> None:
            try:
                ended.set_result(await work)
            except BaseException as error:
                ended.set_exception(error)

        self._loop.submit(do)
        return ended.result()

    async def _open(self, settings: Settings, folder: Path) -> None:
        ctx = self._ctx = await open_context(settings, self.clock)
        ctx.db = self._db = FaultyDatabase(ctx.db, self._points, replay=self._is_replaying)
        account = await accounts.create(ctx, "owner@example.com", "Owner", self._credits)
        key = (await accounts.create_key(ctx, account.id, "test")).record
        self._caller = Caller(key.id, key.name, account.id, rules_of(settings))
        pool = Threads(folder / "scratch")
        steps = Steps(pool, ctx.storage, pause=self._pause)
        ctx.turns = self._turns = TurnRunner(self._loop, self._agent, steps)
        self._jobs = JobRunner(ctx, self._loop, steps)
        self._db.runs = (self._turns.runs, self._jobs.runs)
        await ctx.engine.start(self._jobs)

    async def _close(self) -> None:
        await self._turns.stop(_STOP_SECONDS)
        await self._jobs.stop(_STOP_SECONDS)
        await self._ctx.egress.aclose()
        await close(self._ctx)

    async def _pause(self, run: Journal, seconds: float) -> None:
        """Between two tries of a step: the clock moves, and nobody waits.

        A turn that still runs ends first: for its message that time would have passed as well, and
        a turn that takes minutes is failed as abandoned.
        """
        while True:
            if not set(self._turns_left()) - {run.owner}:
                break
            await asyncio.sleep(_LOOK_SECONDS)
        self.clock.advance(seconds)

    def _turns_left(self) -> list[str]:
        """The messages whose turns run, or are to be run again."""
        lost_turns = [owner for owner in self._db.lost if owner.startswith(ids.MESSAGE)]
        return [run.owner for run in self._turns.runs.open()] + lost_turns

    async def _wait_until(self, is_settled: Callable[[], Awaitable[bool]]) -> Outcome:
        until = asyncio.get_running_loop().time() + self._seconds
        while not await is_settled():
            runs = [run for each in self._db.runs for run in each.open()]
            ends = [asyncio.wrap_future(r.submission.ended) for r in runs if r.submission]
            left = until - asyncio.get_running_loop().time()
            if left <= 0:
                raise TimeoutError(f"after {self._seconds:g} s there still runs {self._running()}")
            if ends:
                # Not for longer: one that was just taken up again is not among them.
                await asyncio.wait(ends, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if self._db.problems:
            raise NotRepeatable(self._db.problems[0])
        return await outcome(self._ctx, self._sent[-1], self._db.errors)

    async def _everything(self) -> bool:
        """Whether nothing runs; what a crash has interrupted is taken up again."""
        open_owners = {run.owner for each in self._db.runs for run in each.open()}
        lost_owners = [owner for owner in self._db.lost if owner not in open_owners]
        for owner in lost_owners:
            if owner.startswith(ids.MESSAGE):
                await turns.reclaim(self._ctx, owner, self._ctx.node)
            else:
                self._jobs.reclaim(owner, self._ctx.node)
            self._db.lost.remove(owner)  # now it runs: at no time is it neither lost nor running
        return not (open_owners or lost_owners)

    async def _turns_only(self) -> bool:
        if await self._everything():
            return True
        message = await self._ctx.db.read(lambda tx: message_rows.get(tx, self._sent[-1]))
        return message is not None and message.turn_state not in OPEN_TURNS

    def _running(self) -> str:
        owners = [run.owner for each in self._db.runs for run in each.open()]
        return ", ".join(owners) or "nothing that is known"


def _function(agent: AgentFn | object | str) -> AgentFn:
    """The agent function of what a test names; raises `UnknownAgent` and `ValueError`."""
    if isinstance(agent, str):
        return registry.resolve(agent).run
    adapter = registry.adapter_of(agent)
    if adapter is not None:
        return registry.adapt(adapter, agent, None)
    if not callable(agent):
        raise TypeError(f"an agent is a coroutine function, not {agent!r}")
    function: AgentFn = agent
    return function


def _inline(files: Files) -> tuple[InlineFile, ...]:
    if isinstance(files, Mapping):
        data_by_name = {k: v.encode() if isinstance(v, str) else v for k, v in files.items()}
    else:
        data_by_name = {Path(path).name: Path(path).read_bytes() for path in files}
    encoded = {name: base64.b64encode(data).decode() for name, data in data_by_name.items()}
    return tuple(InlineFile(name, None, data, None) for name, data in encoded.items())


def _settings(folder: Path) -> Settings:
    """Of the tests' own, whatever servers the environment names."""
    return _common_settings().model_copy(update={"data_dir": str(folder)})


@cache
def _common_settings() -> Settings:
    """Read once: that takes as long as a small test."""
    return load_settings(
        data_dir="",
        database_url="",
        storage_url="",
        redis_url="",
        durability="normal",
        code_changed_wait_seconds=0,
        conversation_required=False,
    )


@cache
def _empty_database() -> Path:
    """A database with its schema, to be copied: to make it takes longer than a test may."""
    folder = Path(tempfile.mkdtemp(prefix="agentpost-schema-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    upgrade_database(_settings(folder))
    return folder / "agentpost.db"


_SERVER: Final = "agentpost."
_FAILURES: Final = ("turn_failed", "job_failed")
_CRASH: Final = "run_interrupted"
_shown_owners: set[str] = set()


def configure() -> None:
    """Set structlog up for tests, unless the tests have done so.

    The server's own lines below a warning are dropped, and those about the crashes that a test asks
    for; an exception of the agent's code is printed
    once, although the replay check runs the code again. The log of other code stays as it is.
    """
    if not structlog.is_configured():
        structlog.configure(
            processors=[_drop_server_lines, *structlog.get_config()["processors"]],
            logger_factory=_logger,
        )


class _ServerLogger(structlog.PrintLogger):
    """The logger of a module of the server."""


def _logger(*names: Any) -> structlog.PrintLogger:
    # For each line, because pytest replaces the streams with each test.
    is_server = bool(names) and str(names[0]).startswith(_SERVER)
    return _ServerLogger(sys.stderr) if is_server else structlog.PrintLogger(sys.stdout)


def _drop_server_lines(
    logger: Any, method: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    if not isinstance(logger, _ServerLogger):
        return event
    if method in ("debug", "info") or event["event"] == _CRASH:
        raise structlog.DropEvent
    if event["event"] not in _FAILURES:
        return event
    ids = structlog.contextvars.get_contextvars()
    owner = str(ids.get("job_id") or ids.get("message_id"))
    if owner not in _shown_owners:
        _shown_owners.add(owner)
        error = event.get("exc_info")
        reason = author_traceback(error) if isinstance(error, BaseException) else event["error"]
        logger.msg(f"{event['event']}:\n{reason}")
    raise structlog.DropEvent


class Threads(WorkerPool):
    """See `WorkerPool`; without its limits of memory and CPU time."""

    def __init__(self, scratch: Path) -> None:
        super().__init__(1, scratch=scratch, seconds=60, cpu_seconds=None)

    async def start(self) -> None:
        """See `WorkerPool.start`. There is nothing to start."""

    async def call(
        self,
        fn_ref: str,
        args: list[Any],
        kwargs: Mapping[str, Any] | None = None,
        *,
        account: str,
        key: str,
        into: Path | None = None,
        timeout: float | None = None,
        cpu_seconds: float | None = None,
        ready: Ready | None = None,
    ) -> Any:
        """See `WorkerPool.call`. A function that takes longer than ``timeout`` is left behind."""
        fn: Callable[..., Any] = values.resolve(fn_ref)
        args, keywords = values.load(values.dump_local([args, dict(kwargs or {})]), None)
        if ready is not None:
            await ready()

        def body() -> Any:
            current_step_key.set(key)  # in the thread's own copy of the context
            return fn(*args, **keywords)

        async with asyncio.timeout(timeout):
            try:
                result = await asyncio.to_thread(body)
            except Exception as error:
                rebuilt = values.rebuild_error(values.describe_error(error))
                values.remember_class_names(rebuilt, values.class_names(error))
                # One exception with the lines of both sides: the rebuilt one says nothing more.
                raise rebuilt.with_traceback(error.__traceback__) from error.__cause__
        if into is None:
            return values.load(values.dump(result), None)
        put_result(result, into)
        return None
