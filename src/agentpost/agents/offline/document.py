"""Markdown to a tree of plain values that the Word and PDF writers share.

A `Block` is a dict with a ``type``: ``heading paragraph list table code quote rule figure``; its
text is a list of runs (``text`` plus ``bold italic code strike link``). The tree is JSON, except
that a figure carries PNG bytes. Raw HTML stays text, pictures become their description.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from agentpost.agents.offline import limits
from agentpost.agents.offline.passages import without_front_matter

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

Run: TypeAlias = dict[str, Any]
Block: TypeAlias = dict[str, Any]
_MARKS = {"strong": "bold", "em": "italic", "s": "strike"}
_SAFE_LINK = re.compile(r"(https?://|mailto:)\S+$", re.IGNORECASE)
_TABLE_RULE = re.compile(r"[ \t|:-]+")
# What XML cannot hold; the Word writer would refuse it and the PDF writer print a box.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff\ud800-\udfff]")


@dataclass(slots=True)
class Document:
    """A document to be written; ``notes`` are sentences for the user on what was left out."""

    title: str
    blocks: list[Block]
    subtitle: str = ""
    notes: list[str] = field(default_factory=list)

    def headings(self) -> list[str]:
        """The texts of all headings, in order."""
        return [plain(block["runs"]) for block in self.blocks if block["type"] == "heading"]

    def text(self) -> str:
        """All the text, for font checks."""
        return "".join([self.title, self.subtitle, *_texts(self.blocks)])


def plain(runs: Sequence[Run]) -> str:
    """The text of runs."""
    return "".join(str(run["text"]) for run in runs)


def clean(text: str) -> str:
    """The text without characters a document cannot hold."""
    return _UNPRINTABLE.sub("", text)


def parse(text: str, *, markdown: bool = True) -> Document:
    """Parse Markdown (or text, where an indented line is no code); the title is its first heading.

    A first heading of level 1 becomes the title when it is the only one of its level.
    """
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline"])
    if not markdown:
        parser.disable(["code", "reference"])
    document = Document(_front_title(text), [])
    source = clean(without_front_matter(text))
    fitting = cut_paragraphs(source)
    if fitting != source:
        document.notes.append("long paragraphs are cut into several")
    tree = SyntaxTreeNode(parser.parse(fitting))
    document.blocks = _Cells(document.notes).bounded(list(_blocks(tree.children, document.notes)))
    tops = [b for b in document.blocks if b["type"] == "heading" and b["level"] == 1]
    if document.blocks and tops == document.blocks[:1]:
        document.title = plain(document.blocks.pop(0)["runs"])
        for block in document.blocks:
            if block["type"] == "heading":
                block["level"] -= 1
    document.notes = list(dict.fromkeys(document.notes))
    return document


def cut_paragraphs(text: str) -> str:
    """The text with long paragraphs in several: a blank line after each
    `limits.PARAGRAPH_CHARACTERS` that have none, at the end of a line or word."""
    kept: list[str] = []
    length, in_table = 0, False
    for line in _short_lines(text.split("\n")):
        if not line.strip():
            length, in_table = 0, False
        elif length and _TABLE_RULE.fullmatch(line) and "|" in line:
            in_table = True
        length += len(line) + 1 if line.strip() else 0
        most = limits.TABLE_TEXT_CHARACTERS if in_table else limits.PARAGRAPH_CHARACTERS
        if length > most + 1:
            kept.append("")
            length, in_table = len(line) + 1, False
        kept.append(line)
    return "\n".join(kept)


def _short_lines(lines: Iterable[str]) -> Iterator[str]:
    most = limits.PARAGRAPH_CHARACTERS
    for line in lines:
        at = 0
        while len(line) - at > most:
            end = line.rfind(" ", at + most // 2, at + most) + 1 or at + most
            yield line[at:end]
            at = end
        yield line[at:] if at else line


class _Cells:
    """Cuts tables to a number of cells for the whole document, and notes it."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes
        self._left = limits.REPORT_CELLS

    def bounded(self, blocks: Sequence[Block]) -> list[Block]:
        """The blocks with their tables cut."""
        kept: list[Block] = []
        for block in blocks:
            if block["type"] == "list":
                block = {**block, "items": [self.bounded(item) for item in block["items"]]}
            elif block["type"] == "quote":
                block = {**block, "blocks": self.bounded(block["blocks"])}
            elif block["type"] == "table":
                wide = max(1, len(block["header"]))
                most = self._left // wide
                if len(block["rows"]) >= most:
                    self._notes.append(f"tables are cut after {limits.REPORT_CELLS:,} cells")
                    block = {**block, "rows": block["rows"][: max(0, most - 1)]}
                self._left -= min(self._left, (len(block["rows"]) + 1) * wide)
                if not most:
                    continue
            kept.append(block)
        return kept


def _front_title(text: str) -> str:
    head = text[: len(text) - len(without_front_matter(text).lstrip("\n"))]
    match = re.search(r"^title:\s*[\"']?(.+?)[\"']?\s*$", head, re.MULTILINE)
    return clean(match[1]) if match else ""


def _blocks(nodes: Sequence[SyntaxTreeNode], notes: list[str]) -> Iterator[Block]:
    for node in nodes:
        kind = node.type
        if kind == "heading":
            yield {"type": "heading", "level": int(node.tag[1]), "runs": _inline(node, notes)}
        elif kind == "paragraph":
            runs = _inline(node, notes)
            if plain(runs).strip():
                yield {"type": "paragraph", "runs": runs}
        elif kind in ("bullet_list", "ordered_list"):
            items = [list(_blocks(item.children, notes)) for item in node.children]
            start = int(node.attrs.get("start", 1))
            yield {"type": "list", "ordered": kind == "ordered_list", "start": start,
                   "items": items}  # fmt: skip
        elif kind in ("fence", "code_block"):
            yield {"type": "code", "text": node.content.rstrip("\n").expandtabs(4)}
        elif kind == "blockquote":
            yield {"type": "quote", "blocks": list(_blocks(node.children, notes))}
        elif kind == "hr":
            yield {"type": "rule"}
        elif kind == "table":
            yield _table(node, notes)


def _table(node: SyntaxTreeNode, notes: list[str]) -> Block:
    rows = [
        [_inline(cell, notes) for cell in row.children]
        for part in node.children
        for row in part.children
    ]
    styles = [str(cell.attrs.get("style", "")) for cell in node.children[0].children[0].children]
    aligns = [style.removeprefix("text-align:") or "left" for style in styles]
    return table(rows[0], rows[1:], aligns)


def table(header: list[list[Run]], rows: list[list[list[Run]]], aligns: list[str]) -> Block:
    """A table block; columns that hold only numbers are right-aligned unless told otherwise."""
    for index, align in enumerate(aligns):
        cells = [plain(row[index]).strip() for row in rows]
        if align == "left" and cells and all(_numeric(cell) for cell in cells):
            aligns[index] = "right"
    return {"type": "table", "header": header, "rows": rows, "aligns": aligns}


def _numeric(cell: str) -> bool:
    return bool(re.fullmatch(r"[-+−(]?[$€£¥]?\s?\d[\d.,\s]*\s?(%|[kM]|bn|[$€£¥])?\)?|[-–—]?", cell))


def text_runs(text: str) -> list[Run]:
    """Runs of unmarked text."""
    return [{"text": clean(text)}]


def _inline(node: SyntaxTreeNode, notes: list[str]) -> list[Run]:
    runs: list[Run] = []
    for inline in node.children:
        _spans(inline.children, {}, runs, notes)
    return runs


def _spans(nodes: Sequence[SyntaxTreeNode], marks: Run, runs: list[Run], notes: list[str]) -> None:
    for node in nodes:
        if node.type in _MARKS:
            _spans(node.children, {**marks, _MARKS[node.type]: True}, runs, notes)
        elif node.type == "link":
            href = str(node.attrs.get("href", ""))
            link = {"link": href} if _SAFE_LINK.match(href) else {}
            _spans(node.children, {**marks, **link}, runs, notes)
        elif node.type == "code_inline":
            runs.append({**marks, "text": node.content, "code": True})
        elif node.type == "image":
            notes.append("pictures in the text are shown as their description")
            runs.append({**marks, "text": f"[picture: {node.content or 'untitled'}]"})
        elif node.type in ("softbreak", "hardbreak"):
            runs.append({**marks, "text": " " if node.type == "softbreak" else "\n"})
        elif node.content:
            runs.append({**marks, "text": node.content})


def _texts(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        yield from (str(run["text"]) for run in block.get("runs", ()))
        yield str(block.get("text", ""))
        yield from _texts(block.get("blocks", ()))
        for item in block.get("items", ()):
            yield from _texts(item)
        for row in [block.get("header", []), *block.get("rows", ())]:
            yield from (str(run["text"]) for cell in row for run in cell)
