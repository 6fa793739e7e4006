"""Texts of agents as markup: Markdown without HTML of its own, cleaned once more."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markupsafe import Markup

SHOWN_CHARACTERS: Final = 20_000
_TAGS: Final = {
    *("a", "blockquote", "br", "code", "del", "em", "hr", "li", "ol", "p", "pre", "strong"),
    *("table", "tbody", "td", "th", "thead", "tr", "ul", "div"),
}
_ATTRIBUTES: Final = {
    "a": {"href", "title"},
    "ol": {"start"},
    "p": {"class"},
    "div": {"class", "tabindex", "role", "aria-label"},
}
_TABLE: Final = '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>'
"""It may be wider than its place; a keyboard has to reach it to scroll it."""


def markdown(text: str) -> Markup:
    """The text as paragraphs, lists, tables and links; of a very long one its beginning.

    What the text says in HTML is shown as it is written. Pictures become links: a page shows only
    files of the account.
    """
    import nh3
    from markupsafe import Markup

    cut = text[:SHOWN_CHARACTERS]
    html = nh3.clean(
        _parser().render(cut + ("…" if cut != text else "")),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(html)  # noqa: S704  cleaned


def plain(text: str, characters: int = 200) -> str:
    """The beginning of the text in one line, without its marks."""
    parts: list[str] = []
    for block in _parser().parse(text[: 10 * characters]):
        if block.type in ("fence", "code_block"):
            parts.append(block.content)
        children = block.children or ()
        parts += (" " if each.type.endswith("break") else each.content for each in children)
        parts.append(" ")
    return " ".join("".join(parts).split())[:characters]


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from markupsafe import escape

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(
        ["table", "strikethrough"]
    )
    # The page has headings of its own; those of a text are paragraphs that look like some.
    parser.add_render_rule("heading_open", lambda *_: '<p class="title">')
    parser.add_render_rule("heading_close", lambda *_: "</p>\n")
    parser.add_render_rule("table_open", lambda *_: _TABLE)
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    parser.add_render_rule("image", lambda _, tokens, at, *__: str(escape(tokens[at].content)))
    return parser
