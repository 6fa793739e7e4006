"""What a caller of the SDK may have to handle. Everything else is a programmer's error.

    AgentpostError
    ├── ConfigError             no address or key given, or not usable
    ├── FileRefused             a file cannot be sent with a message (checked before sending)
    ├── ConnectionFailed        no answer arrived: the network, or the server is down
    │   └── RequestTimeout      no answer arrived in time (also a `TimeoutError`)
    ├── BadAnswer               something answered, but not this API
    ├── ApiError                the API refused; ``code`` is the stable word to branch on
    │   └── NotFound, …         one class for each code, see `agentpost_client.refusals`
    ├── WaitTimeout             the message was not final in time (also a `TimeoutError`)
    └── WebhookRefused          a webhook request that was not sent by the server, or is too old

None of the texts contains the API key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# "as" makes them names of this module too, for type checkers.
from agentpost_client.api_error import (
    AgentpostError as AgentpostError,  # noqa: PLC0414
    ApiError as ApiError,  # noqa: PLC0414
)
from agentpost_client.refusals import *  # noqa: F403 - all of them are errors of the SDK
from agentpost_client.refusals import BY_CODE

if TYPE_CHECKING:
    from agentpost_client.models import Message


class ConfigError(AgentpostError):
    """The address or the key is missing or cannot be used."""


class FileRefused(AgentpostError):
    """A file cannot be read, or is over a limit for files inside a message (spec: Limits)."""


class ConnectionFailed(AgentpostError):
    """No answer after all retries; ``url`` is the address asked (of a file link, its host)."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(url, problem)
        self.url = url
        self.problem = problem

    def __str__(self) -> str:
        return f"No answer from {self.url}: {self.problem}."


class RequestTimeout(ConnectionFailed, TimeoutError):
    """Nothing came within the time allowed; ``problem`` says how long that was."""


class BadAnswer(AgentpostError):
    """The answer is not one of this API's (wrong address, a proxy's page, a redirect)."""

    def __init__(self, problem: str, request_id: str | None = None) -> None:
        super().__init__(problem)
        self.request_id = request_id


class WaitTimeout(AgentpostError, TimeoutError):
    """``message`` is the last state seen; the work itself goes on."""

    def __init__(self, message: Message, seconds: float) -> None:
        super().__init__(message, seconds)
        self.message = message
        self.seconds = seconds

    def __str__(self) -> str:
        return f"{self.message.id} is still {self.message.status} after {self.seconds:g} seconds."


class WebhookRefused(AgentpostError):
    """A webhook request whose signature or time is wrong, or that is no event: answer 400."""


def error_class(code: str) -> type[ApiError]:
    """The class for a code; `ApiError` for one that this version does not know."""
    return BY_CODE.get(code, ApiError)
