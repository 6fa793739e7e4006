"""The words of a thing's own options: ``words.toml`` in its folder, a table for each language.

Each section is what a word is for, each key what it means; phrases are separated by semicolons:

    [en.side]
    left = "left; on the left"
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path


@cache
def _sections(path: Path, code: str) -> dict[str, dict[str, tuple[str, ...]]]:
    known = tomllib.loads(path.read_text("utf-8"))
    merged: dict[str, dict[str, tuple[str, ...]]] = {}
    for language in dict.fromkeys((code, "en")):
        for section, entries in known.get(language, {}).items():
            kept = merged.setdefault(section, {})
            for key, phrases in entries.items():
                split = tuple(part.strip().casefold() for part in phrases.split(";"))
                kept[key] = kept.get(key, ()) + split
    return merged


def said(path: Path, code: str, section: str, text: str) -> str | None:
    """The key of a section whose longest phrase stands in a text; None when there is none.

    Args:
        path: the thing's ``words.toml``.
        code: the language; English words are known in all.
        section: which words are looked for.
        text: what the user said.
    """
    low = text.casefold()
    best: tuple[int, str] | None = None
    for key, phrases in _sections(path, code).get(section, {}).items():
        for phrase in phrases:
            if _stands(phrase, low) and (best is None or len(phrase) > best[0]):
                best = (len(phrase), key)
    return best[1] if best else None


def place(path: Path, code: str, section: str, key: str, text: str) -> int | None:
    """Where the first phrase of a key ends in a text, None when it is not there."""
    low = text.casefold()
    ends = [
        low.index(phrase) + len(phrase)
        for phrase in _sections(path, code).get(section, {}).get(key, ())
        if _stands(phrase, low)
    ]
    return min(ends, default=None)


def _stands(phrase: str, low: str) -> bool:
    if not phrase.isascii() and not re.search(r"[a-zà-ÿ]", phrase):
        return phrase in low  # scripts that write words together
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", low) is not None
