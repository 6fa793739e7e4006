"""What a node owns and does not run, as it told last: one value of `meta` for each node."""

from __future__ import annotations

from agentpost.db import meta
from agentpost.db.session import Tx

_PREFIX = "missing:"
_FORGET = "DELETE FROM meta WHERE name = ?"


def put(tx: Tx, node: str, text: str | None) -> None:
    """Keep what the node told; None: it misses nothing, or is gone."""
    if text is None:
        tx.execute(_FORGET, (_PREFIX + node,))
    else:
        meta.put(tx, _PREFIX + node, text)


def get(tx: Tx, node: str) -> str | None:
    """What the node told."""
    return meta.get(tx, _PREFIX + node)
