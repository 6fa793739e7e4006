"""The encoding of a text file whose sender does not say it."""

import codecs
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from agentpost.extraction import Unreadable

SAMPLE_BYTES: Final = 256 * 1024
_CONTROLS_BYTES: Final = 4096
_WESTERN: Final = "windows-1252"
_WESTERN_ENOUGH: Final = 0.84
"""Short western texts score alike in related encodings: the usual one wins when it is this near."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How bytes are read as text: the name and the errors for Python's codecs, and whether it is a
    guess, of which readers should be told."""

    name: str
    errors: str = "strict"
    is_guess: bool = False


def detect(data: bytes, name: str, *, zeros_allowed: bool = False) -> Encoding:
    """The encoding of a text by its first bytes, which may end within a character: a byte order
    mark decides, then UTF-8 (also with a few bytes that do not fit), then how often the letters of
    each language stand beside each other.

    ``zeros_allowed``: single zero bytes are forgiven, which programs leave in tables. Raises
    `Unreadable` for bytes that are no text.
    """
    data = data[:SAMPLE_BYTES]
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return Encoding(encoding, "replace")
    head = data[:_CONTROLS_BYTES]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if min(even, odd) * 20 <= max(even, odd) and max(even, odd) * 4 > len(head) >= 8:
        # UTF-16 without a mark: every other byte of western text is zero.
        return Encoding("utf-16-be" if even > odd else "utf-16-le", "replace")
    controls = sum(((not zeros_allowed or byte) and byte < 9) or 13 < byte < 27 for byte in head)
    if controls * 50 > len(head) or head.count(0) * 10 > len(head):
        raise Unreadable(f"{name} is not a text file")
    return _of_bytes(data)


def _of_bytes(data: bytes) -> Encoding:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=False)
        return Encoding("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    fitting = sum(not char.isascii() for char in text) - wrong
    if fitting >= 2 * wrong:
        return Encoding("utf-8", "replace", is_guess=True)
    return Encoding(_most_likely(data), "replace", is_guess=True)


def _most_likely(data: bytes) -> str:
    if find_spec("chardet") is None:  # agentpost[extraction] is not installed
        return _WESTERN
    import chardet

    guesses = chardet.detect_all(
        data, ignore_threshold=True, encoding_era=chardet.EncodingEra.MODERN_WEB
    )
    score_by_name = {
        guess["encoding"].lower(): guess["confidence"] for guess in guesses if guess["encoding"]
    }
    if not score_by_name:
        return _WESTERN
    best = max(score_by_name, key=lambda encoding: score_by_name[encoding])
    is_near = score_by_name.get(_WESTERN, 0.0) >= _WESTERN_ENOUGH * score_by_name[best]
    return _WESTERN if is_near and best.startswith("windows-") else best
