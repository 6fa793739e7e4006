"""Connections of commands that run until they are stopped: they wait for a server that is away,
say so, and say when it is back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep
from typing import TYPE_CHECKING, Any, Final, TypeVar

from agentpost.cli.connection import Server, errors_told, resolve, say_retry
from agentpost.cli.errors import say

if TYPE_CHECKING:
    from agentpost_client import ApiError, Client, RetryPolicy

T = TypeVar("T")
_ALWAYS: Final = 10**9
_PAUSE_SECONDS: Final = 1.5
_PAUSE_SECONDS_MAX: Final = 10.0
_SERVER_ERROR: Final = 500
_TOO_MANY: Final = 429
_SAID_BY_THE_CLIENT: Final = logging.getLogger("agentpost_client")


@contextmanager
def staying_connected(profile: str | None = None) -> Iterator[tuple[Client, Server]]:
    """A client that tries again for as long as it takes, and the server it is for.

    Errors that stay (the key was revoked, the address is no server's) end the command as in
    `connection.connect`; Ctrl-C ends it, too.
    """
    import httpx2

    from agentpost.cli.proxied_http import open_http
    from agentpost_client import Client

    server = resolve(profile)
    notices = _Notices()
    hooks = {"response": [notices.note_answer]}
    handler = _Said(logging.WARNING)
    _SAID_BY_THE_CLIENT.addHandler(handler)
    try:
        with (
            errors_told(server),
            open_http(httpx2.Client, server.url, event_hooks=hooks) as http,
            Client(
                server.url,
                server.key,
                policy=_patient(),
                http_client=http,
                on_retry=notices.retry,
            ) as client,
        ):
            yield client, server
    finally:
        _SAID_BY_THE_CLIENT.removeHandler(handler)


def until_answered(call: Callable[[], T]) -> T:
    """The call's result. What may pass, although the client does not try again by its own rules
    (a proxy's 502, a long ``Retry-After``), is told and tried again; the rest is raised."""
    from agentpost_client import ApiError

    while True:
        try:
            return call()
        except ApiError as error:
            if not may_pass(error):
                raise
            pause_after(error)


def may_pass(error: ApiError) -> bool:
    """Whether a refusal is about now and not about what was asked."""
    return error.status >= _SERVER_ERROR or error.status == _TOO_MANY


def pause_after(error: ApiError) -> None:
    """Say what is wrong, and wait as long as the server asks for."""
    seconds = max(error.retry_after or 0.0, _PAUSE_SECONDS)
    say_retry(seconds, f"the server answered {error.status} {error.code}")
    sleep(seconds)


def _patient() -> RetryPolicy:
    from agentpost.clock import SystemClock
    from agentpost_client import RetryPolicy

    clock = SystemClock()
    return RetryPolicy(
        retries=_ALWAYS,
        retries_while_following=_ALWAYS,
        base=_PAUSE_SECONDS,
        longest=_PAUSE_SECONDS_MAX,
        jitter=lambda: 0.7 + 0.3 * clock.chance(),
    )


class _Notices:
    """Tells of a server that is away, and once when it is back."""

    def __init__(self) -> None:
        self._is_away = False

    def retry(self, seconds: float, why: str) -> None:
        self._is_away = True
        say_retry(seconds, why)

    def note_answer(self, response: Any) -> None:
        if self._is_away and response.is_success:
            self._is_away = False
            say("connected again")


class _Said(logging.Handler):
    """Warnings of the client in the shape of all lines of the program."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())
