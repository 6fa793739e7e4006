"""An agent process as the server sees it, and the runs in it: their calls are made here, on the
turn or job itself."""

import asyncio
import itertools
import secrets
import shutil
import signal
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import structlog

from agentpost.agents import NotAllowedInStep, OutputInvalid, values
from agentpost.agents.base import step_key
from agentpost.agents.deaths import died
from agentpost.author.bodies import Spilled
from agentpost.author.frames import Frame, contents_of, failure_error, request_of, said_fields
from agentpost.author.objects import AuthorJob, AuthorTurn, Contents
from agentpost.author.output import keep
from agentpost.author.worker_process import frame
from agentpost.processes.worker import WorkerProcess
from agentpost.runtime.journal import Journal, RunStopped

log = structlog.get_logger(__name__)
_LOOK_SECONDS: Final = 1.0
_SILENT_SECONDS_MORE: Final = 5.0
"""A process that holds its interpreter says nothing. It is given so much longer than the loop."""
_HEARD_SECONDS: Final = 0.5
"""A process that does not hear that a run is to end is held by somebody's code."""
_LEVELS: Final = frozenset({"debug", "info", "warning", "error", "critical"})


@dataclass(frozen=True, slots=True)
class Death:
    """Why a process ended; ``culprit``: the number of the run whose doing it was, if it is
    known; ``ours``: we ended it, which was no run's doing."""

    reason: str
    culprit: int | None = None
    ours: bool = False


class AgentProcess(WorkerProcess):
    """One process, with what runs in it. Belongs to the agent loop."""

    MODULE: ClassVar = "agentpost.author.agent_process"
    REPLY_BYTES_MAX: ClassVar = 256 * 1024 * 1024

    runs: "dict[int, Talk]"
    run_count = 0
    """How many have its place, with those that have not begun or not quite ended."""
    is_alone = False
    """It is for one run that is suspected."""
    is_retired = False
    """It takes no further runs."""
    cpu, memory = 0.0, 0
    """What it has used, in seconds and bytes."""
    culprit_owner: str | None = None
    """The turn or job whose doing its death was."""

    def begin(
        self,
        stall_seconds: float,
        cpu_seconds: float | None,
        on_end: "Callable[[AgentProcess, Death], None]",
    ) -> None:
        """It is ready: hear what it says. ``on_end`` is called before its runs hear of its end."""
        self.runs = {}
        self._on_end = on_end
        self._numbers = 0
        self._stall_seconds = stall_seconds
        self._cpu_seconds = cpu_seconds
        self._death: Death | None = None
        self._silent = 0.0
        self._looking: asyncio.TimerHandle | None = None
        # In a context of its own: that of the run which needed the process is another's later.
        loop = asyncio.get_running_loop()
        self._hearing = Context().run(loop.create_task, self._hear())

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def add(self, run: "Talk") -> int:
        """It runs here from now on; its number."""
        self._numbers += 1
        self.runs[self._numbers] = run
        if self._looking is None:
            self._silent = 0.0
            self._look_later()
        return self._numbers

    def say(self, message: Frame) -> None:
        """Say it, if there is anybody to hear it."""
        if self._writer.is_closing():
            return  # its end is told by `Talk.on_death`
        self._writer.write(frame(message))

    def end(self, death: Death) -> None:
        """Kill it for that reason."""
        self._death = self._death or death
        self.kill()

    # --- parts ------------------------------------------------------------------------------------
    async def _hear(self) -> None:
        try:
            while True:
                self._take(await self._receive())
        except (asyncio.IncompleteReadError, OSError):
            pass  # it has ended
        except Exception as error:  # it is the author's process: it may say anything
            log.exception("agent_process_not_understood", pid=self.pid)
            self.end(Death(f"it said what cannot be understood: {error!r}"))
        finally:
            self.leave()
            await self.wait_until_ended()
            death = self._death or self._found_dead()
            if self._looking is not None:
                self._looking.cancel()
            self._on_end(self, death)
            for run in list(self.runs.values()):
                run.on_death(death)

    def _found_dead(self) -> Death:
        code = self._code()
        if code == -signal.SIGXCPU and self._cpu_seconds is not None:
            most = f"{self._cpu_seconds:g} s"
            return Death(f"it used more than {most} of CPU time (the setting agent_cpu_seconds)")
        return Death(str(died(code, by_us=self._killed)))

    def _take(self, message: Frame) -> None:
        self._silent = 0.0
        if "log" in message:
            _log(message["log"])
            self._hand_over(message["log"])
        elif "beat" in message:
            self.cpu, self.memory = message["beat"]["cpu"], message["beat"]["memory"]
        elif "stalled" in message:
            log.warning("agent_process_stalled", pid=self.pid, stack=message["stack"])
            self._note_stall(message["run"])
        elif "died" in message:
            alone = len(self.runs) == 1
            self._death = Death(message["died"], message["run"] if alone else None)
        elif (run := self.runs.get(message["run"])) is not None:
            run.hear(message)

    def _hand_over(self, event: Frame) -> None:
        """A line of the author's is kept with its run, too."""
        if event.get("event") in ("agent_output", "agent_log"):
            owner = event.get("job_id") or event.get("message_id")
            for run in self.runs.values():
                if run.owner == owner:
                    run.hear({"printed": event})

    def _note_stall(self, culprit: int | None) -> None:
        most = f"{self._stall_seconds:g} s"
        why = f"it held its process for {most} without awaiting (the setting agent_stall_seconds)"
        self.end(Death(why, culprit))

    def _look_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._looking = Context().run(partial(loop.call_later, _LOOK_SECONDS, self._look))

    def _look(self) -> None:
        """Count the silence by looks, not by the clock: this process may have stood still."""
        self._looking = None
        if not self.runs:
            return
        self._silent += _LOOK_SECONDS
        if self._silent >= self._stall_seconds + _SILENT_SECONDS_MORE:
            self._note_stall(None)
        else:
            self._look_later()


def _log(event: Mapping[str, Any]) -> None:
    """A line that the process made; the ids in it are those of the call it belongs to."""
    fields = {name: value for name, value in event.items() if name not in ("level", "self")}
    level = event.get("level")
    write = getattr(log, level if level in _LEVELS else "info")
    Context().run(partial(write, str(fields.pop("event", "")), **fields))


class ProcessDied(Exception):
    """The process ended under the run."""

    def __init__(self, death: Death) -> None:
        super().__init__(death.reason)
        self.death = death


@dataclass(frozen=True, slots=True)
class _Body:
    """The body of a step that runs in the process; its calls are made in the context."""

    done: asyncio.Future[Frame]
    context: Context
    attempt: int
    """The number of the try: what comes of an earlier one comes too late."""


class Talk:
    """One run, from its beginning to its end. Made by its task, in whose context calls are made.
    ``author``: the turn or job in this process: its backend makes the calls."""

    def __init__(
        self,
        process: AgentProcess,
        author: AuthorTurn | AuthorJob,
        journal: Journal,
    ) -> None:
        self.owner = journal.owner
        self.ending = False
        """It is stopped: nothing of it is lost with the process."""
        self._process = process
        self._author = author
        self._journal = journal
        self._context = copy_context()
        self._ended: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._cancelled = asyncio.Event()
        self._made: dict[int, tuple[Coroutine[Any, Any, Any], Context]] = {}
        self._answering: dict[int, asyncio.Task[None]] = {}
        self._bodies: dict[int, _Body] = {}
        self._copies: dict[Path, Path] = {}
        self._number = process.add(self)

    async def run(self, first: Frame) -> Frame:
        """Run it to its end, which is given back, and take what it left; raises `ProcessDied`, and
        what the author's code raised."""
        self._say(**first)
        try:
            end = await asyncio.shield(self._ended)
        except asyncio.CancelledError as error:
            await self._cancel(error.args[0] if error.args else None)
            raise
        finally:
            self._process.runs.pop(self._number, None)
            await self._settle()
        if "failed" in end:
            raise failure_error(end["failed"])
        self._author.adopt(end)
        return end

    async def _cancel(self, why: str | None) -> None:
        """End it there. Code that holds the loop does not hear that: its process is ended when
        nothing else runs there, which would lose its step; else by the watch for stalls."""
        self.ending = True
        self._say(cancel=why)
        try:  # in a cancelled task, `asyncio.timeout` raises no TimeoutError before Python 3.11.4
            await asyncio.wait_for(self._cancelled.wait(), _HEARD_SECONDS)
        except TimeoutError:
            if all(run.ending for run in self._process.runs.values()):
                self._process.end(Death("a run that was to be stopped held it", ours=True))
        with suppress(ProcessDied):
            await self._ended

    async def _settle(self) -> None:
        """Nobody waits for its calls any more."""
        for coro, _ in self._made.values():
            coro.close()
        self._made.clear()
        answering = list(self._answering.values())
        for task in answering:
            task.cancel()
        await asyncio.gather(*answering, return_exceptions=True)
        for copy in self._copies.values():
            await asyncio.to_thread(shutil.rmtree, copy.parent, ignore_errors=True)

    # --- what the process says --------------------------------------------------------------------
    def on_death(self, death: Death) -> None:
        """The process has ended."""
        if not self._ended.done():
            self._ended.set_exception(ProcessDied(death))
        self._cancelled.set()

    def hear(self, message: Frame) -> None:
        """Take what it says."""
        if "op" in message:
            self._call(message)
        elif "go" in message:
            number = message["go"]
            coro, context = self._made.pop(number)
            loop = asyncio.get_running_loop()
            answering = self._answer(number, coro)
            self._answering[number] = loop.create_task(answering, context=context.copy())
        elif "done" in message:
            body = self._bodies.get(message["id"])
            if body is not None and body.attempt == message["try"] and not body.done.done():
                body.done.set_result(message["done"])
        elif "drop" in message:
            task = self._answering.get(message["drop"])
            if task is not None:
                task.cancel()
        elif "cancelled" in message:
            self._cancelled.set()
        elif "printed" in message:
            line = message["printed"]
            text = line["line"] if line["event"] == "agent_output" else line["message"]
            self._context.run(keep, line.get("call"), line["level"], text)
        elif "end" in message:
            if not self._ended.done():
                self._ended.set_result(message["end"])
        else:
            self._context.run(self._take, message)

    def _take(self, message: Frame) -> None:
        author = self._author
        if "delta" in message:
            author.delta(message["delta"], reset=message["reset"])
        elif "output" in message and isinstance(author, AuthorTurn):
            # The process has raised it already; a run that is stopped hears so by its next call.
            with suppress(OutputInvalid, RunStopped):
                author.output(values.load(message["output"], None))

    def _call(self, message: Frame) -> None:
        """Make the call, which numbers it; it is answered when it is awaited there."""
        context = self._context
        try:
            if "in" in message:
                body = self._bodies.get(message["in"])
                if body is None:
                    raise NotAllowedInStep(f"{message['op']} was called by a step that has ended")
                context = body.context
            coro = context.run(self._start, message)
        except (Exception, RunStopped) as error:
            coro = _raise(error)
        self._made[message["id"]] = (coro, context)

    def _start(self, message: Frame) -> Coroutine[Any, Any, Any]:
        if message["op"] in ("path", "text"):
            return self._read(message)
        if message["op"] == "history":
            return self._history()
        body = self._body(message) if "body" in message else None
        request = request_of(message, self._journal, body)
        place, source = self._process.place, request.data
        if place is None or not isinstance(source, Path):
            return _await(self._author.backend.call(request))
        copy = _new_copy()
        call = self._author.backend.call(replace(request, data=copy))
        return _await(call, partial(place.fetch, source.name, copy))

    async def _history(self) -> list[Frame]:
        assert isinstance(self._author, AuthorTurn), "a job has none"
        return [said_fields(item) for item in self._author.history]

    async def _read(self, message: Frame) -> str:
        file = values.load(message["file"], self._journal)
        if message["op"] == "text":
            text: str = await file.text()
            return text
        return str(await self._lend(await file.path()))

    async def _lend(self, path: Path) -> Path:
        """The file, or a copy of it that a process which a command prefix has started can read; it
        is kept until the run ends."""
        place = self._process.place
        if place is None:
            return path
        if path not in self._copies:
            self._copies[path] = await asyncio.to_thread(place.lend_file, path)
        return self._copies[path]

    async def _contents(self, frame: Frame) -> Contents:
        """Contents that the process has made."""
        contents = contents_of(frame)
        place = self._process.place
        if place is None or not isinstance(contents, Path):
            return contents
        copy = _new_copy()
        await asyncio.to_thread(place.fetch, contents.name, copy)
        return copy

    async def _answer(self, number: int, call: Coroutine[Any, Any, Any]) -> None:
        try:
            self._say(id=number, value=values.dump_local(await call))
        except RunStopped:
            self._say(id=number, stopped=True)
        except Exception as error:
            self._say(id=number, error=values.describe_error(error))
        finally:
            self._answering.pop(number, None)

    def _say(self, **message: Any) -> None:
        self._process.say({"run": self._number, **message})

    # --- steps ------------------------------------------------------------------------------------
    def _body(self, message: Frame) -> Callable[..., Any]:
        """The stand-in for a coroutine function, which runs there."""
        tries = itertools.count(1)

        async def run_there(*_args: Any, **_kwargs: Any) -> Any:
            outcome: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
            number, attempt = message["id"], next(tries)
            self._bodies[number] = _Body(outcome, copy_context(), attempt)
            try:
                self._say(**{"id": number, "body": step_key(), "try": attempt})
                came = await outcome
            except asyncio.CancelledError:
                with suppress(Exception):  # it would be recorded as what the step raised
                    self._say(id=number, give_up=attempt)
                raise
            finally:
                del self._bodies[number]
            if "failed" in came:
                raise failure_error(came["failed"])
            if "value" in came:
                return values.load(came["value"], self._journal)
            return await self._contents(came)

        return values.elsewhere(run_there, message["body"])


async def _raise(error: BaseException) -> Any:
    raise error


async def _await(call: Awaitable[Any], fetch: Callable[[], None] | None = None) -> Any:
    """Make the call, after what it needs was fetched."""
    if fetch is not None:
        await asyncio.to_thread(fetch)
    return await call


def _new_copy() -> Spilled:
    """Where contents of a process that a command prefix has started are copied to."""
    return Spilled(Path(tempfile.gettempdir(), f"contents-{secrets.token_hex(8)}"))
