"""Tables: Excel workbooks (or CSV) cleaned, pivoted or joined, with formulas and formats."""

from __future__ import annotations

from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.making.maker import Maker
from agentpost.agents.offline.making.table.making import CREDITS, make

MAKER = Maker(
    thing=Thing.TABLE,
    title="Table",
    credits=CREDITS,
    formats=("xlsx", "csv"),
    needs=frozenset({"table"}),
    make=make,
)

__all__ = ["MAKER"]
