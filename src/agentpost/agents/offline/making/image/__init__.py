"""Pictures: cut, sized, turned, converted, put together; posters and cards."""

from __future__ import annotations

from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.making.image import poster
from agentpost.agents.offline.making.image.making import make
from agentpost.agents.offline.making.maker import Maker

MAKER = Maker(
    thing=Thing.IMAGE,
    title="Image",
    credits=1,
    formats=("png", "jpg", "webp", "gif", "bmp", "tiff"),
    needs=frozenset({"image", "table", "text"}),
    make=make,
    speaks=poster.speaks,
)

__all__ = ["MAKER"]
