"""What is to be done with pictures: options of the frame, and what the clause says beyond them."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from agentpost.agents.offline.frame import Frame
from agentpost.agents.offline.making import phrases

WORDS = Path(__file__).with_name("words.toml")
LARGEST_SIDE = 12_000
_FORMATS = {"png": "png", "jpg": "jpg", "jpeg": "jpg", "webp": "webp", "gif": "gif", "bmp": "bmp",
            "tif": "tiff", "tiff": "tiff"}  # fmt: skip
_ASPECT = re.compile(r"(?<![\d:.])(\d{1,2})\s?[:/]\s?(\d{1,2})(?![\d:.])")
_PERCENT = re.compile(r"(\d{1,3})\s?(?:%|percent|prozent|por ciento|pour cent)")
_DEGREES = re.compile(r"(?<!\d)(\d{1,3})\s?(?:°|deg|grad|grados|degr|度|درجة)")
_PIXELS = re.compile(r"(?<!\d)(\d{2,5})\s?(?:px|pixels?|pixel|píxeles|像素|بكسل)?")
_PROPORTIONS = 50
"""Sizes up to this are proportions: 16 x 9."""


class Edit(msgspec.Struct, frozen=True, omit_defaults=True):
    """What becomes of a picture, in this order: turned, cut, sized, without colours."""

    turn: int = 0
    """Degrees, clockwise."""
    aspect: tuple[int, int] | None = None
    """The proportions to cut to."""
    side: str = "centre"
    """Which part stays: ``left right top bottom centre``."""
    size: tuple[int | None, int | None] | None = None
    """Pixels; None follows from the other."""
    factor: float | None = None
    grey: bool = False
    form: str | None = None
    """The suffix to write; None keeps the file's own."""


class Wish(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a clause asks of pictures."""

    kind: str
    """``edit`` or ``collage``."""
    edit: Edit = Edit()


def of(frame: Frame) -> Wish:
    """The wish of a frame."""
    options, code, text = frame.style.options, frame.language, frame.said
    action = phrases.said(WORDS, code, "action", text)
    kind = "collage" if options.get("collage") or action == "collage" else "edit"
    form = next((_FORMATS[one] for one in frame.formats if one in _FORMATS), None)
    proportions = _proportions(frame)
    pixels = None if frame.style.size == proportions else frame.style.size
    if kind != "edit":
        return Wish(kind, Edit(aspect=proportions, size=pixels, form=form))
    grey = bool(options.get("grayscale")) or action == "grayscale"
    size: tuple[int | None, int | None] | None = pixels or _one_side(code, text)
    factor = None if size or proportions else _factor(code, text)
    side = phrases.said(WORDS, code, "side", text) or "centre"
    turn = _turn(frame, action)
    if turn:
        side = "centre"
    return Wish("edit", Edit(turn, proportions, side, size, factor, grey, form))


def _proportions(frame: Frame) -> tuple[int, int] | None:
    options, size = frame.style.options, frame.style.size
    said = phrases.said(WORDS, frame.language, "action", frame.said)
    if options.get("square") or said == "square":
        return (1, 1)
    if size is not None and max(size) <= _PROPORTIONS:
        return size
    found = _ASPECT.search(frame.said)
    if found and int(found[1]) and int(found[2]):
        return int(found[1]), int(found[2])
    if options.get("crop") or said == "crop":
        if options.get("portrait"):
            return (4, 5)
        return (16, 9) if options.get("landscape") else (1, 1) if size is None else None
    return None


def _one_side(code: str, text: str) -> tuple[int | None, int | None] | None:
    """ "800 pixels wide", "width 800"."""
    across = phrases.said(WORDS, code, "across", text)
    found = _PIXELS.search(text)
    if across is None or found is None or not 1 <= int(found[1]) <= LARGEST_SIDE:
        return None
    pixels = int(found[1])
    return (pixels, None) if across == "width" else (None, pixels)


def _factor(code: str, text: str) -> float | None:
    found = _PERCENT.search(text.casefold())
    if found and 1 <= int(found[1]) <= 800:
        return int(found[1]) / 100
    word = phrases.said(WORDS, code, "factor", text)
    return float(word) if word else None


def _turn(frame: Frame, action: str | None) -> int:
    """Degrees clockwise; a quarter when nothing else is said."""
    if not frame.style.options.get("rotate") and action != "rotate":
        return 0
    text = frame.said.casefold()
    way = phrases.said(WORDS, frame.language, "turn", text)
    found = _DEGREES.search(text) or re.search(r"(?<!\d)(90|180|270)(?!\d)", text)
    degrees = int(found[1]) % 360 if found else 180 if way == "half" else 90
    return (360 - degrees) % 360 if way == "left" else degrees
