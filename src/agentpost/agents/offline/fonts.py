"""Which characters the fonts at hand can show.

Both renderers print a box for a character no font has and say nothing, so we ask beforehand: for
charts the character maps of matplotlib's fonts, for PDFs the typesetter itself, which knows fonts
that lie in no file. Latin, Greek and Cyrillic are in the fonts that come along.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

_LOOKED_AT_FONTS = 400
_ASKED_CHARACTERS = 600
# A code point that is assigned to nothing, so no font has it.
_NOWHERE = "\U000effff"


def unusual(text: str) -> list[str]:
    """The distinct printable characters beyond Latin, Greek, Cyrillic and their punctuation."""
    return sorted(
        char
        for char in set(text)
        if ord(char) > 0x4FF
        and not 0x2010 <= ord(char) <= 0x2026
        and unicodedata.category(char)[0] not in "CZM"
    )


def scripts(chars: list[str]) -> str:
    """A few words on what the characters are, for a sentence: ``漢字한 (3 characters)``."""
    shown = "".join(chars[:8]) + ("…" if len(chars) > 8 else "")
    return f"{shown} ({len(chars)} character{'s' if len(chars) > 1 else ''})"


@cache
def _charmap(path: str) -> frozenset[int]:
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(FT2Font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()


def _chart_fonts(text: str) -> tuple[list[str], list[str]]:
    """The font families to draw a text with, best first, and the characters none of them has."""
    families, asked = ["DejaVu Sans"], unusual(text)
    if not asked:  # nobody has to import what draws, which takes half a second
        return families, []
    from matplotlib import get_data_path
    from matplotlib.font_manager import fontManager

    base = _charmap(str(Path(get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")))
    missing = [char for char in asked if ord(char) not in base]
    for entry in fontManager.ttflist[:_LOOKED_AT_FONTS] if missing else ():
        plain = entry.style == "normal" and str(entry.weight) in ("400", "normal", "regular")
        if not missing or not plain or entry.name in families:
            continue
        known = _charmap(entry.fname)
        if any(ord(char) in known for char in missing):
            families.append(entry.name)
            missing = [char for char in missing if ord(char) not in known]
    return families, missing


def chart_families(text: str) -> list[str]:
    """The font families to draw a text with, best first."""
    return _chart_fonts(text)[0]


def missing_in_charts(text: str) -> list[str]:
    """The characters of a text that a chart would show as boxes."""
    return _chart_fonts(text)[1]


def missing_in_pdfs(text: str) -> list[str]:
    """The characters of a text that a PDF would show as boxes.

    Each asked character becomes a page of its own; a page that shows the same glyph as an
    unassigned code point shows "no glyph".
    """
    asked = unusual(text)[:_ASKED_CHARACTERS]
    if not asked:
        return []
    import json

    import typst

    source = (
        b"#set page(width: 50pt, height: 50pt, margin: 5pt)\n"
        b"#for c in json(bytes(sys.inputs.doc)) { page(text(c)) }"
    )
    doc = json.dumps([_NOWHERE, *asked])
    pages: list[bytes] = typst.compile(source, format="svg", sys_inputs={"doc": doc})  # type: ignore[assignment]
    glyphs = [set(re.findall(rb'href="#(g[^"]+)"', page)) for page in pages]
    return [char for char, found in zip(asked, glyphs[1:], strict=True) if found <= glyphs[0]]
