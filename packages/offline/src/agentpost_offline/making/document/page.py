"""A paper as a web page: one HTML file that loads nothing and fits a phone, light and dark."""

import base64
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby, pairwise
from pathlib import Path

from agentpost_offline.content.blocks import Block, BlockKind, Grid, Paper, Runs, plain
from agentpost_offline.making.chart.rendering import plots_of
from agentpost_offline.style import languages, palette
from agentpost_offline.style.typeset import printable

_STYLE = Path(__file__).with_name("page.css")
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_NAV_LEAST, _NAV_MOST = 3, 24


def build(paper: Paper, pictures: Sequence[bytes], *, is_dashboard: bool = False) -> bytes:
    """The page, all texts escaped, with PNG and JPEG ``pictures``. ``is_dashboard``: its sections
    stand beside each other on a wide screen."""
    accent = palette.accent(paper.accent)
    direction = languages.language(paper.language).direction
    writer = _Writer(paper, pictures)
    body = "".join(writer.cards() if is_dashboard else writer.flow(paper.blocks))
    remarks = " ".join(filter(None, (
        f"<b>{_text(paper.remarks_title)}.</b>" if paper.remarks and paper.remarks_title else "",
        *(f"{_text(one)}" for one in paper.remarks),
    )))  # fmt: skip
    page = (
        f'<!doctype html>\n<html lang="{escape(paper.language)}" dir="{direction}">\n<head>\n'
        '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, '
        f'initial-scale=1">\n<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{_text(paper.title)}</title>\n<style>:root{{--accent:{palette.legible(accent)};"
        f"--accent-dark:{palette.legible(accent, on='#10171d', least=5.5)}}}\n"
        f"{_STYLE.read_text('utf-8')}</style>\n</head>\n<body>\n"
        f"<main{' class=wide' if is_dashboard else ''}>\n{_header(paper)}{body}"
        f"{f'<footer>{remarks}</footer>' if remarks else ''}\n</main>\n</body>\n</html>\n"
    )
    return page.encode()


def _header(paper: Paper) -> str:
    heads = [block for block in paper.of(BlockKind.HEADING) if block.level == 1]
    links = ""
    if _NAV_LEAST <= len(heads) <= _NAV_MOST:
        links = "".join(f'<li><a href="#{_anchor(paper, one)}">{_text(one.text)}</a></li>'
                        for one in heads)  # fmt: skip
        links = f"<nav><ul>{links}</ul></nav>"
    title = f"<h1>{_text(paper.title)}</h1>" if paper.has_title and paper.title else ""
    below = f'<p class="subtitle">{_text(paper.subtitle)}</p>' if paper.subtitle else ""
    return f"<header>{title}{below}{links}</header>\n" if title or below or links else ""


def _anchor(paper: Paper, block: Block) -> str:
    return f"s{next(at for at, one in enumerate(paper.blocks) if one is block)}"


def _text(text: str) -> str:
    return escape(printable(text))


def _inline(runs: Runs) -> str:
    pieces = []
    for run in runs:
        text = _text(run.text).replace("\n", "<br>")
        looks = (("code", run.code), ("s", run.struck), ("em", run.italic), ("strong", run.bold))
        for tag, is_set in looks:
            text = f"<{tag}>{text}</{tag}>" if is_set else text
        pieces.append(f'<a href="{escape(run.link)}" rel="noopener">{text}</a>' if run.link
                      else text)  # fmt: skip
    return "".join(pieces)


class _Writer:
    def __init__(self, paper: Paper, pictures: Sequence[bytes]) -> None:
        self._paper = paper
        self._pictures = pictures
        self._plots = plots_of(paper, "svg")

    def cards(self) -> Iterator[str]:
        """Sections as cards beside each other; what stands before the first heading above them."""
        blocks = self._paper.blocks
        starts = [at for at, one in enumerate(blocks) if one.kind is BlockKind.HEADING]
        yield from self.flow(blocks[: starts[0]] if starts else blocks)
        yield '<div class="cards">\n'
        for start, end in pairwise([*starts, len(blocks)]):
            yield f"<section>\n{''.join(self.flow(blocks[start:end]))}</section>\n"
        yield "</div>\n"

    def flow(self, blocks: Sequence[Block]) -> Iterator[str]:
        """Blocks under each other."""
        for is_list, group in groupby(blocks, _in_list):
            part = [*group]
            yield self._list(part) if is_list else "".join(map(self._block, part))

    def _block(self, block: Block) -> str:
        match block.kind:
            case BlockKind.HEADING:
                tag = f"h{min(block.level + 1, 6)}"
                anchor = f' id="{_anchor(self._paper, block)}"' if block.level == 1 else ""
                return f"<{tag}{anchor}>{_inline(block.runs)}</{tag}>\n"
            case BlockKind.QUOTE:
                return f"<blockquote>{_inline(block.runs)}</blockquote>\n"
            case BlockKind.CODE:
                return f"<pre><code>{_text(block.text)}</code></pre>\n"
            case BlockKind.TABLE:
                assert block.grid is not None
                return f'<div class="scroll">{_table(block.grid)}</div>\n'
            case BlockKind.PICTURE:
                content = self._pictures[block.picture]
                kind = "png" if content.startswith(b"\x89PNG") else "jpeg"
                image = _image(kind, content, block.alt)
                return f"<figure>{image}{_caption(block.runs)}</figure>\n"
            case BlockKind.CHART:
                assert block.drawing is not None
                image = _image("svg+xml", next(self._plots), block.drawing.alt)
                return f'<figure class="chart">{_caption(block.runs)}{image}</figure>\n'
            case BlockKind.FIGURES:
                tiles = "".join(f"<div><b>{_text(one.value)}</b><span>{_text(one.label)}</span>"
                                "</div>" for one in block.figures)  # fmt: skip
                return f'<div class="figures">{tiles}</div>\n'
            case BlockKind.RULE:
                return "<hr>\n"
            case _:
                return f"<p>{_inline(block.runs)}</p>\n"

    def _list(self, blocks: Sequence[Block]) -> str:
        """Items and what stands between them, nested by their levels."""
        pieces: list[str] = []
        tags: list[str] = []
        for block in blocks:
            if block.kind is not BlockKind.ITEM:
                pieces.append(self._block(block))
                continue
            tag = "ul" if block.number is None else "ol"
            while len(tags) > block.level + 1 or (len(tags) == block.level + 1 and tags[-1] != tag):
                pieces.append(f"</li></{tags.pop()}>\n")
            if len(tags) == block.level + 1:
                pieces.append("</li>\n")
            while len(tags) < block.level + 1:
                start = f' start="{block.number}"' if (block.number or 1) != 1 else ""
                pieces.append(f"<{tag}{start}>" + ("<li>" if len(tags) < block.level else ""))
                tags.append(tag)
            pieces.append(f"<li>{_inline(block.runs)}")
        pieces += [f"</li></{tag}>\n" for tag in reversed(tags)]
        return "".join(pieces)


def _in_list(block: Block) -> bool:
    return block.kind is BlockKind.ITEM or (block.kind is BlockKind.PARAGRAPH and block.level > 0)


def _table(grid: Grid) -> str:
    def cell(tag: str, at: int, runs: Runs) -> str:
        return f"<{tag}{' class=n' if at in grid.numbers else ''}>{_inline(runs)}</{tag}>"

    head = "".join(cell("th", at, runs) for at, runs in enumerate(grid.header))
    rows = []
    for number, row in enumerate(grid.rows, start=1):
        mark = " class=total" if grid.total and number == len(grid.rows) else ""
        cells = "".join(cell("td", at, runs) for at, runs in enumerate(row))
        rows.append(f"<tr{mark}>{cells}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _image(kind: str, content: bytes, alt: str) -> str:
    source = base64.b64encode(content).decode()
    return f'<img src="data:image/{kind};base64,{source}" alt="{_text(alt)}">'


def _caption(runs: Runs) -> str:
    return f"<figcaption>{_inline(runs)}</figcaption>" if plain(runs) else ""
