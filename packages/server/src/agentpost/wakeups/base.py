"""Wake-ups: "something about this message or job changed". Hints, never truth. And holds, and texts
that are kept nowhere.

A lost hint costs latency only: besides them, held reads are re-checked once a second. Contract:
`tests.conformance.test_wakeups`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

TEXT_BYTES_MAX = 7_000
"""Of a text with its id: a notice of PostgreSQL has less than 8,000 bytes."""


class Transaction(Protocol):
    """The part of a database transaction that this port needs."""

    def execute(self, sql: str, params: Sequence[Any] = ()) -> int:
        """Run a statement in it."""
        ...

    def after(self, callback: Callable[[], None]) -> None:
        """Call this once it is committed."""
        ...


class Wait(Protocol):
    """One listener's place; a context manager that belongs to the event loop that entered it."""

    def __enter__(self) -> Wait:
        """Begin to listen: hints from here on are not missed."""
        ...

    def __exit__(self, *exc: object) -> None:
        """Stop listening."""
        ...

    @property
    def over(self) -> bool:
        """Whether waiting is over: cancelled, or the door is closed."""
        ...

    def cancel(self) -> None:
        """End the wait now (the client hung up); for the owning event loop."""
        ...

    async def wait(self, seconds: float) -> bool:
        """True once hinted since the last call; False when the time is over or the door closes, and
        when there are texts."""
        ...

    @property
    def has_texts(self) -> bool:
        """Whether `texts` has any."""
        ...

    def texts(self) -> list[str]:
        """What was told since the last call, for a place that listens to texts."""
        ...


class Wakeups(Protocol):
    """Carries hints from commits to waiting calls."""

    @property
    def closing(self) -> bool:
        """Whether held waits have been let go: the server is shutting down."""
        ...

    def publish(self, tx: Transaction, *subjects: str) -> None:
        """Hint at the ids of messages, jobs and accounts once the transaction is committed."""
        ...

    def listen(self, subject: str, *, texts: bool = False) -> Wait:
        """A place to wait for hints about one id, and for ``texts`` if wanted."""
        ...

    def tell(self, subject: str, text: str) -> None:
        """Hand a text to who listens to an id right now, on any node; safe on any thread.

        Nothing waits for it, nothing keeps it, and any of it may be lost: above all what comes
        faster than it is taken. Texts of one sender stay in order. At most `TEXT_BYTES_MAX`.
        """
        ...

    def waited_for(self) -> list[str]:
        """Every id somebody listens to in this process: what the re-check has to look at."""
        ...

    def hint(self, subject: str) -> None:
        """Wake this process' listeners of an id; safe on any thread."""
        ...

    def reader_lock(self, subject: str) -> AbstractAsyncContextManager[bool]:
        """Have an id to oneself while the context lasts; False when somebody has it, on any node.

        Free again before the context is left, and when the process dies. For the event loop that
        called `start`.
        """
        ...

    def ask_for_readers(self, elsewhere: Callable[[], bool]) -> None:
        """Ask this, on any thread, whether other processes answer callers: hints about messages and
        accounts, and texts, are for those alone. Unless it is given, there may be some."""
        ...

    def begin_shutdown(self) -> None:
        """Let every held wait answer now, and new ones at once: the server is shutting down."""
        ...

    async def start(self) -> None:
        """Connect, where there is something to connect to."""
        ...

    async def stop(self) -> None:
        """Disconnect."""
        ...
