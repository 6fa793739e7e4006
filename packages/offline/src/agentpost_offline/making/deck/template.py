"""The deck's template: our own layouts, colours and face on python-pptx's default file.

Every text of a slide that has a name in PowerPoint's outline (title, main text, chart, table,
picture) sits in a placeholder of its layout, so that another design can be applied to the deck.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agentpost_offline.making.deck.slides import Layout

if TYPE_CHECKING:
    from pptx.presentation import Presentation
    from pptx.slide import SlideLayout

FACE = "Arial"
"""On every system, and with metric twins where it is not."""
_EMU = 12700
_NS = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
)


class Holder(NamedTuple):
    """A placeholder: its kind in the file format, its index, its box in points."""

    key: str
    kind: str
    idx: int
    box: tuple[float, float, float, float]
    size: float
    bold: bool = False


_TITLE = Holder("title", "title", 0, (54, 42, 852, 68), 28, True)
_BIG = Holder("title", "ctrTitle", 0, (54, 140, 800, 110), 44, True)
_NUMBER = Holder("number", "sldNum", 12, (846, 508, 60, 16), 10)
_NAMES = {
    Layout.TITLE: ("Title", (_BIG, Holder("body", "subTitle", 1, (54, 270, 800, 70), 20))),
    Layout.FIGURES: ("Key figures", (_TITLE, _NUMBER)),
    Layout.STATEMENT: (
        "Statement",
        (_TITLE, Holder("body", "body", 1, (84, 150, 792, 200), 30), _NUMBER),
    ),
    Layout.POINTS: ("Points", (_TITLE, _NUMBER)),
    Layout.CHART: (
        "Chart and takeaways",
        (_TITLE, Holder("plot", "chart", 1, (54, 122, 548, 368), 12), _NUMBER),
    ),
    Layout.COLUMNS: ("Two columns", (_TITLE, _NUMBER)),
    Layout.TABLE: (
        "Table",
        (_TITLE, Holder("cells", "tbl", 1, (54, 126, 852, 364), 14), _NUMBER),
    ),
    Layout.IMAGE: (
        "Image",
        (_TITLE, Holder("picture", "pic", 1, (54, 122, 852, 368), 12), _NUMBER),
    ),
    Layout.QUOTE: (
        "Quote",
        (_TITLE, Holder("body", "body", 1, (84, 150, 792, 200), 30), _NUMBER),
    ),
    Layout.TIMELINE: ("Timeline", (_TITLE, _NUMBER)),
}
HOLDERS = {
    layout: {holder.key: holder.idx for holder in holders}
    for layout, (_, holders) in _NAMES.items()
}


def presentation(colours: dict[str, str]) -> tuple[Presentation, dict[str, SlideLayout]]:
    """An empty deck in 16:9 with our layouts, and the layouts by name."""
    from pptx import Presentation
    from pptx.util import Emu

    deck = Presentation()
    deck.slide_width, deck.slide_height = Emu(960 * _EMU), Emu(540 * _EMU)
    _themed(deck, colours)
    master = deck.slide_master
    _replaced(master, (_TITLE, Holder("body", "body", 1, (54, 126, 852, 364), 18), _NUMBER))
    layouts: dict[str, SlideLayout] = {}
    existing = list(deck.slide_layouts)
    for own, layout in zip(_NAMES, existing, strict=False):
        name, holders = _NAMES[own]
        _replaced(layout, holders, dark=own is Layout.TITLE)
        layout._element.cSld.set("name", name)
        layout._element.attrib.pop("type", None)
        layouts[own] = layout
    for unused in existing[len(_NAMES) :]:
        deck.slide_layouts.remove(unused)
    return deck, layouts


def _replaced(base: Any, holders: Sequence[Holder], dark: bool = False) -> None:
    """Give a layout or the master our placeholders instead of its own."""
    from pptx.oxml import parse_xml

    tree = base._element.cSld.spTree
    for shape in tree.xpath("./p:sp"):
        tree.remove(shape)
    for number, holder in enumerate(holders, start=2):
        tree.append(parse_xml(_placeholder(holder, number, dark)))
    if dark:
        background = (
            f'<p:bg {_NS}><p:bgPr><a:solidFill><a:schemeClr val="tx2"/></a:solidFill>'
            "<a:effectLst/></p:bgPr></p:bg>"
        )
        base._element.cSld.insert(0, parse_xml(background))


def _placeholder(holder: Holder, number: int, dark: bool) -> str:
    left, top, wide, tall = (round(value * _EMU) for value in holder.box)
    colour = "bg1" if dark else "tx1"
    if holder.kind == "sldNum":
        text = (
            '<a:p><a:fld id="{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}" type="slidenum">'
            '<a:rPr lang="en-US"/><a:t>‹#›</a:t></a:fld></a:p>'
        )
    else:
        text = '<a:p><a:r><a:rPr lang="en-US"/><a:t> </a:t></a:r></a:p>'
    idx = f' idx="{holder.idx}"' if holder.idx else ""
    align = "r" if holder.kind == "sldNum" else "l"
    return (
        f'<p:sp {_NS}><p:nvSpPr><p:cNvPr id="{number}" name="{holder.key.title()} {number}"/>'
        f'<p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr>'
        f'<p:nvPr><p:ph type="{holder.kind}"{idx}/></p:nvPr></p:nvSpPr>'
        f'<p:spPr><a:xfrm><a:off x="{left}" y="{top}"/><a:ext cx="{wide}" cy="{tall}"/></a:xfrm>'
        '<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr>'
        '<p:txBody><a:bodyPr wrap="square" lIns="0" tIns="0" rIns="0" bIns="0" anchor="t">'
        "<a:noAutofit/></a:bodyPr><a:lstStyle>"
        f'<a:lvl1pPr marL="0" indent="0" algn="{align}"><a:lnSpc><a:spcPct val="100000"/></a:lnSpc>'
        '<a:spcBef><a:spcPts val="0"/></a:spcBef><a:buNone/>'
        f'<a:defRPr sz="{round(holder.size * 100)}" b="{int(holder.bold)}"><a:solidFill>'
        f'<a:schemeClr val="{colour}"/></a:solidFill></a:defRPr></a:lvl1pPr>'
        f"</a:lstStyle>{text}</p:txBody></p:sp>"
    )


def _themed(deck: Presentation, colours: dict[str, str]) -> None:
    """Our colours and face in the theme, where a reader changes them for the whole deck."""
    from lxml import etree

    theme = next(
        rel.target_part for rel in deck.slide_master.part.rels.values() if "theme" in rel.reltype
    )
    root = etree.fromstring(theme.blob)
    a = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
    slots = {
        "dk1": "ink", "lt1": "light", "dk2": "dark", "lt2": "pale", "accent1": "accent",
        "accent2": "grey", "accent3": "bright", "accent4": "muted", "accent5": "shade",
        "accent6": "rule", "hlink": "accent", "folHlink": "muted",
    }  # fmt: skip
    for slot, role in slots.items():
        element = root.find(f".//{a}clrScheme/{a}{slot}")
        assert element is not None
        element.clear()
        etree.SubElement(element, f"{a}srgbClr").set("val", colours[role][1:])
    for face in root.iterfind(f".//{a}fontScheme//{a}latin"):
        face.set("typeface", FACE)
    theme._blob = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
