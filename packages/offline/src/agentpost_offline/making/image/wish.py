"""What is to be done with pictures, from the options and the style of a frame."""

from __future__ import annotations

import msgspec

from agentpost_offline.frame import Frame

LARGEST_SIDE = 12_000
_FORMATS = {"png": "png", "jpg": "jpg", "jpeg": "jpg", "webp": "webp", "gif": "gif", "bmp": "bmp",
            "tif": "tiff", "tiff": "tiff"}  # fmt: skip
_PROPORTIONS = 50
"""Sizes up to this are proportions: 16 x 9."""
_QUARTER = 90


class Edit(msgspec.Struct, frozen=True, omit_defaults=True):
    """What becomes of a picture, in this order: turned, cut, sized, without colours, with text."""

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
    text: str = ""
    """Is set at the bottom of the picture, on a dark band."""


class Wish(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is asked of pictures."""

    kind: str
    """``edit`` or ``collage``."""
    edit: Edit = Edit()


def of(frame: Frame) -> Wish:
    """The wish of a frame.

    Its options: ``collage``, ``square``, ``crop``, ``portrait``, ``landscape``, ``grayscale``;
    ``rotate`` (degrees, or True for a quarter; ``left`` turns the other way); ``wide`` and ``high``
    (pixels of one side), ``percent`` (of the size), ``side`` (which part of a crop stays) and
    ``text``. Its style: ``size`` in pixels, or in proportions up to 50.
    """
    options, size = frame.style.options, frame.style.size
    form = next((_FORMATS[one] for one in frame.formats if one in _FORMATS), None)
    is_ratio = size is not None and max(size) <= _PROPORTIONS
    aspect = size if is_ratio else _aspect(options, has_size=size is not None)
    pixels: tuple[int | None, int | None] | None = None if is_ratio else size
    if pixels is None and (options.get("wide") or options.get("high")):
        pixels = (_pixels(options.get("wide")), _pixels(options.get("high")))
    percent = options.get("percent")
    turn = options.get("rotate") or 0
    degrees = _QUARTER if turn is True else int(turn) % 360
    edit = Edit(
        (360 - degrees) % 360 if options.get("left") and turn else degrees,
        aspect, str(options.get("side", "centre")), pixels,
        float(percent) / 100 if percent else None, bool(options.get("grayscale")), form,
        str(options.get("text", "")),
    )  # fmt: skip
    return Wish("collage" if options.get("collage") else "edit", edit)


def _pixels(value: object) -> int | None:
    return value if isinstance(value, int) and 1 <= value <= LARGEST_SIDE else None


def _aspect(options: dict[str, object], *, has_size: bool) -> tuple[int, int] | None:
    if options.get("square"):
        return (1, 1)
    if not options.get("crop"):
        return None
    if options.get("portrait"):
        return (4, 5)
    return (16, 9) if options.get("landscape") else None if has_size else (1, 1)
