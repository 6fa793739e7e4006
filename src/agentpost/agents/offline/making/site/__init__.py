"""Websites: several pages from the files, that work from a folder, without a network."""

from __future__ import annotations

from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.making.maker import Maker
from agentpost.agents.offline.making.site.making import make

MAKER = Maker(
    thing=Thing.SITE,
    title="Website",
    credits=3,
    formats=("zip", "html"),
    needs=frozenset({"table", "image"}),
    make=make,
)

__all__ = ["MAKER"]
