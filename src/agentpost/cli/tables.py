"""Tables of plain text: a line of headings, columns as wide as what is in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

GAP = "  "
NOTHING = "-"


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """The headings (``last_used_at`` as ``LAST USED AT``), then a line for each row.

    None is shown as ``-``. The last column is not padded, so a line has no blanks at its end.
    """
    headings = [name.replace("_", " ").upper() for name in columns]
    cells = [headings, *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = (text + " " * (w - cell_len(text)) for text, w in zip(line, widths, strict=True))
        yield GAP.join(padded).rstrip()


def _cell(value: object) -> str:
    return NOTHING if value is None or value == "" else " ".join(str(value).split())
