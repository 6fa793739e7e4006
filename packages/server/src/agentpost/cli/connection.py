"""How a caller's command reaches its server: which one, with which key, and what happens when not.

The first of these that is there names the server: ``--profile``; AGENTPOST_URL and AGENTPOST_KEY;
AGENTPOST_PROFILE; the profile in use. A key is only sent to the address it was given with, so the
variables are used together or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import typer

from agentpost.cli import exits, profiles
from agentpost.cli.errors import fail, say

if TYPE_CHECKING:
    from agentpost_client import AgentpostError, Client

RETRY_NOTICE_SECONDS = 0.05
"""A shorter pause than this is not worth a line."""
_VARIABLES: Final = ("AGENTPOST_URL", "AGENTPOST_KEY")
_NEW_KEY: Final = (
    "on the server's machine `agentpost accounts list` and `agentpost keys create --account … "
    "--name …` make a key"
)
_HINTS: Final = {
    "not_found": "ids are visible only to the key or account they belong to",
    "unavailable": "try again later; /readyz of the server says whether one of its stores fails",
    "internal": "the server's log has more under the request id",
}
_ABOUT_THE_CALL: Final = (400, 404, 413, 422)
"""The statuses with which the API refuses an argument: its form, its size, an id it does not
know."""
_ABOUT_ITS_OPTIONS: Final = ("idempotency_conflict", "upload_not_ready")
"""The conflicts that another value of an option resolves, and waiting does not."""
_UNUSABLE_PATH: Final = (
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
_LOG_IN: Final = (
    "run `agentpost login`, or set AGENTPOST_URL and AGENTPOST_KEY; `agentpost serve` prints both "
    "when it starts for the first time"
)


@dataclass(frozen=True, slots=True)
class Server:
    """A server to call. ``profile`` is the name of its profile, None when variables name it."""

    url: str
    key: str = field(repr=False)
    profile: str | None = None

    @property
    def source(self) -> str:
        """Where address and key come from, for a line that says what to check."""
        if self.profile is None:
            return " and ".join(_VARIABLES)
        return f"the profile {self.profile!r}"


@contextmanager
def connect(profile: str | None = None) -> Iterator[Client]:
    """A client of the server that is meant; each retry is told on standard error.

    Every error of the client and of files, and Ctrl-C, inside the block becomes one line on
    standard error and the end of the command, with a code of `exits`.
    """
    from agentpost_client import Client

    server = resolve(profile)
    with (
        errors_told(server),
        Client(server.url, server.key, on_retry=say_retry) as client,
    ):
        yield client


def resolve(profile: str | None = None) -> Server:
    """The server that is meant; without one the command ends with a line that says what to do."""
    from agentpost_client import ConfigError

    with errors_told(None):
        try:
            server = selected_server(profile)
        except profiles.NoSuchProfile as error:
            fail(str(error), exits.USAGE if profile is not None else exits.NO_ANSWER)
        if server is None:
            raise ConfigError("No server is known.")
        return server


def selected_server(profile: str | None = None) -> Server | None:
    """The server that commands call, None when neither variables nor a profile name one. Raises
    `ConfigError`, `UnusableProfiles` and `NoSuchProfile`."""
    from agentpost_client.config import resolve_config

    if profile is None and any(os.environ.get(name, "").strip() for name in _VARIABLES):
        config = resolve_config(None, None)
        return Server(config.url, config.key)
    all_profiles = profiles.load()
    name = profile or os.environ.get(profiles.VARIABLE) or all_profiles.active
    if not name:
        return None
    entry = all_profiles.by_name.get(name)
    if entry is None:
        text = f"there is no profile {name!r} → `agentpost login --profile {name}` adds it"
        raise profiles.NoSuchProfile(text)
    config = resolve_config(entry.url, entry.key)
    return Server(config.url, config.key, name)


@contextmanager
def errors_told(server: Server | None, unusable: int = exits.NO_ANSWER) -> Iterator[None]:
    """Turn every error a caller can meet into one clear line, and end the command. ``unusable`` is
    the code for an address or key that cannot be used: they are settings, unless the command was
    called with them."""
    from agentpost_client import AgentpostError

    try:
        yield
    except AgentpostError as error:
        fail(describe(error, server), _code(error, unusable))
    except profiles.UnusableProfiles as error:
        fail(str(error), exits.NO_ANSWER)
    except BrokenPipeError:
        raise  # the reader of our output went away: typer ends quietly
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        is_named = isinstance(error, _UNUSABLE_PATH)
        fail(f"{where}{error.strerror or error}", exits.USAGE if is_named else exits.FAILED)
    except KeyboardInterrupt:
        say("interrupted")
        raise typer.Exit(exits.INTERRUPTED) from None


def say_retry(seconds: float, why: str) -> None:
    """The line for a request that is sent again in so many seconds."""
    if seconds >= RETRY_NOTICE_SECONDS:
        say(f"retrying in {seconds:.1f} s ({why})")


def describe(error: AgentpostError, server: Server | None) -> str:
    """The error, what to do about it, and the request id for the operator."""
    from agentpost_client import ApiError, BadAnswer, ConfigError, ConnectionFailed

    source = server.source if server is not None else _VARIABLES[0]
    request_id = None
    match error:
        case ApiError():
            problems = [
                f"{item.field or 'request'}: {item.problem}"
                for item in error.problems
                if item.problem not in error.message
            ]
            text = f"{error.message} [{'; '.join([error.code, *problems])}]"
            hint, request_id = _hint(error, server), error.request_id
        case BadAnswer():
            text, hint, request_id = str(error), f"check {source}", error.request_id
        case ConnectionFailed():
            hint = f"is the server running? `agentpost serve` starts one; check {source}"
            text = str(error)
        case ConfigError() if server is None:
            text, hint = str(error), _LOG_IN
        case _:
            text, hint = str(error), ""
    suffix = f" ({request_id})" if request_id else ""
    return f"{text}{suffix}" + (f" → {hint}" if hint else "")


def _hint(error: object, server: Server | None) -> str:
    from agentpost_client import ApiError

    assert isinstance(error, ApiError)
    if error.retry_after is not None:
        return f"try again in {error.retry_after:g} s"
    if error.code == "unauthorized":
        if server is not None and server.profile is not None:
            again = f"`agentpost login --profile {server.profile}` stores another"
            return f"the key of {server.source} is unknown, expired or revoked; {again}; {_NEW_KEY}"
        return f"AGENTPOST_KEY is unknown, expired or revoked; {_NEW_KEY}"
    return _HINTS.get(error.code, "")


def _code(error: AgentpostError, unusable: int) -> int:
    """Wrong usage: what the command was called with is refused, here or by the server. An answer
    without one of the API's codes comes from something else, such as a proxy."""
    from agentpost_client import ApiError, ConfigError, FileRefused

    match error:
        case FileRefused():
            return exits.USAGE
        case ConfigError():
            return unusable
        case ApiError() if error.code in _ABOUT_ITS_OPTIONS:
            return exits.USAGE
        case ApiError() if error.status in _ABOUT_THE_CALL and not error.code.startswith("http_"):
            return exits.USAGE
    return exits.NO_ANSWER
