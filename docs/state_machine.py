"""Prints docs/state-machine.md from the tables of `agentpost.record.transitions`.

    python docs/state_machine.py > docs/state-machine.md

tests/house/test_generated.py fails when the page is not up to date.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentpost.jobs.rules import VIEWS
from agentpost.record.transitions import JOBS, TURNS, Row
from agentpost.uploads.rules import UPLOADS

INTRO = """\
# States and transitions

Made by `docs/state_machine.py` and `docs/diagrams.py` from
[record/transitions.py](../packages/server/src/agentpost/record/transitions.py),
[uploads/rules.py](../packages/server/src/agentpost/uploads/rules.py) and
[webhooks/records.py](../packages/server/src/agentpost/webhooks/records.py);
do not edit.

A signal says what happened; the tables say what follows. A pair that is not in a table is an error
of ours, never ignored. States with a thick border are ends. The pictures leave out signals that
change no state; the tables have them.

These are the inner states. A client reads less: [Using the API](api.md#read-the-outcome) has the
statuses of a message, and several states of a job show as one status (the last table).
"""
TURNS_TEXT = """\
A turn is the agent's handling of one message. A message that arrives while another turn of its
conversation runs waits for it, for five seconds by default; then the message is final with the
reason `agent_busy`, and sending it again puts it back in the queue.
"""
JOBS_TEXT = """\
A job without credits waits (`queued`) and continues after a top-up. One that takes longer than its
watch shows as expired while it may still run (`overdue`); a recover then brings its result back.
"""
UPLOADS_TEXT = """\
An upload is checked when it is completed, and belongs to one message at most. One that no message
takes is deleted in time.
"""
ENDPOINTS_TEXT = """\
A webhook endpoint is off after three days of failed attempts without a success between them, or
when its owner switches it off. Switching it on forgets the failures.
"""

Table = Mapping[tuple[Any, type], Row[Any]]


def page() -> str:
    """The whole page."""
    parts = [
        INTRO,
        *_headed("Turns", TURNS_TEXT),
        *_table(TURNS),
        *_headed("Jobs", JOBS_TEXT),
        *_table(JOBS),
        *_headed("Uploads", UPLOADS_TEXT),
        *_uploads(),
        *_headed("Webhook endpoints", ENDPOINTS_TEXT, "endpoints"),
        "## What a client sees of a job\n",
        *_views(),
    ]
    return "\n".join(parts)


def _headed(name: str, text: str, picture: str = "") -> Iterator[str]:
    yield f"## {name}\n\n{text}"
    yield f"![States of {name.lower()}](states/{picture or name.lower()}.svg)\n"


def _table(table: Table) -> Iterator[str]:
    yield "| From | Signal | To | Webhook event |\n|---|---|---|---|"
    for (before, signal), row in table.items():
        yield f"| {before or '(new)'} | {signal.__name__} | {row.to} | {row.event or ''} |"
    yield ""


def _uploads() -> Iterator[str]:
    yield "| From | Signal | To |\n|---|---|---|"
    for (before, signal), after in UPLOADS.items():
        yield f"| {before} | {signal} | {after or '(deleted)'} |"
    yield ""


def _views() -> Iterator[str]:
    yield "| State | Status | Reason | Final |\n|---|---|---|---|"
    for state, view in VIEWS.items():
        yield f"| {state} | {view.status} | {view.reason or ''} | {'yes' if view.final else 'no'} |"
    yield ""


if __name__ == "__main__":
    print(page(), end="")
