"""Films: captioned slides and photographs, and races of bars. Needs the extra ``video``."""

from __future__ import annotations

from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.making.maker import Maker
from agentpost.agents.offline.making.video.making import make

MAKER = Maker(
    thing=Thing.VIDEO,
    title="Video",
    credits=5,
    formats=("mp4",),
    needs=frozenset({"table", "image"}),
    make=make,
    requires=("av", "video"),
)

__all__ = ["MAKER"]
