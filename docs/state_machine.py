"""Prints docs/state-machine.md from the tables of `agentpost.domain.transitions`.

    python docs/state_machine.py > docs/state-machine.md

tests/house/test_state_machine.py fails when the page is not up to date.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentpost.domain.job import VIEWS
from agentpost.domain.transitions import JOBS, TURNS, Row

INTRO = """\
# States and transitions

Made by `docs/state_machine.py` from
[domain/transitions.py](../src/agentpost/domain/transitions.py); do not edit.

A signal says what happened; the tables say what follows. A pair that is not in a table is an error
of ours, never ignored. A client reads less:
[domain/status.py](../src/agentpost/domain/status.py) derives a message's status, and several states
of a job show as one status (the last table).
"""

Table = Mapping[tuple[Any, type], Row[Any]]


def page() -> str:
    """The whole page."""
    parts = [INTRO, "## Turns\n", *_section(TURNS), "## Jobs\n", *_section(JOBS)]
    parts += ["## What a client sees of a job\n", *_views()]
    return "\n".join(parts)


def _section(table: Table) -> Iterator[str]:
    yield "```mermaid\nstateDiagram-v2"
    for (before, signal), row in table.items():
        if before != row.to:
            yield f"    {before or '[*]'} --> {row.to}: {signal.__name__}"
    yield "```\n\n| From | Signal | To | Webhook event |\n|---|---|---|---|"
    for (before, signal), row in table.items():
        yield f"| {before or '(new)'} | {signal.__name__} | {row.to} | {row.event or ''} |"
    yield ""


def _views() -> Iterator[str]:
    yield "| State | Status | Reason | Final |\n|---|---|---|---|"
    for state, view in VIEWS.items():
        yield f"| {state} | {view.status} | {view.reason or ''} | {'yes' if view.final else 'no'} |"
    yield ""


if __name__ == "__main__":
    print(page(), end="")
