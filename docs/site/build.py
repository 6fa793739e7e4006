"""Builds the site of docs/ without network: stages the pages, runs Zensical, checks the outcome.

    python docs/site/build.py FOLDER

A link or an anchor that leads nowhere fails the build, and so does a page without an entry in the
navigation and an asset of another site.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import made
import staging

HERE = Path(__file__).parent
SHIM = "https://unpkg.com/iframe-worker/shim"
"""What the theme loads for searching from a folder; we have it (assets/iframe-worker.js)."""
LOADED = re.compile(
    # The theme loads Mermaid for a page that has a diagram in it.
    r'class="(mermaid)"|'
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\ssrc=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|<link\b(?![^>]*rel=[\"']?canonical)[^>]*?\shref=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|url\(\s*[\"']?((?:https?:)?//[^\"')\s]+)|@import\s+[\"']((?:https?:)?//[^\"']+)"
)
"""What a browser loads by itself; a link that a person follows is not."""


def build(into: Path) -> list[str]:
    """Build the site into ``into``; the problems found, none when it is good."""
    stage = into.parent / f".{into.name}-stage"
    shutil.rmtree(stage, ignore_errors=True)
    (stage / "docs").mkdir(parents=True)
    try:
        staging.stage(stage / "docs", made.parts())
        made_pages = made.pages()
        for place, text in made_pages.items():
            (stage / "docs" / place).parent.mkdir(exist_ok=True)
            (stage / "docs" / place).write_text(text, "utf-8")
        shutil.copytree(HERE / "assets", stage / "docs/assets", dirs_exist_ok=True)
        settings = (HERE / "zensical.toml").read_text("utf-8")
        settings = settings.replace('{"API" = []}', _api(made_pages))
        (stage / "zensical.toml").write_text(settings, "utf-8")
        problems = [*_not_in_the_navigation(stage)]
        command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
        done = subprocess.run(  # noqa: S603 - a command of our own
            command, cwd=stage, capture_output=True, text=True, check=False
        )
        if done.returncode:
            return [*problems, _plain(done.stdout + done.stderr)]
        _use_our_shim(stage / "site")
        shutil.rmtree(into, ignore_errors=True)
        shutil.move(stage / "site", into)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return [*problems, *foreign_assets(into)]


def foreign_assets(site: Path) -> list[str]:
    """``page: address`` of everything a page or style loads from another site."""
    return [
        f"{path.relative_to(site)} loads {next(filter(None, found.groups()))}"
        for path in sorted(site.rglob("*"))
        if path.suffix in (".html", ".css")
        for found in LOADED.finditer(path.read_text("utf-8"))
    ]


def _api(pages: dict[str, str]) -> str:
    """The entry of the navigation for the pages of the API, each under its heading."""
    titles = {place: text.partition("\n")[0].strip("# ") for place, text in pages.items()}
    return '{"API" = [' + ", ".join(f'{{"{t}" = "{p}"}}' for p, t in titles.items()) + "]}"


def _use_our_shim(site: Path) -> None:
    for path in site.rglob("*.html"):
        ours = "../" * (len(path.relative_to(site).parts) - 1) + "assets/iframe-worker.js"
        path.write_text(path.read_text("utf-8").replace(SHIM, ours), "utf-8")


def _not_in_the_navigation(stage: Path) -> Iterator[str]:
    nav = tomllib.loads((stage / "zensical.toml").read_text("utf-8"))["project"]["nav"]
    listed = set(_targets(nav))
    staged = {path.relative_to(stage / "docs").as_posix() for path in stage.rglob("*.md")}
    yield from (f"{page} is not in the navigation (zensical.toml)" for page in staged - listed)
    yield from (f"the navigation names {page}, which is not there" for page in listed - staged)


def _targets(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for each in nav.values() if isinstance(nav, dict) else nav:
            yield from _targets(each)


def _plain(text: str) -> str:
    """Without colours and without Python's traceback below the findings."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text).partition("Traceback (most")[0].strip()


if __name__ == "__main__":
    problems = build(Path(sys.argv[1]).resolve())
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    sys.exit(1 if problems else 0)
