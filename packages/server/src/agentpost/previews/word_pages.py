"""A Word document as a page to read: headings, lists, tables and pictures on paper."""

import re
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final

from agentpost.previews import pictures

_SUM_CHARACTERS_MAX: Final = 8_000_000
"""Of all its pictures, as they stand in the page."""
_SIDE: Final = 960
_BLOCKS_MAX: Final = 1_500
_TAGS: Final = {
    *("a", "blockquote", "br", "dd", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6", "img"),
    *("li", "ol", "p", "s", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr"),
    *("u", "ul"),
}
_ATTRIBUTES: Final = {
    "img": {"src", "alt"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan"},
    "p": {"class"},
    "h1": {"class"},
}
_STYLES: Final = """
p[style-name='Title'] => h1.title:fresh
p[style-name='Subtitle'] => p.subtitle:fresh
p[style-name='Caption'] => p.caption:fresh
p[style-name='caption'] => p.caption:fresh
p[style-name='Quote'] => blockquote:fresh
u => u
"""
_LOOK: Final = """
*{box-sizing:border-box}
body{margin:0;padding:.75rem;background:#e9e9ec;color:#1a1a1a;
font:15px/1.5 Inter,Calibri,Carlito,Arial,sans-serif}
main{max-width:46rem;min-height:30rem;margin:0 auto;padding:clamp(1.25rem,7%,4rem);background:#fff;
box-shadow:0 1px 4px #0003;border-radius:3px;overflow-wrap:anywhere}
h1,h2,h3,h4,h5,h6{line-height:1.25;margin:1.2em 0 .4em}
h1{font-size:1.45rem}h1.title{font-size:1.9rem}
h2{font-size:1.25rem}
h3{font-size:1.05rem}main>:first-child{margin-top:0}p{margin:0 0 .7em}
img{max-width:100%;height:auto}table{border-collapse:collapse;margin:0 0 1em;width:100%}
td,th{border:1px solid #d4d4d8;padding:.3rem .6rem;text-align:left;vertical-align:top}
td>p,th>p{margin:0}.subtitle,.caption{color:#555}.caption{font-size:.85em}
blockquote{margin:0 0 .7em;padding-left:1em;border-left:3px solid #d4d4d8}
.more{text-align:center;color:#555;font-size:.8rem}
"""


def is_possible() -> bool:
    """Whether the packages for it are installed."""
    return all(find_spec(name) is not None for name in ("mammoth", "PIL"))


def page(path: Path) -> str:
    """The document as one web page, of a very long one its beginning. The archive's limits were
    checked before; raises what the library raises when it is none."""
    import mammoth
    import nh3

    left = _SUM_CHARACTERS_MAX

    def embed_image(image: Any) -> dict[str, str]:
        nonlocal left
        if left < 0:
            return {}
        with image.open() as stream:
            url = pictures.data_url(stream.read(), _SIDE)
        left -= len(url or "")
        return {} if url is None else {"src": url}

    with path.open("rb") as file:
        conversion = mammoth.convert_to_html(
            file,
            style_map=_STYLES,
            convert_image=mammoth.images.img_element(embed_image),
            external_file_access=False,
            include_embedded_style_map=False,
        )
    clean = nh3.clean(conversion.value, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes={"data"})
    text, more = _beginning(clean)
    rest = '<p class="more">The document goes further than this preview.</p>' if more else ""
    return (
        f"<!doctype html><meta charset=utf-8><title>Document</title><style>{_LOOK}</style>"
        f"<main>{text}</main>{rest}"
    )


def _beginning(html: str) -> tuple[str, bool]:
    """So many paragraphs, rows and headings of it; what is open there a browser closes."""
    ends = islice(re.finditer(r"</(?:p|h[1-6]|tr)>", html), _BLOCKS_MAX - 1, None)
    last = next(ends, None)
    return (html[: last.end()], True) if last is not None else (html, False)
