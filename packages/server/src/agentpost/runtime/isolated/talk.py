"""One run in an agent process: its calls are made here, on the turn or job itself."""

import asyncio
import itertools
import secrets
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from agentpost.agents import NotAllowedInStep, OutputInvalid, values
from agentpost.agents.base import step_key
from agentpost.author.bodies import Spilled
from agentpost.author.frames import Frame, contents_of, failure_error, request_of, said_fields
from agentpost.author.objects import AuthorJob, AuthorTurn, Contents
from agentpost.author.output import keep
from agentpost.runtime.isolated.process import AgentProcess, Death
from agentpost.runtime.journal import Journal, RunStopped

_HEARD_SECONDS: Final = 0.5
"""A process that does not hear that a run is to end is held by somebody's code."""


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
        owner: str,
        author: AuthorTurn | AuthorJob,
        journal: Journal,
    ) -> None:
        self.owner = owner
        self.ending = False
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
        """See `Hearing.lost`."""
        if not self._ended.done():
            self._ended.set_exception(ProcessDied(death))
        self._cancelled.set()

    def hear(self, message: Frame) -> None:
        """See `Hearing.hear`."""
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
