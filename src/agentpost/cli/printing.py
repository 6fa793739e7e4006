"""What a caller's command prints: records as JSON, or lines and tables for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from agentpost.cli.show import Screen


def print_json(value: object) -> None:
    """One line of JSON, written out at once: a record, a list of them, or one of many that
    follow."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def screen(as_json: bool = False) -> Screen:
    """Standard output for people; with ``as_json`` it has no spinner."""
    from agentpost.cli.show import Screen

    return Screen(spins=not as_json)
