"""A placed deck typeset by Typst: as PDF, or as pictures for films and previews."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents.base import JobFailed
from agentpost.agents.offline.making.deck.pages import Page, Picture, colours

_LAYOUT = Path(__file__).with_name("slides.typ")
_RIGHT_TO_LEFT = ("ar", "fa", "he", "ur")


def build(
    pages: Sequence[Page],
    images: Sequence[Path],
    *,
    accent: str,
    language: str,
    form: str = "pdf",
    wide: int = 1280,
) -> list[bytes]:
    """The pages typeset: one PDF, or for ``form="png"`` one picture each, ``wide`` pixels wide."""
    import typst

    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        used = {e.image for page in pages for e in page.elements if isinstance(e, Picture)}
        doc: dict[str, Any] = {
            "pages": msgspec.to_builtins(pages),
            "images": _placed(images, used, root),
            "colours": colours(accent),
            "language": language,
            "rtl": language in _RIGHT_TO_LEFT,
            "fonts": ["Inter", "Noto Sans Arabic", "Noto Sans Thai"],
        }
        source = root / "slides.typ"
        source.write_bytes(_LAYOUT.read_bytes())
        try:
            made = typst.compile(
                source,
                root=root,
                format=form,  # type: ignore[arg-type]
                ppi=72 * wide / pages[0].width,
                font_paths=_font_paths(),
                sys_inputs={"doc": json.dumps(doc, ensure_ascii=False)},
                package_path=root / "packages",
                package_cache_path=root / "packages",
            )
        except typst.TypstError as error:
            raise JobFailed("The slides could not be typeset.") from error
    return [bytes(part) for part in made] if isinstance(made, list) else [bytes(made)]


def _placed(images: Sequence[Path], used: set[int], root: Path) -> dict[str, str]:
    from agentpost.agents.offline.making.image import opening

    names = {}
    for number in sorted(used):
        content, _ = opening.as_file(images[number], most=2000)
        suffix = "png" if content.startswith(b"\x89PNG") else "jpg"
        name = f"image-{number}.{suffix}"
        (root / name).write_bytes(content)
        names[str(number)] = name
    return names


def _font_paths() -> list[Path]:
    from importlib.util import find_spec

    found = [find_spec(f"fontpkg_{name}") for name in ("inter", "noto_sans_arabic")]
    return [Path(spec.origin).parent / "files" for spec in found if spec and spec.origin]
