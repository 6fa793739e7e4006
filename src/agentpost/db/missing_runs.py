"""The rows that a node owns and does not run, as it last reported: one value of `meta` per node."""

from __future__ import annotations

from agentpost.db import meta
from agentpost.db.session import Tx

_PREFIX = "missing:"
_FORGET = "DELETE FROM meta WHERE name = ?"


def put(tx: Tx, node: str, text: str | None) -> None:
    """Store the report of a node; None: nothing is missing, or the node is gone."""
    if text is None:
        tx.execute(_FORGET, (_PREFIX + node,))
    else:
        meta.put(tx, _PREFIX + node, text)


def get(tx: Tx, node: str) -> str | None:
    """The last report of the node."""
    return meta.get(tx, _PREFIX + node)
