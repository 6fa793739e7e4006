"""Reports: answers first, then the figures and passages behind them; PDF and Word."""

from __future__ import annotations

from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.making.maker import Maker
from agentpost.agents.offline.making.report.making import CREDITS, FORMATS, make

MAKER = Maker(
    thing=Thing.REPORT,
    title="Report",
    credits=CREDITS,
    formats=FORMATS,
    needs=frozenset({"table"}),
    make=make,
    together=2,
)

__all__ = ["MAKER"]
