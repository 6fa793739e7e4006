"""What the tools need of a server, wherever they run. Answers are the API's own JSON values."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from agentpost.doors.writing import Said

Json = dict[str, Any]
ROUTES: Final = {
    "getMessage": "GET messages/{}",
    "cancelMessage": "POST messages/{}/cancel",
    "recoverMessage": "POST messages/{}/recover",
    "listWork": "GET work",
    "getWork": "GET work/{}",
    "stopWork": "POST work/{}/stop",
    "getFile": "GET files/{}",
}
"""The operations of the API that tools are made of, with method and path below its prefix."""


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

    async def ask(self, operation: str, *path: str, **query: str | int | None) -> Json:
        """The answer to one of `ROUTES`; ``path`` has the ids that stand in it."""

    async def send(self, fields: Json, idempotency_key: str | None) -> Json:
        """Send a message with these fields of the API; the Message as it is then."""

    async def messages(self, conversation: str | None, before: str | None, limit: int) -> Json:
        """The key's newest messages, of one conversation or of all, older than ``before``."""

    def changes(self, message_id: str) -> AsyncGenerator[Change, None]:
        """What is new, from the start of the log on, until the message is final or only credits
        can move it on."""

    async def content(self, file_id: str) -> bytes:
        """Its bytes; only called for one of moderate size."""
