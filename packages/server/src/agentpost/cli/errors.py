"""Errors of every command in one shape: `agentpost: what is wrong`, a line on standard error."""

import re
import sys
from functools import partial
from typing import Any, Final, NoReturn

import typer

from agentpost.cli.commands import HEADINGS, PLACES, Commands, Group
from agentpost.cli.exits import INTERRUPTED
from agentpost.domain.text import displayable

NAME = "agentpost"
_PYDANTIC: Final = re.compile(r"Input should be ([^,.]+)(?:, unable to parse [^.]+)?")
"""A sentence of pydantic about a value: "a valid number, unable to parse string as a number"."""


def one_line(text: str) -> str:
    """`displayable`, with every run of white space as one blank."""
    return " ".join(displayable(text).split())


def say(text: str) -> None:
    """A line on standard error, in the one shape that errors and notices have. ``text`` may come
    from a server: it is printed without control characters."""
    print(f"{NAME}: {displayable(text)}", file=sys.stderr, flush=True)


def fail(text: str, code: int = 1) -> NoReturn:
    """Say what is wrong, as one line, and end the command with that exit code."""
    say(one_line(text))
    raise typer.Exit(code)


class Program(Group):
    """The root of the commands. Wrong calls print the same kind of line, and name the help to
    read."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        """See `TyperGroup.list_commands`, which would import them all."""
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """See `TyperGroup.format_commands`, which would import them all."""
        lines: dict[str, list[tuple[str, str]]] = {}
        for name, place in PLACES.items():
            heading = HEADINGS.get(name, next(reversed(lines), ""))
            lines.setdefault(heading, []).append((name, place.summary))
        for heading, commands in lines.items():
            with formatter.section(heading):
                formatter.write_dl(commands)

    def main(self, *args: Any, **options: Any) -> Any:
        """See `TyperGroup.main`; with ``standalone_mode`` it ends the process."""
        run = partial(super().main, *args, **{**options, "standalone_mode": False})
        if not options.get("standalone_mode", True):
            return run()
        try:
            code = run()
        except typer.TyperException as error:
            sys.exit(_wrong_call(error))
        except typer.Abort:
            say("interrupted before it was done")
            sys.exit(INTERRUPTED)
        sys.exit(code or 0)


def _wrong_call(error: typer.TyperException) -> int:
    """Show it; the exit code. A group without a command shows its help, as --help does."""
    if type(error).__name__ == "NoArgsIsHelpError":
        print(displayable(error.format_message()), file=sys.stderr)
        return error.exit_code
    text = " ".join(error.format_message().split()).replace("Value error, ", "")
    text = _PYDANTIC.sub(r"must be \1", text)
    text = text if text.endswith((".", "?")) else f"{text}."
    context = getattr(error, "ctx", None)
    say(text if context is None else f"{text} See: {context.command_path} --help")
    return error.exit_code
