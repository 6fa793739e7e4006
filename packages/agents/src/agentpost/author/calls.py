"""The calls of one run, in its agent process: said to the server, and answered by it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import shutil
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agentpost.agents import OutputInvalid, Said, values
from agentpost.agents.files import File
from agentpost.author.frames import (
    Frame,
    contents_frame,
    failure,
    new_spilled,
    request_frame,
    said_of,
)
from agentpost.author.objects import Request
from agentpost.author.output import Capture
from agentpost.author.scope import Scope, StepBody

Say = Callable[[Frame], None]
BodyRun = Callable[[], Awaitable[Frame]]
"""Runs the body of a step and gives the ``done`` of its frame."""
_IN_BODIES = frozenset({"progress", "charge"})
"""Calls that the body of a step may make."""


class Stopped(BaseException):
    """Ends the author's function: the server ended the run. Not an `Exception`, so that
    ``except Exception`` lets it pass."""


class Calls(Scope):
    """Makes the calls of one turn or job by asking the server (see `author.objects.Backend`). It is
    how the run's files are read, too (`FileSource`). Made and used on the agent loop, but for
    `hear_at_once`."""

    def __init__(
        self,
        number: int,
        say: Say,
        die: Callable[[int, MemoryError], None],
        *,
        is_apart: bool = False,
    ) -> None:
        """``is_apart``: the server opens no file but those in this process's temporary folder."""
        self.number = number
        self._is_apart = is_apart
        self.over = False
        self.ended = False
        self._die = die
        self._say = say
        self._made = 0
        self._answers: dict[int, asyncio.Queue[Frame]] = {}
        self._at_once: dict[int, concurrent.futures.Future[Frame]] = {}
        self._limits: dict[tuple[int, int], asyncio.Timeout] = {}
        self._given_up: dict[int, int] = {}
        self._steps: dict[StepBody, int] = {}
        self._raised: dict[int, Exception] = {}

    # --- from the server --------------------------------------------------------------------------
    def hear_at_once(self, frame: Frame) -> bool:
        """Take an answer that the agent loop itself is waiting for; called on another thread."""
        waiting = self._at_once.pop(frame["id"], None)
        if waiting is None:
            return False
        waiting.set_result(frame)
        return True

    def hear(self, frame: Frame) -> None:
        """Take an answer."""
        if "give_up" in frame:
            number, attempt = frame["id"], frame["give_up"]
            limit = self._limits.pop((number, attempt), None)
            if limit is None:
                self._given_up[number] = attempt  # perhaps before it has begun
            else:
                limit.reschedule(asyncio.get_running_loop().time())
            return
        answers = self._answers.get(frame["id"])
        if answers is not None:
            answers.put_nowait(frame)

    # --- to the server ----------------------------------------------------------------------------
    def go_on(self) -> None:
        """Raises `Stopped` when the run is over."""
        if self.over:
            raise Stopped

    def end(self, how: Frame) -> None:
        """Say how the run's function ended; once."""
        self.over = True
        if not self.ended:
            self.ended = True
            self.say(end=how)

    def say(self, **frame: Any) -> None:
        """Say something of this run."""
        self._say({"run": self.number, **frame})

    # --- a backend --------------------------------------------------------------------------------
    @property
    def files(self) -> Calls:
        """How the run's files are read."""
        return self

    def call(self, request: Request) -> Coroutine[Any, Any, Any]:
        """Send the call now, which numbers it; it is made when it is awaited."""
        self.go_on()
        inside: StepBody | None = None
        if request.name in _IN_BODIES:
            inside = self.calling(request.name)
        else:
            self.refuse_in_body(request.name)
        body = self._body(request)
        copy: Callable[[], object] | None = None
        if self._is_apart and isinstance(request.data, Path):
            # The contents, in a file of this process.
            target, source = new_spilled(), request.data
            request, copy = replace(request, data=target), partial(shutil.copyfile, source, target)
        fields = request_frame(request, is_body_here=body is not None)
        if inside is not None:
            fields["in"] = self._steps.get(inside, 0)
        return self._ask(fields, body, copy)

    def delta(self, text: str, *, reset: bool) -> None:
        """Show a piece of text."""
        self.say(delta=text, reset=reset)

    def give_output(self, text: str, fatal: OutputInvalid | None) -> None:
        """Send a turn's output: the server counts those that do not fit as well."""
        self.say(output=text)
        if fatal is not None:
            raise Stopped

    def history(self) -> Sequence[Said]:
        """What was said before. The loop stands still meanwhile."""
        self.go_on()
        self._made += 1
        number = self._made
        waiting = self._at_once[number] = concurrent.futures.Future()
        self.say(id=number, op="history")
        self.say(go=number)
        return [said_of(fields) for fields in self._value(number, waiting.result())]

    def _ask(
        self,
        fields: Frame,
        body: BodyRun | None = None,
        copy: Callable[[], object] | None = None,
    ) -> Coroutine[Any, Any, Any]:
        self.go_on()
        self._made += 1
        self.say(id=self._made, **fields)
        return self._answer(self._made, body, copy)

    async def _answer(
        self, number: int, body: BodyRun | None, copy: Callable[[], object] | None
    ) -> Any:
        answers = self._answers[number] = asyncio.Queue()
        try:
            if copy is not None:
                await asyncio.to_thread(copy)
            self.say(go=number)
            while "body" in (frame := await answers.get()):
                assert body is not None
                attempt = frame["try"]
                # The loop may have been held while the server gave the try up or went further.
                if answers.empty() and attempt > self._given_up.get(number, 0):
                    await self._run_body(number, attempt, body, frame["body"])
            return self._value(number, frame)
        except asyncio.CancelledError:
            self.say(drop=number)
            raise
        finally:
            del self._answers[number]
            self._raised.pop(number, None)
            self._given_up.pop(number, None)

    def _value(self, number: int, frame: Frame) -> Any:
        if "stopped" in frame:
            self.over = True
            raise Stopped
        if "error" in frame:
            description = frame["error"]
            own_error = self._raised.get(number)
            if own_error is not None and values.describe_error(own_error) == description:
                raise own_error
            raise values.rebuild_error(description)
        return values.load(frame["value"], self)

    # --- bodies of steps --------------------------------------------------------------------------
    async def _run_body(self, number: int, attempt: int, body: BodyRun, key: str) -> None:
        limit = asyncio.timeout(None)
        try:
            call = int(key.rpartition(":")[2])
            with Capture({"call": call}), self.body(key, here=True) as step:
                self._steps[step] = number
                async with limit:
                    self._limits[number, attempt] = limit
                    outcome = await body()
        except MemoryError as error:
            self._die(self.number, error)
        except Exception as error:
            if limit.expired():
                return  # the server has given it up, and says what is next
            self._raised[number] = error
            outcome = {"failed": failure(error)}
        finally:
            self._limits.pop((number, attempt), None)
            self._steps = {step: of for step, of in self._steps.items() if of != number}
        self.say(**{"id": number, "done": outcome, "try": attempt})

    def _body(self, request: Request) -> BodyRun | None:
        """What runs the function of a call in this process, if it runs here."""
        fn = request.fn
        if fn is None or not inspect.iscoroutinefunction(fn):
            return None
        make = fn

        async def run() -> Frame:
            value = await make(*(request.args or ()), **request.kwargs)
            if request.name != "write":
                return {"value": values.dump(value)}
            if self._is_apart and isinstance(value, Path):
                value, source = new_spilled(), value
                await asyncio.to_thread(shutil.copyfile, source, value)
            return contents_frame(value)

        return run

    # --- files ------------------------------------------------------------------------------------
    async def path(self, file: File) -> Path:
        return Path(await self._ask({"op": "path", "file": values.dump(file)}))

    async def text(self, file: File) -> str:
        text: str = await self._ask({"op": "text", "file": values.dump(file)})
        return text
