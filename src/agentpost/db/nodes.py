"""Nodes and their beats."""

from __future__ import annotations

from agentpost import __version__
from agentpost.db.session import Tx

_BEAT = (
    "INSERT INTO nodes (id, started_at, beat, version) VALUES (?, ?, 1, ?)"
    " ON CONFLICT (id) DO UPDATE SET beat = nodes.beat + 1"
)
_FORGET = "DELETE FROM nodes WHERE id = ?"
_FORGET_SILENT = "DELETE FROM nodes WHERE id = ? AND beat = ?"


def beat(tx: Tx, node: str, now: int) -> dict[str, int]:
    """One more beat of a node, which runs this version; every node's beat."""
    tx.execute(_BEAT, (node, now, __version__))
    return {row[0]: row[1] for row in tx.all("SELECT id, beat FROM nodes")}


def all_(tx: Tx) -> set[str]:
    """Every node that has come and not been forgotten."""
    return {row[0] for row in tx.all("SELECT id FROM nodes")}


def any_before_versions(tx: Tx) -> bool:
    """Whether a node may run a release that wrote no version, as those up to 0.2.0."""
    return tx.one("SELECT 1 FROM nodes WHERE version IS NULL LIMIT 1") is not None


def forget(tx: Tx, node: str, beat: int | None) -> bool:
    """The node is gone, if that beat was its last; without one, in any case."""
    if beat is None:
        return tx.execute(_FORGET, (node,)) == 1
    return tx.execute(_FORGET_SILENT, (node, beat)) == 1
