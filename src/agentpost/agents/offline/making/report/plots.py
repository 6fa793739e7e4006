"""The drawings of a report without titles, as pictures to stand between paragraphs."""

from __future__ import annotations

from pathlib import Path

import msgspec

from agentpost.agents.offline.making.chart.rendering import TEMPLATE
from agentpost.agents.offline.making.report.content import Report
from agentpost.agents.offline.style.typeset import typeset

WIDTH = 459.0
"""Of the text of a page, in points."""
_PAGE = Path(__file__).with_name("plots.typ")
_PPI = 190.0


def drawn(report: Report) -> tuple[bytes, ...]:
    """A PNG of each drawing, as wide as the text and as high as it has rows."""
    data = {"drawings": msgspec.to_builtins(report.drawings), "width": WIDTH}
    made = typeset(
        [_PAGE, TEMPLATE], data, form="png", code=report.language, ppi=_PPI, accent=report.accent
    )
    return made.pages
