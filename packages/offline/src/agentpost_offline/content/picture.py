"""A picture as ``chart.typ`` draws it: everything chosen, every number written."""

import msgspec


class Tick(msgspec.Struct, frozen=True):
    """A line of an axis."""

    at: float
    text: str


class Axis(msgspec.Struct, frozen=True):
    """An axis from ``low`` to ``high``; without ticks when every value is written."""

    low: float
    high: float
    ticks: tuple[Tick, ...] = ()
    title: str = ""
    number_format: str = "#,##0"
    """How a spreadsheet writes its numbers."""


class Group(msgspec.Struct, frozen=True):
    """What stands below the labels from number ``at`` on: the year of months."""

    at: int
    text: str


class Note(msgspec.Struct, frozen=True):
    """A point that is named in the picture; ``at`` is a label's number or a place across."""

    at: float
    value: float
    text: str
    up: bool = True


class Series(msgspec.Struct, frozen=True):
    """One row of values: ``texts`` are the values as written, ``end`` the last of them."""

    name: str
    colour: str
    ink: str
    values: tuple[float | None, ...]
    texts: tuple[str, ...]
    end: str = ""
    strong: bool = True
    cells: tuple[str | None, ...] = ()


class Picture(msgspec.Struct, frozen=True):
    """What is drawn. ``marks`` are the numbers of the labels that the title speaks of."""

    kind: str
    title: str
    subtitle: str
    source: str
    labels: tuple[str, ...] = ()
    series: tuple[Series, ...] = ()
    axis: Axis = Axis(0, 1)
    across: Axis = Axis(0, 1)
    groups: tuple[Group, ...] = ()
    points: tuple[str, ...] = ()
    marks: tuple[int, ...] = ()
    notes: tuple[Note, ...] = ()
    totals: tuple[str, ...] = ()
    is_stacked: bool = False
    is_timed: bool = False
    dots: tuple[tuple[float, float, str], ...] = ()
    trend: tuple[tuple[float, float], ...] = ()
    centre: tuple[str, str] = ("", "")
    number_format: str = "#,##0"
    """How a spreadsheet writes the values."""


class Drawing(msgspec.Struct, frozen=True):
    """A picture with what is said of it: its data as people read them in a table (``header``,
    ``rows``), and sentences for the reader (``notes``)."""

    picture: Picture
    alt: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | float | None, ...], ...]
    notes: tuple[str, ...] = ()
