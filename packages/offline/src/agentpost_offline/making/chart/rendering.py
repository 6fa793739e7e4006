"""A drawing as PNG, SVG or PDF, and as a data file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from agentpost_offline.making.picture import Drawing
from agentpost_offline.style.typeset import Typeset, typeset

TEMPLATE = Path(__file__).with_name("chart.typ")
_PAGE = Path(__file__).with_name("page.typ")
_PLOTS = Path(__file__).with_name("plots.typ")
_PLOT_PPI = 190.0
SIZE = (1600, 900)
SMALLEST, LARGEST = 200, 6000
_AREA = 800 * 450
_FORMULA = ("=", "+", "-", "@", "\t")
_DIGITS = 14
"""So many are written of a number: one fewer than sums of decimals are exact to."""


def sized(wish: tuple[int, int] | None) -> tuple[int, int]:
    """The pixels of a picture: as wished, within what can be drawn; of a proportion such as 16:9,
    as large as usual."""
    if wish is None or min(wish) <= 0:
        return SIZE
    width, height = wish
    if max(wish) < SMALLEST:
        scale = math.sqrt(SIZE[0] * SIZE[1] / (width * height))
        width, height = round(width * scale), round(height * scale)
    return min(max(width, SMALLEST), LARGEST), min(max(height, SMALLEST), LARGEST)


def render(
    drawings: Sequence[Drawing],
    form: Literal["png", "svg", "pdf"],
    *,
    size: tuple[int, int] | None = None,
    code: str = "en",
    accent: str | None = None,
) -> Typeset:
    """Drawings of one size as pages; a PNG is exactly ``size`` pixels (`sized`)."""
    width, height = sized(size)
    scale = math.sqrt(width * height / _AREA)
    data: dict[str, Any] = {
        "drawings": msgspec.to_builtins(drawings),
        "width": width / scale,
        "height": height / scale,
    }
    return typeset([_PAGE, TEMPLATE], data, form=form, code=code, ppi=72 * scale, accent=accent)


def render_plots(
    drawings: Sequence[Drawing], form: Literal["png", "svg"], width: float,
    height: float | None = None, *, code: str, accent: str | None,
) -> tuple[bytes, ...]:  # fmt: skip
    """A picture of each drawing without its title and source, for pages that set these themselves.

    ``width`` and ``height`` are points; None is as high as its bars need.
    """
    if not drawings:
        return ()
    data = {"drawings": msgspec.to_builtins(drawings), "width": width, "height": height}
    return typeset(
        [_PLOTS, TEMPLATE], data, form=form, code=code, ppi=_PLOT_PPI, accent=accent
    ).pages  # fmt: skip


def data_csv(drawing: Drawing) -> bytes:
    """The data of a drawing. No text cell begins like a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_plain(cell) for cell in drawing.header])
    for row in drawing.rows:
        writer.writerow([_plain(cell) for cell in row])
    return out.getvalue().encode("utf-8-sig")


def _plain(cell: str | float | None) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return f"'{cell}" if cell.startswith(_FORMULA) else cell
    if cell == int(cell) and abs(cell) < 1e15:
        return str(int(cell))
    return f"{cell:.{_DIGITS}g}"
