"""Pictures: cut, sized, turned, converted, put together."""

from __future__ import annotations

from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.making.image.making import make
from agentpost.agents.offline.making.maker import Maker

MAKER = Maker(
    thing=Thing.IMAGE,
    title="Image",
    credits=1,
    formats=("png", "jpg", "webp", "gif", "bmp", "tiff"),
    needs=frozenset({"image"}),
    make=make,
)

__all__ = ["MAKER"]
