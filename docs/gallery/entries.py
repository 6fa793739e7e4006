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
        view: of a website: ``home data dark phone document``.
    """

    name: str
    said: str
    inputs: tuple[str, ...] = ORDERS
    pages: int = 1
    across: int = 3
    view: str = "home"


PARTS: dict[str, tuple[Entry, ...]] = {
    "Charts": (
        Entry("chart-columns", "Chart of revenue by month"),
        Entry("chart-bars", "Bar chart of revenue by product"),
        Entry("chart-lines", "Line chart of revenue per quarter by region"),
        Entry("chart-grouped", "Grouped bar chart of revenue by region and channel"),
        Entry("chart-stacked", "Stacked chart of revenue per quarter by region"),
        Entry("chart-area", "Area chart of revenue per quarter by region"),
        Entry("chart-donut", "Donut of revenue by product in green"),
        Entry("chart-heatmap", "Heat map of revenue by region and month"),
        Entry("chart-multiples", "Small multiples of revenue per quarter by product"),
        Entry("chart-top", "Top 3 products by revenue in the East in 2025 as a chart"),
        Entry("chart-long-names", "Bar chart of the share by reason", ("reasons.csv",)),
        Entry("chart-negative", "Line chart of the average temperature per month by city",
              ("weather.csv",)),
        Entry("chart-scripts", "Bar chart of sales by shop", ("shops.csv",)),
        Entry("chart-scripts-arabic", "ارسم مخططا للمبيعات حسب المتجر", ("shops.csv",)),
        Entry("chart-scatter", "Scatter plot of weight against height", ("people.csv",)),
        Entry("chart-histogram", "Histogram of height", ("people.csv",)),
    ),
    "Reports": (
        Entry("report", "Write a report as PDF", pages=2, across=2),
        Entry("report-word", "Write a report as Word", pages=2, across=2),
        Entry("report-sources", "Report comparing both files as PDF",
              ("sales_2024.csv", "sales_2025.csv"), pages=2, across=2),
        Entry("report-documents", "Report on these documents as PDF", ("plan.md", "minutes.txt")),
        Entry("report-arabic", "اكتب تقريرا بصيغة PDF", pages=2, across=2),
    ),
    "Decks": (
        Entry("deck", "Make a deck", pages=12),
        Entry("deck-pdf", "Make a deck with 6 slides as PDF", pages=12),
        Entry("deck-document", "Make a presentation from the plan", ("plan.md",), pages=12),
        Entry("deck-german", "Mach eine Präsentation in Grün", pages=12),
    ),
    "Websites": (
        Entry("site-home", "Make a website", ("orders.csv", "plan.md", *PHOTOS)),
        Entry("site-data", "Make a website", ("orders.csv", "plan.md"), view="data"),
        Entry("site-document", "Make a website", ("orders.csv", "plan.md"), view="document"),
        Entry("site-dark", "Make a website", ("orders.csv", "plan.md"), view="dark"),
        Entry("site-phone", "Make a website", ("orders.csv", "plan.md"), view="phone"),
    ),
    "Images": (
        Entry("image-poster", 'Make a poster saying "Summer party, 12 July 2026, 6 pm, '
              'Riverside Garden, Bring friends"', ()),
        Entry("image-poster-photo", 'Make a poster saying "Coffee tasting, Saturday 14 March, '
              '10 am, Harbour Street 5" with this photo', ("coffee.jpg",)),
        Entry("image-card", "Make a social card"),
        Entry("image-collage", "Make a collage", PHOTOS),
        Entry("image-crop", "Crop it to a square in black and white", ("cat.jpg",)),
    ),
    "Videos": (
        Entry("video", "Make a video of 30 seconds", pages=6),
        Entry("video-race", "Make a bar race of revenue by region", pages=6),
        Entry("video-photos", "Make a slideshow video", PHOTOS, pages=6),
    ),
    "Tables": (
        Entry("table-pivot", "Pivot table of revenue by region and channel as Excel", pages=2,
              across=2),
        Entry("table-clean", "Clean this table and give it to me as Excel", ("weather.csv",)),
        Entry("table-join", "Join both tables", ("orders.csv", "targets.csv"), pages=2, across=2),
    ),
    "Research, summaries and writing": (
        Entry("brief", "Research brief: compare the offers on price, delivery and warranty",
              ("offer_nordlicht.md", "offer_baltic.md", "offer_fjord.md"), pages=2, across=2),
        Entry("summary", "Summarize this as Word", ("plan.md",)),
        Entry("writing-letter", "Write a letter from these notes", ("letter_notes.txt",)),
        Entry("writing-minutes", "Write the minutes", ("minutes.txt",)),
        Entry("writing-faq", "Make an FAQ from the plan", ("plan.md",)),
        Entry("writing-changelog", "Write a changelog from this", ("commits.txt",)),
    ),
}  # fmt: skip
