"""Decks: PowerPoint with native charts and tables, and the same slides as PDF."""

from __future__ import annotations

from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.making.deck.making import make
from agentpost.agents.offline.making.maker import Maker

MAKER = Maker(
    thing=Thing.DECK,
    title="Deck",
    credits=3,
    formats=("pptx", "pdf"),
    needs=frozenset({"table"}),
    make=make,
)

__all__ = ["MAKER"]
