"""The slides of a presentation as a page shows them: their texts and first pictures, or one picture
of all slides where the program that wrote the file left it as the file's thumbnail."""

from typing import Any, Final

from agentpost.extraction.office import Archive, related_parts, slide_members, slide_texts
from agentpost.previews import pictures

SLIDES_MAX: Final = 12
LINES_MAX: Final = 8
_LINE_CHARACTERS: Final = 160
_PICTURE_BYTES_MAX: Final = 10_000_000
_SIDE: Final = 480
_SHEET_WIDTH_MIN: Final = 640
"""A narrower thumbnail is the icon of the first slide that PowerPoint leaves."""
_SHEET_SIDE: Final = 2_400
_THUMBNAIL: Final = "docProps/thumbnail.jpeg"


def read(archive: Archive) -> dict[str, Any]:
    """What `contents` says of a presentation; raises `Unreadable`."""
    members = slide_members(archive)
    slides = []
    for member in members[:SLIDES_MAX]:
        lines = [line[:_LINE_CHARACTERS] for line in slide_texts(archive, member) if line]
        images = related_parts(archive, member, "image")
        slides.append(
            {
                "title": lines[0] if lines else "",
                "lines": lines[1 : LINES_MAX + 1],
                "picture": next(
                    (picture for each in images[:3] if (picture := _small(archive, each))), None
                ),
                "charts": len(related_parts(archive, member, "chart")),
            }
        )
    sheet = None
    if _THUMBNAIL in archive.members:
        sheet = _small(archive, _THUMBNAIL, _SHEET_SIDE, _SHEET_WIDTH_MIN)
    return {"slides": slides, "more": max(0, len(members) - SLIDES_MAX), "picture": sheet}


def _small(archive: Archive, member: str, side: int = _SIDE, width_min: int = 0) -> str | None:
    """A picture as a data URL; None when it cannot be shown."""
    content = archive.read(member, _PICTURE_BYTES_MAX)
    return None if content is None else pictures.data_url(content, side, width_min)
