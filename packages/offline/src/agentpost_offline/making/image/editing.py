"""Cuts, turns and sizes pictures, and puts several into one."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentpost.agents.base import JobFailed
from agentpost_offline.making import fit, pictures
from agentpost_offline.making.image.wish import LARGEST_SIDE, Edit
from agentpost_offline.style.typeset import typeset

if TYPE_CHECKING:
    from PIL.Image import Image

_MOST_PIXELS = 50_000_000
_SAVED: dict[str, tuple[str, dict[str, Any]]] = {
    "png": ("PNG", {"optimize": True}),
    "jpg": ("JPEG", {"quality": 90, "optimize": True}),
    "webp": ("WEBP", {"quality": 88, "method": 4}),
    "gif": ("GIF", {}),
    "bmp": ("BMP", {}),
    "tiff": ("TIFF", {"compression": "tiff_lzw"}),
}
_WIDE = 1800
_LETTERED = Path(__file__).with_name("lettered.typ")
_GAP = 14


def target(size: tuple[int, int], edit: Edit) -> tuple[int, int]:
    """The size that a picture of ``size`` will have; raises `JobFailed` when it is too large."""
    wide, tall = size
    if edit.turn % 180 == 90:
        wide, tall = tall, wide
    elif edit.turn % 180:
        angle = math.radians(edit.turn)
        turned = (abs(math.cos(angle)), abs(math.sin(angle)))
        wide, tall = (
            round(wide * turned[0] + tall * turned[1]),
            round(wide * turned[1] + tall * turned[0]),
        )
    if edit.aspect is not None:
        wide, tall = _cut((wide, tall), edit.aspect[0] / edit.aspect[1])
    if edit.factor is not None:
        wide, tall = max(1, round(wide * edit.factor)), max(1, round(tall * edit.factor))
    if edit.size is not None:
        asked_wide, asked_tall = edit.size
        if asked_wide is None or asked_tall is None:
            scale = (asked_wide or 0) / wide if asked_wide else (asked_tall or 0) / tall
            wide, tall = (
                asked_wide or max(1, round(wide * scale)),
                asked_tall or max(1, round(tall * scale)),
            )
        else:
            wide, tall = asked_wide, asked_tall
    if wide * tall > _MOST_PIXELS or max(wide, tall) > LARGEST_SIDE:
        raise JobFailed(
            f"A picture of {wide} × {tall} pixels is larger than what is made here "
            f"({_MOST_PIXELS // 1_000_000} million pixels, {LARGEST_SIDE:,} on a side)."
        )
    return wide, tall


def _cut(size: tuple[int, int], ratio: float) -> tuple[int, int]:
    """The largest size of these proportions inside another."""
    wide, tall = size
    if wide / tall > ratio:
        return max(1, round(tall * ratio)), tall
    return wide, max(1, round(wide / ratio))


def edited(path: Path, name: str, edit: Edit, code: str = "en") -> Image:
    """The picture with the edit; raises `Unreadable`, `JobFailed`."""
    from PIL import Image

    size = target(pictures.size_of(path, name), edit)
    image = pictures.upright(path, name)
    if edit.turn % 90 == 0 and edit.turn:
        turns = {90: Image.Transpose.ROTATE_270, 180: Image.Transpose.ROTATE_180,
                 270: Image.Transpose.ROTATE_90}  # fmt: skip
        image = image.transpose(turns[edit.turn])
    elif edit.turn:
        image = image.convert("RGBA").rotate(
            -edit.turn, expand=True, resample=Image.Resampling.BICUBIC
        )
    image = covering(image, size, edit.side)
    if edit.grey:
        image = image.convert("LA" if image.mode == "RGBA" else "L")
    return lettered(image, edit.text, code) if edit.text else image


def lettered(image: Image, text: str, code: str) -> Image:
    """The picture with a text on a dark band over its lower edge; the band is as high as the text
    needs, at most half the picture. Raises `JobFailed` when it does not fit."""
    from PIL import Image as Images

    wide, tall = image.size
    room = wide * 0.9
    size = fit.largest([text], (room, tall * 0.3), (max(9, tall * 0.028), tall * 0.09), bold=True)
    high = fit.height([text], size, room, bold=True) + size
    if high > tall / 2:
        raise JobFailed("The text is too long for the picture.")
    data = {"text": text, "width": wide, "height": round(high), "room": room, "size": size}
    band = typeset((_LETTERED,), data, form="png", code=code, ppi=72).pages[0]
    result = image.convert("RGB") if image.mode in ("L", "RGB") else image.convert("RGBA")
    with Images.open(io.BytesIO(band)) as opened:
        strip = opened.convert("RGBA").resize((wide, round(high)))
    strip.putalpha(215)
    result.paste(strip, (0, tall - strip.height), strip)
    return result


def covering(image: Image, size: tuple[int, int], side: str = "centre") -> Image:
    """The picture in exactly this size, undistorted: ``side`` stays, what is too much goes."""
    from PIL import Image

    wide, tall = _cut(image.size, size[0] / size[1])
    free_x, free_y = image.width - wide, image.height - tall
    left = {"left": 0, "right": free_x}.get(side, free_x // 2)
    top = {"top": 0, "bottom": free_y}.get(side, free_y // 2)
    if (wide, tall) != image.size:
        image = image.crop((left, top, left + wide, top + tall))
    return image if image.size == size else image.resize(size, Image.Resampling.LANCZOS)


def encoded(image: Image, form: str) -> bytes:
    """The picture's file, without metadata; on white where the format knows no transparency."""
    from PIL import Image

    if form in ("jpg", "bmp") and image.mode in ("RGBA", "LA"):
        flat = Image.new("RGB", image.size, "#ffffff")
        flat.paste(image.convert("RGBA"), mask=image.getchannel("A"))
        image = flat
    kind, options = _SAVED[form]
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def collage_size(
    ratios: Sequence[float],
    size: tuple[int | None, int | None] | None,
    aspect: tuple[int, int] | None,
) -> tuple[int, int]:
    """Pixels of a collage of pictures with these proportions; raises `JobFailed`."""
    natural = min(1.9, max(0.75, _natural(ratios)))
    ratio = aspect[0] / aspect[1] if aspect is not None else natural
    wide, tall = size if size is not None else (_WIDE, None)
    chosen = wide or round((tall or _WIDE) * ratio), tall or round((wide or _WIDE) / ratio)
    if max(chosen) > LARGEST_SIDE // 2 or min(chosen) < 40 * len(ratios) ** 0.5:
        raise JobFailed(f"A collage cannot have {chosen[0]} × {chosen[1]} pixels.")
    return chosen


def collage(paths: Sequence[Path], names: Sequence[str], size: tuple[int, int]) -> Image:
    """All pictures in rows of one height, each as large as fits, on white."""
    from PIL import Image

    sizes = [pictures.size_of(path, name) for path, name in zip(paths, names, strict=True)]
    ratios = [wide / tall for wide, tall in sizes]
    boxes = cells(ratios, size, _GAP)
    sheet = Image.new("RGB", size, "#ffffff")
    for path, name, (left, top, w, h) in zip(paths, names, boxes, strict=True):
        picture = pictures.upright(path, name, max(w, h) * 2)
        placed = covering(picture, (w, h))
        sheet.paste(placed.convert("RGB"), (left, top), placed if placed.mode == "RGBA" else None)
    return sheet


def _natural(ratios: Sequence[float]) -> float:
    """Proportions at which little has to be cut off."""
    if len(ratios) <= 3:
        return sum(ratios) if len(ratios) < 3 else 1.6
    return 1.4


def cells(
    ratios: Sequence[float], size: tuple[int, int], gap: int
) -> list[tuple[int, int, int, int]]:
    """Left, top, width and height for each picture: one large and two beside it for three, else
    rows whose pictures keep their proportions as far as they can."""
    wide, tall = size
    if len(ratios) == 3 and wide > tall:
        big = round((wide - gap) * 0.655)
        high = (tall - gap) // 2
        rest = wide - gap - big
        return [(0, 0, big, tall), (big + gap, 0, rest, high),
                (big + gap, high + gap, rest, tall - high - gap)]  # fmt: skip
    rows = _rows(ratios, wide / tall)
    weights = [1 / sum(ratios[at] for at in row) for row in rows]
    free = tall - gap * (len(rows) - 1)
    boxes: list[tuple[int, int, int, int]] = []
    top = 0
    for number, row in enumerate(rows):
        tallness = free * weights[number] / sum(weights)
        bottom = tall if number == len(rows) - 1 else round(top + tallness)
        across = wide - gap * (len(row) - 1)
        left, whole = 0, sum(ratios[at] for at in row)
        for place, at in enumerate(row):
            last = place == len(row) - 1
            w = wide - left if last else round(across * ratios[at] / whole)
            boxes.append((left, top, max(1, w), max(1, bottom - top)))
            left += w + gap
        top = bottom + gap
    return boxes


def _rows(ratios: Sequence[float], ratio: float) -> list[list[int]]:
    """The pictures in rows that are about equally wide."""
    count = max(1, min(len(ratios), round(math.sqrt(sum(ratios) / ratio))))
    share = sum(ratios) / count
    rows: list[list[int]] = [[]]
    filled = 0.0
    for at, one in enumerate(ratios):
        left = len(ratios) - at
        if (
            rows[-1]
            and len(rows) < count
            and (filled + one / 2 > share * len(rows) or left <= count - len(rows))
        ):
            rows.append([])
        rows[-1].append(at)
        filled += one
    return rows
