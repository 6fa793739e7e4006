"""Charts: PNG, SVG or PDF from a result, with its data and a description beside it."""

from __future__ import annotations

from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.making.chart.making import CREDITS, FORMATS, make
from agentpost.agents.offline.making.maker import Maker

MAKER = Maker(
    thing=Thing.CHART,
    title="Chart",
    credits=CREDITS,
    formats=FORMATS,
    needs=frozenset({"table"}),
    make=make,
)

__all__ = ["MAKER"]
