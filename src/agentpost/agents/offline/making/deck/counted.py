"""As many slides as were asked for: sections side by side when there are too many, points on
slides of their own when there are too few."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agentpost.agents.offline.making.deck.slides import Layout, Part, Slide

_BESIDE = 3
_SHORT = 130


def fitted(
    opening: Slide,
    body: Sequence[Slide],
    closing: Slide | None,
    extra: Sequence[Slide],
    count: int,
) -> list[Slide]:
    """Exactly ``count`` slides, as far as the material reaches."""
    slides = [opening, *body, *([closing] if closing is not None else [])]
    while len(slides) > count and _paired(slides):
        pass
    while len(slides) > max(1, count):
        slides.remove(min(slides[1:], key=lambda slide: slide.weight))
    for more in extra:
        if len(slides) < count:
            slides.insert(_end(slides), more)
    while len(slides) < count and _divided(slides):
        pass
    return slides


def _end(slides: Sequence[Slide]) -> int:
    """Before the closing slide."""
    return len(slides) - (slides[-1].layout is Layout.CLOSING)


def _paired(slides: list[Slide]) -> bool:
    """Put two neighbouring short sections side by side; whether there were such."""
    best: int | None = None
    for at in range(len(slides) - 1):
        pair = slides[at], slides[at + 1]
        if (
            all(_is_short(slide) for slide in pair)
            and pair[0].source == pair[1].source
            and (
                best is None
                or sum(s.weight for s in pair) < slides[best].weight + slides[best + 1].weight
            )
        ):
            best = at
    if best is None:
        return False
    left, right = slides[best], slides[best + 1]
    slides[best : best + 2] = [
        Slide(
            Layout.COLUMNS,
            f"{left.title} · {right.title}",
            parts=(Part(left.title, left.points), Part(right.title, right.points)),
            source=left.source,
            notes=f"{left.notes}\n{right.notes}",
            weight=max(left.weight, right.weight),
        )
    ]
    return True


def _is_short(slide: Slide) -> bool:
    return (
        slide.layout in (Layout.POINTS, Layout.STATEMENT)
        and slide.weight < 1
        and len(slide.points) <= _BESIDE
        and all(len(point) <= _SHORT for point in slide.points)
        and len(slide.title) <= 40
    )


def _divided(slides: list[Slide]) -> bool:
    """Give a slide's last points one of their own; whether there was such a slide."""
    found = [s for s in slides if s.layout is Layout.POINTS and len(s.points) > 1]
    if not found:
        return False
    slide = max(found, key=lambda one: len(one.points))
    half = (len(slide.points) + 1) // 2
    at = slides.index(slide)
    slides[at : at + 1] = [_of(slide, slide.points[:half]), _of(slide, slide.points[half:])]
    return True


def _of(slide: Slide, points: tuple[str, ...]) -> Slide:
    layout = Layout.POINTS if len(points) > 1 else Layout.STATEMENT
    return msgspec.structs.replace(slide, layout=layout, points=points)
