"""Which things can be made, with their prices and formats: a thing is one line here. Makers are
imported when they are used, so a server's start loads none of their libraries."""

from importlib.util import find_spec
from typing import Final

from agentpost_offline.frame import Thing
from agentpost_offline.making.maker import Maker

_TABLE: Final = frozenset({"table"})
_PICTURES: Final = ("png", "jpg", "webp", "gif", "bmp", "tiff")

MAKERS: Final = {
    one.thing: one
    for one in (
        Maker(Thing.CHART, "Chart", 1, ("png", "svg", "pdf"), _TABLE, "chart.making"),
        Maker(Thing.REPORT, "Report", 2, ("pdf", "docx", "html"), _TABLE,
              "document.making", together=2),
        Maker(Thing.DECK, "Deck", 3, ("pptx", "pdf"), _TABLE, "document.making"),
        Maker(Thing.SITE, "Page", 3, ("html",), _TABLE, "document.making"),
        Maker(Thing.IMAGE, "Image", 1, _PICTURES, frozenset({"image"}), "image.making"),
        Maker(Thing.VIDEO, "Video", 5, ("mp4",), _TABLE, "video.making", ("av", "video")),
        Maker(Thing.TABLE, "Table", 1, ("xlsx", "csv"), _TABLE, "table.making"),
        Maker(Thing.DOCUMENT, "Document", 1, ("pdf", "docx", "html", "pptx"),
              frozenset({"document", "text"}), "document.making"),
    )
}  # fmt: skip
"""The makers, in the order in which things are offered."""


def missing_extra(maker: Maker) -> str | None:
    """The extra that has to be installed for a thing, None when all is there."""
    if maker.requires is None:
        return None
    library, extra = maker.requires
    return extra if find_spec(library) is None else None
