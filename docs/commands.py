"""Writes `cli/operations.json`: what the command line takes from the table of operations.

    python docs/commands.py

The commands cannot read that table themselves: importing the server takes longer than they run.
tests/house/test_generated.py fails when the file is not up to date.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from agentpost.api.app import OPERATIONS
from agentpost.api.operation import Operation

PLACE = Path(__file__).resolve().parent.parent / "packages/server/src/agentpost/cli/operations.json"


def text() -> str:
    """The whole file: a command in a line."""
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in _commands())
    return f"[\n{lines}\n]\n"


def _commands() -> Iterator[dict[str, object]]:
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
        yield {name: value for name, value in values.items() if value not in ("", (), None)}


def _subject(operation: Operation) -> str:
    """The name of the id in the path, in capitals; empty for a path without one."""
    _, opened, rest = operation.path.partition("{")
    return rest.partition("}")[0].upper() if opened else ""


if __name__ == "__main__":
    PLACE.write_text(text(), "utf-8")
