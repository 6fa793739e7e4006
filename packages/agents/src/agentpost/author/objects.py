"""The turn and the job that an author's code sees, wherever that code runs.

Each call is declared here once: it checks its arguments and becomes a `Request`, which says what is
recorded of it. A `Backend` makes the request: in the server's own process on the run's journal
(`runtime.effects`), in an agent process by sending it to the server (`author.calls`), which makes
it on that same journal.
"""

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from agentpost.agents import (
    Answer,
    File,
    JobFn,
    OutputInvalid,
    Running,
    Said,
    Started,
    WorkRef,
    values,
)
from agentpost.agents.files import FileSource
from agentpost.agents.retries import DEFAULT_BACKOFF, Backoff, RetryOn
from agentpost.author import outputs
from agentpost.author.bodies import Body, checked_name, content_mark
from agentpost.author.retrying import Retry
from agentpost.domain.credits import to_millionths
from agentpost.domain.file_names import check_path
from agentpost.domain.text import agent_text

Contents = bytes | str | Path


@dataclass(frozen=True, slots=True)
class Request:
    """One call, its arguments checked. What is recorded of them is ``head``, ``args`` and
    ``kwargs`` of its function (None for a call that takes none), and ``tail``. ``data`` are the
    contents to write, where no function makes them; ``price`` is in millionths of a credit;
    ``seconds``: the longest time of a try, or of a wait, None for no limit."""

    name: str
    head: tuple[Any, ...] = ()
    args: tuple[Any, ...] | None = None
    tail: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    fn: Body | None = None
    data: Contents | None = None
    price: int = 0
    seconds: float | None = None
    retry: Retry = Retry()  # noqa: RUF009 - it is frozen

    @property
    def identity(self) -> tuple[Any, ...]:
        """What makes the call what it is: its fingerprint."""
        if self.args is None:
            return self.head
        keywords = (self.kwargs,) if self.kwargs else ()
        return (*self.head, list(self.args), *self.tail, *keywords)


class Backend(Protocol):
    """Makes the calls of one run."""

    @property
    def files(self) -> FileSource:
        """How the run's files are read."""

    def call(self, request: Request) -> Awaitable[Any]:
        """Number the call now and make it when it is awaited. Raises `NotAllowedInStep`, and what
        ends the run."""

    def refuse_in_body(self, name: str) -> None:
        """Raises `NotAllowedInStep` unless the run's own function makes a call of that name."""

    def delta(self, text: str, *, reset: bool) -> None:
        """Show a piece of text."""

    def give_output(self, text: str, fatal: OutputInvalid | None) -> None:
        """Take a turn's output as JSON, checked or not; ends the run with the ``fatal`` error."""

    def history(self) -> Sequence[Said]:
        """What was said before, oldest first; blocks."""


@dataclass(frozen=True)
class TurnInputs:
    """What a turn begins with; texts of JSON as they are recorded, ``frozen`` with
    `agents.values`."""

    message: Said
    conversation: str
    account: str
    metadata: str | None
    answer: str | None
    notes: str
    frozen: str
    schema: str | None


@dataclass(frozen=True)
class JobInputs:
    """What a job begins with; ``state`` is the recorded memory of its work."""

    id: str
    work_id: str
    title: str
    message: Said
    state: str
    schema: str | None


class _Author(ABC):
    """The common part of turns and jobs: a question, text that is shown, an output, a memory."""

    def __init__(self, backend: Backend, inputs: TurnInputs | JobInputs) -> None:
        self.backend = backend
        self.message = inputs.message
        self.wanted_output = outputs.Output(inputs.schema)
        self.question: str | None = None
        self.answer_format: str | None = None
        self._asked: dict[str, Any] | None = None

    @property
    def response_schema(self) -> dict[str, Any] | None:
        return self.wanted_output.schema

    def ask(
        self,
        question: str,
        *,
        choices: Sequence[str] | None = None,
        schema: dict[str, Any] | None = None,
    ) -> None:
        self.backend.refuse_in_body("ask")
        answer_format = outputs.answer_format(choices, schema)
        self.question = agent_text(question) or None
        self.answer_format = answer_format if self.question else None
        choices = None if choices is None else list(choices)
        self._asked = {"question": question, "choices": choices, "schema": schema}

    def delta(self, text: str, *, reset: bool = False) -> None:
        if not isinstance(text, str):
            raise TypeError(f"a delta must be a str, not {type(text).__name__}")
        self.backend.delta(text, reset=reset)

    @property
    @abstractmethod
    def state(self) -> dict[str, Any]:
        """The agent's memory."""

    @abstractmethod
    def changed_state(self) -> str | None:
        """The memory as it is recorded; None when it is what it was."""

    def leave(self) -> dict[str, Any]:
        """What the function left, for `adopt` in another process; the output is there already."""
        return {"asked": self._asked, "state": self.changed_state()}

    def adopt(self, left: dict[str, Any]) -> None:
        """Take what the function left that ran in another process."""
        if left.get("asked") is not None:
            self.ask(**left["asked"])
        if left.get("state") is not None:
            self.state.clear()
            self.state.update(values.load(left["state"], self.backend.files))


class AuthorTurn(_Author):
    """One run of a turn: `agentpost.agents.Turn` says what each call does."""

    def __init__(self, backend: Backend, inputs: TurnInputs) -> None:
        super().__init__(backend, inputs)
        self.inputs = inputs
        self.conversation = inputs.conversation
        self.account = inputs.account
        self.replies: list[str] = []
        self._state_before = ""

    # --- inputs -----------------------------------------------------------------------------------
    @cached_property
    def metadata(self) -> dict[str, str]:
        labels: dict[str, str] = json.loads(self.inputs.metadata or "{}")
        return labels

    @cached_property
    def answer(self) -> Answer | None:
        return Answer(**json.loads(self.inputs.answer)) if self.inputs.answer else None

    @cached_property
    def notes(self) -> Sequence[str]:
        return tuple(values.load(self.inputs.notes, None))

    @cached_property
    def history(self) -> Sequence[Said]:
        """What was said before. Read when it is first needed: most agents never do."""
        return tuple(self.backend.history())

    @cached_property
    def _frozen(self) -> dict[str, Any]:
        frozen: dict[str, Any] = values.load(self.inputs.frozen, self.backend.files)
        self._state_before = values.dump(frozen["state"])
        return frozen

    @cached_property
    def running(self) -> Sequence[Running]:
        return tuple(Running(**item) for item in self._frozen["running"])

    @cached_property
    def works(self) -> Sequence[WorkRef]:
        works = self._frozen["works"]
        return tuple(WorkRef(**{**item, "files": tuple(item["files"])}) for item in works)

    @property
    def credits(self) -> float:
        available: float = self._frozen["credits"]
        return available

    @property
    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self._frozen["state"]
        return state

    # --- what its end says ------------------------------------------------------------------------
    def reply(self, text: str) -> None:
        self.backend.refuse_in_body("reply")
        self.replies.append(agent_text(text))

    def output(self, value: Any) -> None:
        self.backend.refuse_in_body("output")
        text = outputs.as_json(value)
        error = self.wanted_output.check(text)
        self.backend.give_output(text, error if self.wanted_output.is_hopeless else None)
        if error is not None:
            raise error
        self.wanted_output.given = text

    def changed_state(self) -> str | None:
        if "_frozen" not in self.__dict__:
            return None  # never looked at
        after = values.dump(self.state)
        return after if after != self._state_before else None

    def leave(self) -> dict[str, Any]:
        return {"replies": self.replies, **super().leave()}

    def adopt(self, left: dict[str, Any]) -> None:
        for text in left.get("replies", ()):
            self.reply(text)
        super().adopt(left)

    # --- recorded calls ---------------------------------------------------------------------------
    def start(
        self, job: JobFn, /, title: str, *, work: str | None = None, **args: Any
    ) -> Awaitable[Started]:
        ref = values.function_ref(job)
        if not inspect.iscoroutinefunction(job):
            raise TypeError(f"a job is a coroutine function, {ref} is not")
        args = values.load(values.dump(args), None)  # as they are now
        head = (ref, agent_text(title), None if work is None else agent_text(work), args)
        return self._start(self.backend.call(Request("start", head)))

    async def _start(self, answer: Awaitable[dict[str, Any]]) -> Started:
        return Started(**await answer)

    def join(self, job_id: str, text: str | None = None) -> Awaitable[bool]:
        said = None if text is None else agent_text(text)
        return self.backend.call(Request("join", (agent_text(job_id), said)))

    def stop(self, job_id: str) -> Awaitable[bool]:
        return self.backend.call(Request("stop", (agent_text(job_id),)))

    def step(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        return self.backend.call(Request("step", (checked_name(fn),), args, (), kwargs, fn))

    def write(self, path: str, data: Contents) -> Awaitable[File]:
        check_path(path)
        return self.backend.call(Request("write", (path, content_mark(data)), data=data))


class AuthorJob(_Author):
    """One run of a job: `agentpost.agents.Job` says what each call does."""

    def __init__(self, backend: Backend, inputs: JobInputs) -> None:
        super().__init__(backend, inputs)
        self.inputs = inputs
        self.id = inputs.id
        self.work_id = inputs.work_id
        self.title = inputs.title
        self._state: dict[str, Any] = values.load(inputs.state, backend.files)

    @property
    def state(self) -> dict[str, Any]:
        return self._state

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._state = state

    def changed_state(self) -> str:
        return values.dump(self._state)

    # --- recorded calls ---------------------------------------------------------------------------
    def step(
        self,
        fn: Callable[..., Any],
        /,
        *args: Any,
        name: str | None = None,
        cost: float = 0,
        retries: int = 0,
        timeout: float | None = None,
        retry_on: RetryOn | None = None,
        backoff: Backoff = DEFAULT_BACKOFF,
        **kwargs: Any,
    ) -> Awaitable[Any]:
        head = (checked_name(fn, name),)
        price, retry = to_millionths(cost), Retry.of(retries, retry_on, backoff)
        return self.backend.call(
            Request("step", head, args, (price,), kwargs, fn, None, price, timeout, retry)
        )

    def write(
        self,
        path: str,
        data: Contents | Callable[..., Contents],
        /,
        *args: Any,
        cost: float = 0,
        label: str | None = None,
        timeout: float | None = None,
        **kwargs: Any,
    ) -> Awaitable[File]:
        check_path(path)
        price = to_millionths(cost)
        fn: Body | None = None
        contents: Contents | None = None
        if callable(data):
            fn, mark = data, checked_name(data)
        else:
            contents, mark = data, content_mark(data)
        head, tail = (path, mark), (price, None if label is None else agent_text(label))
        return self.backend.call(
            Request("write", head, args, tail, kwargs, fn, contents, price, timeout)
        )

    def files(self) -> Awaitable[list[File]]:
        return self.backend.call(Request("files"))

    def progress(self, step: str) -> Awaitable[None]:
        return self.backend.call(Request("progress", (agent_text(step),)))

    def output(self, value: Any) -> Awaitable[None]:
        return self.backend.call(Request("output", (json.loads(outputs.as_json(value)),)))

    def inbox(self, wait: float = 0) -> Awaitable[list[Said]]:
        return self._inbox(self.backend.call(Request("inbox", seconds=wait)))

    async def _inbox(self, answer: Awaitable[dict[str, Any]]) -> list[Said]:
        follow_ups = (await answer)["said"]
        return [Said("user", text, (), at, message_id) for message_id, text, at in follow_ups]

    def charge(self, amount: float, note: str = "") -> Awaitable[None]:
        price, note = to_millionths(amount), agent_text(note)
        return self.backend.call(Request("charge", (price, note), price=price))
