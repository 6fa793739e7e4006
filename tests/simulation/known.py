"""What is known of a history beside its world: what clients were told, and how to read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from agentpost.context import AppContext
from agentpost.db.session import Row, Tx
from agentpost.messages import rows as message_rows
from agentpost.messages.shapes import MessageShape
from tests.harness.context import Shape
from tests.simulation.world import World


@dataclass(slots=True)
class Outcome:
    """``broken`` says what does not hold; None: everything does."""

    broken: str | None
    commits: int
    trace: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Acknowledged:
    """A message that a client was told of."""

    message_id: str
    key: str | None
    text: str


class Reading:
    """What `Watch` reads by."""

    stored_order = "rowid"

    def __init__(self, world: World, ctx: AppContext) -> None:
        self._world = world
        self.ctx = ctx

    def all(self, sql: str, *params: object) -> list[Row]:
        return self._world.rows(sql, *params)

    def shown_in(self, tx: Tx, message_id: str) -> Shape:
        row = message_rows.get(tx, message_id)
        assert row is not None
        snapshot = message_rows.snapshot(tx, row)
        return Shape(json.loads(MessageShape.of(snapshot, self.ctx.links).json()))
