"""Every command with its module, which is imported when the command is called and not before.

Importing the server takes longer than most commands run. So no help and none of the caller's
commands may need it: the modules of commands declare options at the top, and import what does the
work inside the functions. A test names what they may not import.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperGroup, TyperOption


@dataclass(frozen=True, slots=True)
class Place:
    """The module of a command in this package, and the line that the program's help has for it.
    ``logs``: it does the server's work, which logs problems."""

    module: str
    summary: str
    logs: bool = False


PLACES: Final = {
    "serve": Place("serve", "Start the server: API, agent and jobs in one process."),
    "doctor": Place("admin", "List what fails, is overdue, lost or left over.", logs=True),
    "explain": Place("operate", "Tell the story of a message.", logs=True),
    "backup": Place("operate", "Copy the database while the server runs.", logs=True),
    "send": Place("caller", "Send a message and show its progress and result."),
    "follow": Place("caller", "Print a message's log as it grows."),
    "upload": Place("caller", "Upload files of up to 500 MB each."),
    "me": Place("caller", "Show the account behind the key: credits, limits, agent."),
    "verify": Place("verify", "Check a deployment against the API's contract."),
    "login-link": Place("operate", "Make a link that signs in to the dashboard once.", logs=True),
    "accounts": Place("admin", "Accounts.", logs=True),
    "keys": Place("admin", "API keys.", logs=True),
    "credits": Place("admin", "Credits.", logs=True),
    "hosting-fees": Place("admin", "Hosting fees.", logs=True),
    "config": Place("admin", "Settings.", logs=True),
    "db": Place("admin", "The database.", logs=True),
    "limits": Place("operate", "Limits of an account.", logs=True),
    "maintenance": Place("operate", "Switching the API off and on.", logs=True),
    "files": Place("caller", "Files that work has made."),
    "work": Place("caller", "Work the agent has done or is doing."),
}


class Group(TyperGroup):
    """A command that has commands. Its own options do not need pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        """See `TyperGroup.get_params`.

        typer converts a flag that is absent and has no default with pydantic, whose import takes
        longer than to print the help of the command that follows. False needs no conversion.
        """
        found = super().get_params(ctx)
        for option in found:
            if isinstance(option, TyperOption) and option.is_flag and option.default is None:
                option.default = False
        return found


def group(text: str) -> typer.Typer:
    """A command that has commands; ``text`` is its help."""
    return typer.Typer(cls=Group, help=text, no_args_is_help=True, rich_markup_mode=None)


class Commands(MutableMapping[str, Any]):
    """The commands by their names, in the order of `PLACES`."""

    def __getitem__(self, name: str) -> Any:
        return loaded(PLACES[name].module)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)

    def __setitem__(self, name: str, command: Any) -> None:
        raise TypeError(f"{name}: commands are listed in PLACES")

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"{name}: commands are listed in PLACES")


@cache
def loaded(module: str) -> dict[str, Any]:
    """The commands that a module attaches."""
    part = typer.Typer(rich_markup_mode=None)
    part.callback()(_nothing)  # else a single command would be taken for the whole program
    import_module(f"agentpost.cli.{module}").attach(part)
    return dict(typer.main.get_group(part).commands)


def _nothing() -> None:
    """What typer calls before a command."""
