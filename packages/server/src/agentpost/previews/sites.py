"""A page of a zipped site as one file: its styles and pictures inside it, its scripts left out.

What is shown in a frame without rights cannot fetch anything, not even from the archive it came
from.
"""

from __future__ import annotations

import base64
import posixpath
import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from agentpost.extraction import Unreadable
from agentpost.extraction.office import Archive

PAGES_MAX: Final = 30
_PAGE_BYTES_MAX: Final = 2_000_000
_PART_BYTES_MAX: Final = 2_000_000
_WHOLE_BYTES_MAX: Final = 5_000_000
_DROPPED: Final = ("script", "noscript", "base", "iframe", "object", "embed", "frame", "frameset")
_TYPES: Final = {
    "avif": "image/avif",
    "gif": "image/gif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "png": "image/png",
    "svg": "image/svg+xml",
    "webp": "image/webp",
    "ttf": "font/ttf",
    "woff": "font/woff",
    "woff2": "font/woff2",
}
_URL: Final = re.compile(r"""url\(\s*(["']?)([^"')]{1,500})\1\s*\)""")


def pages(names: Sequence[str]) -> list[str]:
    """The pages of a site, its front page first; none when these files are no site."""
    html_names = [name for name in names if name.lower().endswith((".html", ".htm"))]
    fronts = [
        name
        for name in html_names
        if name.rpartition("/")[2].lower() in ("index.html", "index.htm")
    ]
    if not fronts:
        return html_names if len(html_names) == 1 else []
    front = min(fronts, key=lambda name: (name.count("/"), name))
    return [front, *(name for name in html_names if name != front)][:PAGES_MAX]


def page(archive: Archive, member: str) -> bytes:
    """The page, to be shown where it can load nothing; raises `Unreadable`."""
    from lxml import etree, html as markup

    is_page = member in pages(sorted(archive.members))
    content = archive.read(member, _PAGE_BYTES_MAX) if is_page else None
    if content is None or not content.strip():
        raise Unreadable(f"{archive.name} has no such page")
    tree = markup.document_fromstring(content, parser=markup.HTMLParser(encoding="utf-8"))
    inside = _Inside(archive, member)
    for element in list(tree.iter(etree.Element)):
        _adapt(element, inside)
    html: bytes = etree.tostring(tree, method="html", encoding="utf-8", doctype="<!doctype html>")
    return html


def _adapt(element: Any, inside: _Inside) -> None:
    """Drop what could not work, and take in what the element refers to."""
    tag = element.tag
    refers = element.get("src") or ""
    if tag in _DROPPED or (tag == "meta" and element.get("http-equiv")):
        element.drop_tree()
    elif tag == "link":
        style = inside.text(element.get("href") or "")
        if "stylesheet" in (element.get("rel") or "").lower() and style is not None:
            element.tag = "style"
            element.attrib.clear()
            element.text = style
        else:
            element.drop_tree()
    elif tag == "style":
        element.text = inside.style_with_urls(element.text or "", inside.member)
    elif tag in ("img", "source"):
        element.attrib.pop("srcset", None)
        element.set("src", inside.url(refers) or (refers if refers.startswith("data:") else ""))


class _Inside:
    """What a page takes from its archive, up to a limit in all."""

    def __init__(self, archive: Archive, member: str) -> None:
        self.member = member
        self._archive = archive
        self._left = _WHOLE_BYTES_MAX

    def text(self, address: str) -> str | None:
        """A stylesheet, with what it refers to inside it."""
        member = self._member(address, self.member)
        content = self._used_members(member)
        return (
            None
            if content is None
            else self.style_with_urls(content.decode("utf-8", "replace"), member)
        )

    def style_with_urls(self, style: str, member: str) -> str:
        """A style of a member, with what it refers to inside it."""

        def replace_url(match: re.Match[str]) -> str:
            url = match[2] if match[2].startswith("data:") else self.url(match[2], member)
            return f'url("{url or ""}")'

        return _URL.sub(replace_url, style)

    def url(self, address: str, member: str | None = None) -> str | None:
        """A picture or a font as a data URL; None when the archive does not have it."""
        target = self._member(address, member or self.member)
        kind = _TYPES.get(target.rpartition(".")[2].lower())
        content = self._used_members(target) if kind else None
        return f"data:{kind};base64,{base64.b64encode(content).decode()}" if content else None

    def _member(self, address: str, member: str) -> str:
        try:
            parts = urlsplit(address)
        except ValueError:
            return ""
        if parts.scheme or parts.netloc or not parts.path:
            return ""
        place = posixpath.join(posixpath.dirname(member), unquote(parts.path).lstrip("/"))
        return posixpath.normpath(place)

    def _used_members(self, member: str) -> bytes | None:
        content = self._archive.read(member, min(self._left, _PART_BYTES_MAX)) if member else None
        self._left -= len(content) if content else 0
        return content
