"""Which things can be made: a thing is one folder beside this file and one line here.

Makers are imported when they are used, so that starting a server loads none of their libraries.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.util import find_spec

from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.making.maker import Maker

FOLDERS = {
    Thing.CHART: "chart",
    Thing.REPORT: "report",
    Thing.DECK: "deck",
    Thing.SITE: "site",
    Thing.IMAGE: "image",
    Thing.VIDEO: "video",
    Thing.TABLE: "table",
}


@cache
def maker(thing: Thing) -> Maker | None:
    """What makes a thing; None when nothing does."""
    folder = FOLDERS.get(thing)
    name = f"agentpost.agents.offline.making.{folder}"
    if folder is None or find_spec(name) is None:
        return None
    found = getattr(importlib.import_module(name), "MAKER", None)
    return found if isinstance(found, Maker) else None


def makers() -> list[Maker]:
    """All makers, in the order in which things are offered."""
    return [found for thing in FOLDERS if (found := maker(thing)) is not None]


def missing_extra(found: Maker) -> str | None:
    """The extra that has to be installed for a thing, None when all is there."""
    if found.requires is None:
        return None
    libraries, extra = found.requires
    absent = any(find_spec(library) is None for library in libraries.split())
    return extra if absent else None
