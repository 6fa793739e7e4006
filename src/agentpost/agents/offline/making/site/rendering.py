"""Pages from fragments: many that link to each other, or all of them in one file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentpost.agents.offline.style import languages, palette

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).with_name("templates")
HOME = "index"
_INDEXED = 4000


@dataclass(frozen=True, slots=True)
class Fragment:
    """The inside of a page.

    Args:
        slug: its file name without suffix, ``index`` for the first.
        title: for the navigation.
        body: HTML that was escaped or cleaned.
        kind: ``home data document gallery``.
        about: a line on what it holds.
        words: what the search finds it by, beside its title.
    """

    slug: str
    title: str
    body: str
    kind: str
    about: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """What all pages share."""

    site: str
    code: str
    accent: str | None
    texts: dict[str, Any]
    footer: str


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined
    )


def rendered(template: str, **values: Any) -> str:
    """A template with its values; every value is escaped unless the template says otherwise."""
    return _environment().get_template(template).render(**values)


def script_json(value: Any) -> str:
    """JSON that may stand inside a script element: nothing in it ends the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def address(slug: str, *, single: bool) -> str:
    """Where a fragment is found."""
    return f"#{slug}" if single else f"{slug}.html"


def files(fragments: Sequence[Fragment], look: Look) -> dict[str, bytes]:
    """The site's HTML, script and style, by their paths."""
    made = {f"{one.slug}.html": _page([one], fragments, look).encode() for one in fragments}
    made["assets/site.css"] = _TEMPLATES.joinpath("site.css").read_bytes()
    made["assets/site.js"] = _TEMPLATES.joinpath("site.js").read_bytes()
    index = script_json(_index(fragments, single=False))
    made["assets/index.js"] = f"window.siteIndex={index};".encode()
    return made


def one_file(fragments: Sequence[Fragment], look: Look) -> bytes:
    """Everything in one HTML file."""
    return _page(fragments, fragments, look, single=True).encode()


def _page(
    shown: Sequence[Fragment], every: Sequence[Fragment], look: Look, *, single: bool = False
) -> str:
    accent = palette.accent(look.accent)
    texts = {key: look.texts[key] for key in ("none", "rows")}
    return rendered(
        "page.html",
        page=shown[0],
        site=look.site,
        language=look.code,
        direction=languages.language(look.code).direction,
        nav=[
            {
                "url": address(one.slug, single=single),
                "title": one.title,
                "here": not single and one is shown[0],
            }
            for one in every
            if one.slug != HOME and len(every) > 1
        ],
        home=address(HOME, single=single),
        sections=[{"slug": one.slug, "kind": one.kind, "body": one.body} for one in shown],
        footer=look.footer,
        texts=look.texts,
        up="",
        accent=palette.legible(accent),
        accent_dark=palette.legible(accent, on="#10171d", least=5.5),
        inline=single,
        css=_inline("site.css") if single else "",
        js=_inline("site.js") if single else "",
        index=script_json(_index(every, single=True)) if single else "",
        script_texts=script_json(texts),
    )


def _inline(name: str) -> Any:
    from markupsafe import Markup

    return Markup(_TEMPLATES.joinpath(name).read_text("utf-8"))  # noqa: S704 - our own file


def _index(fragments: Sequence[Fragment], *, single: bool) -> list[dict[str, str]]:
    return [
        {
            "t": one.title,
            "x": " ".join(f"{one.about} {one.words}".split())[:_INDEXED],
            "u": address(one.slug, single=single),
        }
        for one in fragments
    ]
