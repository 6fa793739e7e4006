"""Posters and cards: what they say, and how large."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents.base import File, JobFailed
from agentpost.agents.offline.frame import Frame
from agentpost.agents.offline.making import fit, phrases, pictures
from agentpost.agents.offline.making.image.wish import WORDS
from agentpost.agents.offline.making.image.wish import of as wish_of
from agentpost.agents.offline.story.model import Claim, ClaimKind, Story
from agentpost.agents.offline.style import fonts, palette
from agentpost.agents.offline.style.typeset import typeset

_TEMPLATE = Path(__file__).with_name("poster.typ")
_QUOTED = re.compile(r"[\"“„«「『]([^\"”“»」』]{1,160})[\"”“»」』]")
_ARTICLE = re.compile(r"^(?:the|our|a|an|das|die|der|unser\w*|la|el|los|las|le|les|l’|l')\s+", re.I)
_SIZES = {"poster": (1240, 1754), "card": (1200, 630)}
_MOST_LINES = 5


class Words(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stands on a poster."""

    title: str
    lines: tuple[str, ...] = ()
    figure: str = ""
    course: tuple[float, ...] = ()


def said(frame: Frame) -> Words | None:
    """The words that the message gives: a title, quotations, what follows a colon or "saying"."""
    parts = [one.strip() for one in _QUOTED.findall(frame.said)]
    title = frame.style.title
    if len(parts) == 1 and title is None:
        parts = _pieces(parts[0])
    if title is not None:
        return Words(title, tuple(part for part in parts if part != title)[:_MOST_LINES])
    if not parts and frame.text.strip():
        parts = [line.strip() for line in frame.text.splitlines() if line.strip()]
    if not parts:
        parts = _after(frame)
    if not parts:
        return None
    first = _ARTICLE.sub("", _without_colour(parts[0]) if frame.style.colour else parts[0])
    return Words(first[:1].upper() + first[1:], tuple(parts[1 : _MOST_LINES + 1]))


def speaks(frame: Frame) -> bool:
    """Whether a frame asks for a poster or a card and gives its words."""
    return wish_of(frame).kind in _SIZES and said(frame) is not None


def _without_colour(text: str) -> str:
    """ "Summer party in green" without the wish for a colour."""
    words = text.split()
    if len(words) > 2 and palette.colour(words[-1]) is not None:
        return " ".join(words[:-2])
    return text


def _after(frame: Frame) -> list[str]:
    """What follows a colon, "saying" or "for", in its parts."""
    text = frame.said
    colon = re.search(r"[:：](?!\d|//)\s*", text)
    start: int | None = colon.end() if colon else None
    for key in ("text", "for"):
        if start is None:
            start = phrases.place(WORDS, frame.language, "saying", key, text)
    if start is None:
        return []
    return _pieces(text[start:].strip(" .!\n\t"))


def _pieces(text: str) -> list[str]:
    """The lines of a poster that a sentence lists: "Summer party, 12 July, Riverside Garden"."""
    pieces = [p.strip() for p in re.split(r"\s*(?:[\n;|，、،]|,(?!\d))\s*", text) if p.strip()]
    return [piece[:1].upper() + piece[1:] for piece in pieces]


def size_for(
    kind: str, size: tuple[int, int] | None, aspect: tuple[int, int] | None
) -> tuple[int, int]:
    """Pixels of a poster or card."""
    if size is not None:
        wide, tall = size
        if not (120 <= wide <= 6000 and 120 <= tall <= 6000):
            raise JobFailed("A poster can have 120 to 6,000 pixels on each side.")
        return wide, tall
    wide, tall = _SIZES[kind]
    if aspect is not None:
        ratio = aspect[0] / aspect[1]
        area = wide * tall
        return round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
    return wide, tall


def drawn(
    words: Words, size: tuple[int, int], *, code: str, colour: str | None, photo: Path | None
) -> bytes:
    """The poster as PNG."""
    import typst

    # A poster is set in points that are always about the same, whatever its pixels.
    scale = (size[0] * size[1] / (620 * 877)) ** 0.5
    wide, tall = size[0] / scale, size[1] / scale
    assets: dict[str, bytes] = {}
    if photo is not None:
        assets["photo"] = pictures.as_file(photo, most=max(size))[0]
    motif = "photograph" if photo is not None else "course" if words.course else "landscape"
    texts, rule = _placed(words, wide, tall, motif)
    first, last = texts[0]["box"], texts[-1]["box"]
    name = "photo.png" if assets.get("photo", b"").startswith(b"\x89PNG") else "photo.jpg"
    data: dict[str, Any] = {
        "width": wide, "height": tall, "motif": motif, "course": words.course,
        "begin": max(tall * 0.3, min(tall * 0.56, first[1] - tall * 0.07)),
        "peak": min(tall * 0.5, tall - last[1] - last[3] - 24),
        "texts": texts, "rule": rule, "image": name, "colours": _colours(colour, motif),
    }  # fmt: skip
    try:
        made = typeset(
            (_TEMPLATE,), data, form="png", code=code, ppi=72 * scale, accent=colour,
            assets={name: assets["photo"]} if assets else None,
        )  # fmt: skip
    except typst.TypstError as error:
        raise JobFailed("The poster could not be typeset.") from error
    if made.missing:
        raise JobFailed(
            f"No font here can show {fonts.sample(made.missing)}. For Chinese, Japanese and Korean "
            "install agentpost[cjk]."
        )
    return _exactly(made.pages[0], size)


def _exactly(content: bytes, size: tuple[int, int]) -> bytes:
    """The picture in exactly its pixels: the typesetter rounds by one."""
    import io

    from PIL import Image

    with Image.open(io.BytesIO(content)) as image:
        if image.size == size:
            return content
        buffer = io.BytesIO()
        image.convert("RGB").resize(size, Image.Resampling.LANCZOS).save(buffer, "PNG")
    return buffer.getvalue()


def _colours(colour: str | None, motif: str) -> dict[str, str]:
    accent = palette.accent(colour)
    dark = palette.mixed(accent, "#061218", 0.62)
    shades = {
        "back": dark if motif != "landscape" else palette.mixed(accent, "#ffffff", 0.72),
        "sun1": palette.mixed(accent, "#ffffff", 0.42),
        "sun2": palette.mixed(accent, "#ffffff", 0.16),
        "sun3": palette.mixed(accent, "#000000", 0.12),
        "wave1": palette.mixed(accent, "#9fb2b6", 0.42),
        "wave2": palette.mixed(accent, "#061218", 0.7),
        "bar": palette.mixed(accent, "#061218", 0.36),
        "mark": palette.mixed(accent, "#ffffff", 0.4),
        "light": "#ffffff",
        "pale": "#e3ecef",
    }
    if colour is None:
        shades |= {"sun1": "#f1a458", "sun2": "#e56c4f", "sun3": "#c7543c"}
        shades["back"] = "#f6d6aa" if motif == "landscape" else dark
    return shades


def _placed(
    words: Words, wide: float, tall: float, motif: str
) -> tuple[list[dict[str, Any]], list[float]]:
    """The texts in their places and the rule between them: at the foot of a landscape or a
    photograph, at the head of a course."""
    margin = min(wide, tall) * 0.082
    flat = wide > tall
    room = wide * (0.56 if flat and motif == "landscape" else 1) - 2 * margin
    high = tall - 2 * margin
    sizes = (16.0, min(wide, tall) * (0.17 if flat else 0.135))
    title_room = high * (0.42 if flat else 0.3)
    size = fit.largest([words.title], (room, title_room), sizes, bold=True)
    title = fit.height([words.title], size, room, bold=True)
    body = min(size * 0.5, 34.0)
    lines = list(words.lines)
    while body > 9 and fit.height(lines, body, room, gap=0.12) > high - title_room - 40:
        body -= 1
    below = fit.height(lines, body, room, gap=0.12) if lines else 0.0
    figure = min(size * 2.1, high * 0.24) if words.figure else 0.0
    whole = figure * 1.2 + title + (26 + below if lines else 10)
    top = margin if motif == "course" else tall - margin - whole
    if flat and motif == "landscape":
        top = max(margin, tall - margin - whole)
    texts: list[dict[str, Any]] = []
    y = top
    if words.figure:
        texts.append(
            _text([words.figure], (margin, y, wide - 2 * margin, figure * 1.2), figure, 800, "mark")
        )
        y += figure * 1.2
    texts.append(_text([words.title], (margin, y, room, title + 6), size, 800, "light"))
    y += title + 8
    rule = [margin, y, min(72.0, room * 0.2), max(3.0, size * 0.07)]
    if lines:
        texts.append(_text(lines, (margin, y + 14, room, below + 12), body, 500, "pale"))
    return texts, rule


def _text(
    lines: Sequence[str],
    box: tuple[float, float, float, float],
    size: float,
    weight: int,
    colour: str,
) -> dict[str, Any]:
    return {"lines": list(lines), "box": box, "size": size, "weight": weight, "colour": colour}


def of_story(files: Sequence[File], frame: Frame) -> Words | None:
    """The main finding of the attached tables."""
    from agentpost.agents.offline.making import material
    from agentpost.agents.offline.making.deck.findings import Telling

    others = [file for file in files if not material.is_picture(file)]
    if not others:
        return None
    story = material.gathered(others, frame).story
    if story is None or not story.claims:
        return None
    claim = _asked(story, frame)
    course = Telling(story, {}).course()
    figure = claim.key[0] if claim.key is not None else ""
    return Words(claim.headline, (claim.sentence, "; ".join(story.sources)), figure, course)


def _asked(story: Story, frame: Frame) -> Claim:
    """The best or the worst when that was asked for, else the main finding."""
    orders = [query.order for query in frame.queries if query.order is not None]
    kind = (ClaimKind.BEST if orders[0].descending else ClaimKind.WORST) if orders else None
    return next((claim for claim in story.claims if claim.kind is kind), story.claims[0])
