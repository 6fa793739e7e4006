"""A site from files: a home with the findings, a page for each table and document, a gallery."""

from __future__ import annotations

import base64
import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentpost.agents.base import File
from agentpost.agents.offline.frame import Frame
from agentpost.agents.offline.making import material, pictures
from agentpost.agents.offline.making.deck.outline import planned
from agentpost.agents.offline.making.deck.slides import Layout, Outline
from agentpost.agents.offline.making.site import charts, data_pages, rendering
from agentpost.agents.offline.making.site.rendering import Fragment, Look
from agentpost.agents.offline.style import languages

if TYPE_CHECKING:
    from agentpost.agents.offline.data.dataset import Dataset

ABOUT = "about"
TEXTS = Path(__file__).with_name("texts")
MOST_BYTES = 20 * 2**20
_LARGE, _SMALL = 1600, 640
_MOST_PICTURES = 60


@dataclass(slots=True)
class Site:
    """What is built before it is written.

    Args:
        fragments: the pages' insides, the home first.
        assets: pictures by their path.
    """

    look: Look
    outline: Outline
    fragments: list[Fragment] = field(default_factory=list)
    assets: dict[str, bytes] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


def built(files: Sequence[File], frame: Frame, *, single: bool) -> Site:
    """Read the files and build the pages; raises `JobFailed` when nothing can be read."""
    texts = languages.words(TEXTS, frame.language)
    slugs = _Slugs()
    links: dict[str, str] = {}
    data: list[Fragment] = []

    def tables(dataset: Dataset) -> None:
        data.extend(_data(dataset, files, frame, texts, slugs, links, single=single))

    found = material.gathered(files, frame, tables)
    outline = planned(found, files, frame)
    names = [one.partition(" (")[0] for one in found.used]
    listed = languages.language(frame.language).listed(list(dict.fromkeys(names)))
    footer = texts["made_from"].format(names=listed)
    look = Look(outline.title, frame.language, outline.accent, texts, footer)
    site = Site(look, outline, skipped=list(found.skipped))
    inner = [
        *data,
        *_gallery(found.images, files, site, slugs, single=single),
    ]
    home = _home(outline, found, inner, texts, single=single)
    site.fragments = [home, *inner]
    return site


class _Slugs:
    """Names of pages: letters of any script, each once."""

    def __init__(self) -> None:
        self._taken = {rendering.HOME, "assets", ABOUT}

    def of(self, name: str) -> str:
        base = re.sub(r"[^\w]+|_+", "-", name.casefold()).strip("-")[:50] or "page"
        slug, number = base, 2
        while slug in self._taken:
            slug, number = f"{base}-{number}", number + 1
        self._taken.add(slug)
        return slug


def _data(
    dataset: Dataset,
    files: Sequence[File],
    frame: Frame,
    texts: dict[str, Any],
    slugs: _Slugs,
    links: dict[str, str],
    *,
    single: bool,
) -> Iterator[Fragment]:
    """A page for each table; ``links`` learns where each file's first table is."""
    names = {file.id: file.name for file in files}
    for table in dataset.tables:
        slug = slugs.of(table.name.rpartition(".")[0] or table.name)
        links.setdefault(names.get(table.file, ""), rendering.address(slug, single=single))
        yield data_pages.fragment(dataset, table, slug, texts, frame.language)


def _gallery(
    numbers: Sequence[int], files: Sequence[File], site: Site, slugs: _Slugs, *, single: bool
) -> Iterator[Fragment]:
    shown = []
    for number in numbers[:_MOST_PICTURES]:
        file = files[number]
        sides = {}
        for name, most in (("large", _LARGE), ("small", _SMALL)):
            content, size = pictures.as_file(file.local, name=file.name, most=most)
            suffix = "png" if content.startswith(b"\x89PNG") else "jpg"
            path = f"assets/{slugs.of(f'{Path(file.name).stem}-{name}')}.{suffix}"
            kind = "png" if suffix == "png" else "jpeg"
            if single:
                sides[name] = f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
                if name == "large":
                    continue
            else:
                sides[name] = path
                site.assets[path] = content
            sides["width"], sides["height"] = str(size[0]), str(size[1])
        if single:
            sides["large"] = sides["small"]
        words = Path(file.name).stem.replace("_", " ").replace("-", " ")
        shown.append({**sides, "title": file.label or words[:1].upper() + words[1:]})
    if shown:
        title = site.look.texts["pictures"]
        body = rendering.rendered("gallery.html", title=title, pictures=shown)
        words = " ".join(str(one["title"]) for one in shown)
        yield Fragment(slugs.of("pictures"), title, body, "gallery", words[:120], words)


def _home(
    outline: Outline,
    found: material.Material,
    inner: Sequence[Fragment],
    texts: dict[str, Any],
    *,
    single: bool,
) -> Fragment:
    figures = next((s for s in outline.slides if s.layout is Layout.FIGURES), None)
    findings = [
        {
            "title": slide.title,
            "subtitle": slide.subtitle,
            "chart": charts.html_of(slide.chart),
            "points": slide.points,
        }
        for slide in outline.slides
        if slide.chart is not None
    ]
    claims = found.story.claims if found.story is not None else ()
    opening = outline.slides[0]
    headline = claims[0].headline if claims else outline.title
    lead = [claim.sentence for claim in claims[:2]] or [t for t in (opening.subtitle,) if t]
    cards = [
        {
            "url": rendering.address(one.slug, single=single),
            "title": one.title,
            "text": one.about,
            "image": "",
        }
        for one in inner
    ]
    body = rendering.rendered(
        "home.html",
        headline=headline,
        lead=lead,
        figures=figures.figures if figures is not None else (),
        findings=findings,
        cards=cards,
        source=opening.source,
        texts=texts,
    )
    words = " ".join(claim.sentence for claim in claims)
    return Fragment(rendering.HOME, outline.title, body, "home", headline, words)


def about(site: Site) -> bytes:
    """What a site holds, for who opens it again: its title and pages, what it was made from."""
    found: bytes = msgspec.json.encode({
        "title": site.outline.title,
        "pages": [one.title for one in site.fragments],
        "outline": site.outline,
        "skipped": site.skipped,
    })  # fmt: skip
    return found


def with_about(page: bytes, site: Site) -> bytes:
    """A site of one file with what it holds."""
    held = rendering.script_json(msgspec.json.decode(about(site)))
    script = f'<script type="application/json" id="{ABOUT}">{held}</script></body>'
    head, _, tail = page.rpartition(b"</body>")
    return head + script.encode() + tail


def zipped(site: Site, stem: str) -> bytes:
    """The site as a zip with one folder in it; raises `JobFailed` when it is too large."""
    made = {**rendering.files(site.fragments, site.look), **site.assets}
    made[f"assets/{ABOUT}.json"] = about(site)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in made.items():
            info = zipfile.ZipInfo(f"{stem}/{path}", date_time=(2025, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()
