"""Draws the states of turns, jobs, uploads and webhook endpoints from the tables of the domain.

    python docs/diagrams.py

writes docs/states/*.svg; tests/house/test_generated.py fails when one is not up to date. Only
the places of the states are chosen here. A state without a place ends the script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from agentpost.domain.times import DAY
from agentpost.record.transitions import JOBS, TURNS
from agentpost.uploads.rules import UPLOADS
from agentpost.webhooks.endpoint_rules import DisabledReason
from agentpost.webhooks.records import EndpointRecord

FOLDER = Path(__file__).parent / "states"
START, DELETED = "start", "deleted"
Edge = tuple[str, str, str]
"""From, to, what happened."""
CELL, BOX, MARGIN = (200, 84), (132, 38), 20
BEND = 26
"""How far two arrows between the same states stay apart."""

HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
    'height="{height}" role="img" aria-label="States of {name}" class="states" color="#18181b" '
    'font-family="system-ui, sans-serif" font-size="13">'
)
TIP = (
    '<defs><marker id="{name}-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    'markerHeight="7" orient="auto"><path d="M0 0.5 8 4 0 7.5z" fill="currentColor"/>'
    "</marker></defs>"
)

PLACES = {
    "turns": {
        START: (0, 0),
        "waiting": (0.95, 1),
        "busy": (0.95, 2.1),
        "running": (1.9, 0),
        "ended": (3.1, 0),
        "failed": (3.1, 1),
    },
    "jobs": {
        START: (0, 2),
        "running": (1.55, 2),
        "overdue": (1.55, 0),
        "lost": (2.85, -1),
        "late_failed": (2.85, 1),
        "late_completed": (2.85, 0),
        "unknown": (4.1, -1),
        "completed": (4.1, 1),
        "failed": (4.1, 2),
        "stopped": (4.1, 3),
        "queued": (1.55, 4),
        "queue_expired": (4.1, 4),
        "refused": (0, 4),
    },
    "uploads": {
        "pending": (0, 0),
        "ready": (1.5, 0),
        "attached": (3, 0),
        "rejected": (0, 1.6),
        DELETED: (1.5, 1.6),
    },
    "endpoints": {
        "on": (0, 0),
        "off: failing": (3.2, 0),
        "failing": (1.7, 1.4),
        "off: manual": (0, 2.8),
    },
}


def words(signal: str) -> str:
    """`TurnBegun` as "turn begun"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", signal).lower()


def of_table(table: Mapping[tuple[Any, type], Any]) -> Iterator[Edge]:
    """The edges of a table of `agentpost.record.transitions`; what changes no state is none."""
    for (before, signal), row in table.items():
        if before != row.to:
            yield str(before or START), str(row.to), words(signal.__name__)


def of_uploads() -> Iterator[Edge]:
    for (before, signal), after in UPLOADS.items():
        if before != after:
            yield str(before), str(after or DELETED), words(signal)


def of_endpoints() -> Iterator[Edge]:
    """What `agentpost.webhooks.records` makes of one endpoint in each state."""
    now, limit = 10 * DAY, 3 * 86_400.0
    on = EndpointRecord("whe_1", "acc_1", "https://example.com", "[]", created_at=0)
    states = [
        on,
        replace(on, failing_since=now - DAY),
        replace(on, failing_since=now - 4 * DAY),
        replace(on, disabled_at=now, disabled_reason=DisabledReason.FAILING, failing_since=DAY),
        replace(on, disabled_at=now, disabled_reason=DisabledReason.MANUAL),
    ]
    attempt = partial(EndpointRecord.note_attempt, at=now, disable_seconds=limit)
    happenings = {
        "attempt succeeded": partial(attempt, succeeded=True),
        "attempt failed": partial(attempt, succeeded=False),
        "enabled": EndpointRecord.turn_on,
        "disabled": lambda endpoint: endpoint.turn_off(DisabledReason.MANUAL, now),
    }
    found: dict[Edge, None] = {}
    for state, (name, happens) in product(states, happenings.items()):
        after = replace(state)
        happens(after)
        if _named(state) != _named(after):
            found[_named(state), _named(after), name] = None
    return iter(found)


def _named(endpoint: EndpointRecord) -> str:
    if endpoint.disabled_reason is not None:
        return f"off: {endpoint.disabled_reason}"
    return "on" if endpoint.failing_since is None else "failing"


DIAGRAMS = {
    "turns": lambda: of_table(TURNS),
    "jobs": lambda: of_table(JOBS),
    "uploads": of_uploads,
    "endpoints": of_endpoints,
}


@dataclass(frozen=True)
class Point:
    x: float
    y: float

    def towards(self, other: Point, part: float) -> Point:
        return Point(self.x + (other.x - self.x) * part, self.y + (other.y - self.y) * part)


def drawn(name: str) -> str:
    """The picture: black on white as a file; the site drops both and uses its own colours."""
    edges = list(DIAGRAMS[name]())
    places = PLACES[name]
    states = dict.fromkeys(state for edge in edges for state in edge[:2])
    assert set(states) == set(places), f"{name}: {set(states) ^ set(places)} without place or edge"
    top, left = min(y for _, y in places.values()), min(x for x, _ in places.values())
    centres = {
        state: Point(
            (x - left) * CELL[0] + BOX[0] / 2 + MARGIN, (y - top) * CELL[1] + BOX[1] / 2 + MARGIN
        )
        for state, (x, y) in places.items()
    }
    width = max(p.x for p in centres.values()) + BOX[0] / 2 + MARGIN
    height = max(p.y for p in centres.values()) + BOX[1] / 2 + MARGIN
    ends = {before for before, _, _ in edges}
    between: dict[tuple[str, str], list[str]] = {}
    for before, after, signal in edges:
        between.setdefault((before, after), []).append(signal)
    arrows = [
        _arrow(
            centres[before],
            centres[after],
            signals,
            has_other_way=(after, before) in between,
            is_start=before == START,
        )
        for (before, after), signals in between.items()
    ]
    parts = [
        HEAD.format(width=round(width), height=round(height), name=name),
        '<rect class="paper" width="100%" height="100%" fill="#fff"/>',
        TIP.format(name=name),
        *(line.replace("#tip", f"#{name}-tip") for line, _ in arrows),
        *(label for _, label in arrows),
        *(_box(state, centres[state], is_last=state not in ends) for state in states),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _box(state: str, at: Point, *, is_last: bool) -> str:
    """A state; one that nothing leaves has a thick border."""
    if state == START:
        return f'<circle cx="{at.x:.1f}" cy="{at.y:.1f}" r="9" fill="currentColor"/>'
    dashed = ' stroke-dasharray="4 3"' if state == DELETED else ""
    return (
        f'<rect class="state" x="{at.x - BOX[0] / 2:.1f}" y="{at.y - BOX[1] / 2:.1f}" '
        f'width="{BOX[0]}" height="{BOX[1]}" rx="8" fill="#eef0ff" stroke="currentColor" '
        f'stroke-width="{2.4 if is_last else 1.2}"{dashed}/>'
        f'<text x="{at.x:.1f}" y="{at.y + 4.5:.1f}" text-anchor="middle" font-weight="600" '
        f'fill="currentColor">{state}</text>'
    )


def _arrow(
    a: Point, b: Point, signals: list[str], *, has_other_way: bool, is_start: bool
) -> tuple[str, str]:
    """The line from box to box, and the words in its middle; curved when another one returns."""
    length = ((b.x - a.x) ** 2 + (b.y - a.y) ** 2) ** 0.5
    away = BEND if has_other_way else 0
    side = Point(-(b.y - a.y) / length * away, (b.x - a.x) / length * away)
    middle = Point((a.x + b.x) / 2 + side.x, (a.y + b.y) / 2 + side.y)
    first, last = _border(a, middle, is_start=is_start), _border(b, middle)
    control = Point(middle.x + side.x * 0.6, middle.y + side.y * 0.6)
    line = (
        f'<path d="M{first.x:.1f} {first.y:.1f} Q{control.x:.1f} {control.y:.1f} '
        f'{last.x:.1f} {last.y:.1f}" fill="none" stroke="currentColor" stroke-opacity=".55" '
        'stroke-width="1.3" marker-end="url(#tip)"/>'
    )
    at = first.towards(last, 0.5)
    at = Point(at.x + side.x * 0.8, at.y + side.y * 0.8)
    text = ", ".join(signals)
    anchor = "middle"
    if has_other_way and abs(a.x - b.x) < BOX[0]:  # beside an arrow that goes up or down
        anchor = "start" if side.x > 0 else "end"
    label = (
        f'<text class="label" x="{at.x:.1f}" y="{at.y + 4:.1f}" text-anchor="{anchor}" '
        'font-size="11.5" fill="currentColor" stroke="#fff" stroke-width="5" '
        f'paint-order="stroke">{text}</text>'
    )
    return line, label


def _border(box: Point, towards: Point, *, is_start: bool = False) -> Point:
    """Where a line from the middle of a box, or of the start's circle, leaves it."""
    dx, dy = towards.x - box.x, towards.y - box.y
    if is_start:
        return box.towards(towards, 13 / (dx**2 + dy**2) ** 0.5)
    across = (BOX[0] / 2 + 3) / abs(dx) if dx else float("inf")
    down = (BOX[1] / 2 + 3) / abs(dy) if dy else float("inf")
    return box.towards(towards, min(across, down, 1))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in DIAGRAMS:
        (FOLDER / f"{each}.svg").write_text(drawn(each), "utf-8")
