"""A call as a worker process is asked for it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentpost.agents import values
from agentpost.agents.deaths import WorkerDied
from agentpost.author.worker_process import frame
from agentpost.processes.worker import CallLimits, WorkerProcess

_RESULT: Final = "result"
"""The name of what a function makes, in the folder of a worker that a prefix has started."""


@dataclass(frozen=True, slots=True)
class Request:
    """The function ``fn`` with its arguments; ``into``: where what it makes is written, if it makes
    a file."""

    fn: str
    args: list[Any]
    kwargs: dict[str, Any]
    key: str
    into: Path | None
    cpu_seconds: float | None

    async def ask(self, worker: WorkerProcess, limits: CallLimits) -> dict[str, Any]:
        """The reply of that worker; see `WorkerProcess.ask` for what is raised."""
        if worker.place is None:
            into = None if self.into is None else str(self.into)
            return await worker.ask(frame(self._message(self.args, self.kwargs, into)), limits)
        place = worker.place
        name = None if self.into is None else _RESULT
        args, kwargs = await asyncio.to_thread(place.lend, [self.args, self.kwargs])
        message = self._message(args, kwargs, name and str(place.own / name))
        reply = await worker.ask(frame(message), limits)
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
            "cpu": self.cpu_seconds,
        }


def _is_reply(reply: dict[str, Any]) -> bool:
    """Whether it is a reply at all: a worker that is kept apart is not trusted to say one."""
    if "error" in reply:
        error, kinds = reply["error"], reply.get("kinds")
        texts = [error.get("type"), error.get("text")] if isinstance(error, dict) else [None]
        texts_of_error = [*kinds, reply.get("trace")] if isinstance(kinds, list) else [None]
        return all(isinstance(text, str) for text in [*texts, *texts_of_error])
    return isinstance(reply.get("value"), str)
