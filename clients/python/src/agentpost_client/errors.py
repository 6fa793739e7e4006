"""What a caller of the SDK may have to handle. Everything else is a programmer's error.

    AgentpostError
    ├── ConfigError             no address or key given, or not usable
    ├── FileRefused             a file cannot be sent with a message (checked before sending)
    ├── ConnectionFailed        no answer arrived: the network, a time limit, the server is down
    ├── BadAnswer               something answered, but not this API
    ├── ApiError                the API refused; ``code`` is the stable word to branch on
    └── WaitTimeout             the message was not final in time (also a `TimeoutError`)

None of the texts contains the API key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentpost_client.models import Message, Problem


class AgentpostError(Exception):
    """Base of all errors of the SDK; its text is one sentence for a person."""


class ConfigError(AgentpostError):
    """The address or the key is missing or cannot be used."""


class FileRefused(AgentpostError):
    """A file cannot be read, or is over a limit for files inside a message (spec: Limits)."""


class ConnectionFailed(AgentpostError):
    """No answer after all retries; ``url`` is the address asked (of a file link, its host)."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(f"No answer from {url}: {problem}.")
        self.url = url
        self.problem = problem


class BadAnswer(AgentpostError):
    """The answer is not one of this API's (wrong address, a proxy's page, a redirect)."""

    def __init__(self, problem: str, request_id: str | None = None) -> None:
        super().__init__(problem)
        self.request_id = request_id


class ApiError(AgentpostError):
    """The API's error shape (spec: Errors).

    ``code`` is the stable machine word and ``message`` the text for people. ``retry_after`` is in
    seconds, given with every 429. ``cursor`` comes with ``poll_in_progress`` only. An error without
    the shape (a proxy's) has the code ``http_<status>``.
    """

    def __init__(
        self,
        code: str,
        message: str,
        status: int,
        *,
        request_id: str | None = None,
        problems: tuple[Problem, ...] = (),
        retry_after: float | None = None,
        cursor: str | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.request_id = request_id
        self.problems = problems
        self.retry_after = retry_after
        self.cursor = cursor


class WaitTimeout(AgentpostError, TimeoutError):
    """``message`` is the last state seen; the work itself goes on."""

    def __init__(self, message: Message, seconds: float) -> None:
        super().__init__(f"{message.id} is still {message.status} after {seconds:g} seconds.")
        self.message = message
