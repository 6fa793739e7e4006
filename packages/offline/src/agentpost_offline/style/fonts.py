"""The fonts that things are set in, and which characters they cannot show: Inter, Noto Sans, and
for Chinese, Japanese and Korean the extra ``cjk`` or a font of the system. A font has a character
when it does not draw its box for missing ones."""

import importlib.util
import re
import sys
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from agentpost_offline.style.languages import texts

TEXT = "Inter"
_NOTO = (
    "Noto Sans", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Thai", "Noto Sans Devanagari",
    "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Telugu", "Noto Sans Gujarati",
    "Noto Sans Gurmukhi", "Noto Sans Kannada", "Noto Sans Malayalam", "Noto Sans Oriya",
    "Noto Sans Sinhala", "Noto Sans Khmer", "Noto Sans Lao", "Noto Sans Myanmar",
    "Noto Sans Georgian", "Noto Sans Armenian", "Noto Sans Ethiopic", "Noto Sans Symbols",
    "Noto Emoji",
)  # fmt: skip
_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u303f\u3040-\u30ff\u3100-\u31ff\u3200-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]"
)
_REGION = {"ja": "JP", "ko": "KR", "zh": "SC"}
# A system's own fonts, where the extra is not installed: file name and family.
_SYSTEM = (
    ("NotoSansCJK-Regular.ttc", "Noto Sans CJK SC"),
    ("wqy-microhei.ttc", "WenQuanYi Micro Hei"),
    ("wqy-zenhei.ttc", "WenQuanYi Zen Hei"),
    ("Hiragino Sans GB.ttc", "Hiragino Sans GB"),
    ("msyh.ttc", "Microsoft YaHei"),
)
_SYSTEM_FOLDERS = {
    "darwin": ("/System/Library/Fonts", "/Library/Fonts"),
    "win32": ("C:/Windows/Fonts",),
}
_NOWHERE = "\U0010ffff"
"""A code point that no font has."""
_FEW = 8
_IGNORED = frozenset("\u200b\u200c\u200d\u200e\u200f\u2060\ufe0e\ufe0f\ufeff\u00ad")


def faces(text: str, code: str = "en") -> tuple[list[str], list[Path]]:
    """The fonts to set a text in: families in the order they are tried, and where their files are;
    the large CJK font only where the text needs it."""
    families, folders = [TEXT, *_NOTO], [*_folders()]
    cjk = _cjk() if needs_cjk(text) else None
    if cjk is not None:
        folder, family = cjk
        is_noto = family.startswith("Noto Sans CJK")
        families.insert(1, f"Noto Sans CJK {_region(text, code)}" if is_noto else family)
        folders.append(folder)
    return families, folders


def needs_cjk(text: str) -> bool:
    """Whether there is a Chinese, Japanese or Korean character in the text."""
    return _CJK.search(text) is not None


def missing(text: str) -> tuple[str, ...]:
    """The distinct characters of a text for which no font at hand has a glyph, in code order."""
    chars = {c for c in text if ord(c) > 0x7E and c not in _IGNORED and _visible(c)}
    for path in _files(needs_cjk(text)) if chars else ():
        chars = {c for c in chars if not has_glyph(path, c)}
        if not chars:
            break
    return tuple(sorted(chars))


@cache
def _face(path: Path) -> Any:
    from PIL import ImageFont

    try:
        return ImageFont.truetype(str(path), 16, layout_engine=ImageFont.Layout.BASIC)
    except OSError:
        return None


def has_glyph(path: Path, char: str) -> bool:
    """Whether a font file has a glyph for a character; a broken file has none."""
    return _face(path) is not None and _draw(path, char) != _draw(path, _NOWHERE)


@lru_cache(maxsize=10_000)
def _draw(path: Path, char: str) -> tuple[tuple[int, int], bytes]:
    mask = _face(path).getmask(char)
    return mask.size, bytes(mask)


def file_with(text: str) -> Path | None:
    """The first font file that has a glyph for each character of a text; None where none has."""
    chars = {char for char in text if char not in _IGNORED and _visible(char)}
    files = _files(needs_cjk(text))
    return next((path for path in files if all(has_glyph(path, char) for char in chars)), None)


def without_missing(text: str, absent: Iterable[str]) -> str:
    """The text with each run of characters that cannot be shown as one ellipsis."""
    pattern = "[" + "".join(re.escape(c) for c in absent) + "]+"
    return re.sub(pattern, "…", text) if pattern != "[]+" else text


def note(text: str, code: str) -> list[str]:
    """That some characters of a text cannot be shown, with the first few of them."""
    absent = missing(text)
    few = "".join(absent[:_FEW]) + ("…" if len(absent) > _FEW else "")
    return [texts("writing", code)["missing"].format(few)] if absent else []


def _visible(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] != "Z" and category not in ("Cc", "Cf", "Cs")


def _region(text: str, code: str) -> str:
    if code in _REGION:
        return _REGION[code]
    is_japanese = re.search("[\u3040-\u30ff]", text)
    return "JP" if is_japanese else "KR" if re.search("[\uac00-\ud7ff]", text) else "SC"


@cache
def _folders() -> tuple[Path, ...]:
    folders = [_package("fontpkg_inter", "files"), _package("manimgx_fonts", "")]
    return tuple(folder for folder in folders if folder is not None)


def _package(name: str, folder: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / folder


@cache
def _cjk() -> tuple[Path, str] | None:
    """The folder and family of a font for Chinese, Japanese and Korean."""
    own = _package("manimgx_fonts_cjk", "")
    if own is not None:
        return own, "Noto Sans CJK SC"
    places = _SYSTEM_FOLDERS.get(sys.platform, ("/usr/share/fonts", "/usr/local/share/fonts"))
    for place in places:
        for name, family in _SYSTEM:
            for path in sorted(Path(place).rglob(name)) if Path(place).is_dir() else ():
                return path.parent, family
    return None


@cache
def _files(cjk: bool) -> tuple[Path, ...]:
    extra = _cjk() if cjk else None
    return tuple(
        path for folder in [*_folders(), *([extra[0]] if extra else [])]
        for path in sorted(folder.iterdir(), key=lambda path: path.name)
        if path.suffix.lower() in (".ttf", ".otf", ".ttc") and "Italic" not in path.name
    )  # fmt: skip
