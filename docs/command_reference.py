"""Writes docs/command-reference.md: every command with its arguments, options and examples.

    python docs/command_reference.py

It is the commands' own help. tests/house/test_generated.py fails when the page is not up to date.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

PLACE = Path(__file__).with_name("command-reference.md")
HEAD = """\
# Command reference

Every command as `--help` shows it. [Commands](cli.md) explains them with examples of their output.
This page is generated: `python docs/command_reference.py`.
"""


def page() -> str:
    """The whole page."""
    from agentpost.cli import app

    os.environ["COLUMNS"] = os.environ["TERMINAL_WIDTH"] = "80"
    parts = [HEAD]
    for words in _commands([], typer.main.get_command(app)):
        text = CliRunner().invoke(app, [*words, "--help"], prog_name="agentpost").stdout
        lines = [line for line in text.splitlines() if not line.startswith("  -h, --help")]
        parts.append(f"## {' '.join(words)}\n\n```text\n{_tidy(lines)}\n```\n")
    return "\n".join(parts)


def _tidy(lines: list[str]) -> str:
    """Without the heading of a table of options that has no line any more."""
    text = "\n".join(lines).strip().replace("\nOptions:\n\n", "\n")
    return text.removesuffix("\nOptions:").rstrip()


def _commands(words: list[str], command: Any) -> Iterator[list[str]]:
    inner = getattr(command, "commands", None)
    if not inner:
        yield words
        return
    for name, each in inner.items():
        if not each.hidden:
            yield from _commands([*words, name], each)


if __name__ == "__main__":
    PLACE.write_text(page(), "utf-8")
