"""What the words of one clause say, before it is decided what they ask for."""

from dataclasses import dataclass, field
from typing import Any

from agentpost_offline.frame import Aggregate, Derivation, Filter, Grain, Op, Style, Thing
from agentpost_offline.grammar.periods import Period

_OF_QUERIES = frozenset(("per", "each_row", "split", "versus", "difference", "more", "only"))
"""Marks that only a question about data has."""


_QUERY = frozenset((
    "measures", "groups", "mentions", "which_columns", "grains", "is_trend", "values", "filters",
    "comparing", "periods", "exclusions", "ranking", "counts", "row_nouns", "derivation", "time",
    "unwanted", "by_numbers", "row_order",
))  # fmt: skip
"""The fields that name something of a table."""
_LOOK = frozenset(("style", "options", "formats", "language", "sort"))
"""The fields of how a result looks."""
_DEMANDS = _QUERY | _LOOK | {
    "things", "control", "model", "asks", "ambiguous", "dateless_words", "aggregate", "unknown",
}  # fmt: skip
"""The fields of what is asked for, or was not understood."""


@dataclass(slots=True)
class MeasureRequest:
    """A column of numbers, and how it was asked to be computed."""

    column: str
    aggregate: Aggregate | None = None
    word: str = ""


ROWS = ""
"""The column of a condition on the number of rows."""


@dataclass(slots=True)
class Comparing:
    """A condition with a number; ``measure_at``: the place of the measure that it stands after."""

    op: Op
    values: tuple[float, ...]
    column: str | None = None
    measure_at: int | None = None
    text: str = ""
    has_unit: bool = False
    """Whether a currency or the unit of a column stands at the number."""
    has_money: bool = False
    """Whether it is a currency."""


@dataclass(slots=True)
class Ranking:
    """The best or worst groups; ``concept``: what they are ranking by, as of "cheapest"."""

    is_top: bool
    count: int | None = None
    concept: str = ""
    word: str = ""
    is_judged: bool = False
    """Whether it is a word like "best", which does not say whether the highest are meant."""
    asks_sum: bool = False
    """Whether it is a word like "most", which speaks of how much there is in all."""


@dataclass
class Draft:
    """The words of a clause, sorted by what they say."""

    text: str
    unknown: list[str] = field(default_factory=list)
    """Words without a meaning here, as they were written."""
    remarks: list[str] = field(default_factory=list)
    """Sentences of words without a meaning: what the user does with the result."""
    purposes: list[str] = field(default_factory=list)
    """For whom a result is, where a word of it has no meaning: it changes nothing."""
    is_statement: bool = False
    """Whether it is a remark by all its words."""
    lacking: list[str] = field(default_factory=list)
    """Those of the unknown words that stand where a column must stand."""
    ambiguous: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    """Words that fit several columns."""
    typos: list[tuple[str, str]] = field(default_factory=list)
    asks: set[str] = field(default_factory=set)
    """``what which who when why many much list passage``."""
    marks: set[str] = field(default_factory=set)
    """Single words: ``only versus difference all it too change about undo split carry.sold``;
    ``sales``: those that the rows are, or their money; ``count_too``: the rows beside a figure;
    ``of_value``: a share is of what has a value; ``both_ends``: the best and the worst; ``judged``:
    "worst first" does not say whether the highest are meant."""
    talk: str | None = None
    control: str | None = None
    model: list[tuple[str, str]] = field(default_factory=list)
    """What only a model can do, as (kind, word)."""
    things: list[Thing] = field(default_factory=list)
    measures: list[MeasureRequest] = field(default_factory=list)
    unwanted: list[str] = field(default_factory=list)
    """Columns of numbers that are not to be shown: "units, not revenue"."""
    aggregate: Aggregate | None = None
    aggregate_word: str = ""
    derivation: Derivation | None = None
    whole_at: int = 0
    """The place among the measures of the one that a share is of."""
    is_rate: bool = False
    """Whether a share is of the rows of each group, and of no others."""
    groups: list[str] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)
    """Columns of groups that stand without "by" or "which"."""
    which_columns: list[str] = field(default_factory=list)
    """Columns behind "which" and "who"."""
    by_numbers: list[MeasureRequest] = field(default_factory=list)
    """Columns of numbers behind "by"."""
    grains: list[Grain] = field(default_factory=list)
    is_trend: bool = False
    time: str | None = None
    """A column of dates that was named."""
    has_several_times: bool = False
    """Whether several such columns were named."""
    values: list[tuple[str, str]] = field(default_factory=list)
    filters: list[Filter] = field(default_factory=list)
    comparing: list[Comparing] = field(default_factory=list)
    periods: list[Period] = field(default_factory=list)
    exclusions: list[Period] = field(default_factory=list)
    ranking: Ranking | None = None
    sort_by: list[tuple[str, str]] = field(default_factory=list)
    """Columns that an order is named for, with the words that say so."""
    sort: bool | None = None
    """Whether the largest come first, where an order was named."""
    is_descending: bool | None = None
    """Whether the order was said to begin with the largest, or with the smallest."""
    row_order: str | None = None
    """The column by which the rows of a table are put in order."""
    counts: list[str] = field(default_factory=list)
    """``rows`` where rows are counted, by their word or by the table's name."""
    counts_measure: bool = False
    """Whether a figure stands right behind "how many": "how many hours of absence"."""
    is_own_name: bool = False
    """Whether the table's name is all that counts rows."""
    row_nouns: list[str] = field(default_factory=list)
    """Columns that tell the rows apart, named as what a row is: "orders" of an ``order_id``."""
    style: Style = field(default_factory=Style)
    look_words: dict[str, str] = field(default_factory=dict)
    """What the parts of the look and the options were called."""
    options: dict[str, Any] = field(default_factory=dict)
    formats: list[str] = field(default_factory=list)
    language: str | None = None
    ordinal: int | None = None
    several: int | None = None
    """How many of the last answers "both" or "them" means; 0 for all that belong together."""
    several_word: str = ""
    dateless_words: str = ""
    """The words of a period, where the table has no dates."""

    def has(self, *names: str) -> bool:
        """Whether anything stands in one of these fields."""
        return any(getattr(self, name) != getattr(_BLANK, name) for name in names)

    def has_besides(self, *names: str) -> bool:
        """Whether anything is asked for in other fields than these, or was not understood."""
        return self.has(*(_DEMANDS - {*names}))

    def has_query_besides(self, *names: str) -> bool:
        """Whether something of a table was named but in these fields."""
        return self.has(*(_QUERY - {*names}))

    @property
    def has_query(self) -> bool:
        """Whether anything of a table was named."""
        return self.has(*_QUERY)

    @property
    def is_fragment(self) -> bool:
        """Whether a clause only names columns, values or how to compute."""
        return not (self.asks or self.things or self.talk or self.control or self.model
                    or self.unknown) and (self.has_query or self.aggregate is not None)  # fmt: skip

    @property
    def steers(self) -> bool:
        """Whether a clause only steers what runs: "stop the report", "try again"."""
        asks_more = self.has_query or self.asks - {"what"} or self.marks & _OF_QUERIES
        return self.control is not None and not asks_more

    @property
    def is_talk(self) -> bool:
        """Whether a clause only talks."""
        return self.talk is not None and not self.has_besides(
            "asks", "control", "aggregate", "ambiguous", "dateless_words"
        )

    @property
    def has_look(self) -> bool:
        """Whether anything of the result's look was named."""
        return self.has(*_LOOK)

    @property
    def value_filters(self) -> list[Filter]:
        """The conditions that the values are."""
        return [Filter(column, Op.IS, (value,)) for column, value in self.values]

    @property
    def is_remark(self) -> bool:
        """Whether a clause only says what somebody does with the result."""
        return self.is_statement and not self.has_besides("unknown")

    @property
    def is_purpose(self) -> bool:
        """Whether a clause only says what somebody needs a result for: "need it for the AGM"."""
        rest = self.has("talk", "remarks", "several_word")
        return self.marks == {"it"} and not (rest or self.has_besides())

    @property
    def is_empty(self) -> bool:
        """Whether nothing was named at all."""
        return not (self.has_besides() or self.has("talk", "marks", "remarks", "purposes"))


_BLANK = Draft("")
