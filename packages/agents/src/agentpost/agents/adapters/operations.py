"""What agents elsewhere are told of a turn or job, and the operations they answer with: one a line,
made on that turn or job."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar

from agentpost.agents.base import File, Job, JobFn, Json, Said, Started, Turn
from agentpost.extraction import Unreadable

Operation: TypeAlias = dict[str, Any]
Run = TypeVar("Run", Turn, Job)

TEXT_CHARACTERS_MAX: Final = 20_000
"""How much of a file's text is sent, in characters."""
_FILE: Final = ("id", "name", "content_type", "kind", "size", "label")
_RUNNING: Final = ("job_id", "work_id", "title", "step")
_WORK: Final = ("work_id", "title", "text", "question", "state")
_TURN: Final = ("metadata", "conversation", "account", "credits", "state", "response_schema")
_JOB: Final = ("id", "work_id", "title", "state", "response_schema")


# --- what they are told ---------------------------------------------------------------------------
async def turn_line(turn: Turn, *, texts: bool = False) -> Operation:
    """A turn with all that it shows; the message's files have local paths, or their ``texts``."""
    describe = _with_text if texts else with_path
    files = [await describe(file) for file in turn.message.files]
    description = {
        **_fields(turn, _TURN),
        "message": {**_described_entry(turn.message), "files": files},
        "history": [_described_entry(entry) for entry in turn.history],
        "running": [_fields(running, _RUNNING) for running in turn.running],
        "works": [
            {**_fields(work, _WORK), "files": [described_file(file) for file in work.files]}
            for work in turn.works
        ],
        "notes": list(turn.notes),
        "answer": None if turn.answer is None else asdict(turn.answer),
    }
    return {"v": 1, "op": "turn", "turn": description}


def job_line(job: Job, name: str, args: Json, files: list[Json]) -> Operation:
    """A job with these descriptions of its files."""
    entry = _described_entry(job.message)
    description = {**_fields(job, _JOB), "message": entry, "files": files}
    return {"v": 1, "op": "job", "name": name, "args": args, "job": description}


def described_file(file: File) -> dict[str, Json]:
    """A file, without its bytes."""
    return _fields(file, _FILE)


async def with_path(file: File) -> Json:
    """A file with a local path to read it from."""
    return {**described_file(file), "path": str(await file.path())}


async def with_paths(call: Awaitable[list[File]]) -> list[Json]:
    """Files that have yet to be read."""
    return [await with_path(file) for file in await call]


async def _with_text(file: File) -> Json:
    try:
        text = (await file.text())[:TEXT_CHARACTERS_MAX]
    except Unreadable:
        text = None
    return {**described_file(file), "text": text}


def _described_entry(entry: Said) -> dict[str, Json]:
    files: list[Json] = [described_file(file) for file in entry.files]
    return {**_fields(entry, ("role", "text", "at", "message_id")), "files": files}


def _fields(thing: object, names: Sequence[str]) -> dict[str, Json]:
    return {name: getattr(thing, name) for name in names}


# --- what they answer -----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Dialect:
    """The difference between the operations of a program and those of a service.

    ``work`` is the function of their jobs, ``failed`` what a wrong operation raises, ``has_paths``:
    files have paths of this machine.
    """

    work: JobFn
    failed: type[Exception]
    has_paths: bool

    def read(self, line: bytes) -> Operation:
        """The operation that a line has; raises ``failed`` for anything else."""
        try:
            op = json.loads(line)
        except ValueError:
            raise self.failed(f"a line is no JSON: {line[:100]!r}") from None
        if not isinstance(op, dict) or not isinstance(op.get("op"), str):
            raise self.failed(f"a line is no operation: {line[:100]!r}")
        return op

    def contents(self, op: Operation) -> bytes | str | Path:
        """The contents of a file that is written, given as ``text``, ``base64`` or ``file``."""
        if "text" in op:
            return str(op["text"])
        if self.has_paths and "base64" not in op:
            return Path(op["file"])
        return base64.b64decode(op["base64"])

    async def written(self, call: Awaitable[File]) -> Json:
        """A file that was written, as they are told of it."""
        return await with_path(await call) if self.has_paths else described_file(await call)


class Calls(Generic[Run]):
    """Makes operations on a turn or job; those here, both have."""

    KIND: ClassVar[str]
    AT_ONCE: ClassVar[frozenset[str]] = frozenset({"delta"})
    """The operations that the body of a step may call."""

    def __init__(self, run: Run, dialect: Dialect) -> None:
        self._run: Run = run
        self._dialect = dialect

    def call(self, op: Operation) -> Awaitable[Json] | None:
        """Make the call of an operation now, which numbers it; None when there is nothing to wait
        for."""
        match op["op"]:
            case "ask":
                self._run.ask(op["question"], choices=op.get("choices"), schema=op.get("schema"))
            case "delta":
                self._run.delta(op.get("text", ""), reset=bool(op.get("reset")))
            case "state":
                self._run.state.clear()
                self._run.state.update(op["value"])
            case name:
                raise self._dialect.failed(f"a {self.KIND} has no operation {name!r}")
        return None

    def step(self, op: Operation, body: Callable[..., Awaitable[Json]]) -> Awaitable[Json]:
        """Run a step of that body."""
        return self._run.step(body, op["name"], op.get("args"))

    async def make(self, op: Operation) -> Json:
        """Make an operation and wait for what it gives; None when that is nothing."""
        call = self.call(op)
        return None if call is None else await call


class TurnCalls(Calls[Turn]):
    """Makes operations on a turn."""

    KIND = "turn"

    def call(self, op: Operation) -> Awaitable[Json] | None:
        turn = self._run
        match op["op"]:
            case "reply":
                turn.reply(op["text"])
                return None
            case "output":
                turn.output(op["value"])
                return asyncio.sleep(0)
            case "start":
                fn, args = self._dialect.work, {"name": op["job"], "args": op.get("args", {})}
                return _started(turn.start(fn, op["title"], work=op.get("work"), **args))
            case "join":
                return turn.join(op["job_id"], op.get("text"))
            case "stop":
                return turn.stop(op["job_id"])
            case "write":
                return self._dialect.written(turn.write(op["path"], self._dialect.contents(op)))
        return super().call(op)


class JobCalls(Calls[Job]):
    """Makes operations on a job; a service is told its files and its inbox with each request."""

    KIND = "job"
    AT_ONCE = frozenset({"delta", "progress", "charge"})

    def call(self, op: Operation) -> Awaitable[Json] | None:
        job = self._run
        match op["op"]:
            case "inbox" if self._dialect.has_paths:
                return _inbox(job.inbox(op.get("wait", 0)))
            case "files" if self._dialect.has_paths:
                return with_paths(job.files())
            case "output":
                return job.output(op["value"])
            case "progress":
                return job.progress(op["text"])
            case "charge":
                return job.charge(op["amount"], op.get("note", ""))
            case "write":
                contents, cost = self._dialect.contents(op), op.get("cost", 0)
                file = job.write(op["path"], contents, cost=cost, label=op.get("label"))
                return self._dialect.written(file)
        return super().call(op)

    def step(self, op: Operation, body: Callable[..., Awaitable[Json]]) -> Awaitable[Json]:
        return self._run.step(body, op["name"], op.get("args"), cost=op.get("cost", 0))


async def _inbox(call: Awaitable[list[Said]]) -> Json:
    return [{"text": s.text, "at": s.at, "message_id": s.message_id} for s in await call]


async def _started(call: Awaitable[Started]) -> Json:
    return asdict(await call)
