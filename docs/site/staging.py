"""The pages of the site, staged: documents of the repository with links that hold on the site.

A link to a file that is no page, such as one of the source, becomes plain text.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ELSEWHERE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "clients/python/README.md": "clients/python.md",
    "docs/gallery/README.md": "gallery.md",
}
"""Documents outside of docs/, and those that have another place on the site."""

WIDE = ("comparison.md", "contract.md", "state-machine.md")
"""Pages with wide tables and pictures, which take the room of their list of contents, too."""

FENCE = re.compile(r"^(```+).*?^\1$", re.M | re.S)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
FOREIGN = re.compile(r"[a-z]+:|#")


def pages() -> dict[Path, str]:
    """Each document and its place on the site."""
    found = {ROOT / path: place for path, place in ELSEWHERE.items()}
    for path in sorted(DOCS.rglob("*.md")):
        if "inputs" not in path.parts:  # what the gallery is made from
            found.setdefault(path, path.relative_to(DOCS).as_posix())
    return {path: place for path, place in found.items() if path.is_file()}


def stage(into: Path, made: dict[str, Callable[[], str]]) -> None:
    """Write every page below ``into``, with the pictures it shows.

    Args:
        made: what stands for a line `<!-- made: NAME -->` of a page, by name.
    """
    places = pages()
    for path, place in places.items():
        text = path.read_text("utf-8")
        for name, make in made.items():
            if (mark := f"<!-- made: {name} -->") in text:
                text = text.replace(mark, make())
        if place in WIDE:
            text = f"---\nhide: [toc]\n---\n\n{text}"
        target = into / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_rewritten(text, path, place, places, into), "utf-8")


def _rewritten(text: str, path: Path, place: str, places: dict[Path, str], into: Path) -> str:
    def link(found: re.Match[str]) -> str:
        picture, label, target = found.groups()
        if FOREIGN.match(target):
            return found[0]
        target, _, anchor = target.partition("#")
        there = (path.parent / target).resolve()
        if there in places:
            to = places[there]
            if label.endswith(".md"):
                label = _title(there)
        elif there.parent.name == "states":
            return inlined(there.read_text("utf-8"))
        elif there.suffix in (".png", ".svg", ".json") and there.is_file():
            to = there.relative_to(ROOT).as_posix().removeprefix("docs/")
            (into / to).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(there, into / to)
        elif not there.exists():
            raise SystemExit(f"{path.relative_to(ROOT)}: {target} is not there")
        else:
            return str(label)
        back = os.path.relpath(to, Path(place).parent).replace(os.sep, "/")
        return f"{picture}[{label}]({back}{'#' + anchor if anchor else ''})"

    parts: list[str] = []
    end = 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(link, text[end : fence.start()]), _typed(fence[0])]
        end = fence.end()
    return "".join([*parts, LINK.sub(link, text[end:])])


def _title(page: Path) -> str:
    return page.read_text("utf-8").partition("\n")[0].strip("# ")


def inlined(picture: str) -> str:
    """A picture of states as a part of its page, in the page's colours."""
    picture = re.sub(r'<rect class="paper"[^>]*>\n', "", picture.strip())
    picture = picture.replace(' color="#18181b"', "")
    picture = picture.replace(' fill="#eef0ff"', "").replace(' stroke="#fff"', "")
    return f'<div class="scroll">\n{picture}\n</div>'


def _typed(block: str) -> str:
    """A block of commands is marked as one, so that it is coloured and copied as commands."""
    return block.replace("```\n$ ", "```console\n$ ", 1) if block.startswith("```\n$ ") else block
