"""The program of an agent process: ``python -m agentpost.author.agent_process PARENT_PID``, with
a socket as its standard input (see `agentpost.author.frames`); below a supervisor
(`agentpost.processes.supervisor`) the number is 0.

The main thread reads what the server says and watches the agent loop, which runs the author's code
on a thread of its own. So a loop that is held is noticed, and told.
"""

import agentpost.author.plain_structlog  # isort: skip  # noqa: F401

import asyncio
import json
import logging
import os
import select
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, NoReturn
from weakref import WeakKeyDictionary

import structlog

from agentpost.agents import registry, values
from agentpost.author import confinement, output
from agentpost.author.calls import Calls, Stopped
from agentpost.author.frames import Frame, failure, said_of
from agentpost.author.objects import AuthorJob, AuthorTurn, JobInputs, TurnInputs
from agentpost.author.worker_process import HEADER, frame
from agentpost.domain.text import agent_text
from agentpost.extras import MissingExtra
from agentpost.threads.loop import AgentLoop, Submission

_READ_BYTES: Final = 256 * 1024
_BEAT_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.25
_SWITCH_SECONDS: Final = 0.0005
"""How long the author's code keeps the interpreter while the main thread wants it."""
_running: ContextVar[int | None] = ContextVar("agentpost_run", default=None)


class Channel:
    """The connection to the server. Safe on any thread."""

    def __init__(self, socket_: socket.socket) -> None:
        self._socket = socket_
        self._lock = threading.Lock()
        self._read = b""

    def say(self, message: Frame) -> None:
        """Say it now; the process ends when the server is gone."""
        data = frame(message)
        with self._lock:
            try:
                self._socket.sendall(data)
            except OSError:
                os._exit(0)

    def hear(self, seconds: float | None) -> list[Frame]:
        """What has come, after a wait for up to so many seconds; ends the process at the end."""
        if not select.select([self._socket], [], [], seconds)[0]:
            return []
        data = self._socket.recv(_READ_BYTES)
        if not data:
            os._exit(0)
        self._read += data
        frames, at = [], 0
        while len(self._read) - at >= HEADER.size:
            (length,) = HEADER.unpack_from(self._read, at)
            begin, end = at + HEADER.size, at + HEADER.size + length
            if len(self._read) < end:
                break
            frames.append(json.loads(self._read[begin:end]))
            at = end
        self._read = self._read[at:]
        return frames


def main(parent: int) -> None:
    """Run what the server says, until it is gone."""
    channel = Channel(confinement.begin(parent))
    messages: list[Frame] = []
    while not messages:
        messages = channel.hear(None)
    (hello,) = messages
    confinement.settle(hello)
    sys.setswitchinterval(_SWITCH_SECONDS)
    tempfile.tempdir = hello["folder"]
    confinement.limit_memory(hello["memory_bytes"])
    if hello["cpu_seconds"] is not None:
        confinement.limit_cpu_time(int(hello["cpu_seconds"]) + 1)
    _log_to(channel, hello["log_level"])
    try:
        agent = registry.resolve(hello["spec"])
    except (registry.UnknownAgent, MissingExtra) as error:
        channel.say({"unknown": str(error)})
        return
    host = Host(channel, agent, hello)
    channel.say({"ready": True})
    host.serve()


class Host:
    """Runs turns and jobs."""

    def __init__(self, channel: Channel, agent: registry.Agent, hello: Frame) -> None:
        self._channel = channel
        self._agent = agent
        self._memory_bytes: int | None = hello["memory_bytes"]
        self._is_apart = "env" in hello
        self._loop = AgentLoop()
        self._watch = _Watch(channel, self._loop, hello["stall_seconds"])
        self._runs: dict[int, tuple[Calls, Submission]] = {}

    def serve(self) -> NoReturn:
        """Hear and do, until the process ends."""
        self._loop.start()
        self._watch.start()
        if self._agent.warm_up is not None:
            self._loop.submit(self._agent.warm_up)
        while True:
            for message in self._channel.hear(_LOOK_SECONDS if self._runs else None):
                self._take(message)
            if self._runs:
                self._watch.look()
            else:
                self._watch.rest()

    def _take(self, message: Frame) -> None:
        number = message["run"]
        if "turn" in message or "job" in message:
            self._begin(number, message)
        elif number not in self._runs:
            return  # it has ended meanwhile
        elif "cancel" in message:
            calls, submission = self._runs[number]
            self._loop.call_soon(setattr, calls, "over", True)
            submission.cancel(message["cancel"])
            self._loop.call_soon(self._channel.say, {"run": number, "cancelled": True})
        elif not self._runs[number][0].hear_at_once(message):
            self._loop.call_soon(self._runs[number][0].hear, message)

    def _begin(self, number: int, message: Frame) -> None:
        calls = Calls(number, self._channel.say, self._die, is_apart=self._is_apart)
        code = partial(self._turn if "turn" in message else self._job, calls, message)
        submission = self._loop.submit(
            partial(self._run, calls, code, message["ids"]), partial(self._end, calls)
        )
        self._runs[number] = (calls, submission)

    def _end(self, calls: Calls) -> None:
        """The task has ended, or never began: then this is its end for the server."""
        self._runs.pop(calls.number, None)
        calls.end({"stopped": True})

    async def _run(
        self, calls: Calls, code: Callable[[], Awaitable[Frame]], ids: dict[str, str]
    ) -> None:
        _running.set(calls.number)
        calls.enter()
        with output.Capture(ids):
            try:
                end = await code()
            except Stopped:
                end = {"stopped": True}
            except MemoryError as error:
                self._die(calls.number, error)
            except BaseException as error:
                is_stopped = calls.over and isinstance(error, asyncio.CancelledError)
                end = {"stopped": True} if is_stopped else {"failed": failure(error)}
        calls.end(end)

    async def _turn(self, calls: Calls, message: Frame) -> Frame:
        turn = AuthorTurn(calls, TurnInputs(**_load(message["turn"], calls)))
        await self._agent.run(turn)
        return turn.leave()

    async def _job(self, calls: Calls, message: Frame) -> Frame:
        try:
            fn = values.resolve(message["fn"])
        except values.MissingFunction as error:
            return {"missing": str(error)}
        job = AuthorJob(calls, JobInputs(**_load(message["job"], calls)))
        text = await fn(job, **values.load(message["args"], calls))
        return {"text": agent_text(text) if text is not None else None, **job.leave()}

    def _die(self, number: int, error: MemoryError) -> NoReturn:
        most = self._memory_bytes
        reason = confinement.why_out_of_memory(error, most, "agent_memory_bytes")
        self._channel.say({"run": number, "died": reason})
        os._exit(1)


class _Watch:
    """Whether the agent loop still turns; looked at by the main thread."""

    _loop: asyncio.AbstractEventLoop

    def __init__(self, channel: Channel, agent_loop: AgentLoop, stall_seconds: float) -> None:
        self._channel = channel
        self._agent_loop = agent_loop
        self._stall = stall_seconds
        self._asked: float | None = None
        self._beat = 0.0
        self._tasks: WeakKeyDictionary[asyncio.Task[Any], int | None] = WeakKeyDictionary()

    def start(self) -> None:
        """The loop runs."""

        async def begin() -> None:
            self._loop = asyncio.get_running_loop()
            self._loop.set_task_factory(self._made_task)

        self._agent_loop.submit(begin).ended.result()

    def _made_task(self, loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> Any:
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, **options)
        context = options.get("context")
        self._tasks[task] = _running.get() if context is None else context.get(_running)
        return task

    def rest(self) -> None:
        """Nothing runs that could hold it."""
        self._asked = None

    def look(self) -> None:
        """Ask the loop for a sign, and tell the server when none has come for too long."""
        now = time.monotonic()
        if now - self._beat >= _BEAT_SECONDS:
            self._beat = now
            memory = confinement.written_bytes()
            self._channel.say({"beat": {"cpu": time.process_time(), "memory": memory}})
        if self._asked is None:
            self._asked = now
            self._agent_loop.call_soon(self.rest)
        elif now - self._asked >= self._stall:
            stack = self._agent_loop.stack()[-8_000:]
            self._channel.say({"stalled": now - self._asked, "run": self._run(), "stack": stack})
            self._asked = now + 3600  # the server ends this process

    def _run(self) -> int | None:
        task = asyncio.current_task(self._loop)
        try:
            return None if task is None else self._tasks.get(task)
        except RuntimeError:  # the author's code makes tasks right now
            return None


def _load(inputs: Frame, calls: Calls) -> Frame:
    return {**inputs, "message": said_of(values.load(inputs["message"], calls))}


# --- the log --------------------------------------------------------------------------------------
def _log_to(channel: Channel, level: int) -> None:
    """Send lines of the log, prints and records of logging to the server."""

    class ToServer:
        def msg(self, event: Frame) -> None:
            channel.say({"log": json.loads(json.dumps(event, default=repr))})

        debug = info = warning = error = critical = exception = log = msg

    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            lambda _, __, event: ((event,), {}),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: ToServer(),
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    root.setLevel(level)
    outside_runs = logging.StreamHandler()
    outside_runs.setLevel(logging.WARNING)  # as for libraries in the server's own process
    root.addHandler(outside_runs)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    output.install()


if __name__ == "__main__":
    main(int(sys.argv[1]))
