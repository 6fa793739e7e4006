"""The table of nodes: who beats."""

from __future__ import annotations

from agentpost.db import nodes as rows
from agentpost.services.context import House


async def beat(house: House) -> dict[str, int]:
    """Beat once; every node's beat as it is now."""
    return await house.db.write(lambda tx: rows.beat(tx, house.node, house.clock.now()))


async def leave(house: House) -> None:
    """This node is going."""
    await forget(house, house.node)


async def forget(house: House, node: str) -> None:
    """That node is gone."""
    await house.db.write(lambda tx: rows.forget(tx, node))
