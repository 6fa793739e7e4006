"""How a framework's run is recorded: each call of a model and of a tool is one step.

A framework's agent runs from its beginning whenever it runs again; the calls that were recorded
answer at once, in the order in which they were made. A run begins inside the turn and answers there
if no tool is needed. Else it is begun anew in a job, which is given the calls recorded so far.
"""

from __future__ import annotations

import asyncio
import base64
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

from agentpost.agents.adapters.current import ToolRun, enter
from agentpost.agents.base import File, Job, JobFailed, Json, Turn
from agentpost.domain.text import storable_json

Usage: TypeAlias = dict[str, Json]
"""What a model call used: ``model``, ``input_tokens``, ``output_tokens`` and, where it is known,
``cached_tokens``: those of the input that the provider still had."""
Charge: TypeAlias = Callable[[Usage], float]
"""The credits for what a model call used."""
Body: TypeAlias = Callable[[], Awaitable[Json]]

ANSWER_SECONDS: Final = 90.0
"""How long one model call may take within a turn, in seconds; then a job waits for its answer."""
CLAIM_SECONDS: Final = 60.0
"""How long such a call waits for its job, in seconds: the job may wait for its place, or run on
another node. It makes the call itself then."""
TURN_SECONDS: Final = 30.0
"""When the model calls of a turn have taken so long, in seconds, a job makes the further ones."""


class NeedsJob(BaseException):
    """This run cannot end inside its turn. No `Exception`, so that no framework handles it."""


class Recorder(ABC):
    """Where a run's calls are recorded; what a model writes is shown there. Tools are the job's:
    they take their time, and may write files."""

    _shown: Job | _ModelCall

    @abstractmethod
    async def model(self, name: str, body: Callable[[], Awaitable[tuple[Json, Usage]]]) -> Json:
        """The answer of a model; ``body`` gives it as JSON, with what it used."""

    async def tool(self, name: str, args: Json, body: Body) -> Json:
        """The result of a tool, as JSON."""
        raise NeedsJob

    @abstractmethod
    async def list_tools(self, name: str, body: Body) -> Json:
        """The tools that a server of that name offers to this run, before its first model call."""

    async def call_unrecorded(self, body: Callable[[], Awaitable[Any]]) -> Any:
        """The result of a tool that is no step: it calls the job, which records each call."""
        raise NeedsJob

    async def flush(self) -> None:  # noqa: B027 - a turn has none
        """Write the files of the tool calls that have ended; `model` does it too."""

    def delta(self, text: str) -> None:
        """Show a piece of what a model writes."""
        self._shown.delta(text)

    def drop_shown(self) -> None:
        """Tell readers to drop the pieces shown so far: the model is called again."""
        self._shown.delta("", reset=True)


current_recorder: ContextVar[Recorder | None] = ContextVar("agentpost_recorder", default=None)
"""The recorder of the run in whose task this is read."""
_OFFERED_BY: Final = "offered_by"
_FAILED: Final = "failed"


class _ModelCall:
    """A call of a model that a turn makes; its job goes on with one that takes too long. What it
    writes goes to the readers of the turn, then to those of the job."""

    _answer: asyncio.Future[tuple[Json, Usage]]

    def __init__(self, turn: Turn) -> None:
        self._run: Turn | Job | None = turn
        self._pieces: list[str] = []

    def delta(self, text: str, *, reset: bool = False) -> None:
        """Show a piece, or drop those before."""
        if reset:
            self._pieces.clear()
        self._pieces.append(text)
        if self._run is not None:
            self._run.delta(text, reset=reset)

    def offer(self, message_id: str, answer: asyncio.Future[tuple[Json, Usage]]) -> None:
        """Leave it to the job of that message; nobody reads until it runs."""
        self._run, self._answer = None, answer
        _late_calls[message_id] = self
        asyncio.get_running_loop().call_later(CLAIM_SECONDS, self._withdraw, message_id)

    def _withdraw(self, message_id: str) -> None:
        if _late_calls.get(message_id) is self:
            del _late_calls[message_id]
            self._answer.cancel()

    async def go_on(self, job: Job) -> tuple[Json, Usage]:
        """Its answer; the job's readers get what has been written, and what follows."""
        self._run = job
        job.delta("".join(self._pieces))
        return await self._answer


_late_calls: Final[dict[str, _ModelCall]] = {}
"""By the message whose job may take them; a job in another process makes its call itself."""


class TurnRecorder(Recorder):
    """Records the first model calls of a run, inside the turn."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._seconds = 0.0
        self._offering = asyncio.Lock()
        self._shown = _ModelCall(turn)
        self.recorded: list[Json] = []

    async def model(self, name: str, body: Callable[[], Awaitable[tuple[Json, Usage]]]) -> Json:
        """How long it took is recorded too: a run after a crash has to come to the same
        decision."""
        if self._seconds >= TURN_SECONDS:
            raise NeedsJob

        async def call_model(_: str) -> Json:
            began = asyncio.get_running_loop().time()
            call = asyncio.ensure_future(body())
            try:
                await asyncio.wait({call}, timeout=ANSWER_SECONDS)
            except asyncio.CancelledError:
                call.cancel()
                raise
            if not call.done():
                shown.offer(self._turn.message.message_id, call)
                return {"late": True}
            answer = storable_json(call.result()[0])
            return {"answer": answer, "seconds": asyncio.get_running_loop().time() - began}

        shown = self._shown = _ModelCall(self._turn)
        try:
            step = await self._turn.step(call_model, name)
        except JobFailed as error:
            self.recorded.append({_FAILED: str(error)})
            raise
        if "late" in step:
            raise NeedsJob
        self._seconds += step["seconds"]
        self.recorded.append(step["answer"])
        return self.recorded[-1]

    async def list_tools(self, name: str, body: Body) -> Json:
        """One after the other: a run after a crash takes the same steps."""

        async def list_tools(_: str) -> Json:
            return {_OFFERED_BY: name, "tools": await body()}

        async with self._offering:
            step = await self._turn.step(list_tools, name)
            self.recorded.append(step)
            tools: Json = step["tools"]
            return tools


class JobRecorder(Recorder):
    """Records a run in its job. ``carried_results``: the answers of the model calls that the turn
    recorded; ``charge``: what a model call costs, if anything."""

    def __init__(
        self, job: Job, files: list[File], carried_results: list[Json], charge: Charge | None
    ) -> None:
        self._job = self._shown = job
        self._files = files
        self._carried = list(carried_results)
        self._charge = charge
        self._calls = 0
        self._offering = asyncio.Lock()
        self._written: dict[int, list[Any]] = {}

    async def model(self, name: str, body: Callable[[], Awaitable[tuple[Json, Usage]]]) -> Json:
        """A call that failed in the turn has failed, and one that is still
        under way from there is waited for: neither is paid twice."""
        await self.flush()
        if self._carried:
            result = self._carried.pop(0)
            if isinstance(result, dict) and _FAILED in result:
                raise JobFailed(str(result[_FAILED]))
            return result

        async def call_model(_: str) -> Json:
            late = _late_calls.pop(self._job.message.message_id, None)
            answer, usage = await (body() if late is None else late.go_on(self._job))
            if self._charge is not None:
                await self._job.charge(self._charge(usage), f"model {usage.get('model')}")
            storable: Json = storable_json(answer)
            return storable

        answer: Json = await self._job.step(call_model, name)
        return answer

    async def list_tools(self, name: str, body: Body) -> Json:
        """One after the other: a run after a crash takes the same steps."""

        async def list_tools(_: str) -> Json:
            return await body()

        async with self._offering:
            for number, result in enumerate(self._carried):
                if isinstance(result, dict) and result.get(_OFFERED_BY) == name:
                    del self._carried[number]
                    return result["tools"]
            tools: Json = await self._job.step(list_tools, name)
            return tools

    async def tool(self, name: str, args: Json, body: Body) -> Json:
        """What it wrote is kept until all tools that run at once have ended,
        since the order in which they end may be another one when the run is repeated."""
        self._calls += 1
        number = self._calls

        async def call_tool(_name: str, _args: Json) -> Json:
            run = ToolRun(self._job, self._files)
            enter(run)
            return {"result": storable_json(await body()), "files": run.recorded_files()}

        step = await self._job.step(call_tool, name, storable_json(args))
        if step["files"]:
            self._written[number] = step["files"]
        result: Json = step["result"]
        return result

    async def call_unrecorded(self, body: Callable[[], Awaitable[Any]]) -> Any:
        """No other tool may run meanwhile."""
        await self.flush()
        enter(ToolRun(self._job, self._files))
        return await body()

    async def flush(self) -> None:
        for number in sorted(self._written):
            for path, data in self._written.pop(number):
                await self._job.write(path, base64.b64decode(data))
