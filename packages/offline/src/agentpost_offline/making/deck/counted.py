"""As many slides as were asked for: those that matter least go first; more come of tables, then of
sentences that leave a chart for a slide of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from agentpost_offline.making.deck.slides import Layout, Slide


def fitted(
    opening: Slide, body: Sequence[Slide], extra: Sequence[Slide], count: int,
    headlines: Mapping[str, str],
) -> list[Slide]:  # fmt: skip
    """Exactly ``count`` slides, as far as the material reaches.

    Args:
        opening: the first slide, which stays.
        body: the others.
        extra: what fills up, in this order.
        count: how many slides there are to be.
        headlines: for each sentence the title that it has on a slide of its own.
    """
    slides = [opening, *body]
    while len(slides) > max(1, count):
        slides.remove(min(slides[1:], key=lambda slide: slide.weight))
    slides += extra[: max(0, count - len(slides))]
    while len(slides) < count and _divided(slides, headlines):
        pass
    return slides


def _divided(slides: list[Slide], headlines: Mapping[str, str]) -> bool:
    """Give the last sentence of the fullest slide one of its own; whether there was such one."""
    titles = {slide.title for slide in slides}
    for slide in sorted(slides, key=lambda one: -len(one.points)):
        last = slide.points[-1] if len(slide.points) > 1 else None
        if last is None or headlines.get(last, slide.title) in titles:
            continue
        at = slides.index(slide)
        alone = Slide(Layout.STATEMENT, headlines[last], points=(last,), source=slide.source,
                      notes=last)  # fmt: skip
        slides[at : at + 1] = [msgspec.structs.replace(slide, points=slide.points[:-1]), alone]
        return True
    return False
