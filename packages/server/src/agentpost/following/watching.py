"""Reading along with a message until it ends, as `send`, `follow` and `chat` do."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import typer

from agentpost.cli import exits
from agentpost.cli.errors import fail, say

if TYPE_CHECKING:
    from agentpost_client import Client, Entry, Message, TextDelta, TextReset

    Part: TypeAlias = Entry | TextDelta | TextReset
_RAISED_AGAIN_SECONDS = 5.0
"""How long after the end of `within` it ends once more, if it is still going on."""
_MAY_WAIT_FOR_CREDITS: Final = ("agent_reply", "result", "state")
"""Entries after which a message may wait for credits, and nothing more comes."""


class TimeUp(BaseException):
    """The time of `within` is over. Like KeyboardInterrupt it is nobody's ordinary error."""


@dataclass
class Watch:
    """One message that is read along with: what is shown, which it is, and how far it was read.
    ``show`` gets each entry; with ``streams`` also the pieces of text between them."""

    client: Client
    show: Callable[[Part], object]
    streams: bool = False
    seq: int = 0
    cursor: str | None = None
    message_id: str | None = None

    def to_the_end(self, message: Message) -> Message:
        """Follow a message to its end, or to where only somebody's credits can move it on.

        Results and failures have their text in the log only, so a final message that has one of
        them is followed too.
        """
        tells_all = message.final and not message.jobs and message.reason != "turn_failed"
        if waits_for_credits(message) or tells_all:
            return message
        return self.all_of_it(message.id, waits=False)

    def send(self, parts: Generator[Message | Part, None, None]) -> Message:
        """`to_the_end` for a message that is sent by reading what comes of it."""
        from agentpost_client.errors import Forbidden

        try:
            with closing(parts):
                message = self._show_all(parts, waits=False)
        except Forbidden:
            if self.message_id is not None:
                say(f"{self.message_id} is sent, but this key may not read it")
            raise
        assert message is not None, "a message that is sent comes before what is written of it"
        return message

    def all_of_it(self, message_id: str, *, waits: bool = True) -> Message:
        """Every entry until there can be no more; with ``waits``, also where somebody's credits are
        waited for."""
        self.message_id = message_id
        messages = self.client.messages
        read: Any = messages.stream if self.streams else messages.follow
        with closing(read(message_id, self.cursor, self.seq)) as parts:
            return self._show_all(parts, waits=waits) or self.client.get(message_id)

    def _show_all(self, parts: Iterable[Message | Part], *, waits: bool) -> Message | None:
        """Show what comes, and remember how far that is. The last message among it, or the message
        once only credits can move it on."""
        from agentpost_client import Entry, Message

        message: Message | None = None
        for part in parts:
            if isinstance(part, Message):
                message, self.message_id = part, part.id
                continue
            if isinstance(part, Entry):
                self.seq, self.cursor = part.seq, part.cursor
            self.show(part)
            if not waits and isinstance(part, Entry) and part.type in _MAY_WAIT_FOR_CREDITS:
                assert self.message_id is not None
                now = self.client.get(self.message_id)
                if waits_for_credits(now):
                    return now
        return message


def waits_for_credits(message: Message) -> bool:
    """Whether nothing happens before somebody adds credits, or allows more of them."""
    return message.status == "blocked" and not message.final


@contextmanager
def interruptible(watch: Watch) -> Iterator[None]:
    """Ctrl-C, and the end of `within`, end the watching, never the work; say how to continue.

    Both pass as long as the message has no id. A spinner belongs inside: while it turns, it breaks
    lines to the width of the terminal, and the command to continue with could not be copied.
    """
    try:
        yield
    except KeyboardInterrupt:
        if watch.message_id is None:
            raise
        say(f"stopped waiting; the work continues: {_follow(watch)}")
        raise typer.Exit(exits.INTERRUPTED) from None
    except TimeUp:
        if watch.message_id is None:
            raise
        fail(f"timed out; the work continues: {_follow(watch)}", exits.NO_ANSWER)


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Raise `TimeUp` in the block after that many seconds; None: never. Where the system has no
    such signal (Windows) it never is; a program that needs a limit there has `--no-wait`."""
    can = hasattr(signal, "SIGALRM") and current_thread() is main_thread()
    if seconds is None or not can:
        yield
        return

    def over(number: int, frame: object) -> None:
        raise TimeUp

    before = signal.signal(signal.SIGALRM, over)
    # Once more after a while: what is raised while an object is finalised is ignored.
    signal.setitimer(signal.ITIMER_REAL, seconds, _RAISED_AGAIN_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def new_key(prefix: str = "cli_") -> str:
    """Text that no other call has."""
    from agentpost.clock import SystemClock, new_id

    return new_id(prefix, SystemClock().now())


def _follow(watch: Watch) -> str:
    after = f" --after {watch.seq}" if watch.seq else ""
    return f"agentpost follow {watch.message_id}{after}"
