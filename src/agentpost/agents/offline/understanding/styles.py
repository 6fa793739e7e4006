"""How a result should look: kind, colour, size, length, formats, title, subjects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentpost.agents.offline.frame import Style, Thing
from agentpost.agents.offline.understanding.segments import Segment

_KINDS = (
    "multiples", "heatmap", "histogram", "scatter", "stacked", "grouped", "donut", "area", "line",
    "bar",
)  # fmt: skip
_OF_OPTION = {
    Thing.IMAGE: [
        "crop",
        "square",
        "resize",
        "convert",
        "collage",
        "rotate",
        "grayscale",
    ],
    Thing.VIDEO: ["race", "captions", "voice", "slideshow"],
    Thing.TABLE: ["clean", "pivot", "join", "formulas"],
}
_QUOTED = re.compile(r"[\"“„«「『]([^\"”“»」』]{1,120})[\"”“»」』]")


@dataclass
class Look:
    """The style that a clause names, and what else its words say about the result."""

    chart: str | None = None
    colour: str | None = None
    title: str | None = None
    size: tuple[int, int] | None = None
    pages: int | None = None
    seconds: float | None = None
    length: str | None = None
    sections: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    formats: list[str] = field(default_factory=list)
    language: str | None = None
    """In which it is to be written, when that was said."""

    def style(self) -> Style:
        """As a frame holds it."""
        return Style(
            chart=self.chart, colour=self.colour, title=self.title, size=self.size,
            pages=self.pages, seconds=self.seconds, length=self.length,
            sections=tuple(self.sections), options=self.options,
        )  # fmt: skip

    @property
    def empty(self) -> bool:
        """Whether nothing was named."""
        return self.style() == Style() and not self.formats


def titled(text: str, segments: Sequence[Segment]) -> tuple[str | None, tuple[int, int]]:
    """The title that a clause gives, and from where to where it stands in the text."""
    for at, segment in enumerate(segments):
        if not segment.has("title") or segment.columns:
            continue
        rest = text[segment.end :]
        quoted = _QUOTED.search(rest)
        if quoted and quoted.start() < 12:
            return quoted[1].strip(), (segment.start, segment.end + quoted.end())
        bare = re.match(
            r"\s*(?:[:：]|to\b|as\b|it\b|of\b|auf\b|a\b|en\b|为|成)?\s*([^\"\n]{1,120})", rest
        )
        last = at == len(segments) - 1
        if bare and not last and not segment.has("filler"):
            return bare[1].strip(" .!。"), (segment.start, segment.end + bare.end())
    quoted = _QUOTED.search(text)
    if quoted and any(segment.has("title") for segment in segments):
        return quoted[1].strip(), quoted.span()
    return None, (0, 0)


def looks(segments: Sequence[Segment], thing: Thing | None, *, changing: bool) -> Look:
    """Read the style of a clause and mark its segments as used."""
    look = Look()
    _kind(segments, look, thing, changing=changing)
    for at, segment in enumerate(segments):
        if segment.used or segment.values:
            continue
        if segment.has("colour") and not segment.literal:
            look.colour = segment.key("colour")
            segment.used = True
        elif segment.has("language") and at and segments[at - 1].has("in"):
            look.language = segment.key("language")
            segment.used = segments[at - 1].used = True
        elif segment.kind == "hex":
            look.colour = segment.text.casefold()
            segment.used = True
        elif segment.kind == "size":
            wide, high = re.split("[x×*]", segment.text.replace(" ", ""))
            look.size = (int(wide), int(high))
            segment.used = True
        elif segment.has("unit") and _count(segments, at, look):
            pass
        elif segment.has("length") and not segment.columns and _length_fits(segments, at, changing):
            look.length = _length(segment)
            segment.used = True
        elif segment.has("format") and not segment.columns and not _source(segments, at):
            key = segment.key("format")
            if key:
                look.formats.append(key)
                segment.used = True
    _options(segments, look, thing)
    look.formats = list(dict.fromkeys(look.formats))
    return look


def of_options(segments: Sequence[Segment]) -> Thing | None:
    """The thing that option words stand for: "crop it" is an image."""
    for thing, keys in _OF_OPTION.items():
        if any(segment.has("option", *keys) and not segment.columns for segment in segments):
            return thing
    return None


def _kind(segments: Sequence[Segment], look: Look, thing: Thing | None, *, changing: bool) -> None:
    if thing not in (None, Thing.CHART) or (thing is None and not changing):
        return
    found = {}
    for at, segment in enumerate(segments):
        key = segment.key("kind")
        if segment.used or key is None:
            continue
        next_chart = at + 1 < len(segments) and segments[at + 1].has("thing", "chart")
        if (segment.values or segment.literal) and not next_chart:
            continue
        found[key] = segment
        segment.used = True
    for key in _KINDS:
        if key in found:
            look.chart = key
            return


def _count(segments: Sequence[Segment], at: int, look: Look) -> bool:
    """A number before or after a unit: "6 slides", "30 s", "one-page"."""
    unit = segments[at].key("unit")
    number = None
    for index in (at - 1, at - 2):
        if index < 0:
            break
        before = segments[index]
        if before.used or (before.has("ordinal") and not before.has("number")):
            continue
        if before.number is not None or before.has("number"):
            number = before
            break
        if before.kind == "mark" and before.text != "-":
            break
    if number is None:
        return False
    value = number.number if number.number is not None else float(number.key("number") or 0)
    if unit in ("seconds", "minutes"):
        look.seconds = value * (60 if unit == "minutes" else 1)
    elif unit == "words":
        look.options["words"] = int(value)
    elif 0 < value <= 1000:
        look.pages = max(1, int(value))
    number.used = segments[at].used = True
    return True


def _length(segment: Segment) -> str:
    keys = {tag.key for tag in segment.tags if tag.section == "length"}
    return next(key for key in ("half", "double", "shorter", "longer") if key in keys)


def _length_fits(segments: Sequence[Segment], at: int, changing: bool) -> bool:
    """As in "How long" and "the long list" say nothing about the result's length."""
    before = segments[at - 1] if at else None
    return not (before is not None and before.has("question"))


def _source(segments: Sequence[Segment], at: int) -> bool:
    """As in "from the attached PDF" says where something comes from."""
    index = at - 1
    determined = False
    later = any(segment.has("into") or segment.has("act", "into") for segment in segments[at + 1 :])
    while index >= 0 and (segments[index].has("filler") or segments[index].has("the")):
        determined = determined or segments[index].has("the")
        if segments[index].has("source"):
            return True
        index -= 1
    if determined and later:
        return True
    if index < 0 or not determined:
        return False
    return segments[index].has("from") and not segments[index].has("act")


def _options(segments: Sequence[Segment], look: Look, thing: Thing | None) -> None:
    known = set(_OF_OPTION.get(thing, ())) if thing else set()
    always = {
        "horizontal",
        "vertical",
        "dark",
        "search",
        "portrait",
        "landscape",
        "captions",
        "voice",
    }
    for segment in segments:
        for tag in segment.tags:
            if tag.section != "option" or segment.columns or segment.values:
                continue
            if tag.key in known | always:
                look.options[tag.key] = True
                segment.used = True


def _bare(part: list[Segment]) -> list[Segment]:
    """A subject without the small words at its end; none when it only says "this table"."""
    while part and (part[-1].has("filler") or part[-1].has("into") or part[-1].has("compare")):
        part = part[:-1]
    whole = all(
        s.has("filler") or s.has("the") or s.has("thing") or s.has("pronoun") or s.has("source")
        or s.has("documents") or s.has("counted") for s in part
    )  # fmt: skip
    return [] if whole else part


def quotes(text: str) -> bool:
    """Whether a clause brings words of its own between quotation marks."""
    return _QUOTED.search(text) is not None


def subjects(text: str, segments: Sequence[Segment]) -> list[str]:
    """What a slide or section is to be about: the words after "about"."""
    for at, segment in enumerate(segments):
        if not segment.has("about") or segment.used or segment.columns:
            continue
        rest = segments[at + 1 :]
        form = next((n for n, part in enumerate(rest) if part.has("format")), len(rest))
        if form < len(rest):  # "on costs as PDF": the format is no subject, nor is its "as"
            rest = rest[: form - 1 if form and rest[form - 1].has("into") else form]
        parts: list[list[Segment]] = [[]]
        for part in rest:
            if part.kind == "mark" and part.text != "-" and part.text != ",":
                break
            if part.used and (part.has("format") or part.has("unit")):
                break  # "… as a PDF"
            if part.has("and") or part.text == ",":
                parts.append([])
            elif parts[-1] or not (part.has("filler") or part.has("the")):
                parts[-1].append(part)
        parts = [_bare(p) for p in parts]
        found = [text[p[0].start : p[-1].end].strip() for p in parts if p]
        if found:
            for part in rest:
                part.used = True
            segment.used = True
            return found
    return []
