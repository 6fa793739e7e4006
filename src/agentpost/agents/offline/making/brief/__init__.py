"""Research briefs: what several documents say about the same criteria, quoted side by side, where
they differ, and what they leave out."""

from __future__ import annotations

from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.making.brief.making import CREDITS, make
from agentpost.agents.offline.making.maker import Maker

MAKER = Maker(
    thing=Thing.BRIEF,
    title="Brief",
    credits=CREDITS,
    formats=("docx", "md"),
    needs=frozenset({"document", "text"}),
    make=make,
)

__all__ = ["MAKER"]
