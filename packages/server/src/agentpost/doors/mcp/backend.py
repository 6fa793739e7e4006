"""What the tools need of a server, wherever they run. Answers are the API's own JSON values."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agentpost.doors.writing import Said

Json = dict[str, Any]


class BackendError(Exception):
    """A call was refused: the code of the catalogue, what is wrong, and what to do."""

    def __init__(self, code: str, message: str, advice: str) -> None:
        super().__init__(f"{code}: {message} {advice}".strip())
        self.code = code
        self.message = message
        self.advice = advice


@dataclass(frozen=True, slots=True)
class Change:
    """New entries of a message's log, or pieces of text that is being written; neither when nothing
    came for a while."""

    entries: Sequence[Json] = ()
    texts: Sequence[Said] = ()


class Backend(Protocol):
    """A server as one caller uses it. Every method raises `BackendError`."""

    async def send(self, fields: Json, idempotency_key: str | None) -> Json:
        """Send a message with these fields of the API; the Message as it is then."""

    async def message(self, message_id: str) -> Json:
        """The Message as it is."""

    def changes(self, message_id: str) -> AsyncGenerator[Change, None]:
        """What is new, from the start of the log on, until the message is final or only credits
        can move it on."""

    async def stop(self, message_id: str) -> None:
        """Stop everything that goes on for the message."""

    async def recover(self, message_id: str) -> Json:
        """Watch its expired work again; the Recovery."""

    async def messages(self, conversation: str | None, before: str | None, limit: int) -> Json:
        """The key's newest messages, of one conversation or of all, older than ``before``."""

    async def works(self, before: str | None, limit: int) -> Json:
        """The newest works, older than ``before``."""

    async def work(self, work_id: str, from_char: int) -> Json:
        """A work with a page of its text."""

    async def stop_work(self, work_id: str) -> Json:
        """Stop what runs in a work."""

    async def file(self, file_id: str) -> Json:
        """A file with a fresh link."""

    async def content(self, file_id: str) -> bytes:
        """Its bytes; only called for one of moderate size."""
