"""What one clause of a message asks for: the contract between understanding and making.

A `Frame` is plain data: it is recorded with the conversation, handed to jobs as JSON, and a
follow-up replaces only the fields that it names.
"""

from enum import StrEnum
from typing import Any, Final

import msgspec

Cell = str | float | bool | None
"""A value of a table or a result; dates are ISO 8601."""


class Act(StrEnum):
    """What a clause does."""

    MAKE = "make"
    ASK = "ask"


class Thing(StrEnum):
    """What can be made or answered with; each has a folder of its own in `making`."""

    ANSWER = "answer"
    CHART = "chart"
    REPORT = "report"
    DECK = "deck"
    SITE = "site"
    IMAGE = "image"
    VIDEO = "video"
    TABLE = "table"
    DOCUMENT = "document"


TELLING: Final = (Thing.REPORT, Thing.DECK, Thing.SITE)
"""What tells of a whole table where nothing of it is named."""


class Aggregate(StrEnum):
    """How the rows of a group become one number."""

    SUM = "sum"
    MEAN = "mean"
    MEDIAN = "median"
    DEVIATION = "deviation"
    """The standard deviation of a sample."""
    MIN = "min"
    MAX = "max"
    COUNT = "count"
    DISTINCT = "distinct"


class Derivation(StrEnum):
    """What is computed from the aggregates.

    Filters of a group column choose which groups are shown; they are applied after a share or a
    rank was computed over all groups. A growth compares each shown period with the one shown
    before it.
    """

    SHARE = "share"
    """Of the total, in percent."""
    RATE = "rate"
    """Of the rows of each group those that the filter on the measure's column leaves, in percent:
    how many of its parcels each depot lost."""
    GROWTH = "growth"
    """Against the period before, in percent."""
    DIFFERENCE = "difference"
    """Between the first two groups, or two periods."""
    CUMULATIVE = "cumulative"
    AVERAGE = "average"
    """The mean over the groups or periods, as one figure: "average revenue per month"."""


COMPARED: Final = (Derivation.GROWTH, Derivation.DIFFERENCE)
"""What sets a value against another one, of a period or a group."""


class Grain(StrEnum):
    """The length of the periods of a time axis."""

    HOUR = "hour"
    DAY = "day"
    WEEKDAY = "weekday"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    SPAN = "span"
    """The spans of days that the filter on the time column names: ``2025-03-01/2025-05-31``."""


class Op(StrEnum):
    """How a filter compares a column with its values."""

    IS = "is"
    IS_NOT = "is_not"
    AT_LEAST = "at_least"
    ABOVE = "above"
    AT_MOST = "at_most"
    BELOW = "below"
    BETWEEN = "between"
    """Both ends included; of dates, the second value's whole day."""
    CONTAINS = "contains"
    MISSING = "missing"
    PRESENT = "present"


class Measure(msgspec.Struct, frozen=True, omit_defaults=True):
    """A number to compute. ``column`` is None for the number of rows."""

    column: str | None
    aggregate: Aggregate
    derived: Derivation | None = None


ROW_COUNT: Final = Measure(None, Aggregate.COUNT)


class Filter(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which rows count. Dates are ISO 8601 days; ``grain`` compares a part of the date instead:
    weekdays 1 (Monday) to 7, months 1 to 12, quarters 1 to 4, hours 0 to 23, years."""

    column: str
    op: Op
    values: tuple[str | float, ...] = ()
    grain: Grain | None = None


class Order(msgspec.Struct, frozen=True, omit_defaults=True):
    """The best or worst ``count`` groups; None keeps all, sorted."""

    descending: bool = True
    count: int | None = None


class Query(msgspec.Struct, frozen=True, omit_defaults=True):
    """What to compute from a table, in its own column names."""

    table: str
    """The table's id (`data.model.Table.id`)."""
    measures: tuple[Measure, ...] = ()
    groups: tuple[str, ...] = ()
    time: str | None = None
    """The date column of the time axis."""
    grain: Grain | None = None
    filters: tuple[Filter, ...] = ()
    having: tuple[Filter, ...] = ()
    """Which groups are kept, by their measure: ``column`` is the measure's column, empty for the
    number of rows."""
    order: Order | None = None
    rows_by: str | None = None
    """The column by which the rows themselves are put in ``order``, where nothing is computed."""
    columns: tuple[str, ...] = ()
    """What an answer shows of the rows, where nothing is computed; empty: the first columns."""


class Style(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the result looks. Every field None: as the maker thinks best."""

    chart: str | None = None
    """``bar grouped stacked line scatter heatmap donut``."""
    colour: str | None = None
    """``#rrggbb``."""
    title: str | None = None
    size: tuple[int, int] | None = None
    """Pixels, or the proportions of them."""
    pages: int | None = None
    """Pages, slides, sentences: the thing's own unit."""
    seconds: float | None = None
    length: str | None = None
    """``shorter`` or ``longer`` than before."""
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    """What only one thing knows: an image's ``crop``."""


class Frame(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one clause asks for."""

    act: Act
    thing: Thing | None = None
    queries: tuple[Query, ...] = ()
    style: Style = Style()
    formats: tuple[str, ...] = ()
    """File suffixes without the dot."""
    language: str = "en"
    """Of the reply and of what is made: ISO 639-1."""
    files: tuple[str, ...] = ()
    """Ids of the files it is made from."""
    text: str = ""
    """Material in the message itself: a pasted table, a text to summarise."""
    said: str = ""
    """The clause in the user's own words."""


def to_json(frame: Frame) -> dict[str, Any]:
    """The frame as arguments of a job or as state of a work."""
    result: dict[str, Any] = msgspec.to_builtins(frame)
    return result


def from_json(data: object) -> Frame:
    """The opposite of `to_json`; raises `msgspec.ValidationError`."""
    return msgspec.convert(data, Frame)
