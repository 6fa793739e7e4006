"""How much room text takes, in points: the type size that fills a box, without a typesetter. The
widths are those of Arial, widened to those of Inter, so that it fits in PowerPoint and in our
PDF."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from unicodedata import combining, east_asian_width

_NARROW = {
    " ": 278, "!": 278, '"': 355, "%": 889, "&": 667, "'": 191, "(": 333, ")": 333, "*": 389,
    ",": 278, "-": 333, ".": 278, "/": 278, ":": 278, ";": 278, "@": 1015, "[": 278, "]": 278,
    "f": 278, "i": 222, "j": 222, "l": 222, "r": 333, "t": 278, "I": 278, "m": 833, "w": 722,
    "c": 500, "k": 500, "s": 500, "v": 500, "x": 500, "y": 500, "z": 500, "J": 500, "M": 833,
    "W": 944, "L": 556, "’": 222, "‘": 222, "–": 556, "—": 1000, "…": 1000, "·": 278,
}  # fmt: skip
_INTER = 1.08
_LATIN_END = 0x24F
_BOLD = 1.07
LINE = 1.25
"""Height of a line by its type size."""


def _em(char: str) -> float:
    if east_asian_width(char) in "WF":
        return 1000 / _INTER
    # Other scripts are set in faces of their own, which differ.
    usual = 680 if ord(char) > _LATIN_END else 700 if char.isupper() else 556
    return 0 if combining(char) else _NARROW.get(char, usual)


def width(text: str, size: float, bold: bool = False) -> float:
    """The width of a line of text."""
    ems = sum(map(_em, text)) / 1000
    return ems * size * _INTER * (_BOLD if bold else 1)


def lines(text: str, size: float, room: float, bold: bool = False) -> int:
    """Into how many lines a text breaks in a box that is ``room`` wide."""
    count = 0
    for paragraph in text.split("\n"):
        count += 1
        used = 0.0
        for word in _words(paragraph):
            wide = width(word, size, bold)
            if used and used + wide > room:
                count += 1
                used = 0.0
            count += int(wide // room) if wide > room else 0
            used += (wide % room if wide > room else wide) + width(" ", size, bold)
    return count


def pieces(text: str, fits: Callable[[str], bool]) -> Iterator[str]:
    """A text, in parts that fit: halved between lines, sentences, words."""
    if fits(text):
        yield text
        return
    cut = len(text) // 2
    for mark in ("\n", ". ", "。", " "):
        places = [at + len(mark) for at in range(len(text)) if text.startswith(mark, at)]
        inner = [at for at in places if len(text) * 0.2 < at < len(text) * 0.8]
        if inner:
            cut = min(inner, key=lambda at: abs(at - len(text) / 2))
            break
    yield from pieces(text[:cut].strip(), fits)
    yield from pieces(text[cut:].strip(), fits)


def _words(text: str) -> Iterable[str]:
    """Words; in scripts without spaces each character may end a line."""
    for word in text.split(" "):
        if any(east_asian_width(char) in "WF" for char in word):
            yield from word
        else:
            yield word


def height(texts: Sequence[str], size: float, room: float, *, bold: bool = False) -> float:
    """The height of paragraphs."""
    return sum(lines(text, size, room, bold) for text in texts) * size * LINE


def largest(
    texts: Sequence[str], box: tuple[float, float], sizes: tuple[float, float], *,
    bold: bool = False,
) -> float:  # fmt: skip
    """The largest size, in whole points, at which paragraphs fit a box (width, height) and no word
    is broken; the smallest of ``sizes`` (smallest, largest) when none fits: ask `height` then."""
    smallest, size = sizes
    words = [word for text in texts for word in _words(text)]
    while size > smallest and (
        height(texts, size, box[0], bold=bold) > box[1]
        or any(width(word, size, bold) > box[0] for word in words)
    ):
        size -= 1
    return size
