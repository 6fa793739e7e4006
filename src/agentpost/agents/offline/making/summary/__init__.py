"""Summaries: what documents and tables say, in as many sentences as were asked for."""

from __future__ import annotations

from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.making.maker import Maker
from agentpost.agents.offline.making.summary.making import CREDITS, make

MAKER = Maker(
    thing=Thing.SUMMARY,
    title="Summary",
    credits=CREDITS,
    formats=("md", "docx"),
    needs=frozenset({"table", "document", "text"}),
    make=make,
)

__all__ = ["MAKER"]
