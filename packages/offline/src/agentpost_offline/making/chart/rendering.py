"""Drawings as PNG, SVG or PDF: with title and source, or the plots alone for pages and slides."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from agentpost_offline.content.blocks import Paper
from agentpost_offline.content.picture import Drawing
from agentpost_offline.style.typeset import typeset

TEMPLATE = Path(__file__).with_name("chart.typ")
_PAGE = Path(__file__).with_name("page.typ")
_PLOTS = Path(__file__).with_name("plots.typ")
_PLOT_PPI = 190.0
TEXT_WIDTH = 459.0
"""Of the text of a printed page, in points."""
SIZE = (1600, 900)
SMALLEST, LARGEST = 200, 6000
_AREA = 800 * 450


def _pixels(wish: tuple[int, int] | None) -> tuple[int, int]:
    """The pixels of a picture: as wished, within what can be drawn; of a proportion such as 16:9,
    as large as usual."""
    if wish is None or min(wish) <= 0:
        return SIZE
    is_ratio = max(wish) < SMALLEST
    scale = math.sqrt(SIZE[0] * SIZE[1] / (wish[0] * wish[1])) if is_ratio else 1
    wide, tall = (min(max(round(side * scale), SMALLEST), LARGEST) for side in wish)
    return wide, tall


def render(
    drawing: Drawing, form: Literal["png", "svg", "pdf"], *, size: tuple[int, int] | None = None,
    code: str = "en", accent: str | None = None,
) -> bytes:  # fmt: skip
    """A drawing as a page; a PNG is exactly ``size`` pixels as far as it can be drawn."""
    wide, tall = _pixels(size)
    scale = math.sqrt(wide * tall / _AREA)
    data = {"drawings": [msgspec.to_builtins(drawing)], "width": wide / scale,
            "height": tall / scale}  # fmt: skip
    return typeset(
        [_PAGE, TEMPLATE], data, form=form, code=code, ppi=72 * scale, accent=accent
    )[0]  # fmt: skip


def plots_of(paper: Paper, form: Literal["png", "svg"]) -> Iterator[bytes]:
    """The plots of a paper's charts, in order, as wide as its text."""
    drawings = [block.drawing for block in paper.blocks if block.drawing is not None]
    return iter(render_plots(drawings, form, TEXT_WIDTH, code=paper.language, accent=paper.accent))


def render_plots(
    drawings: Sequence[Drawing], form: Literal["png", "svg"], width: float,
    height: float | None = None, *, code: str, accent: str | None,
) -> tuple[bytes, ...]:  # fmt: skip
    """A picture of each drawing without its title and source, for pages that set these themselves.
    Lengths are points; without ``height`` it is as high as its bars need."""
    if not drawings:
        return ()
    data = {"drawings": msgspec.to_builtins(drawings), "width": width, "height": height}
    return typeset(
        [_PLOTS, TEMPLATE], data, form=form, code=code, ppi=_PLOT_PPI, accent=accent
    )  # fmt: skip
