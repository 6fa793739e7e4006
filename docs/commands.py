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
HEAD = '''\
"""What the command line takes from the table of operations. Made by docs/commands.py."""

from __future__ import annotations

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
        yield "    {"
        for name, value in values.items():
            if value not in ("", (), None):
                yield from _field(name, value)
        yield "    },"


def _field(name: str, value: object) -> Iterator[str]:
    if not isinstance(value, tuple):
        yield f'        "{name}": {_quoted(value)},'
        return
    if len(value) == 1:
        yield f'        "{name}": ({_quoted(value[0])},),'
        return
    yield f'        "{name}": ('
    yield from (f"            {_quoted(each)}," for each in value)
    yield "        ),"


def _quoted(value: object) -> str:
    if not isinstance(value, str):
        return repr(value)
    return f"'{value}'" if '"' in value else f'"{value}"'


def _subject(operation: Operation) -> str:
    """The name of the id in the path, in capitals; empty for a path without one."""
    _, opened, rest = operation.path.partition("{")
    return rest.partition("}")[0].upper() if opened else ""


if __name__ == "__main__":
    PLACE.write_text(text(), "utf-8")
