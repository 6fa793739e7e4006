"""Plans a deck: which slides, in which order, as many as were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath

from agentpost.agents.base import File
from agentpost_offline.frame import Frame
from agentpost_offline.making import material
from agentpost_offline.making.deck import counted
from agentpost_offline.making.deck.bounded import bounded
from agentpost_offline.making.deck.findings import Telling
from agentpost_offline.making.deck.slides import Layout, Outline, Slide
from agentpost_offline.style import languages, palette

TEXTS = Path(__file__).with_name("texts")
MOST_SLIDES = 40
_COMFORTABLE = 12


def outline(files: Sequence[File], frame: Frame) -> Outline:
    """The deck of the tables in files; raises `JobFailed` when there are none."""
    return planned(material.gathered(files, frame), frame)


def planned(source: material.Material, frame: Frame) -> Outline:
    """The deck of what was read."""
    texts = languages.words(TEXTS, frame.language)
    telling = Telling(source.story, texts)
    title = frame.style.title or _title(source)
    remarks = list(source.story.notes)
    sources = "; ".join(source.story.sources)
    opening = Slide(
        Layout.TITLE, title, subtitle=_subtitle(telling), backdrop=telling.course(),
        source=sources, notes=" ".join(telling.points(3)), weight=2.0,
    )  # fmt: skip
    body = telling.slides()
    headlines = {claim.sentence: claim.headline for claim in source.story.claims}
    asked = _asked(frame, _comfortable(body))
    slides = counted.fitted(opening, body, telling.extra(), asked or _comfortable(body), headlines)
    if asked and len(slides) != asked:
        remarks.append(texts["fewer"].format(asked=asked, count=len(slides)))
    claims = source.story.claims
    return bounded(Outline(
        title, tuple(slides), frame.language, _accent(frame), source.used, source.skipped,
        tuple(remarks), finding=claims[0].sentence if claims else "",
    ))  # fmt: skip


def _accent(frame: Frame) -> str | None:
    return palette.colour(frame.style.colour) if frame.style.colour else None


def _title(source: material.Material) -> str:
    words = PurePath(source.tables[0].name.partition(",")[0]).stem.replace("_", " ").replace(
        "-", " "
    ).split()  # fmt: skip
    return " ".join(words)[:1].upper() + " ".join(words)[1:]


def _subtitle(telling: Telling) -> str:
    return telling.story.claims[0].headline if telling.story.claims else ""


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
    return min(len(body) + 1, max(_COMFORTABLE, named + 4))
