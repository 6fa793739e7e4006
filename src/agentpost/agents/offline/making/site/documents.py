"""Documents as pages: Markdown as it is written, other documents from their blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape

from agentpost.agents.offline.documents.model import Block, Document

_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li",
    "ol", "p", "pre", "s", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr",
    "ul",
}  # fmt: skip
_MARKDOWN = (".md", ".markdown")
_HEADING = re.compile(r"<(h[1-6])>(.*?)</\1>", re.DOTALL)
_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_CELL = re.compile(r"<(t[dh])>(.*?)</\1>", re.DOTALL)
_NUMBER = re.compile(r"(?:[+−–-]?\s?[€$£¥]?\s?\d[\d.,\s]{0,20}\s?[%€$£¥]?)?|[–-]")
_LEAST_CONTENTS = 4


def is_markdown(name: str) -> bool:
    """Whether a file is Markdown by its name."""
    return name.lower().endswith(_MARKDOWN)


def from_markdown(text: str, links: Mapping[str, str], prefix: str) -> str:
    """The page's HTML: only text and structure stay, links to other given files lead to their
    pages, pictures of elsewhere are left out. ``prefix`` keeps the ids of headings apart."""
    import nh3
    from markdown_it import MarkdownIt

    if text.startswith("---\n") and "\n---\n" in text[3:4000]:
        text = text.split("\n---\n", 1)[1]
    rendered = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    html = nh3.clean(
        rendered.render(text),
        tags=_TAGS,
        attributes={"a": {"href"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        attribute_filter=_leading(links),
    )
    return _with_contents(_wrapped(html), prefix)


def _leading(links: Mapping[str, str]) -> Callable[[str, str, str], str | None]:
    """Which addresses links may lead to: the web, places on the page, and the other pages."""

    def leading(tag: str, name: str, value: str) -> str | None:
        if name != "href" or re.match(r"(?:https?:|mailto:)", value, re.IGNORECASE):
            return value
        return links.get(value.partition("#")[0].rpartition("/")[2])

    return leading


def from_blocks(paper: Document, prefix: str) -> str:
    """The page's HTML from a document's blocks."""
    parts = [] if _starts_with_title(paper) else [f"<h1>{escape(paper.title)}</h1>"]
    items: list[str] = []
    base = min((block.level for block in paper.blocks if block.kind == "heading"), default=1)
    for block in paper.blocks:
        if block.kind == "item":
            items.append(f"<li>{escape(block.text)}</li>")
            continue
        if items:
            parts.append(f"<ul>{''.join(items)}</ul>")
            items = []
        parts.append(_html(block, base if _starts_with_title(paper) else base - 1))
    if items:
        parts.append(f"<ul>{''.join(items)}</ul>")
    return _with_contents(_wrapped("\n".join(parts)), prefix)


def _starts_with_title(paper: Document) -> bool:
    first = paper.blocks[0] if paper.blocks else None
    return first is not None and first.kind == "heading" and first.text == paper.title


def _html(block: Block, base: int) -> str:
    if block.rows:
        return _table(block.rows)
    text = escape(block.text).replace("\n", "<br>")
    if block.kind == "heading":
        level = min(6, max(1, block.level - base + 1))
        return f"<h{level}>{text}</h{level}>"
    if block.kind == "code":
        return f"<pre><code>{escape(block.text)}</code></pre>"
    return f"<p>{text}</p>" if text.strip() else ""


def _table(rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:]
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _wrapped(html: str) -> str:
    """Wide tables scroll by themselves, and columns of numbers are flush right."""
    html = _TABLE.sub(lambda found: _flush(found[0]), html)
    html = html.replace("<table>", '<div class="tablewrap"><table>')
    return html.replace("</table>", "</table></div>")


def _flush(table: str) -> str:
    """A table whose columns of numbers say so; their heads stand over them."""
    rows = [_CELL.findall(row) for row in table.split("</tr>")]
    body = [row for row in rows if row and row[0][0] == "td"]
    columns = {
        at for at in range(1, max(map(len, body), default=0))
        if all(at >= len(row) or _NUMBER.fullmatch(row[at][1].strip()) for row in body)
    }  # fmt: skip

    def classed(row: str) -> str:
        at = iter(range(row.count("<t")))
        return _CELL.sub(
            lambda cell: f'<{cell[1]} class="number">{cell[2]}</{cell[1]}>'
            if next(at) in columns else cell[0],
            row,
        )  # fmt: skip

    return "</tr>".join(classed(row) for row in table.split("</tr>"))


def _with_contents(html: str, prefix: str) -> str:
    """Headings that can be linked to, and a list of them where there are several."""
    heads: list[tuple[str, str, str]] = []

    def named(match: re.Match[str]) -> str:
        name = f"{prefix}-{len(heads) + 1}"
        heads.append((match[1], name, re.sub(r"<[^>]+>", "", match[2])))
        return f'<{match[1]} id="{name}">{match[2]}</{match[1]}>'

    html = _HEADING.sub(named, html)
    listed = [head for head in heads if head[0] == "h2"]
    if len(listed) < _LEAST_CONTENTS:
        return html
    links = "".join(f'<a href="#{name}">{text}</a>' for _, name, text in listed)
    contents = f'<div class="toc">{links}</div>'
    first = html.find("</h1>")
    return html[: first + 5] + contents + html[first + 5 :] if first >= 0 else contents + html
