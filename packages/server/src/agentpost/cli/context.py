"""Shared by the operator's commands: open the context, run one action, print refusals."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import typer

from agentpost.cli import exits
from agentpost.cli.commands import command_words, prints_json
from agentpost.cli.errors import say

if TYPE_CHECKING:
    from agentpost.audit.actions import Actor
    from agentpost.context import AppContext
    from agentpost.settings import Settings

T = TypeVar("T")


def with_context(use: Callable[[AppContext], Awaitable[T]], *, upgrade: bool = True) -> T:
    """Open the context of the configured database, await ``use`` and close the context.

    The database is named on standard error, with a warning when callers' commands use another
    server. A refusal, and a database that does not exist, is one line and exit code 1.

    Args:
        upgrade: bring the schema up to date before.
    """
    import asyncio

    from agentpost import bootstrap
    from agentpost.settings import load_settings

    async def run() -> T:
        settings = load_settings()
        if bootstrap.is_new(settings):  # often the wrong folder: no database is made by mistake
            raise ValueError(
                f"there is no database in {settings.data_path} → set AGENTPOST_DATA_DIR to the data"
                " folder of your server; `agentpost serve` and `agentpost db upgrade` create one"
            )
        if upgrade:
            await asyncio.to_thread(bootstrap.upgrade_database, settings)
        ctx = await bootstrap.open_context(settings)
        try:
            if not prints_json.get():
                say(f"database: {database_name(settings)}")
            await _warn_of_another_server(ctx)
            return await use(ctx)
        finally:
            await bootstrap.close(ctx)

    return run_or_exit(lambda: asyncio.run(run()))


def change(
    use: Callable[[AppContext], Awaitable[T]],
    target: str = "",
    detail: Mapping[str, Any] | None = None,
    *,
    upgrade: bool = True,
) -> T:
    """`with_context` for what changes something: the audit log has it by the command's words, with
    ``target`` and ``detail``."""
    from agentpost.audit import actions as audit

    action = audit.Action(command_words.get(), target, dict(detail or {}))
    return with_context(
        lambda ctx: audit.record_call(ctx, actor(), action, lambda: use(ctx)), upgrade=upgrade
    )


def database_name(settings: Settings) -> str:
    """The data folder; for PostgreSQL the host and the database, without the password."""
    if not settings.postgres_url:
        return str(settings.data_path)
    parts = urlsplit(settings.postgres_url)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


async def _warn_of_another_server(ctx: AppContext) -> None:
    """Say so when the server that callers' commands use has another database: a command for an
    operator goes by AGENTPOST_DATA_DIR, not by AGENTPOST_URL or a profile."""
    from agentpost.accounts import actions as accounts
    from agentpost.cli import connection, profiles
    from agentpost_client import ConfigError

    try:
        server = connection.selected_server()
    except (ConfigError, profiles.UnusableProfiles):
        return
    if server is not None and await accounts.find_key(ctx, server.key) is None:
        text = "is another server: its key is not in this database"
        say(f"warning: {server.url} ({server.source}) {text}")


def actor() -> Actor:
    """Who runs this command: the system's user, and the machine."""
    import getpass
    import os
    import platform

    from agentpost.audit.actions import Actor

    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container's user need not have a name
        user = f"uid {os.getuid()}"
    return Actor(user, "command", platform.node())


def run_or_exit(call: Callable[[], T], code: int = 1) -> T:
    """Return the call's result; print a refusal to standard error and exit with ``code``."""
    from agentpost.domain.errors import Refusal, StoreUnavailable

    try:
        return call()
    except Refusal as error:
        say(error.message)
    except (ValueError, OSError, StoreUnavailable) as error:
        complain(error)
    except Exception as error:
        fault = database_fault(error)
        if not fault:
            raise
        say(fault)
    raise typer.Exit(code)


def option_value(parse: Callable[[], T]) -> T:
    """What an option's text means; one that means nothing is wrong usage."""
    return run_or_exit(parse, exits.USAGE)


def database_fault(error: Exception) -> str:
    """A line about an error of a driver, or "" for any other; PostgreSQL's driver is imported only
    where it is used."""
    import sqlite3

    if not (isinstance(error, sqlite3.Error) or type(error).__module__.startswith("psycopg")):
        return ""
    return f"the database failed: {str(error).strip().partition(chr(10))[0]}"


def complain(error: Exception) -> None:
    """One clear sentence instead of a traceback; settings are named as they are set."""
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        for problem in error.errors(include_url=False, include_input=False):
            name = "AGENTPOST_" + "_".join(str(part) for part in problem["loc"]).upper()
            what = problem["msg"].removeprefix("Value error, ")
            say(f"{name}: {what}")
    else:
        say(str(error))
