"""What a command prints: records as JSON, or lines and tables for people.

Everything goes through here, through `show.Screen` or through `errors.say`: what agents, callers or
servers wrote must not be able to drive the terminal. A test looks for other ways out.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from agentpost.domain.text import displayable, displayable_json

if TYPE_CHECKING:
    from agentpost.cli.show import Screen


def print_json(value: object, *, indented: bool = False) -> None:
    """JSON, written out at once: a record, a list of them, or one of many that follow, in a line
    each unless ``indented``."""
    text = json.dumps(value, ensure_ascii=False, indent=2 if indented else None)
    typer.echo(displayable_json(text))


def print_text(text: str = "", *, to_errors: bool = False) -> None:
    """One or more lines for people, without control characters."""
    typer.echo(displayable(text), err=to_errors)


def screen(as_json: bool = False) -> Screen:
    """Standard output for people; with ``as_json`` it has no spinner."""
    from agentpost.cli.show import Screen

    return Screen(spins=not as_json)
