"""A picture of the home page, to see without opening the site."""

from __future__ import annotations

from typing import Any

import msgspec

from agentpost.agents.offline.making import fit
from agentpost.agents.offline.making.deck import typeset
from agentpost.agents.offline.making.deck.pages import Block, Element, Page, Plot, Text
from agentpost.agents.offline.making.deck.slides import Layout, Outline

_WIDE, _TALL, _LEFT = 960.0, 640.0, 60.0
_ROOM = _WIDE - 2 * _LEFT


def write(outline: dict[str, Any], pages: list[str]) -> bytes:
    """A step: the PNG."""
    found = msgspec.convert(outline, Outline)
    page = Page("preview", tuple(_elements(found, pages)), width=_WIDE, height=_TALL)
    made = typeset.build(
        [page], [], accent=found.accent, language=found.language, form="png", wide=1280
    )
    return made.pages[0]


def _elements(outline: Outline, pages: list[str]) -> list[Element]:
    figures = next((s for s in outline.slides if s.layout is Layout.FIGURES), None)
    chart = next((s for s in outline.slides if s.chart is not None), None)
    headline = figures.title if figures is not None else outline.slides[0].title
    elements: list[Element] = [
        Block((0, 48, _WIDE, 1), "rule"),
        Text((_LEFT, 14, 380, 22), (outline.title,), 14, bold=True),
        Text((_LEFT + 400, 15, _ROOM - 400, 20), (_navigation(pages),), 12, "muted", align="end"),
    ]
    size = fit.largest([headline], (_ROOM, 96), (22, 36), bold=True)
    high = fit.height([headline], size, _ROOM, bold=True)
    elements.append(Text((_LEFT, 76, _ROOM, high + 4), (headline,), size, bold=True))
    top = 76 + high + 14
    subtitle = figures.points[0] if figures and figures.points else outline.slides[0].subtitle
    if subtitle:
        tall = fit.height([subtitle], 15, _ROOM)
        elements.append(Text((_LEFT, top, _ROOM, tall), (subtitle,), 15, "muted"))
        top += tall + 24
    if figures is not None:
        elements += _figures(figures.figures, top)
        top += 104
    if chart is not None and chart.chart is not None:
        elements.append(Text((_LEFT, top, _ROOM, 26), (chart.title,), 18, bold=True))
        elements.append(Plot((_LEFT, top + 34, _ROOM, _TALL - top - 44), chart.chart))
    else:
        elements += _sections(outline, top)
    return elements


def _navigation(pages: list[str]) -> str:
    """As many page titles as fit the bar."""
    kept: list[str] = []
    for title in pages[1:]:
        if fit.width("   ".join([*kept, title]), 12) > _ROOM - 420:
            break
        kept.append(title)
    return "   ".join(kept)


def _figures(figures: Any, top: float) -> list[Element]:
    wide = (_ROOM - 24 * (len(figures) - 1)) / max(1, len(figures))
    elements: list[Element] = []
    for at, figure in enumerate(figures):
        left = _LEFT + at * (wide + 24)
        elements += [
            Block((left, top, wide, 2), "accent"),
            Text((left, top + 6, wide, 44), (figure.value,), 32, "accent", bold=True),
            Text((left, top + 50, wide, 36), (figure.label,), 13),
        ]
    return elements


def _sections(outline: Outline, top: float) -> list[Element]:
    """Without a chart: the first sections, as cards."""
    elements: list[Element] = []
    shown = [s for s in outline.slides[1:] if s.points and s.layout is not Layout.CLOSING][:6]
    wide, tall = (_ROOM - 48) / 3, max(90.0, (_TALL - top - 60) / 2)
    for at, slide in enumerate(shown):
        left, y = _LEFT + at % 3 * (wide + 24), top + at // 3 * (tall + 20)
        text = slide.points[0]
        size = fit.largest([text], (wide, tall - 52), (9, 13))
        elements += [
            Block((left, y, wide, 2), "accent"),
            Text((left, y + 10, wide, 22), (slide.title[:34],), 14, bold=True),
            Text((left, y + 36, wide, tall - 40), (text,), size, "muted"),
        ]
    return elements
