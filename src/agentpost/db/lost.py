"""What a node owns and does not run, as it told last: one value of `meta` for each node."""

from __future__ import annotations

from agentpost.db import meta
from agentpost.db.session import Tx

_PREFIX = "missing:"
_ALL = "SELECT name, value FROM meta WHERE name >= ? AND name < ?"
_FORGET = "DELETE FROM meta WHERE name = ?"


def put(tx: Tx, node: str, text: str | None) -> None:
    """Keep what the node told; None: it misses nothing, or is gone."""
    if text is None:
        tx.execute(_FORGET, (_PREFIX + node,))
    else:
        meta.put(tx, _PREFIX + node, text)


def all_(tx: Tx) -> dict[str, str]:
    """What each node told."""
    after = _PREFIX[:-1] + chr(ord(_PREFIX[-1]) + 1)
    return {row[0].removeprefix(_PREFIX): row[1] for row in tx.all(_ALL, (_PREFIX, after))}
