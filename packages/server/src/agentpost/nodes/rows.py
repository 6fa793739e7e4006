"""Nodes, their beats, and what each is."""

from dataclasses import dataclass
from typing import Final

from agentpost.db.mapper import Mapper
from agentpost.db.session import Tx
from agentpost.db.statements import All, ChangeOf, Firsts
from agentpost.domain.times import seconds
from agentpost.record.records import Time
from agentpost.version import __version__

SILENT_SECONDS: Final = 3.0
"""Without a beat for so long, a node counts as silent."""


@dataclass(slots=True)
class NodeRecord:
    """A server process. It says its host, process and role after its first beat."""

    id: str
    started_at: Time
    beat: Time  # how often it has beaten
    beat_at: Time  # by its own clock
    draining_at: Time | None = None  # since when it takes no more work
    host: str | None = None
    pid: int | None = None
    role: str | None = None
    version: str | None = None
    held_calls: int | None = None  # at its last beat
    clock_ahead: Time | None = None  # of the database's clock; negative: behind

    def is_silent(self, now: int) -> bool:
        """Whether it has not beaten lately at ``now``, by the database's clock."""
        return now - (self.beat_at - (self.clock_ahead or 0)) > seconds(SILENT_SECONDS)


NODES: Final = Mapper(NodeRecord, "nodes")
_BEAT = (
    "INSERT INTO nodes (id, started_at, beat, beat_at, version, held_calls, clock_ahead)"
    " VALUES (?, ?, 1, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET beat = nodes.beat + 1, beat_at = excluded.beat_at"
)
_BEAT_AND_TELL = f"{_BEAT}, held_calls = excluded.held_calls, clock_ahead = excluded.clock_ahead"
_FORGET = "DELETE FROM nodes WHERE id = ?"
_FORGET_SILENT = "DELETE FROM nodes WHERE id = ? AND beat = ?"
_BEATS = "SELECT id, beat, role, draining_at FROM nodes"


@dataclass(frozen=True, slots=True)
class Beat:
    """A node's last beat by its number. ``role``: None where the node has not said it yet.
    ``is_draining``: it takes no more work."""

    number: int
    role: str | None
    is_draining: bool


def beat(
    tx: Tx, node: str, now: int, held_calls: int = 0, clock_ahead: int | None = None
) -> dict[str, Beat]:
    """One more beat of a node, which runs this version and holds so many calls; every node's
    beat. ``clock_ahead``: see `NodeRecord`."""
    tx.execute_nowait(_BEAT_AND_TELL, (node, now, now, __version__, held_calls, clock_ahead))
    return {row[0]: Beat(row[1], row[2], row[3] is not None) for row in tx.all(_BEATS)}


def confirm(tx: Tx, node: str, now: int) -> None:
    """One more beat of a node, which asks whether something is still its own."""
    tx.execute(_BEAT, (node, now, now, __version__, 0, None))


# What the node is; it has beaten before.
describe = ChangeOf[str, str, int, str]("UPDATE nodes SET host = ?, pid = ?, role = ? WHERE id = ?")
# The node takes no more work.
set_draining = ChangeOf[str, int]("UPDATE nodes SET draining_at = ? WHERE id = ?")


# Every node that has come and not been forgotten.
all_ = Firsts[()]("SELECT id FROM nodes")
# The same as records, the oldest first.
list_all = All[NodeRecord](NODES, "ORDER BY started_at, id")


def forget(tx: Tx, node: str, beat: int | None) -> bool:
    """The node is gone, if that beat was its last; without one, in any case."""
    if beat is None:
        return tx.execute(_FORGET, (node,)) == 1
    return tx.execute(_FORGET_SILENT, (node, beat)) == 1
