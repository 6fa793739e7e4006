"""An in-memory `Turn` and `Job`: steps run inline, every call is journaled and can be replayed.

A second run over the same journal returns what the first recorded and fails when the calls
differ, like the real runtime does after a crash.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agentpost.agents import Answer, Backoff, values
from agentpost.agents.base import File, Json, Running, Said, Started, WorkRef
from agentpost.agents.retries import DEFAULT_BACKOFF, RetryOn

_KINDS = {"csv": "data", "xlsx": "data", "png": "image", "zip": "archive", "pptx": "deck"}


class Crash(BaseException):
    """Thrown by a `FakeJob` that should die before its n-th call."""


def file(path: Path, content_type: str = "", file_id: str = "") -> File:
    """A `File` for a file on disk."""
    kind = _KINDS.get(path.suffix[1:], "document")
    return File(
        id=file_id or f"file_{path.name}", name=path.name, content_type=content_type, kind=kind,
        size=path.stat().st_size, revision='"1"', work_id="work_0", local_path=None,
        blob=str(path),
    )  # fmt: skip


def utterance(text: str, *files: File, role: Any = "user") -> Said:
    """Something said."""
    return Said(role, text, files, "2026-01-01T00:00:00Z", "msg_1")


def localised(value: Any) -> Any:
    """The value with a local path in every `File`, as a worker process sees it."""
    if isinstance(value, File):
        return replace(value, local_path=Path(value.blob))
    if isinstance(value, (list, tuple)):
        return [localised(item) for item in value]
    if isinstance(value, dict):
        return {key: localised(item) for key, item in value.items()}
    return value


def call(fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a step's function returns in a worker process, where tuples arrive as lists."""
    values.function_ref(fn)
    args, kwargs = values.load(values.dump_local(localised([args, kwargs])), None)
    return fn(*args, **kwargs)


def returned(value: Any) -> Any:
    """A value as it is recorded."""
    return values.load(values.dump(value), None)


@dataclass
class StartedJob:
    """What an agent started."""

    fn: Callable[..., Any]
    title: str
    work: str | None
    args: dict[str, Any]


@dataclass
class FakeTurn:
    """A `Turn` over plain fields; look at ``replies questions started stopped joined``."""

    message: Said
    history: Sequence[Said] = ()
    running: Sequence[Running] = ()
    works: Sequence[WorkRef] = ()
    notes: Sequence[str] = ()
    state: dict[str, Json] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    conversation: str = ""
    account: str = "acc_1"
    credits: float = 10
    outcome: Started = field(default_factory=lambda: Started("exe_1", "work_1", "running"))
    ended: bool = False
    replies: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    started: list[StartedJob] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)
    answer: Answer | None = None
    choices: list[str] = field(default_factory=list)
    response_schema: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """All that was replied."""
        return "\n\n".join(self.replies)

    def reply(self, text: str) -> None:
        assert text.strip()
        self.replies.append(text)

    def ask(
        self,
        question: str,
        *,
        choices: Sequence[str] | None = None,
        schema: dict[str, Any] | None = None,
    ) -> None:
        self.questions.append(question)
        self.choices = list(choices or ())

    def output(self, value: Any) -> None:
        raise AssertionError("the offline agent gives no outputs")

    def delta(self, text: str, *, reset: bool = False) -> None:
        """Nobody follows."""

    async def start(
        self, job: Callable[..., Any], /, title: str, *, work: str | None = None, **args: Any
    ) -> Started:
        values.function_ref(job)
        values.dump(args)
        self.started.append(StartedJob(job, title, work, args))
        return replace(self.outcome, work_id=work or self.outcome.work_id)

    async def join(self, job_id: str, text: str | None = None) -> bool:
        self.joined.append(job_id)
        return not self.ended

    async def stop(self, job_id: str) -> bool:
        self.stopped.append(job_id)
        return not self.ended

    async def step(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return returned(call(fn, args, kwargs))

    async def write(self, path: str, data: bytes | str | Path) -> File:
        raise AssertionError("the offline agent writes files in jobs only")


@dataclass
class FakeJob:
    """A `Job` that writes below ``root``; ``journal`` survives when handed to another job."""

    root: Path
    message: Said = field(default_factory=lambda: utterance("go"))
    journal: list[tuple[str, Any]] = field(default_factory=list)
    mail: list[list[Said]] = field(default_factory=list)
    crash_at: int | None = None
    state: dict[str, Json] = field(default_factory=dict)
    id: str = "exe_1"
    work_id: str = "work_1"
    title: str = "Job"
    charged: float = 0
    ran: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    written: dict[str, File] = field(default_factory=dict)
    response_schema: dict[str, Any] | None = None
    _next: int = 0

    async def output(self, value: Any) -> None:
        raise AssertionError("the offline agent gives no outputs")

    def _call(self, what: str, run: Callable[[], Any]) -> Any:
        number, self._next = self._next, self._next + 1
        if number < len(self.journal):
            recorded, value = self.journal[number]
            assert recorded == what, "the second run went another way"
            return value
        if number == self.crash_at:
            raise Crash
        value = run()
        self.ran.append(what.partition("(")[0])
        self.journal.append((what, value))
        return value

    def delta(self, text: str, *, reset: bool = False) -> None:
        """Nobody follows."""

    async def step(
        self, fn: Callable[..., Any], /, *args: Any, cost: float = 0, retries: int = 0,
        timeout: float | None = None, retry_on: RetryOn | None = None,
        backoff: Backoff = DEFAULT_BACKOFF, **kwargs: Any,
    ) -> Any:  # fmt: skip
        def run() -> Any:
            value = returned(call(fn, args, kwargs))
            self.charged += cost
            return value

        return self._call(f"step {values.function_ref(fn)}({values.dump(args)})", run)

    async def write(
        self,
        path: str,
        data: Any,
        /,
        *args: Any,
        cost: float = 0,
        label: str | None = None,
        timeout: float | None = None,
        **kwargs: Any,
    ) -> File:
        def run() -> File:
            content = call(data, args, kwargs) if callable(data) else data
            if isinstance(content, Path):
                content = content.read_bytes()
            elif isinstance(content, str):
                content = content.encode()
            assert isinstance(content, bytes)
            target = self.root / path
            target.write_bytes(content)
            self.charged += cost
            return replace(file(target, file_id=f"file_out_{path}"), label=label)

        written = self._call(f"write {path}({values.dump(args)})", run)
        assert isinstance(written, File)
        self.written[path] = written
        return written

    async def files(self) -> list[File]:
        return [*self.message.files, *self.written.values()]

    async def progress(self, step: str) -> None:
        self._call(f"progress({step})", lambda: self.steps.append(step))

    async def inbox(self, wait: float = 0) -> list[Said]:
        found = self._call("inbox()", lambda: self.mail.pop(0) if self.mail else [])
        assert isinstance(found, list)
        return found

    async def charge(self, amount: float, note: str = "") -> None:
        self.charged += amount

    def ask(
        self,
        question: str,
        *,
        choices: Sequence[str] | None = None,
        schema: dict[str, Any] | None = None,
    ) -> None:
        raise AssertionError("the offline agent asks in turns only")


def running(title: str, job_id: str = "exe_1", step: str | None = None) -> Running:
    """A running job."""
    return Running(job_id, "work_1", "msg_0", title, step, "2026-01-01T00:00:00Z")
