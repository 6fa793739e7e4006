"""The worker pool: plain functions of agents, each call in a process that can be killed alone.

Stopping a job must end the function it runs within a second, without hurting the calls beside it
(design: Where author's code runs). Why our own: `concurrent.futures.ProcessPoolExecutor` breaks as
a whole when one worker is killed; `anyio.to_process` kills just one, but it sets no limits, never
recycles, leaves a busy worker behind when its parent is killed, throws away what functions print,
passes the whole environment on and unpickles whatever a worker answers.

The pool is shared fairly by account (`agentpost.limits.fair_share`), and each call has limits: time
on the clock from when a worker has it, CPU time, memory. Else one hostile file would hold them all.

A worker gets a listed part of the server's environment and none of its memory. It runs as the same
user, which contains accidents and is no sandbox for code nobody trusts, unless a `CommandPrefix`
gives it another user or a container.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import structlog

from agentpost.agents import values
from agentpost.agents.deaths import NotBegun, NoWorker, OutOfMemory, WorkerDied, WorkerKilled
from agentpost.author.worker_process import frame
from agentpost.processes import capacity
from agentpost.processes.environment import OWN, Interpreter
from agentpost.processes.prefix import CommandPrefix
from agentpost.processes.slots import FairSemaphore
from agentpost.processes.starting import Starter
from agentpost.processes.worker import CallLimits, WorkerProcess

_BOOT_SECONDS_MAX: Final = 60.0
_BEGINNINGS_MAX: Final = 3
_SPARE_SECONDS: Final = 0.5
"""A call that runs for longer may run for long: others should find another worker ready."""
_LONG_SECONDS: Final = 1.0
"""A call that has run for longer yields the processors to calls of other accounts."""

Ready = Callable[[], Awaitable[None]]
"""Awaited when a worker has the call, right before the function begins; may raise to prevent it."""

log = structlog.get_logger(__name__)


class WorkerPool:
    """At most ``workers`` processes, started when needed and shared fairly by account (0 for a
    number that suits the host).

    A process is replaced after ``max_tasks`` calls, or when one has left it with little memory, and
    ended when idle for ``idle_seconds``.
    ``scratch`` is a folder of this pool alone: each worker's temporary files live, and end, below
    it. ``sys.path`` and the working directory are those of the server when the worker is started.

    Limits: ``memory_bytes`` of a process (Linux; 0 for what suits the host, None for no limit);
    ``seconds`` on the clock for a call that names no ``timeout``; ``cpu_seconds`` of CPU time for
    each call (None for no limit).
    ``env`` names further environment variables of workers; ``bytecode_folder`` is for byte code
    (None: as the server); ``imports``: what idle ones import; ``rebuild`` makes their exceptions.
    ``prefix``: the command that starts them (None: none). A process that has had a call of one
    account gets none of another then. ``interpreter`` runs authors' functions.

    Belongs to one event loop, whose thread must outlive the workers.
    """

    def __init__(
        self,
        workers: int,
        *,
        scratch: Path,
        seconds: float,
        cpu_seconds: float | None,
        max_tasks: int = 50,
        memory_bytes: int | None = 0,
        env: Iterable[str] = (),
        bytecode_folder: Path | None = None,
        imports: Iterable[str] = (),
        rebuild: Callable[[Mapping[str, str]], Exception] = values.rebuild_error,
        idle_seconds: float = 300.0,
        prefix: CommandPrefix | None = None,
        interpreter: Interpreter = OWN,
    ) -> None:
        assert max_tasks > 0
        self._most = workers = workers or capacity.default_workers()
        self._slots = FairSemaphore(workers)
        self._starter = Starter(
            WorkerProcess,
            scratch=scratch,
            threads=max(1, capacity.processors() // workers),
            env=env,
            bytecode_folder=bytecode_folder,
            prefix=prefix,
            interpreter=interpreter,
        )
        self._imports = tuple(imports)
        self._memory_bytes = capacity.default_memory_bytes() if memory_bytes == 0 else memory_bytes
        self._max_tasks = max_tasks
        self._seconds = seconds
        self._cpu_seconds = cpu_seconds
        self._rebuild = rebuild
        self._idle_seconds = idle_seconds
        self._idle: dict[WorkerProcess, asyncio.TimerHandle] = {}  # the last one in was used last
        self._workers: set[WorkerProcess] = set()
        self._starts = 0  # of processes that are not among the workers yet
        self._busy: dict[WorkerProcess, float] = {}  # with the loop's time when the call began
        self._spare: asyncio.Task[None] | None = None
        self._closed = asyncio.Event()
        self._usable = asyncio.Event()
        self._usable.set()

    async def start(self) -> None:
        """Remove what a killed server left in ``scratch``, and start a worker where it is to import
        something, or to run apart: whether that works is to be known now. Another one takes 19 MB,
        and its first call a tenth of a second to start it."""
        await asyncio.to_thread(self._starter.prepare)
        if self._imports or self._starter.prefix is not None:
            self._rest(await self._spawn(self._starter.interpreter))

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
        """Call the function ``module:qualname`` with JSON or `File` arguments and return its value.

        With ``into`` it makes a file instead, as bytes, str (UTF-8) or a `Path`, which the worker
        writes there: a path below its temporary folder is moved, another copied. When this raises,
        or is cancelled, ``into`` may hold a part.

        ``account`` is whose share of the pool the call takes; ``key`` is what
        `agentpost.agents.step_key` says there. ``timeout`` is in seconds and begins when a worker
        has the call; ``cpu_seconds`` lowers the pool's limit. Cancelling takes a waiting call out
        of the queue and kills the worker of a running one.

        Raises the function's own exception rebuilt, its traceback as a note; `MissingFunction`;
        `TypeError` or `ValueError` for a value that cannot be recorded; what ``ready`` raises;
        `TimeoutError` and `LimitExceeded`; `WorkerDied` when the function ended its own process,
        `WorkerKilled` when somebody else did; `NoWorker` when it was not called.
        """
        limits = self._limits(fn_ref, timeout, cpu_seconds)
        request = Request(fn_ref, args, dict(kwargs or {}), account, key, into, limits, ready)
        if not request.is_ours:
            await self._usable.wait()
        async with self._slots.slot(account):
            try:
                reply = await self._begin(request)
            except NoWorker:
                raise
            except WorkerDied as died:
                log.warning("worker_died", function=fn_ref, reason=str(died))
                # At our own end we are the ones who kill.
                kind = WorkerKilled if self._closed.is_set() else type(died)
                raise kind(f"{fn_ref} did not finish: {died}") from None
        if "error" in reply:
            error = self._rebuild(reply["error"])
            values.remember_class_names(error, reply["kinds"])
            error.add_note(f"In a worker process:\n{reply['trace']}")
            raise error
        return values.load(reply["value"], None)

    async def hold(self) -> None:
        """Let calls of authors' functions wait for `renew`: their code cannot be imported now."""
        self._usable.clear()

    async def renew(self, imports: Iterable[str]) -> None:
        """Replace the processes, whose code has changed: now, or at the end of their call."""
        self._imports = tuple(imports)
        for worker, timer in self._idle.items():
            timer.cancel()
            worker.leave()
        self._idle.clear()
        for worker in self._busy:
            worker.calls = self._max_tasks
        self._usable.set()

    async def aclose(self) -> None:
        """Kill all workers and wait for their end; running calls raise `WorkerKilled`."""
        self._closed.set()
        for worker in list(self._workers):
            worker.kill()
        if self._spare is not None:
            await asyncio.wait({self._spare})
        for timer in self._idle.values():
            timer.cancel()
        self._idle.clear()
        while self._workers:
            await asyncio.gather(*(worker.wait_until_ended() for worker in self._workers))
        await asyncio.to_thread(self._starter.tidy)

    def _limits(self, fn_ref: str, timeout: float | None, cpu_seconds: float | None) -> CallLimits:
        if cpu_seconds is None or (self._cpu_seconds or math.inf) < cpu_seconds:
            cpu_seconds = self._cpu_seconds
        if timeout is not None:
            return CallLimits(f"{fn_ref} took longer than {timeout:g} s", timeout, cpu_seconds)
        why = "the setting step_seconds; a timeout= of its own may be longer"
        late = f"{fn_ref} took longer than {self._seconds:g} s ({why})"
        return CallLimits(late, self._seconds, cpu_seconds)

    async def _begin(self, request: "Request") -> dict[str, Any]:
        """Ask a worker, and another one when it has died before it began. A function that ran out
        of memory in a process that was not fresh runs again in one that is: earlier calls may have
        filled it.

        Raises `NoWorker` when that goes on, or `WorkerDied` when nobody killed them: then it is the
        request that no worker can take.
        """
        deaths: list[WorkerDied] = []
        needs_fresh = False
        while len(deaths) < _BEGINNINGS_MAX:
            worker = await self._acquire(request, is_fresh=needs_fresh)
            if request.ready is not None:
                try:
                    await request.ready()
                except BaseException:
                    self._rest(worker)
                    raise
            is_fresh = not worker.calls
            try:
                return await self._ask(worker, request)
            except NotBegun as lost:
                log.info("worker_replaced", reason=str(lost))
                deaths.append(lost.death)
            except OutOfMemory as lack:
                if is_fresh:
                    raise
                log.info("worker_replaced", reason=str(lack))
                needs_fresh = True
        kind = NoWorker if isinstance(deaths[-1], WorkerKilled) else WorkerDied
        raise kind(f"{_BEGINNINGS_MAX} processes in a row ended before they began: {deaths[-1]}")

    async def _ask(self, worker: WorkerProcess, request: "Request") -> dict[str, Any]:
        """Ask one worker. Raises `OutOfMemory` for whatever a lack of memory came to in a process
        that is not fresh, and what `Request.ask` raises."""
        worker.output.begin(structlog.contextvars.get_contextvars())
        loop = asyncio.get_running_loop()
        self._busy[worker] = loop.time()
        self._let_long_calls_yield()
        spare = loop.call_later(_SPARE_SECONDS, self._keep_spare)
        long = loop.call_later(_LONG_SECONDS, self._let_long_calls_yield)
        try:
            reply = await request.ask(worker)
        except WorkerDied:
            raise
        except BaseException:
            worker.kill()
            raise
        finally:
            spare.cancel()
            long.cancel()
            del self._busy[worker]
            worker.session.yield_processors(False)
            worker.output.end()
        if worker.calls and reply.get("lacked_memory"):
            worker.leave()
            raise OutOfMemory("it lacked memory after earlier calls")
        worker.calls += 1
        if worker.calls < self._max_tasks and not (reply.get("full") or self._closed.is_set()):
            self._rest(worker)
        else:
            worker.leave()
        return reply

    async def _acquire(self, request: "Request", *, is_fresh: bool) -> WorkerProcess:
        account, interpreter = request.account, self._starter.interpreter
        if request.is_ours:
            interpreter = OWN
        worker = None if is_fresh else self._take_idle(account, interpreter)
        if worker is None and self._spare is not None and not is_fresh:
            await asyncio.wait({self._spare})
            worker = self._take_idle(account, interpreter)
        worker = worker or await self._spawn(interpreter)
        worker.account = account
        return worker

    def _let_long_calls_yield(self) -> None:
        """Let calls that have run for long take what those of other accounts leave, to their end:
        else they and a hostile file share the processors alike."""
        now = asyncio.get_running_loop().time()
        for worker, began in self._busy.items():
            others = any(other.account != worker.account for other in self._busy)
            if others and now - began >= _LONG_SECONDS:
                worker.session.yield_processors(True)

    def _keep_spare(self) -> None:
        """Start a process for the next call, which would else wait for that while the processors
        are busy, unless one is ready or there are as many as there may be."""
        is_served = self._idle or self._spare or self._closed.is_set()
        if not is_served and len(self._workers) + self._starts < self._most:
            self._spare = asyncio.create_task(self._start_spare())

    async def _start_spare(self) -> None:
        try:
            self._rest(await self._spawn(self._starter.interpreter))
        except NoWorker as error:  # a call that needs one tries again, and says so
            log.info("spare_worker_failed", reason=str(error))
        finally:
            self._spare = None

    def _take_idle(self, account: str, interpreter: Interpreter) -> WorkerProcess | None:
        """Of an interpreter's processes the one that this account used last, else one that nobody
        has used, else the one that was used last; None to start another."""
        for dead in [worker for worker in self._idle if not worker.alive]:
            self._idle.pop(dead).cancel()
        # The last one that is ready is kept for an account that holds none, as the last place is.
        idle = [worker for worker in self._idle if worker.interpreter == interpreter]
        if len(idle) == 1 and self._slots.held_count(account) > 1:
            alive = sum(worker.alive for worker in self._workers)
            if self._spare is not None or alive < self._most:
                return None
        best = max(
            reversed(idle),
            key=lambda worker: (worker.account == account, worker.account is None),
            default=None,
        )
        if best is not None:
            self._idle.pop(best).cancel()
        if best is None or not self._starter.prefix or best.account in (None, account):
            return best
        best.leave()  # what an account's file has done to it must not reach another's
        return None

    def _rest(self, worker: WorkerProcess) -> None:
        if self._closed.is_set():
            worker.kill()
            return
        loop = asyncio.get_running_loop()
        self._idle[worker] = loop.call_later(self._idle_seconds, self._retire, worker)

    def _retire(self, worker: WorkerProcess) -> None:
        del self._idle[worker]
        worker.leave()

    async def _spawn(self, interpreter: Interpreter) -> WorkerProcess:
        if self._closed.is_set():
            raise NoWorker("the worker pool is closed")
        imports = self._imports if interpreter == self._starter.interpreter else ()
        more = {"imports": imports, "memory_bytes": self._memory_bytes}
        try:
            self._starts += 1
            try:
                worker = await self._starter.start(interpreter)
            finally:
                self._starts -= 1
            self._workers.add(worker)
            worker.when_ended(self._workers.discard)
            if self._closed.is_set():
                worker.kill()
            await self._starter.greet(worker, _BOOT_SECONDS_MAX, **more)
        except OSError as error:
            raise NoWorker(f"a worker process could not be started: {error}") from error
        return worker


_RESULT: Final = "result"
"""The name of what a function makes, in the folder of a worker that a prefix has started."""


@dataclass(frozen=True, slots=True)
class Request:
    """The function ``fn`` with its arguments; ``into``: where what it makes is written, if it makes
    a file."""

    fn: str
    args: list[Any]
    kwargs: dict[str, Any]
    account: str
    key: str
    into: Path | None
    limits: CallLimits
    ready: Ready | None

    @property
    def is_ours(self) -> bool:
        """Whether no author can change it, such as what reads files."""
        return self.fn.startswith("agentpost.")

    async def ask(self, worker: WorkerProcess) -> dict[str, Any]:
        """The reply of that worker; see `WorkerProcess.ask` for what is raised."""
        if worker.place is None:
            into = None if self.into is None else str(self.into)
            return await worker.ask(frame(self._message(self.args, self.kwargs, into)), self.limits)
        place = worker.place
        name = None if self.into is None else _RESULT
        args, kwargs = await asyncio.to_thread(place.lend, [self.args, self.kwargs])
        message = self._message(args, kwargs, name and str(place.own / name))
        reply = await worker.ask(frame(message), self.limits)
        if not _is_reply(reply):
            worker.kill()
            raise WorkerDied("its process sent what cannot be understood")
        await asyncio.to_thread(place.take_back)
        if self.into is not None and "value" in reply:
            await asyncio.to_thread(place.fetch, _RESULT, self.into)
        return reply

    def _message(self, args: list[Any], kwargs: dict[str, Any], into: str | None) -> dict[str, Any]:
        return {
            "fn": self.fn,
            "args": values.dump_local(args),
            "kwargs": values.dump_local(kwargs),
            "key": self.key,
            "into": into,
            "cpu": self.limits.cpu_seconds,
        }


def _is_reply(reply: dict[str, Any]) -> bool:
    """Whether it is a reply at all: a worker that is kept apart is not trusted to say one."""
    if "error" in reply:
        error, kinds = reply["error"], reply.get("kinds")
        texts = [error.get("type"), error.get("text")] if isinstance(error, dict) else [None]
        texts_of_error = [*kinds, reply.get("trace")] if isinstance(kinds, list) else [None]
        return all(isinstance(text, str) for text in [*texts, *texts_of_error])
    return isinstance(reply.get("value"), str)
