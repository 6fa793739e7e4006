"""Writes `cli/operations.py`: what the command line takes from the table of operations.

    python docs/commands.py

The commands cannot read that table themselves: importing the server takes longer than they run.
tests/house/test_generated.py fails when the file is not up to date.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agentpost.api.app import OPERATIONS
from agentpost.api.operation import Operation

PLACE = Path(__file__).resolve().parent.parent / "packages/server/src/agentpost/cli/operations.py"
WIDTH = 100
HEAD = '''\
"""What the command line takes from the table of operations. Made by docs/commands.py."""

from typing import Any, Final

COMMANDS: Final[tuple[dict[str, Any], ...]] = (
'''


def text() -> str:
    """The whole file."""
    return "\n".join([HEAD.rstrip(), *_lines(), ")", ""])


def _lines() -> Iterator[str]:
    for operation in OPERATIONS:
        command = operation.command
        if command is None:
            continue
        limit = next((query for query in operation.queries if query.name == "limit"), None)
        values: dict[str, object] = {
            "words": command.words,
            "summary": f"{command.help or operation.summary}.",
            "subject": _subject(operation),
            "columns": command.columns,
            "extra": command.extra,
            "empty": command.empty,
            "page_default": limit.default if limit else None,
            "page_max": limit.most if limit else None,
        }
        present = {name: value for name, value in values.items() if value not in ("", (), None)}
        fields = [f'"{name}": {_quoted(value)}' for name, value in present.items()]
        in_one = f"    {{{', '.join(fields)}}},"
        if len(in_one) <= WIDTH:
            yield in_one
        else:
            yield from ("    {", *(_field(*each) for each in present.items()), "    },")


def _field(name: str, value: object) -> str:
    """In one line where there is room for it, as the formatter writes it."""
    line = f'        "{name}": {_quoted(value)},'
    if len(line) <= WIDTH or not isinstance(value, tuple):
        return line
    items = "".join(f"            {_quoted(each)},\n" for each in value)
    return f'        "{name}": (\n{items}        ),'


def _quoted(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_quoted, value))}{',' * (len(value) == 1)})"
    if not isinstance(value, str):
        return repr(value)
    return f"'{value}'" if '"' in value else f'"{value}"'


def _subject(operation: Operation) -> str:
    """The name of the id in the path, in capitals; empty for a path without one."""
    _, opened, rest = operation.path.partition("{")
    return rest.partition("}")[0].upper() if opened else ""


if __name__ == "__main__":
    PLACE.write_text(text(), "utf-8")
