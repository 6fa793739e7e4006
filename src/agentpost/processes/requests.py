"""A call as a worker process is asked for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentpost.agents import values
from agentpost.agents.deaths import WorkerDied
from agentpost.processes import handing
from agentpost.processes.main import frame
from agentpost.processes.worker import CallLimits, WorkerProcess


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
        given = handing.Given(worker.folder)
        args, kwargs = given.located(self.args), given.located(self.kwargs)
        message = self._message(args, kwargs, self.into is not None)
        opens = given.opens if self.into is None else [*given.opens, handing.writing(self.into)]
        reply = await worker.ask(frame({**message, "given": given.copies}), limits, opens)
        if not _understood(reply):
            worker.kill()
            raise WorkerDied("its process said what cannot be understood")
        return reply

    def _message(
        self, args: list[Any], kwargs: dict[str, Any], into: str | bool | None
    ) -> dict[str, Any]:
        return {
            "fn": self.fn,
            "args": values.dump_local(args),
            "kwargs": values.dump_local(kwargs),
            "key": self.key,
            "into": into,
            "cpu": self.cpu_seconds,
        }


def _understood(reply: dict[str, Any]) -> bool:
    """Whether it is a reply at all: a worker that is kept apart is not trusted to say one."""
    if "error" in reply:
        error, kinds = reply["error"], reply.get("kinds")
        texts = [error.get("type"), error.get("text")] if isinstance(error, dict) else [None]
        named = [*kinds, reply.get("trace")] if isinstance(kinds, list) else [None]
        return all(isinstance(text, str) for text in [*texts, *named])
    return isinstance(reply.get("value"), str)
