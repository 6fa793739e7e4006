"""Texts of a deck in bounds: printable, and never longer than their place can hold."""

from __future__ import annotations

import msgspec

from agentpost_offline.making.deck.slides import Chart, Figure, Grid, Outline, Part, Slide
from agentpost_offline.style.typeset import cleaned

_TITLE, _POINT, _LABEL, _VALUE, _CELL, _SOURCE = 130, 300, 90, 18, 60, 130
_NAME = 40
_NOTES = 4000


def bounded(outline: Outline) -> Outline:
    """The outline with every text cut at a word where it is too long; notes keep the whole."""
    return msgspec.structs.replace(
        outline,
        title=_cut(outline.title, _TITLE),
        slides=tuple(_slide(slide) for slide in outline.slides),
        finding=_cut(outline.finding, _POINT),
    )


def _slide(slide: Slide) -> Slide:
    return msgspec.structs.replace(
        slide,
        title=_cut(slide.title, _TITLE) or "–",
        subtitle=_cut(slide.subtitle, _TITLE),
        points=_all(slide.points, _POINT),
        parts=tuple(Part(_cut(p.heading, _LABEL), _all(p.points, _POINT)) for p in slide.parts),
        figures=tuple(
            Figure(_cut(f.value, _VALUE), _cut(f.label, _LABEL), _cut(f.note, _LABEL))
            for f in slide.figures
        ),
        chart=_chart(slide.chart) if slide.chart is not None else None,
        grid=_grid(slide.grid) if slide.grid is not None else None,
        source=_cut(slide.source, _SOURCE),
        notes=cleaned(slide.notes)[:_NOTES],
    )


def _chart(chart: Chart) -> Chart:
    series = tuple(msgspec.structs.replace(one, name=_cut(one.name, _NAME)) for one in chart.series)
    return msgspec.structs.replace(
        chart, labels=_all(chart.labels, _NAME), series=series, alt=cleaned(chart.alt)
    )


def _grid(grid: Grid) -> Grid:
    return msgspec.structs.replace(
        grid,
        header=_all(grid.header, _NAME),
        rows=tuple(_all(row, _CELL) for row in grid.rows),
    )


def _all(texts: tuple[str, ...], most: int) -> tuple[str, ...]:
    return tuple(_cut(text, most) for text in texts)


def _cut(text: str, most: int) -> str:
    text = " ".join(cleaned(text).split())
    if len(text) <= most:
        return text
    start = text[: most - 1]
    words = start.rsplit(" ", 1)[0]
    return (words if len(words) > most * 0.6 else start).rstrip() + "…"
