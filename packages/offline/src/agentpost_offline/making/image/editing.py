"""What is to be done with pictures, and how it is done: cuts, turns, sizes, texts, collages."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentpost.agents.base import JobFailed
from agentpost_offline.frame import Frame
from agentpost_offline.making import fit, pictures
from agentpost_offline.style.typeset import typeset

if TYPE_CHECKING:
    from PIL.Image import Image

LARGEST_SIDE = 12_000
_SCALES = {"larger": 1.6, "smaller": 0.6}
_MOST_PIXELS = 50_000_000
_PROPORTIONS = 50
"""Sizes up to this are proportions: 16 x 9."""
_QUARTER = 90
_FORMS = ("png", "jpg", "webp", "gif", "bmp", "tiff")
_OPTIONS: dict[str, dict[str, Any]] = {
    "png": {"optimize": True}, "jpg": {"quality": 90, "optimize": True},
    "webp": {"quality": 88, "method": 4}, "tiff": {"compression": "tiff_lzw"},
}  # fmt: skip
_WIDE = 1800
_BAND = Path(__file__).with_name("lettered.typ")
_GAP = 14
_RATIO = 1.5
"""About so much wider than tall is a collage whose form is not asked for."""
Box = tuple[int, int, int, int]
"""Left, top, width, height."""


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
    """Is set at the bottom of the picture, or at its top, on a dark band."""
    is_text_on_top: bool = False
    is_collage: bool = False
    """Whether all pictures become one."""
    is_row: bool = False
    """Whether they stand side by side in it."""
    colour: str = "#ffffff"
    """Of the text."""
    scale: float = 1.0
    """How much larger its letters are than usual."""


def of_frame(frame: Frame) -> Edit:
    """The edit that a frame asks for.

    Its options: ``collage`` (True or ``row``), ``square``, ``crop``, ``portrait``, ``landscape``,
    ``grayscale``; ``rotate`` (degrees, or True for a quarter; ``left`` turns the other way);
    ``wide`` and ``high`` (pixels of one side), ``percent`` (of the size), ``side`` (which part of a
    crop stays) and ``text``, with ``top`` where it stands at the top, and ``lettering`` (``larger``
    or ``smaller``). Its style: ``size`` in
    pixels, or in proportions up to 50.
    """
    options, size = frame.style.options, frame.style.size
    is_ratio = size is not None and max(size) <= _PROPORTIONS
    pixels: tuple[int | None, int | None] | None = None if is_ratio else size
    if pixels is None and (options.get("wide") or options.get("high")):
        pixels = (_pixels(options.get("wide")), _pixels(options.get("high")))
    percent, turn = options.get("percent"), options.get("rotate") or 0
    degrees = _QUARTER if turn is True else int(turn) % 360
    return Edit(
        (360 - degrees) % 360 if options.get("left") and turn else degrees,
        size if is_ratio else _aspect(options, has_size=size is not None),
        str(options.get("side", "centre")), pixels, float(percent) / 100 if percent else None,
        bool(options.get("grayscale")),
        next((one for one in frame.formats if one in _FORMS), None),
        str(options.get("text", "")), bool(options.get("top")), bool(options.get("collage")),
        options.get("collage") == "row", frame.style.colour or "#ffffff",
        _SCALES.get(str(options.get("lettering")), 1.0),
    )  # fmt: skip


def _pixels(value: object) -> int | None:
    return value if isinstance(value, int) and 1 <= value <= LARGEST_SIDE else None


def _aspect(options: Mapping[str, object], *, has_size: bool) -> tuple[int, int] | None:
    if options.get("square"):
        return (1, 1)
    if not options.get("crop"):
        return None
    if options.get("portrait"):
        return (4, 5)
    return (16, 9) if options.get("landscape") else None if has_size else (1, 1)


def size_after(size: tuple[int, int], edit: Edit) -> tuple[int, int]:
    """The size that a picture of ``size`` will have; raises `JobFailed` when it is too large."""
    angle = math.radians(edit.turn)
    across, along = abs(math.cos(angle)), abs(math.sin(angle))
    wide, tall = (round(size[0] * across + size[1] * along),
                  round(size[0] * along + size[1] * across))  # fmt: skip
    if edit.aspect is not None:
        ratio = edit.aspect[0] / edit.aspect[1]
        wide, tall = (max(1, round(tall * ratio)), tall) if wide / tall > ratio else (
            wide, max(1, round(wide / ratio))
        )  # fmt: skip
    if edit.factor is not None:
        wide, tall = max(1, round(wide * edit.factor)), max(1, round(tall * edit.factor))
    if edit.size is not None:
        new_wide, new_tall = edit.size
        wide, tall = (
            new_wide or max(1, round(wide * (new_tall or 0) / tall)),
            new_tall or max(1, round(tall * (new_wide or 0) / wide)),
        )
    if wide * tall > _MOST_PIXELS or max(wide, tall) > LARGEST_SIDE:
        raise JobFailed(
            f"A picture of {wide} × {tall} pixels is larger than what is made here "
            f"({_MOST_PIXELS // 1_000_000} million pixels, {LARGEST_SIDE:,} on a side)."
        )
    return wide, tall


def apply(path: Path, name: str, edit: Edit, code: str = "en") -> Image:
    """The picture with the edit; raises `Unreadable`, `JobFailed`."""
    from PIL import Image

    size = size_after(pictures.size_of(path, name), edit)
    image = pictures.upright(path, name)
    if edit.turn:
        image = image if edit.turn % 90 == 0 else image.convert("RGBA")
        image = image.rotate(-edit.turn, expand=True, resample=Image.Resampling.BICUBIC)
    return _finish(cover(image, size, edit.side), edit, code)


def _finish(image: Image, edit: Edit, code: str) -> Image:
    """The picture in grey and with a text, where either is wanted."""
    if edit.grey:
        image = image.convert("LA" if image.mode == "RGBA" else "L")
    if not edit.text:
        return image
    return letter(image, edit.text, code, edit.colour, scale=edit.scale, on_top=edit.is_text_on_top)


def cover(image: Image, size: tuple[int, int], side: str = "centre") -> Image:
    """The picture in exactly this size, undistorted: ``side`` stays, what is too much goes."""
    from PIL import Image, ImageOps

    places = {"left": (0.0, 0.5), "right": (1.0, 0.5), "top": (0.5, 0.0), "bottom": (0.5, 1.0)}
    centre = places.get(side, (0.5, 0.5))
    return image if image.size == size else ImageOps.fit(
        image, size, Image.Resampling.LANCZOS, centering=centre
    )  # fmt: skip


def letter(
    image: Image, text: str, code: str, colour: str = "#ffffff", *, scale: float = 1.0,
    on_top: bool = False,
) -> Image:  # fmt: skip
    """The picture with a text on a dark band over its lower edge, or its upper one; the band is as
    high as the text needs, at most half the picture. Raises `JobFailed` when it does not fit."""
    from PIL import Image as Images

    wide, tall = image.size
    room = wide * 0.9
    sizes = max(9, tall * 0.028), tall * 0.09 * scale
    size = fit.largest([text], (room, tall * min(0.35, 0.3 * scale)), sizes, bold=True)
    high = fit.height([text], size, room, bold=True) + size
    if high > tall / 2:
        raise JobFailed("The text is too long for the picture.")
    data = {"text": text, "width": wide, "height": round(high), "room": room, "size": size,
            "colour": colour}  # fmt: skip
    band = typeset((_BAND,), data, form="png", code=code, ppi=72)[0]
    picture = image.convert("RGB") if image.mode in ("L", "RGB") else image.convert("RGBA")
    with Images.open(io.BytesIO(band)) as stream:
        strip = stream.convert("RGBA").resize((wide, round(high)))
    strip.putalpha(215)
    picture.paste(strip, (0, 0 if on_top else tall - strip.height), strip)
    return picture


def encode(image: Image, form: str) -> bytes:
    """The picture's file, without metadata; on white where the format knows no transparency."""
    from PIL import Image

    if form in ("jpg", "bmp") and image.mode in ("RGBA", "LA"):
        flat = Image.new("RGB", image.size, "#ffffff")
        flat.paste(image.convert("RGBA"), mask=image.getchannel("A"))
        image = flat
    buffer = io.BytesIO()
    image.save(buffer, "JPEG" if form == "jpg" else form.upper(), **_OPTIONS.get(form, {}))
    return buffer.getvalue()


def collage_size(ratios: Sequence[float], edit: Edit) -> tuple[int, int]:
    """Pixels of a collage of pictures with these proportions; raises `JobFailed`."""
    rows = [list(ratios)] if edit.is_row else _rows(ratios, _RATIO)
    natural = 1 / sum(1 / sum(row) for row in rows)  # at which nothing is cut off
    aspect, widest = edit.aspect, max(4, len(ratios))
    ratio = aspect[0] / aspect[1] if aspect is not None else min(widest, max(0.5, natural))
    wide, tall = edit.size if edit.size is not None else (_WIDE, None)
    size = wide or round((tall or _WIDE) * ratio), tall or round((wide or _WIDE) / ratio)
    if max(size) > LARGEST_SIDE // 2 or min(size) < 40 * len(ratios) ** 0.5:
        raise JobFailed(f"A collage cannot have {size[0]} × {size[1]} pixels.")
    return size


def collage(
    paths: Sequence[Path], names: Sequence[str], size: tuple[int, int], edit: Edit,
    code: str = "en",
) -> Image:  # fmt: skip
    """All pictures in rows of one height, each as large as fits, on white; with the edit's text."""
    from PIL import Image

    sizes = [pictures.size_of(path, name) for path, name in zip(paths, names, strict=True)]
    boxes = cells([wide / tall for wide, tall in sizes], size, _GAP, is_row=edit.is_row)
    sheet = Image.new("RGB", size, "#ffffff")
    for path, name, (left, top, wide, tall) in zip(paths, names, boxes, strict=True):
        picture = cover(pictures.upright(path, name, max(wide, tall) * 2), (wide, tall))
        mask = picture if picture.mode == "RGBA" else None
        sheet.paste(picture.convert("RGB"), (left, top), mask)
    return _finish(sheet, edit, code)


def cells(
    ratios: Sequence[float], size: tuple[int, int], gap: int, *, is_row: bool = False
) -> list[Box]:
    """A place for each picture, in rows whose pictures keep their proportions as far as they can,
    or in a single row."""
    wide, tall = size
    rows = [list(ratios)] if is_row else _rows(ratios, wide / tall)
    free = (tall - gap * (len(rows) - 1)) / sum(1 / sum(row) for row in rows)
    boxes: list[Box] = []
    top = 0
    for number, row in enumerate(rows, 1):
        bottom = tall if number == len(rows) else round(top + free / sum(row))
        across, left = wide - gap * (len(row) - 1), 0
        for place, ratio in enumerate(row, 1):
            width = wide - left if place == len(row) else round(across * ratio / sum(row))
            boxes.append((left, top, max(1, width), max(1, bottom - top)))
            left += width + gap
        top = bottom + gap
    return boxes


def _rows(ratios: Sequence[float], ratio: float) -> list[list[float]]:
    """The proportions of the pictures, in rows that are about equally wide."""
    count = max(1, min(len(ratios), round(math.sqrt(sum(ratios) / ratio))))
    share = sum(ratios) / count
    rows: list[list[float]] = [[]]
    full = 0.0
    for at, one in enumerate(ratios):
        rows_left = count - len(rows)
        is_full = full + one / 2 > share * len(rows) or len(ratios) - at <= rows_left
        if rows[-1] and rows_left and is_full:
            rows.append([])
        rows[-1].append(one)
        full += one
    return rows
