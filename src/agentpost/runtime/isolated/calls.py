"""The calls of one run, in its agent process: said to the server, and answered by it."""

from __future__ import annotations

import asyncio
import base64
import concurrent.futures
import hashlib
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from agentpost.agents import values
from agentpost.agents.base import current_step_key
from agentpost.agents.files import File
from agentpost.processes.output import captured
from agentpost.runtime.isolated.frames import Frame, failure
from agentpost.runtime.scope import Scope, StepBody

Say = Callable[[Frame], None]
BodyRun = Callable[[], Awaitable[Frame]]
"""Runs the body of a step and gives the ``done`` of its frame."""
INLINE_BYTES_MAX: Final = 256 * 1024
"""Contents up to this size are part of a frame; larger ones go through a file."""


class Stopped(BaseException):
    """Ends the author's function: the server ended the run. Not an `Exception`, so that
    ``except Exception`` lets it pass."""


class Calls:
    """What a turn and a job of this process have in common. It is how their files are read, too
    (`FileSource`). Made and used on the agent loop, but for `hear_at_once`."""

    def __init__(self, number: int, say: Say, die: Callable[[int, MemoryError], None]) -> None:
        self.number = number
        self.over = False
        self.ended = False
        self._scope = Scope()
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
            number, tried = frame["id"], frame["give_up"]
            limit = self._limits.pop((number, tried), None)
            if limit is None:
                self._given_up[number] = tried  # perhaps before it has begun
            else:
                limit.reschedule(asyncio.get_running_loop().time())
            return
        answers = self._answers.get(frame["id"])
        if answers is not None:
            answers.put_nowait(frame)

    # --- to the server ----------------------------------------------------------------------------
    def enter(self) -> None:
        """The current task runs the run's function from here on."""
        self._scope.enter()

    def go_on(self) -> None:
        """Raises `Stopped` when the run is over."""
        if self.over:
            raise Stopped

    def refuse_in_body(self, name: str) -> None:
        """See `Scope.refuse_in_body`."""
        self._scope.refuse_in_body(name)

    def body(self, name: str) -> StepBody | None:
        """The body of a step that makes this call; raises like `Scope.calling`."""
        self.go_on()
        return self._scope.calling(name)

    def end(self, how: Frame) -> None:
        """Say how the run's function ended; once."""
        self.over = True
        if not self.ended:
            self.ended = True
            self.say(end=how)

    def say(self, **frame: Any) -> None:
        """Say something of this run."""
        self._say({"run": self.number, **frame})

    def numbered(self, op: str, fields: Frame | None = None, body: BodyRun | None = None) -> Any:
        """A call of the run's own function, in the order of which it is recorded; raises
        `NotAllowedInStep` in a step's body."""
        self.go_on()
        self._scope.refuse_in_body(op)
        return self.call(op, fields, body)

    def call(
        self,
        op: str,
        fields: Frame | None = None,
        body: BodyRun | None = None,
        inside: StepBody | None = None,
    ) -> Coroutine[Any, Any, Any]:
        """Make a call now; it is answered when it is awaited.

        Args:
            body: of a step, when it runs here.
            inside: the body that makes the call.
        """
        self.go_on()
        self._made += 1
        step = {} if inside is None else {"in": self._steps.get(inside, 0)}
        self.say(id=self._made, op=op, **step, **(fields or {}))
        return self._answered(self._made, body)

    def now(self, op: str) -> Any:
        """The answer of a call that is no coroutine. The loop stands still meanwhile."""
        self.go_on()
        self._made += 1
        number = self._made
        waiting = self._at_once[number] = concurrent.futures.Future()
        self.say(id=number, op=op)
        self.say(go=number)
        return self._value(number, waiting.result())

    async def _answered(self, number: int, body: BodyRun | None) -> Any:
        answers = self._answers[number] = asyncio.Queue()
        self.say(go=number)
        try:
            while "body" in (frame := await answers.get()):
                assert body is not None
                tried = frame["try"]
                # The loop may have been held while the server gave the try up or went further.
                if answers.empty() and tried > self._given_up.get(number, 0):
                    await self._run_body(number, tried, body, frame["body"])
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
            described = frame["error"]
            raised = self._raised.get(number)
            if raised is not None and values.describe_error(raised) == described:
                raise raised
            raise values.rebuild_error(described)
        return values.load(frame["value"], self)

    # --- bodies of steps --------------------------------------------------------------------------
    async def _run_body(self, number: int, tried: int, body: BodyRun, key: str) -> None:
        token = current_step_key.set(key)
        limit = asyncio.timeout(None)
        try:
            with captured(call=int(key.rpartition(":")[2])), self._scope.body(here=True) as made:
                self._steps[made] = number
                async with limit:
                    self._limits[number, tried] = limit
                    done = await body()
        except MemoryError as error:
            self._die(self.number, error)
        except Exception as error:
            if limit.expired():
                return  # the server has given it up, and says what is next
            self._raised[number] = error
            done = {"failed": failure(error)}
        finally:
            self._limits.pop((number, tried), None)
            self._steps = {made: of for made, of in self._steps.items() if of != number}
            current_step_key.reset(token)
        self.say(**{"id": number, "done": done, "try": tried})

    # --- files ------------------------------------------------------------------------------------
    async def path(self, file: File) -> Path:
        """See `FileSource.path`."""
        return Path(await self.call("path", {"file": values.dump(file)}))

    async def text(self, file: File) -> str:
        """See `FileSource.text`."""
        text: str = await self.call("text", {"file": values.dump(file)})
        return text


def contents(data: object) -> Frame:
    """What is to be written, as a part of a frame; raises `TypeError` for what is none."""
    if isinstance(data, Path):
        return {"path": str(data.absolute())}
    if isinstance(data, str):
        data = data.encode()
    if not isinstance(data, bytes):
        raise TypeError(f"contents are bytes, text or a Path, not {type(data).__name__}")
    if len(data) <= INLINE_BYTES_MAX:
        return {"base64": base64.b64encode(data).decode()}
    with tempfile.NamedTemporaryFile(prefix="contents-", delete=False) as file:
        file.write(data)
    return {"spilled": file.name, "mark": hashlib.sha256(data).hexdigest()}
