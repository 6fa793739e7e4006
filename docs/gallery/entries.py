"""What the gallery shows: each entry is what was said, with which files, and how to look at it."""

from __future__ import annotations

from dataclasses import dataclass

ORDERS = ("orders.csv",)
PHOTOS = ("coffee.jpg", "rocket.jpg", "cat.jpg")


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing.

    Args:
        name: of the picture, without its suffix.
        said: the message.
        inputs: files of ``docs/gallery/inputs``.
        pages: how many pages of a document, sheets of a workbook or frames of a film are shown.
        across: how many of them stand side by side.
    """

    name: str
    said: str
    inputs: tuple[str, ...] = ORDERS
    pages: int = 1
    across: int = 3


PARTS: dict[str, tuple[Entry, ...]] = {
    "Charts": (
        Entry("chart-columns", "Chart of revenue by month"),
        Entry("chart-bars", "Bar chart of revenue by product"),
        Entry("chart-lines", "Line chart of revenue per quarter by region"),
        Entry("chart-grouped", "Grouped bar chart of revenue by region and channel"),
        Entry("chart-stacked", "Stacked chart of revenue per quarter by region"),
        Entry("chart-donut", "Donut of revenue by product in green"),
        Entry("chart-heatmap", "Heat map of revenue by region and month"),
        Entry("chart-top", "Top 3 products by revenue in the East in 2025 as a chart"),
        Entry("chart-long-names", "Bar chart of the share by reason", ("reasons.csv",)),
        Entry("chart-negative", "Line chart of the average temperature per month by city",
              ("weather.csv",)),
        Entry("chart-scripts", "Bar chart of sales by shop", ("shops.csv",)),
        Entry("chart-scripts-arabic", "ارسم مخططا للمبيعات حسب المتجر", ("shops.csv",)),
        Entry("chart-scatter", "Scatter plot of weight against height", ("people.csv",)),
    ),
    "Reports": (
        Entry("report", "Write a report as PDF", pages=2, across=2),
    ),
    "Decks": (
        Entry("deck-pdf", "Make a deck with 6 slides as PDF", pages=12),
    ),
    "Images": (
        Entry("image-collage", "Make a collage", PHOTOS),
        Entry("image-crop", "Crop it to a square in black and white", ("cat.jpg",)),
    ),
    "Videos": (
        Entry("video-race", "Make a bar race of revenue by region", pages=6),
    ),
    "Tables": (
        Entry("table-pivot", "Pivot table of revenue by region and channel as Excel", pages=2,
              across=2),
        Entry("table-clean", "Clean this table as Excel", ("weather.csv",)),
    ),
}  # fmt: skip
