"""The one way to Typst: a template and JSON data in, PNG, SVG or PDF out. What people wrote is
data, never code; the compiler sees a new folder with the templates and nothing of the host."""

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from agentpost_offline.style import fonts, palette
from agentpost_offline.style.languages import language

Format = Literal["png", "svg", "pdf"]

# Controls, the parts of broken surrogate pairs, and marks that turn the direction of all that
# follows them.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]"
)
_STYLE = Path(__file__).with_name("style.typ")


def typeset(
    templates: Sequence[Path],
    data: Any,
    *,
    form: Format,
    code: str = "en",
    ppi: float = 144,
    accent: str | None = None,
    assets: Mapping[str, bytes] | None = None,
) -> tuple[bytes, ...]:
    """Set a template with its data: one entry for each page of a picture; a PDF is one entry. An
    ellipsis stands for characters that no font can show.

    Args:
        templates: the template, then what it imports; ``style.typ`` is always there.
        data: JSON, which the template finds as ``data.json``.
        ppi: pixels for each inch of a PNG.
        assets: pictures by the name under which the template finds them.

    Raises `typst.TypstError` when a template is wrong.
    """
    import typst

    text = printable(json.dumps(data, ensure_ascii=False))
    text = fonts.without_missing(text, fonts.missing(text))
    families, folders = fonts.faces(text, code)
    with tempfile.TemporaryDirectory(prefix="agentpost-typst-") as folder:
        root = Path(folder)
        for path in (_STYLE, *templates):
            (root / path.name).write_bytes(path.read_bytes())
        for name, content in (assets or {}).items():
            (root / Path(name).name).write_bytes(content)
        (root / "data.json").write_text(text, "utf-8")
        (root / "packages").mkdir()
        result: Any = typst.compile(
            str(root / templates[0].name),
            root=str(root),
            font_paths=typst.Fonts(
                include_system_fonts=False,
                include_embedded_fonts=True,
                font_paths=[str(path) for path in folders],
            ),
            ignore_system_fonts=True,
            package_path=str(root / "packages"),
            package_cache_path=str(root / "packages"),
            format=form,
            ppi=ppi,
            sys_inputs={"style": json.dumps(_style(families, code, accent))},
        )
    return tuple(result) if isinstance(result, list) else (result,)


def printable(text: str) -> str:
    """The text without characters that cannot be printed."""
    return _UNPRINTABLE.sub("", text)


def _style(families: Sequence[str], code: str, accent: str | None) -> dict[str, Any]:
    return {
        "fonts": list(families),
        "language": code,
        "direction": language(code).direction,
        "accent": palette.accent(accent),
        "readable": palette.legible(palette.accent(accent)),
        "ink": palette.INK,
        "soft": palette.SOFT,
        "grey": palette.GREY,
        "hair": palette.HAIR,
        "loss": palette.LOSS,
    }
