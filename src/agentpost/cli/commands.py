"""Every command with its module, which is imported when the command is called and not before.

Importing the server takes longer than most commands run. So no help and none of the caller's
commands may need it: the modules of commands declare options at the top, and import what does the
work inside the functions. A test names what they may not import.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

_CONVERSION: Final = "process_value"


@dataclass(frozen=True, slots=True)
class Place:
    """The module of a command in this package, and the line that the program's help has for it.
    ``logs``: it does the server's work, which logs problems."""

    module: str
    summary: str
    logs: bool = False


PLACES: Final = {
    "serve": Place("serve", "Start the server: API, agent and jobs in one process."),
    "dev": Place("dev", "Serve an agent and take it up again whenever its code is saved."),
    "new": Place("new", "Make a folder with an agent and its test."),
    "doctor": Place("doctor", "List what fails, is overdue, lost or left over.", logs=True),
    "explain": Place("operate", "Tell the story of a message.", logs=True),
    "backup": Place("backups", "Back up database and files while the server runs.", logs=True),
    "restore": Place("backups", "Restore a backup.", logs=True),
    "login": Place("login", "Store the address and key of a server."),
    "logout": Place("login", "Forget the address and key of a server."),
    "profiles": Place("login", "The servers whose address and key are stored."),
    "send": Place("sending", "Send a message and show its progress and result."),
    "chat": Place("chat", "Talk with the agent."),
    "follow": Place("messages", "Print a message's log as it grows."),
    "messages": Place("messages", "Messages: list, show, cancel, delete."),
    "recover": Place("messages", "Ask for the result of work that expired."),
    "files": Place("files", "Files that work has made."),
    "work": Place("work", "Work the agent has done or is doing."),
    "schedules": Place("schedules", "Messages that are sent at given times."),
    "upload": Place("files", "Upload files of up to 500 MB each."),
    "me": Place("account", "Show the account behind the key: credits, limits, agent."),
    "usage": Place("account", "Show what was used: messages, jobs, credits."),
    "mcp": Place("mcp", "Serve a server's work to an assistant, over stdio (MCP)."),
    "webhooks": Place("webhooks", "Webhook endpoints and what was delivered to them."),
    "listen": Place("listen", "Send webhook events to a program on this machine."),
    "trigger": Place("events", "Send a sample of a webhook event."),
    "events": Place("events", "The account's events, which webhooks bring."),
    "requests": Place("requests", "Requests to the API, as the server recorded them."),
    "verify": Place("verify", "Check a deployment against the API's contract."),
    "login-link": Place("operate", "Make a link that signs in to the dashboard once.", logs=True),
    "accounts": Place("admin", "Accounts.", logs=True),
    "users": Place("users", "People who sign in to the web app.", logs=True),
    "keys": Place("keys", "API keys.", logs=True),
    "sessions": Place("sessions", "Browsers that are signed in to the web app.", logs=True),
    "credits": Place("admin", "Credits.", logs=True),
    "hosting-fees": Place("admin", "Hosting fees.", logs=True),
    "audit": Place("audit", "Who did what to accounts, keys, users and limits.", logs=True),
    "config": Place("admin", "Settings.", logs=True),
    "db": Place("admin", "The database.", logs=True),
    "limits": Place("operate", "Limits of an account.", logs=True),
    "jobs": Place("jobs", "Jobs that wait for their code.", logs=True),
    "nodes": Place("nodes", "Server processes, and what each runs.", logs=True),
    "maintenance": Place("operate", "Switching the API off and on.", logs=True),
}
HEADINGS: Final = {
    "serve": "The server",
    "login": "Calling a server",
    "login-link": "Operating a server",
}
"""The headings in the program's help, each with the first command below it."""


_SENTENCE: Final = 200
"""So many characters of a command's first sentence are shown beside its name."""


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

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """See `TyperGroup.format_commands`, which cuts a sentence that is too long for a line."""
        shown = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        lines = [
            (name, command.get_short_help_str(limit=_SENTENCE))
            for name, command in shown
            if command is not None and not command.hidden
        ]
        if lines:
            with formatter.section("Commands"):
                formatter.write_dl(lines)


class Command(TyperCommand):
    """A command that a shell completes without pydantic, whose import takes longer than the rest.

    For completion it only matters which options were typed, so their values are not converted.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See `TyperCommand.parse_args`; ``resilient_parsing`` is how completion calls it."""
        parameters = self.get_params(ctx) if ctx.resilient_parsing else []
        for parameter in parameters:
            setattr(parameter, _CONVERSION, _as_typed)
        try:
            return super().parse_args(ctx, args)
        finally:
            for parameter in parameters:
                delattr(parameter, _CONVERSION)


def _as_typed(ctx: object, value: Any) -> Any:
    return value


class Part(typer.Typer):
    """Commands of this program; each is a `Command`."""

    def command(self, *names: Any, cls: Any = Command, **options: Any) -> Any:
        """See `typer.Typer.command`."""
        return super().command(*names, cls=cls, **options)


def group(text: str) -> typer.Typer:
    """A command that has commands; ``text`` is its help."""
    return Part(cls=Group, help=text, no_args_is_help=True, rich_markup_mode=None)


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
    """The commands that a module attaches.

    Its ``EXAMPLES`` has calls of a command, one a line, by its words: ``{"work list": "…"}``.
    """
    part = Part(rich_markup_mode=None)
    part.callback()(_nothing)  # else a single command would be taken for the whole program
    found = import_module(f"agentpost.cli.{module}")
    found.attach(part)
    commands = dict(typer.main.get_group(part).commands)
    for words, examples in getattr(found, "EXAMPLES", {}).items():
        _add_examples(commands, words.split(), examples)
    return commands


def _add_examples(commands: Mapping[str, Any], words: Sequence[str], lines: str) -> None:
    """Show them below the command's options. ``\\b`` keeps the lines as they are."""
    command = commands[words[0]]
    for word in words[1:]:
        command = command.commands[word]
    shown = "\n".join(f"  {line.strip()}" for line in lines.strip().splitlines())
    command.epilog = "\n\n".join(
        part for part in (f"\b\nExamples:\n{shown}", command.epilog) if part
    )


def _nothing() -> None:
    """What typer calls before a command."""
