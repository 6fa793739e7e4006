"""The text of an HTML page, as Markdown-like lines, streamed through libxml2's tokenizer without
building a tree. Every other parser that was tried takes minutes for 200 kB of hostile markup."""

from collections.abc import Mapping
from typing import Final

_CHUNK_CHARACTERS: Final = 64 * 1024
_HIDDEN: Final = ("script", "style", "template", "noscript", "svg", "head")
_BREAKING_TAGS: Final = (
    "p div section article header footer li ul ol table tr br hr pre blockquote main nav "
    "h1 h2 h3 h4 h5 h6 dt dd figure figcaption"
)
# Marks inside a word; whatever else ends also ends the word before it.
_WORD_TAGS: Final = (
    "b i u s em strong small mark sub sup span font abbr acronym code wbr ins del bdi bdo"
)
_BREAKING: Final = frozenset(_BREAKING_TAGS.split())
_INSIDE_WORDS: Final = frozenset(_WORD_TAGS.split())


class _Page:
    """What the parser reports to; collects the visible text."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._hidden = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag in _BREAKING:
            self._pieces.append("\n")
        if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            self._pieces.append("#" * int(tag[1]) + " ")
        elif tag == "li":
            self._pieces.append("- ")
        elif tag in ("td", "th"):
            self._pieces.append(" | ")

    def end(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _BREAKING:
            self._pieces.append("\n")
        elif tag not in _INSIDE_WORDS:
            self._pieces.append(" ")

    def data(self, data: str) -> None:
        if not self._hidden:
            self._pieces.append(data.replace("\n", " "))

    def close(self) -> str:
        return "".join(self._pieces)


def visible_text(markup: str) -> str:
    """The visible text of a page: headings as ``# …``, list items as ``- …``, table cells after
    ``|``, a blank line between lines; empty when there is none."""
    from lxml import etree

    # Never a tree, so its limits on depth and length, which end the text early, are not needed.
    parser = etree.HTMLParser(target=_Page(), encoding="utf-8", huge_tree=True)
    for at in range(0, len(markup), _CHUNK_CHARACTERS):
        parser.feed(markup[at : at + _CHUNK_CHARACTERS].encode())
    try:
        text = str(parser.close())
    except etree.XMLSyntaxError:  # nothing was in it
        return ""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n\n".join(line for line in lines if line.strip("#- |"))
