"""The `agentpost` command."""

import sys

import typer

from agentpost.cli import streams
from agentpost.cli.commands import PLACES
from agentpost.cli.errors import NAME, Program
from agentpost.cli.printing import print_text
from agentpost.version import __version__

_HELP = ("-h", "--help")

app = typer.Typer(
    name=NAME,
    cls=Program,
    help="Put any agent behind one honest HTTP API.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": list(_HELP)},
)


def _version(is_asked_for: bool) -> None:
    if is_asked_for:
        print_text(f"agentpost {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Put any agent behind one honest HTTP API."""


def main() -> None:
    """The entry point of the command."""
    streams.open_missing()
    place = PLACES.get(next((word for word in sys.argv[1:] if not word.startswith("-")), ""))
    if place is not None and place.operates and not set(_HELP) & set(sys.argv):
        from agentpost.observability import logging

        logging.configure_command()
    sys.exit(app())
