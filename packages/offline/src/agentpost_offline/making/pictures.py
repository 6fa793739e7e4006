"""Opens strangers' pictures: size asked of the header before a pixel is decoded, turned upright."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agentpost.agents.base import File
from agentpost.extraction import Unreadable
from agentpost_offline.data.sources import picture_form

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS = 60_000_000
"""A picture of a good camera; decoded it takes 180 MB."""
MOST_SIDE = 30_000
MOST_IN_DOCUMENT = 2000
_TELLING = (0x010F, 0x0110, 0x0132, 0x8825, 0x9003, 0xA430, 0xA431)
"""Tags of maker, model, times, place, owner and serial number."""
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")


def form_of(file: File) -> str:
    """The suffix of a picture's format by its first bytes; empty for what is no picture."""
    with file.local.open("rb") as stream:
        return picture_form(stream.read(16))


def size_of(path: Path, name: str) -> tuple[int, int]:
    """Width and height as the picture is seen, from its header; raises `Unreadable`."""
    with _open(path, name) as image:
        is_turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        return (image.height, image.width) if is_turned else (image.width, image.height)


def upright(path: Path | io.BytesIO, name: str, most: int | None = None) -> Image:
    """The decoded picture: first frame, turned as its EXIF data says, free of all metadata.
    ``most``: its longer side may be made this short. Raises `Unreadable` when it is no picture,
    damaged, or larger than `MOST_PIXELS`."""
    from PIL import Image, ImageOps

    with _open(path, name) as image:
        if most and image.format == "JPEG":
            image.draft("RGB", (most, most))
        if most:
            image.thumbnail((most, most), Image.Resampling.LANCZOS)
        picture = _in_srgb(ImageOps.exif_transpose(image))
        if picture.mode in ("I", "I;16", "I;16B", "I;16L"):  # 16 bits
            picture = picture.convert("I").point(lambda value: value / 256).convert("L")
        is_clear = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
        picture = picture.convert("RGBA" if is_clear else "RGB")
        picture.info.clear()
        picture.getexif().clear()
        return picture


def _in_srgb(image: Image) -> Image:
    """The picture in the colours that every program assumes."""
    from PIL import ImageCms

    profile = image.info.get("icc_profile")
    if not profile or image.mode not in ("RGB", "CMYK", "L"):
        return image
    try:
        own = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        srgb = ImageCms.createProfile("sRGB")
        return ImageCms.profileToProfile(image, own, srgb, outputMode="RGB") or image
    except (ImageCms.PyCMSError, OSError, ValueError):
        return image


def look(content: bytes) -> tuple[tuple[int, int], list[int]]:
    """The size of a picture that was decoded whole, and the EXIF tags that tell of the camera;
    raises `Unreadable`."""
    with _open(io.BytesIO(content), "A picture") as image:
        image.load()
        return image.size, sorted(tag for tag in image.getexif() if tag in _TELLING)


@contextlib.contextmanager
def _open(path: Path | io.BytesIO, name: str) -> Iterator[Image]:
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(path, formats=FORMATS) as image:
                wide, tall = image.size
                if wide * tall > MOST_PIXELS or max(wide, tall) > MOST_SIDE:
                    raise Unreadable(
                        f"{name} has {wide} × {tall} pixels; at most {MOST_PIXELS // 1_000_000} "
                        f"million are read, and {MOST_SIDE:,} on a side"
                    )
                yield image
    except Unreadable:
        raise
    except UnidentifiedImageError as error:
        raise Unreadable(f"{name} is not a picture that can be read") from error
    except Image.DecompressionBombError as error:
        raise Unreadable(f"{name} has more pixels than are read") from error
    except (OSError, ValueError, SyntaxError, EOFError, IndexError) as error:
        raise Unreadable(f"{name} is a damaged picture") from error


def for_document(path: Path | io.BytesIO, name: str = "The picture") -> bytes:
    """A picture for use in a document: upright, at most `MOST_IN_DOCUMENT` pixels wide or high,
    without metadata; PNG where it is transparent, else JPEG."""
    image = upright(path, name, MOST_IN_DOCUMENT)
    buffer = io.BytesIO()
    image.save(buffer, **({"format": "PNG"} if image.mode == "RGBA" else
                          {"format": "JPEG", "quality": 88}))  # fmt: skip
    return buffer.getvalue()


def picture_name(at: int, content: bytes) -> str:
    """What a picture is called for a template: its suffix tells its format."""
    suffix = "png" if content.startswith(b"\x89PNG") else "jpg"
    return f"picture-{at}.{suffix}"
