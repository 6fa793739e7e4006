"""One run in an agent process: its calls are made here, on the turn or job itself."""

from __future__ import annotations

import asyncio
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any, Final

from agentpost.agents import NotAllowedInStep, OutputInvalid, values
from agentpost.agents.base import step_key
from agentpost.agents.retries import Backoff
from agentpost.processes.output import keep
from agentpost.runtime.isolated import standins
from agentpost.runtime.isolated.frames import Frame
from agentpost.runtime.isolated.process import AgentProcess, Death
from agentpost.runtime.journal import Journal, RunStopped
from agentpost.runtime.run_job import JobRun
from agentpost.runtime.run_turn import TurnRun

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
    tried: int
    """The number of the try: what comes of an earlier one comes too late."""


class Talk(ABC):
    """One run, from its beginning to its end. Made by its task, in whose context calls are made."""

    def __init__(self, process: AgentProcess, owner: str, journal: Journal) -> None:
        self.owner = owner
        self.ending = False
        self._process = process
        self._journal = journal
        self._context = copy_context()
        self._ended: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._cancelled = asyncio.Event()
        self._made: dict[int, tuple[Coroutine[Any, Any, Any], Context]] = {}
        self._answering: dict[int, asyncio.Task[None]] = {}
        self._bodies: dict[int, _Body] = {}
        self._number = process.add(self)

    async def run(self, first: Frame) -> Frame:
        """Run it to its end, which is given back; raises `ProcessDied`, and what the author's code
        raised."""
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
            raise standins.raised(end["failed"])
        return end

    async def _cancel(self, why: str | None) -> None:
        """End it there. Code that holds the loop does not hear that: its process is ended when
        nothing else runs there, which would lose its step; else by the watch for stalls."""
        self.ending = True
        self._say(cancel=why)
        try:
            async with asyncio.timeout(_HEARD_SECONDS):
                await self._cancelled.wait()
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

    # --- what the process says --------------------------------------------------------------------
    def lost(self, death: Death) -> None:
        """See `Hearing.lost`."""
        if not self._ended.done():
            self._ended.set_exception(ProcessDied(death))
        self._cancelled.set()

    def hear(self, message: Frame) -> None:
        """See `Hearing.hear`."""
        if "op" in message:
            self._call(message)
        elif "go" in message:
            self._go(message["go"])
        elif "done" in message:
            body = self._bodies.get(message["id"])
            if body is not None and body.tried == message["try"] and not body.done.done():
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
            self._context.run(self._tell, message)

    def _call(self, message: Frame) -> None:
        """Make the call, which numbers it; it is answered when it is awaited there."""
        context = self._context
        try:
            if "in" in message:
                body = self._bodies.get(message["in"])
                if body is None:
                    raise NotAllowedInStep(f"{message['op']} was called by a step that has ended")
                context = body.context
            made = context.run(self._start, message)
        except (Exception, RunStopped) as error:
            made = standins.raising(error)
        self._made[message["id"]] = (made, context)

    def _start(self, message: Frame) -> Coroutine[Any, Any, Any]:
        if message["op"] in ("path", "text"):
            return self._read(message)
        return standins.awaited(self._op(message))

    async def _read(self, message: Frame) -> str:
        file = values.load(message["file"], self._journal)
        return str(await file.path()) if message["op"] == "path" else await file.text()

    def _go(self, number: int) -> None:
        coro, context = self._made.pop(number)
        loop = asyncio.get_running_loop()
        answering = self._answer(number, coro)
        self._answering[number] = loop.create_task(answering, context=context.copy())

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
    def _function(self, message: Frame) -> Callable[..., Any]:
        """The stand-in for the function of a step: a plain one is run by a worker, the body of a
        coroutine function there."""
        if "fn" in message:
            return values.elsewhere(standins.unreachable_function(), message["fn"])

        tries = itertools.count(1)

        async def run_there(*_args: Any, **_kwargs: Any) -> Any:
            done: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
            number, tried = message["id"], next(tries)
            self._bodies[number] = _Body(done, copy_context(), tried)
            try:
                self._say(**{"id": number, "body": step_key(), "try": tried})
                came = await done
            except asyncio.CancelledError:
                with suppress(Exception):  # it would be recorded as what the step raised
                    self._say(id=number, give_up=tried)
                raise
            finally:
                del self._bodies[number]
            if "failed" in came:
                raise standins.raised(came["failed"])
            return (
                values.load(came["value"], self._journal)
                if "value" in came
                else standins.contents(came)
            )

        return values.elsewhere(run_there, message["body"])

    def _loaded(self, text: str) -> Any:
        return values.load(text, self._journal)

    @abstractmethod
    def _op(self, message: Frame) -> Awaitable[Any]:
        """Make the call of a frame: numbered now, made when it is awaited."""

    @abstractmethod
    def _tell(self, message: Frame) -> None:
        """Take what is no call."""


class TurnTalk(Talk):
    """Of a turn."""

    def __init__(self, process: AgentProcess, turn: TurnRun) -> None:
        super().__init__(process, turn.message.message_id, turn.journal)
        self._turn = turn

    async def all(self) -> None:
        """Run it; what it leaves is the turn's."""
        turn, record = self._turn, self._turn.ticket.message
        end = await self.run(
            {
                "ids": {"message_id": record.id},
                "turn": {
                    "message": standins.said_text(turn.message),
                    "metadata": record.metadata_json,
                    "answer": record.answer_json,
                    "notes": record.notes_json,
                    "inputs": record.turn_inputs_json,
                    "schema": record.response_schema_json,
                    "conversation": turn.conversation,
                    "account": turn.account,
                },
            }
        )
        for text in end.get("replies", ()):
            turn.reply(text)
        _ask(turn, end)
        if end.get("state") is not None:
            turn.state.clear()
            turn.state.update(values.load(end["state"], self._journal))

    def _tell(self, message: Frame) -> None:
        if "delta" in message:
            self._turn.delta(message["delta"], reset=message["reset"])
        elif "output" in message:
            # The process has raised it already; a run that is stopped hears so by its next call.
            with suppress(OutputInvalid, RunStopped):
                self._turn.output(values.load(message["output"], None))

    def _op(self, message: Frame) -> Awaitable[Any]:
        turn = self._turn
        match message["op"]:
            case "start":
                job = values.elsewhere(standins.unreachable_job(), message["job"])
                args = self._loaded(message["args"])
                return standins.as_dict(
                    turn.start(job, message["title"], work=message["work"], **args)
                )
            case "join":
                return turn.join(message["job_id"], message["text"])
            case "stop":
                return turn.stop(message["job_id"])
            case "step":
                args, kwargs = self._loaded(message["args"]), self._loaded(message["kwargs"])
                return turn.step(self._function(message), *args, **kwargs)
            case "write":
                data = standins.contents(message["data"])
                return standins.and_forget(turn.write(message["path"], data), data)
            case _:
                return standins.history(turn)


class JobTalk(Talk):
    """Of a job."""

    def __init__(self, process: AgentProcess, job: JobRun) -> None:
        super().__init__(process, job.id, job.journal)
        self._job = job

    async def all(self, fn: str, args: dict[str, Any]) -> str | None:
        """Run it; its text. Raises `MissingFunction`."""
        job, schema = self._job, self._job.response_schema
        end = await self.run(
            {
                "ids": {"message_id": job.message.message_id, "job_id": job.id},
                "job": {
                    "fn": fn,
                    "args": values.dump_local(args),
                    "id": job.id,
                    "work_id": job.work_id,
                    "title": job.title,
                    "message": standins.said_text(job.message),
                    "state": values.dump(job.state),
                    "schema": None if schema is None else json.dumps(schema),
                },
            }
        )
        if "missing" in end:
            raise values.MissingFunction(end["missing"])
        _ask(job, end)
        if "state" in end:
            job.state.clear()
            job.state.update(values.load(end["state"], self._journal))
        text: str | None = end.get("text")
        return text

    def _tell(self, message: Frame) -> None:
        if "delta" in message:
            self._job.delta(message["delta"], reset=message["reset"])

    def _op(self, message: Frame) -> Awaitable[Any]:
        job = self._job
        match message["op"]:
            case "step":
                return self._step(message)
            case "write":
                return self._write(message)
            case "files":
                return job.files()
            case "progress":
                return job.progress(message["text"])
            case "inbox":
                return standins.inbox(job.inbox(message["wait"]))
            case "charge":
                return job.charge(message["amount"], message["note"])
            case _:
                return job.output(values.load(message["value"], None))

    def _step(self, message: Frame) -> Awaitable[Any]:
        kinds = message["retry_on"]
        return self._job.step(
            self._function(message),
            *self._loaded(message["args"]),
            cost=message["cost"],
            retries=message["retries"],
            timeout=message["timeout"],
            retry_on=None
            if kinds is None
            else tuple(standins.exception_class(name) for name in kinds),
            backoff=Backoff(*message["backoff"]),
            name=message["name"],
            **self._loaded(message["kwargs"]),
        )

    def _write(self, message: Frame) -> Awaitable[Any]:
        data = standins.contents(message["data"]) if "data" in message else self._function(message)
        writing = self._job.write(
            message["path"],
            data,
            *self._loaded(message["args"]),
            cost=message["cost"],
            label=message["label"],
            timeout=message["timeout"],
            **self._loaded(message["kwargs"]),
        )
        return standins.and_forget(writing, data)


def _ask(run: TurnRun | JobRun, end: Frame) -> None:
    asked = end.get("question")
    if asked is not None:
        run.ask(asked["text"], choices=asked["choices"], schema=asked["schema"])
