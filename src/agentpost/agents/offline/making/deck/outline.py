"""Plans a deck: which slides, in which order, as many as were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

import msgspec

from agentpost.agents.base import File
from agentpost.agents.offline.archives import unpacking
from agentpost.agents.offline.frame import Frame, from_json
from agentpost.agents.offline.making import material
from agentpost.agents.offline.making.deck import counted
from agentpost.agents.offline.making.deck.bounded import bounded
from agentpost.agents.offline.making.deck.findings import Telling
from agentpost.agents.offline.making.deck.slides import Layout, Outline, Slide
from agentpost.agents.offline.style import languages, palette

TEXTS = Path(__file__).with_name("texts")
MOST_SLIDES = 40
_COMFORTABLE = 12


@unpacking
def plan(files: Sequence[File], frame: dict[str, Any]) -> dict[str, Any]:
    """A step: read everything and plan the deck (an `Outline` as JSON).

    Args:
        files: the frame's files.
        frame: the frame as JSON.

    Raises `JobFailed` when nothing could be read.
    """
    wish = from_json(frame)
    made = planned(material.gathered(files, wish), files, wish)
    built: dict[str, Any] = msgspec.to_builtins(made)
    return built


def planned(found: material.Material, files: Sequence[File], frame: Frame) -> Outline:
    """The deck of what was read."""
    texts = languages.words(TEXTS, frame.language)
    telling = Telling(found.story, texts) if found.story is not None else None
    title = frame.style.title or _title(found, files)
    remarks: list[str] = list(found.story.notes) if found.story is not None else []
    sources = "; ".join(found.story.sources) if found.story is not None else ""
    opening = Slide(
        Layout.TITLE, title, subtitle=_subtitle(telling),
        backdrop=telling.course() if telling else (), source=sources,
        notes=" ".join(telling.points(3)) if telling else "", weight=2.0,
    )  # fmt: skip
    body = telling.slides() if telling is not None else []
    body += [_pictured(number, files, texts) for number in found.images]
    closing = _closing(telling, body, sources, texts)
    asked = _asked(frame, _comfortable(body))
    extra = telling.extra() if telling is not None else []
    slides = counted.fitted(opening, body, closing, extra, asked or _comfortable(body))
    if asked and len(slides) != asked:
        remarks.append(texts["fewer"].format(asked=asked, count=len(slides)))
    made = Outline(
        title, tuple(slides), frame.language, _accent(frame), found.used, found.skipped,
        tuple(remarks), finding=found.story.claims[0].sentence
        if found.story is not None and found.story.claims else "",
    )  # fmt: skip
    return bounded(made)


def _accent(frame: Frame) -> str | None:
    return palette.colour(frame.style.colour) if frame.style.colour else None


def _title(found: material.Material, files: Sequence[File]) -> str:
    names = [table.name.partition(",")[0] for table in found.tables]
    names += [files[number].name for number in found.images] if not names else []
    return _stem(names[0]) if names else ""


def _stem(name: str) -> str:
    words = PurePath(name).stem.replace("_", " ").replace("-", " ").split()
    return " ".join(words)[:1].upper() + " ".join(words)[1:]


def _subtitle(telling: Telling | None) -> str:
    return telling.story.claims[0].headline if telling and telling.story.claims else ""


def _pictured(number: int, files: Sequence[File], texts: dict[str, Any]) -> Slide:
    name = files[number].name
    return Slide(
        Layout.IMAGE, files[number].label or _stem(name), image=number,
        source=texts["source"].format(names=name), weight=0.7,
    )  # fmt: skip


def _closing(
    telling: Telling | None, body: Sequence[Slide], sources: str, texts: dict[str, Any]
) -> Slide | None:
    """The three things to remember: findings first, then the first point of each section."""
    points = list(telling.points(3)) if telling is not None else []
    for slide in body:
        if len(points) >= 3:
            break
        first = slide.points[:1] if slide.layout in (Layout.POINTS, Layout.STATEMENT) else ()
        points += [point for point in first if len(point) <= 200 and point not in points]
    if len(points) < 2:
        return None
    return Slide(Layout.CLOSING, texts["takeaways"], points=tuple(points), source=sources,
                 notes=" ".join(points), weight=0.9)  # fmt: skip


def _asked(frame: Frame, natural: int) -> int | None:
    """How many slides were asked for; "half as long" is of what was asked before, or of what the
    deck has by itself."""
    style = frame.style
    factor = {"half": 0.5, "shorter": 2 / 3, "longer": 1.5, "double": 2.0}.get(style.length or "")
    if factor is None:
        return min(style.pages, MOST_SLIDES) if style.pages else None
    return min(MOST_SLIDES, max(2, round((style.pages or natural) * factor)))


def _comfortable(body: Sequence[Slide]) -> int:
    """How many slides a deck has when nobody said: all, as far as people sit through them."""
    named = sum(slide.weight >= 1 for slide in body)
    return min(len(body) + 2, max(_COMFORTABLE, named + 4))
