"""Opens a written site again: every link leads somewhere, and nothing is asked of the network."""

from __future__ import annotations

import io
import json
import zipfile
from html.parser import HTMLParser
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote, urlsplit

from agentpost.agents.base import JobFailed

_ABOUT = b'<script type="application/json" id="about">'
_LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("source", "src")}


class _Page(HTMLParser):
    """Collects addresses, ids and whether there is text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: list[str] = []
        self.heading = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.heading = self.heading or tag == "h1"
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            elif (tag, name) in _LOADED:
                self.loaded.append(value or "")
            elif tag == "a" and name == "href":
                self.links.append(value or "")
            elif name.startswith("on"):
                raise JobFailed("The site came out with a script that is not ours.")


def about(content: bytes, *, single: bool) -> dict[str, Any]:
    """What a written site says that it holds; raises `JobFailed`."""
    try:
        if single:
            start = content.rindex(_ABOUT) + len(_ABOUT)
            data = content[start : content.index(b"</script>", start)]
        else:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                name = next(n for n in archive.namelist() if n.endswith("/assets/about.json"))
                data = archive.read(name)
        found: dict[str, Any] = json.loads(data)
    except (ValueError, StopIteration, zipfile.BadZipFile) as error:
        raise JobFailed("The site came out damaged.") from error
    return found


def check_zip(content: bytes, pages: int) -> int:
    """The number of pages of a zipped site; raises `JobFailed` when something is wrong."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
    except zipfile.BadZipFile as error:
        raise JobFailed("The site came out damaged.") from error
    found = {n: _Page(c.decode()) for n, c in files.items() if n.endswith(".html")}
    if len(found) != pages or not any(name.endswith("/index.html") for name in found):
        raise JobFailed(f"The site came out with {len(found)} pages.")
    for name, page in found.items():
        _check_page(name, page)
        for target in [*page.loaded, *(link for link in page.links if not _outside(link))]:
            parts = urlsplit(target)
            path = normpath(join(dirname(name), unquote(parts.path))) if parts.path else name
            if path not in files:
                raise JobFailed(f"A link of the site leads nowhere: {target}.")
            known = found[path].ids if path in found else []
            if parts.fragment and unquote(parts.fragment) not in known:
                raise JobFailed(f"A link of the site leads nowhere: {target}.")
    return len(found)


def check_single(content: bytes) -> int:
    """1 for a site in one file; raises `JobFailed` when something is wrong."""
    page = _Page(content.decode())
    _check_page("the page", page)
    inside = [link for link in page.links if link.startswith("#")]
    if not {unquote(link[1:]) for link in inside} <= set(page.ids):
        raise JobFailed("A link of the page leads nowhere.")
    if any(not one.startswith("data:") for one in page.loaded):
        raise JobFailed("The page asks for other files.")
    return 1


def _check_page(name: str, page: _Page) -> None:
    if not page.heading:
        raise JobFailed(f"{name} came out empty.")
    if len(page.ids) != len(set(page.ids)):
        raise JobFailed(f"{name} came out with two places of one name.")
    if any(_outside(one) or one.startswith("//") for one in page.loaded):
        raise JobFailed(f"{name} asks for files of elsewhere.")


def _outside(address: str) -> bool:
    return urlsplit(address).scheme in ("http", "https", "mailto")
