"""Shared by the operator's commands: open the context, run one action, print refusals."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from agentpost.cli.errors import say

if TYPE_CHECKING:
    from agentpost.services.context import AppContext

T = TypeVar("T")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def with_context(use: Callable[[AppContext], Awaitable[T]]) -> T:
    """Open the context, await ``use``, close it; a refusal becomes one line and exit 1."""
    import asyncio

    from agentpost import bootstrap
    from agentpost.settings import load_settings

    async def run() -> T:
        settings = load_settings()
        if bootstrap.is_new(settings):  # often the wrong folder, where all would look well
            say(f"created a new database in {settings.data_path}")
        await asyncio.to_thread(bootstrap.upgrade_database, settings)
        ctx = await bootstrap.open_context(settings)
        try:
            return await use(ctx)
        finally:
            await bootstrap.close(ctx)

    return guarded(lambda: asyncio.run(run()))


def guarded(call: Callable[[], T]) -> T:
    """Return the call's result; print a refusal to standard error and exit with 1."""
    from agentpost.domain.errors import Refusal, StoreUnavailable

    try:
        return call()
    except Refusal as error:
        say(error.message)
    except (ValueError, OSError, StoreUnavailable) as error:
        complain(error)
    except Exception as error:
        if not _is_of_the_database(error):
            raise
        first = str(error).strip().partition("\n")[0]
        say(f"the database failed: {first}")
    raise typer.Exit(1)


def _is_of_the_database(error: Exception) -> bool:
    """Errors of the drivers; PostgreSQL's is imported only where it is used."""
    import sqlite3

    return isinstance(error, sqlite3.Error) or type(error).__module__.startswith("psycopg")


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


def show(shape: dict[str, Any], as_json: bool, line: str) -> None:
    """One thing: as JSON, or as the line given."""
    print(json.dumps(shape, indent=2) if as_json else line)


def show_rows(rows: list[dict[str, Any]], as_json: bool, columns: tuple[str, ...]) -> None:
    """Many things: as a JSON list, or as a table of the named columns."""
    from agentpost.cli.tables import table

    if as_json:
        print(json.dumps(rows, indent=2))
        return
    for line in table(columns, [[row[name] for name in columns] for row in rows]):
        print(line)
