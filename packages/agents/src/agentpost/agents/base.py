"""The agent protocol: what an agent author writes against.

An agent is one coroutine function ``agent(turn)``. It is called once per message and has seconds:
it replies, asks, or starts jobs. A job is a coroutine function ``job_fn(job, **args)``: it has
minutes to days and survives restarts, because every call on ``job`` is recorded. When the server
comes back after a crash the function runs again from the top and recorded calls return what they
returned before, so code *between* calls must be repeatable.

Everything here is re-exported by :mod:`agentpost.agents`; import it from there.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from agentpost.agents.answers import Answer
from agentpost.agents.files import File as File  # noqa: PLC0414 - it is imported from here, too
from agentpost.agents.retries import DEFAULT_BACKOFF, Backoff, RetryOn
from agentpost.extraction import Unreadable  # noqa: F401 - recorded errors name it here

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""What may be passed to and returned from recorded calls (a `File` may stand anywhere in it)."""


class JobFailed(Exception):
    """Raised by a job to end as failed; its text is shown to the user, so write it for them."""


class CannotSucceed(JobFailed):
    """Raised instead of `JobFailed` when the same request would fail again, such as for a file that
    nobody can read: chats then offer to change the request instead of trying it again."""


class StorageFull(JobFailed):
    """Raised by `write` when the account's storage has no room for the file; a job that does not
    catch it ends as failed."""


class StepFailed(Exception):
    """A step ended with an exception whose own class cannot be rebuilt; carries its text."""


class NotAllowedInStep(RuntimeError):
    """A call on a turn or job was made by the body of a step, which runs again after a crash; the
    text says what to do instead."""


@dataclass(frozen=True, slots=True)
class Said:
    """One thing said in a conversation; ``at`` is an ISO 8601 UTC timestamp."""

    role: Literal["user", "agent", "job"]
    text: str
    files: tuple[File, ...]
    at: str
    message_id: str


@dataclass(frozen=True, slots=True)
class Running:
    """A job that runs in this conversation right now; ``step`` is its last progress line."""

    job_id: str
    work_id: str
    message_id: str
    title: str
    step: str | None
    started_at: str


@dataclass(frozen=True, slots=True)
class WorkRef:
    """A work (chat) of this conversation, with what its last job left behind."""

    work_id: str
    title: str
    text: str
    files: tuple[File, ...]
    question: str | None
    state: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Started:
    """What became of `Turn.start`; ``reason`` is set when the state is not ``running``."""

    job_id: str
    work_id: str
    state: Literal["running", "queued", "refused"]
    reason: str | None = None


JobFn: TypeAlias = "Callable[..., Coroutine[Any, Any, str | None]]"
AgentFn: TypeAlias = "Callable[[Turn], Awaitable[None]]"


class _Run(Protocol):
    """What turns and jobs have in common."""

    @property
    def message(self) -> Said:
        """The message to answer, for a job the one that started it."""

    @property
    def state(self) -> dict[str, Json]:
        """The agent's own memory: a turn's of its conversation, saved when it ends well; a job's of
        its work, saved when it ends, and seen by later turns as `WorkRef.state`."""

    @property
    def response_schema(self) -> dict[str, Any] | None:
        """The JSON Schema that the caller wants an output for, if one was given."""

    def ask(
        self,
        question: str,
        *,
        choices: Sequence[str] | None = None,
        schema: dict[str, Any] | None = None,
    ) -> None:
        """Ask the user, when the function returns; the message ends ``needs_input`` once nothing
        runs. The last one wins.

        Args:
            choices: 1 to 50 different texts of up to 200 characters, one of which is the answer.
            schema: a JSON Schema of up to 16 KiB that the answer has to fit: of draft 2020-12, or
                of draft-06, draft-07 or 2019-09, which becomes 2020-12.

        Raises `ValueError` for others, and for both at once.
        """

    def delta(self, text: str, *, reset: bool = False) -> None:
        """Show a piece of the reply or result while it is written, to who streams the message.

        It is recorded nowhere and may get lost; say the whole text as well, with `Turn.reply` or as
        the job's result. It may be called inside a coroutine step. ``reset``: readers drop what was
        shown before, as when a step is tried again.
        """


class Turn(_Run, Protocol):
    """The handling of one message: seconds long. Its inputs stay the same if it is run again."""

    @property
    def metadata(self) -> dict[str, str]:
        """The caller's own labels on the message."""

    @property
    def conversation(self) -> str:
        """The conversation's name; empty for the key's unnamed one."""

    @property
    def account(self) -> str:
        """The account's id."""

    @property
    def history(self) -> Sequence[Said]:
        """What was said before in this conversation, oldest first: the last 50."""

    @property
    def running(self) -> Sequence[Running]:
        """The jobs of this conversation that run right now."""

    @property
    def works(self) -> Sequence[WorkRef]:
        """The last 20 works of this conversation, newest first."""

    @property
    def notes(self) -> Sequence[str]:
        """Problems with the attachments, as the caller will see them."""

    @property
    def credits(self) -> float:
        """Available credits when the turn began."""

    @property
    def answer(self) -> Answer | None:
        """What the message answers to the typed question before it; None for any other text."""

    def reply(self, text: str) -> None:
        """Say something. Shown when the turn ends; several replies are joined by a blank line."""

    def output(self, value: Any) -> None:
        """Give the result that the caller's ``response_schema`` asks for; the last one wins.

        Raises `OutputInvalid` when it does not fit; a second one that does not ends the turn as
        failed. Where no schema was given, the value is checked to be JSON and dropped.
        """

    def start(
        self, job: JobFn, /, title: str, *, work: str | None = None, **args: Any
    ) -> Awaitable[Started]:
        """Start durable work. Never raises for credits or the cap: look at `Started.state`.

        ``job`` must be a module-level coroutine function; ``args`` are JSON or `File`;
        ``work`` continues an existing work of the account instead of opening a new one.
        """

    def join(self, job_id: str, text: str | None = None) -> Awaitable[bool]:
        """Hand this message (or ``text``) to a running job; False when it has already ended."""

    def stop(self, job_id: str) -> Awaitable[bool]:
        """Stop a job; False when it has already ended."""

    def step(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        """Run ``fn(*args, **kwargs)`` once and record what it returns (see `Job.step`).

        The body of a step makes no call on the turn: each raises `NotAllowedInStep`.
        """

    def write(self, path: str, data: bytes | str | Path) -> Awaitable[File]:
        """Attach a file to the reply. ``path`` is relative to the conversation's home work."""


class Job(_Run, Protocol):
    """A piece of durable work: minutes to days long, survives restarts."""

    @property
    def id(self) -> str:
        """``exe_…``"""

    @property
    def work_id(self) -> str:
        """The work the job writes its files to."""

    @property
    def title(self) -> str:
        """The title given at the start."""

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
        """Run ``fn(*args, **kwargs)`` once and record the value: a recorded step never runs again.

        A plain function runs in a worker process and must be module-level; a coroutine function
        runs on the agent loop. The options' names are taken: an argument of ``fn`` that is called
        like one of them is passed by position.

        The body of a coroutine step may call `progress` and `charge` (see there); every other call
        on the job raises `NotAllowedInStep` in it.

        Args:
            name: what the call is recorded and shown as, 1 to 100 characters. None: the function's
                module and name, so a function without a name in its call cannot be renamed while
                jobs run.
            cost: credits, held before and charged when the value is recorded.
            retries: tries after the first; they belong to this one call.
            timeout: seconds for each try, from when a worker process has the call; raises
                `TimeoutError`.
            retry_on: which exceptions are worth another try. None: all but those that will be the
                same next time (`TypeError`, `NameError`, `AttributeError`, `ImportError`,
                `SyntaxError`, `NotImplementedError`, `AssertionError`, `JobFailed`, `Unreadable`,
                `NotAllowedInStep`).
            backoff: how long to wait before each further try.

        Raises what ``fn`` raised last; `ValueError` or `TypeError` for options that mean nothing.
        """

    def write(
        self,
        path: str,
        data: bytes | str | Path | Callable[..., bytes | str | Path],
        /,
        *args: Any,
        cost: float = 0,
        label: str | None = None,
        timeout: float | None = None,
        **kwargs: Any,
    ) -> Awaitable[File]:
        """Write a file of the work. A function is called like a step, with ``args``, ``kwargs`` and
        a ``timeout`` like a step's, and returns the contents."""

    def files(self) -> Awaitable[list[File]]:
        """The message's attachments and the work's files."""

    def progress(self, step: str) -> Awaitable[None]:
        """Tell the user what is going on, at once.

        In the body of a step it belongs to the step: it is told again when the step runs again.
        """

    def inbox(self, wait: float = 0) -> Awaitable[list[Said]]:
        """Follow-up messages since the last call; waits up to ``wait`` (≤ 60) seconds for one."""

    def charge(self, amount: float, note: str = "") -> Awaitable[None]:
        """Charge credits for work already done; may take the balance to zero, never below.

        In the body of a step it takes effect with the step's record, whether that is a value or an
        error: once for each step, also when a crash makes the body run again. What the step's
        further tries charge is added.
        """

    def output(self, value: Any) -> Awaitable[None]:
        """Record the result that the ``response_schema`` asks for (see `Turn.output`); a second
        one that does not fit ends the job as failed."""


current_step_key: ContextVar[str | None] = ContextVar("agentpost_step_key", default=None)


def step_key() -> str:
    """A stable key for the running step, for effects outside (e.g. another API's idempotency key).

    A step that was interrupted by a crash runs again with the same key. Raises `RuntimeError`
    outside a step.
    """
    key = current_step_key.get()
    if key is None:
        raise RuntimeError("step_key() is only available inside a step")
    return key
