"""The slides of a presentation as a web page: each shape where it stands, in its colours.

Texts are in the fonts of the viewer; effects, rare shapes and what only a player shows are left
out. The page has no scripts and loads nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from agentpost.extraction import slide_charts
from agentpost.extraction.data_urls import Pictures
from agentpost.extraction.slide_styles import A, TextStyle, Theme, points

SLIDES_MAX: Final = 20
_SHAPES_MAX: Final = 200
_DEPTH_MAX: Final = 8
_ROWS_MAX: Final = 40
_PARAGRAPHS_MAX: Final = 60
_TEXT_MAX: Final = 4_000
_EMU: Final = 12_700
_BROKEN: Final = (AttributeError, IndexError, KeyError, TypeError, ValueError, OSError)
"""What the library raises for a part that is not as it should be: the rest is shown without it."""
_ALIGNED: Final = {"ctr": "center", "r": "right", "just": "justify"}
_ANCHORED: Final = {"ctr": "center", "b": "flex-end"}
_CLIPPED: Final = {
    "triangle": "polygon(50% 0,100% 100%,0 100%)",
    "rtTriangle": "polygon(0 0,100% 100%,0 100%)",
    "diamond": "polygon(50% 0,100% 50%,50% 100%,0 50%)",
    "chevron": "polygon(0 0,75% 0,100% 50%,75% 100%,0 100%,25% 50%)",
    "homePlate": "polygon(0 0,80% 0,100% 50%,80% 100%,0 100%)",
    "rightArrow": "polygon(0 25%,65% 25%,65% 0,100% 50%,65% 100%,65% 75%,0 75%)",
    "hexagon": "polygon(25% 0,75% 0,100% 50%,75% 100%,25% 100%,0 50%)",
}
_LINES: Final = frozenset({"line", "straightConnector1"})
_STYLE: Final = """
*{box-sizing:border-box;margin:0;padding:0}
body{padding:.75rem;background:#e9e9ec;font-family:Inter,Calibri,Carlito,Arial,sans-serif}
section{position:relative;width:100%;max-width:64rem;margin:0 auto .75rem;overflow:hidden;
background:#fff;color:#000;container-type:inline-size;box-shadow:0 1px 4px #0003;border-radius:3px}
section>*,section .t{position:absolute;display:flex;flex-direction:column}
.t{inset:0}p{white-space:pre-wrap;overflow-wrap:break-word;line-height:1.2;max-width:100%}
img,svg{width:100%;height:100%;display:block}table{border-collapse:collapse;width:100%;height:100%;
table-layout:fixed}td{border:1px solid #fff8;vertical-align:middle;padding:.3cqw .8cqw}
.more{text-align:center;color:#555;font-size:.8rem}
"""


def is_possible() -> bool:
    """Whether the packages for it are installed."""
    return all(find_spec(name) is not None for name in ("lxml", "pptx", "PIL"))


def page(path: Path) -> str:
    """The presentation as one document. The archive's limits were checked before; raises what the
    library raises when it is none."""
    from pptx import Presentation

    deck = Presentation(str(path))
    wide, tall = int(deck.slide_width or 9_144_000), int(deck.slide_height or 6_858_000)
    slides = list(deck.slides)
    drawn = []
    pictures = Pictures()
    for number, slide in enumerate(slides[:SLIDES_MAX], start=1):
        inside = _Slide(slide, wide, tall, pictures).html()
        shape = f"aspect-ratio:{wide}/{tall}"
        drawn.append(f'<section style="{shape}" aria-label="Slide {number}">{inside}</section>')
    more = len(slides) - SLIDES_MAX
    if more > 0:
        drawn.append(f'<p class="more">And {more} more slide{"s" if more > 1 else ""}.</p>')
    return f"<!doctype html><meta charset=utf-8><title>Slides</title><style>{_STYLE}</style>" + (
        "".join(drawn)
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the shapes of a group are: what their own measures are multiplied with and moved by."""

    left: float = 0.0
    top: float = 0.0
    by_x: float = 1.0
    by_y: float = 1.0


@dataclass(slots=True)
class _Slide:
    slide: Any
    wide: int
    tall: int
    pictures: Pictures
    shapes: int = 0
    theme: Theme = field(init=False)

    def __post_init__(self) -> None:
        self.layout = self.slide.slide_layout
        self.master = self.layout.slide_master
        self.theme = Theme(self.master)

    # dataclass slots: the two are set in `__post_init__`
    layout: Any = field(init=False, default=None)
    master: Any = field(init=False, default=None)

    def html(self) -> str:
        made = [self._background()]
        for owner in (self.master, self.layout):
            if owner is self.master and self.layout.element.get("showMasterSp") == "0":
                continue
            shapes = (shape for shape in owner.shapes if not shape.is_placeholder)
            made += self._all(shapes, _Place(), 0)
        made += self._all(self.slide.shapes, _Place(), 0)
        return "".join(made)

    def _background(self) -> str:
        for owner in (self.slide, self.layout, self.master):
            for found in owner.element.iter(f"{owner.element.tag.partition('}')[0]}}}bg"):
                for held in found:
                    fill = self.theme.fill(held) or self.theme.colour(held)
                    if fill:
                        return f'<div style="inset:0;background:{fill}"></div>'
        return ""

    def _all(self, shapes: Any, place: _Place, depth: int) -> Iterator[str]:
        for shape in shapes:
            self.shapes += 1
            if self.shapes > _SHAPES_MAX or depth > _DEPTH_MAX:
                return
            try:
                yield self._shape(shape, place, depth)
            except _BROKEN:
                continue

    def _shape(self, shape: Any, place: _Place, depth: int) -> str:
        if None in (shape.left, shape.top, shape.width, shape.height):
            return ""
        left, top = place.left + shape.left * place.by_x, place.top + shape.top * place.by_y
        wide, tall = shape.width * place.by_x, shape.height * place.by_y
        if hasattr(shape, "shapes"):
            return "".join(
                self._all(shape.shapes, _inside(shape, left, top, wide, tall), depth + 1)
            )
        style = (
            f"left:{left / self.wide:.3%};top:{top / self.tall:.3%};"
            f"width:{wide / self.wide:.3%};height:{tall / self.tall:.3%};"
        )
        if turned := getattr(shape, "rotation", 0):
            style += f"transform:rotate({turned:.1f}deg);"
        inside, look = self._content(shape, wide, tall)
        return f'<div style="{style}{look}">{inside}</div>'

    def _content(self, shape: Any, wide: float, tall: float) -> tuple[str, str]:
        """What is in a shape, and the style of its box."""
        if getattr(shape, "has_chart", False):
            proportion = tall / wide if wide else 1.0
            return slide_charts.draw(shape.chart, self.theme, proportion), ""
        if getattr(shape, "has_table", False):
            return self._table(shape), ""
        image = getattr(shape, "image", None)
        if image is not None:
            crop = (shape.crop_left, shape.crop_top, shape.crop_right, shape.crop_bottom)
            url = self.pictures.url(image.blob, crop)
            text = escape(shape.name[:200])
            if url is None:
                return "", "background:#8883;"
            return f'<img src="{url}" alt="{text}">', ""
        look = self._look(shape, wide, tall)
        return (self._text(shape) if shape.has_text_frame else ""), look

    def _look(self, shape: Any, wide: float, tall: float) -> str:
        properties = next((e for e in shape.element if str(e.tag).endswith("}spPr")), None)
        style = next((e for e in shape.element if str(e.tag).endswith("}style")), None)
        if properties is None:
            return ""
        look = ""
        fill = self.theme.fill(properties)
        has_own = any(properties.find(A + each) is not None for each in ("noFill", "blipFill"))
        if not fill and not has_own and style is not None:
            reference = style.find(f"{A}fillRef")
            if reference is not None and reference.get("idx", "0") != "0":
                fill = self.theme.colour(reference)
        form = properties.find(f"{A}prstGeom")
        kind = form.get("prst", "rect") if form is not None else "rect"
        line = properties.find(f"{A}ln")
        edge = self.theme.fill(line)
        if line is None and style is not None:
            reference = style.find(f"{A}lnRef")
            if reference is not None and reference.get("idx", "0") != "0":
                edge = self.theme.colour(reference)
        if edge:
            width = int(line.get("w", "9525")) if line is not None else 9_525
            thick = max(width / self.wide * 100, 0.08)
            if kind in _LINES and wide and tall:
                return f"background:{_slope(shape, edge)};"
            if not wide or not tall:
                side = "top" if not tall else "left"
                return f"border-{side}:{thick:.3f}cqw solid {edge};"
            look += f"border:{thick:.3f}cqw solid {edge};"
        if fill:
            look += f"background:{fill};"
        if kind == "ellipse":
            look += "border-radius:50%;"
        elif kind.startswith("round"):
            look += f"border-radius:{min(wide, tall) * 0.1667 / self.wide * 100:.2f}cqw;"
        elif kind in _CLIPPED:
            look += f"clip-path:{_CLIPPED[kind]};"
        return look

    # --- texts ------------------------------------------------------------------------------------
    def _text(self, shape: Any) -> str:
        style = TextStyle(shape, self.layout, self.master)
        inside = self._paragraphs(shape.text_frame, style, self._own_colour(shape))
        if not inside:
            return ""
        insets = []
        for name, usual in (("tIns", 45_720), ("rIns", 91_440), ("bIns", 45_720), ("lIns", 91_440)):
            given = style.body(name)
            insets.append(f"{int(given if given is not None else usual) / self.wide * 100:.2f}cqw")
        anchor = _ANCHORED.get(style.body("anchor") or "", "flex-start")
        look = f"padding:{' '.join(insets)};justify-content:{anchor}"
        return f'<div class="t" style="{look}">{inside}</div>'

    def _own_colour(self, shape: Any) -> str:
        style = next((e for e in shape.element if str(e.tag).endswith("}style")), None)
        reference = style.find(f"{A}fontRef") if style is not None else None
        return self.theme.colour(reference)

    def _paragraphs(self, frame: Any, style: TextStyle | None, colour: str = "") -> str:
        made, left = [], _TEXT_MAX
        for paragraph in list(frame.paragraphs)[:_PARAGRAPHS_MAX]:
            levels = list(style.levels(paragraph.level)) if style else []
            given = [paragraph._p.pPr] if paragraph._p.pPr is not None else []
            runs = []
            for run in paragraph.runs:
                text = run.text[:left]
                left -= len(text)
                runs.append(self._run(run, text, levels, style.scale() if style else 1.0, colour))
            look, mark = _paragraph([*given, *levels])
            size = self._size(paragraph.runs[0] if paragraph.runs else None, levels, style)
            words = "".join(runs)
            bullet = f"{escape(mark)} " if mark and words else ""
            made.append(f'<p style="{look}font-size:{size:.2f}cqw">{bullet}{words or "&nbsp;"}</p>')
        return "".join(made) if left < _TEXT_MAX else ""

    def _size(self, run: Any, levels: list[Any], style: TextStyle | None) -> float:
        """In hundredths of the slide's width."""
        own = run._r.rPr if run is not None else None
        found = points(own.get("sz")) if own is not None else None
        for level in levels:
            if found is None:
                defaults = level.find(f"{A}defRPr")
                found = points(defaults.get("sz")) if defaults is not None else None
        scale = style.scale() if style else 1.0
        return (found or 18.0) * scale * _EMU / self.wide * 100

    def _run(self, run: Any, text: str, levels: list[Any], scale: float, colour: str) -> str:
        own = run._r.rPr
        chain = [own] if own is not None else []
        chain += [d for level in levels if (d := level.find(f"{A}defRPr")) is not None]
        look = ""
        if own is not None and (size := points(own.get("sz"))) is not None:
            look += f"font-size:{size * scale * _EMU / self.wide * 100:.2f}cqw;"
        for name, css in (("b", "font-weight:700;"), ("i", "font-style:italic;")):
            given = next((each.get(name) for each in chain if each.get(name) is not None), "0")
            look += css if given in ("1", "true") else ""
        found = (self.theme.fill(own) if own is not None else "") or colour
        found = found or next((c for e in chain if (c := self.theme.fill(e))), "")
        if found and not found.startswith("linear"):
            look += f"color:{found};"
        words = escape(text).replace("\x0b", "<br>")
        return f'<span style="{look}">{words}</span>' if look else words

    def _table(self, shape: Any) -> str:
        table = shape.table
        widths = [int(column.width) for column in table.columns]
        total = sum(widths) or 1
        columns = "".join(f'<col style="width:{each / total:.2%}">' for each in widths)
        rows = []
        for number, row in enumerate(list(table.rows)[:_ROWS_MAX]):
            is_head = number == 0 and table.first_row
            cells = []
            for cell in row.cells:
                if cell.is_spanned:
                    continue
                fill = self.theme.fill(cell._tc.tcPr)
                no_fill = cell._tc.tcPr is not None and cell._tc.tcPr.find(f"{A}noFill") is not None
                if not fill and not no_fill:
                    fill = self.theme.accent(0) if is_head else "#8881"
                look = f"background:{fill};" if fill else ""
                look += "color:#fff;font-weight:700;" if is_head and not no_fill else ""
                span = f' colspan="{cell.span_width}"' if cell.span_width > 1 else ""
                span += f' rowspan="{cell.span_height}"' if cell.span_height > 1 else ""
                inside = self._paragraphs(cell.text_frame, None)
                cells.append(f'<td{span} style="{look}">{inside}</td>')
            rows.append(f"<tr>{''.join(cells)}</tr>")
        return f"<table><colgroup>{columns}</colgroup>{''.join(rows)}</table>"


def _inside(group: Any, left: float, top: float, wide: float, tall: float) -> _Place:
    """The place of a group's shapes, which have measures of their own."""
    frame = group.element.grpSpPr.find(f"{A}xfrm")
    offset = frame.find(f"{A}chOff") if frame is not None else None
    extent = frame.find(f"{A}chExt") if frame is not None else None
    if offset is None or extent is None:
        return _Place(left - group.left, top - group.top)
    by_x = wide / (int(extent.get("cx")) or 1)
    by_y = tall / (int(extent.get("cy")) or 1)
    return _Place(left - int(offset.get("x")) * by_x, top - int(offset.get("y")) * by_y, by_x, by_y)


def _slope(shape: Any, colour: str) -> str:
    """A line from corner to corner, as a background."""
    frame = shape.element.find(f".//{A}xfrm")
    flipped = (frame.get("flipH") == "1") != (frame.get("flipV") == "1")
    corner = "top" if flipped else "bottom"
    thin = f"transparent calc(50% - .1cqw),{colour} calc(50% - .1cqw)"
    return (
        f"linear-gradient(to {corner} left,{thin},{colour} calc(50% + .1cqw),"
        "transparent calc(50% + .1cqw))"
    )


def _paragraph(chain: list[Any]) -> tuple[str, str]:
    """The style of a paragraph, and what stands before it."""
    aligned = next((each.get("algn") for each in chain if each.get("algn")), "l")
    look = f"text-align:{_ALIGNED[aligned]};" if aligned in _ALIGNED else ""
    margin = next((each.get("marL") for each in chain if each.get("marL")), "0")
    indent = next((each.get("indent") for each in chain if each.get("indent")), "0")
    for each in chain:
        if each.find(f"{A}buNone") is not None:
            return look, ""
        mark = each.find(f"{A}buChar")
        if mark is not None or each.find(f"{A}buAutoNum") is not None:
            char = mark.get("char", "•")[:2] if mark is not None else "–"
            steps = max(int(margin) + min(int(indent), 0), 0) / 342_900
            return f"{look}padding-left:{1 + min(steps, 8):.1f}em;text-indent:-1em;", (
                char if char.isprintable() and not "\ue000" <= char <= "\uf8ff" else "•"
            )
    return look, ""
