"""A query while it is put together from the segments of a clause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from agentpost.agents.offline.data.model import Column, Kind, Role
from agentpost.agents.offline.frame import (
    Aggregate,
    Derived,
    Filter,
    Grain,
    Measure,
    Op,
    Order,
    Query,
)
from agentpost.agents.offline.understanding.names import Names
from agentpost.agents.offline.understanding.segments import Segment
from agentpost.agents.offline.understanding.words import folded, word_tokens

IGNORED = frozenset(
    (
        "filler",
        "act",
        "question",
        "from",
        "of",
        "for",
        "and",
        "thing",
        "too",
        "pronoun",
        "talk",
        "the",
        "compare",
        "sort",
        "format",
        "by",
        "option",
        "about",
        "title",
        "add",
        "instead",
        "when",
        "counter",
        "trend",
        "only",
        "hint",
        "implies",
        "scale",
        "length",
        "in",
        "audience",
        "language",
        "into",
        "structure",
        "source",
        "again",
        "agree",
        "input",
    )
)
"""Sections whose words may be left over: they say how, not what."""


_SAYS_WHAT = ("op", "extreme", "derived", "aggregate", "language", "comparative", "never")
"""Sections that change the answer to a question, whatever else their words can mean."""

_CORRECTED = ("act", "thing", "question", "by", "from")
"""Sections whose words may be left over although they are typos: another word may be meant."""

Best: TypeAlias = tuple[int, bool, int | None]
"""Where "top" was said, whether the largest are meant, and how many."""


@dataclass
class Draft:
    """What is known of the query so far."""

    found: list[Segment]
    names: Names
    asked: bool = False
    """Whether it is a question, not something to make."""
    measures: list[Measure] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    time: str | None = None
    grain: Grain | None = None
    filters: list[Filter] = field(default_factory=list)
    having: list[Filter] = field(default_factory=list)
    order: Order | None = None
    ambiguous: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    """Words with the columns that each could mean."""
    unclear: list[str] = field(default_factory=list)
    """What was said that no query can say: "revenue per order"."""
    ends: bool = False
    along: str | None = None
    """The sequence whose first and last entry are compared."""
    each_row: bool = False
    """Whether each row is a group of its own, as in "the largest orders"."""
    flipped: bool = False
    """Whether the largest are the lowest, as spending is in amounts with a sign."""
    named: set[str] = field(default_factory=set)
    """Which fields the clause itself names: ``measure group time filter order``."""

    def column(self, name: str) -> Column:
        """The table's column with a name."""
        return self.names.column(name)

    @property
    def dates(self) -> list[Column]:
        """Date columns, the first as the axis."""
        return [c for c in self.names.table.columns if c.kind is Kind.DATE]

    @property
    def sequences(self) -> list[Column]:
        """In a table without dates, the columns whose entries follow each other, as month names;
        the one of the most entries first."""
        known = [c for c in self.names.table.columns if c.sequence and not self.dates]
        return sorted(known, key=lambda c: -c.distinct)

    def numeric(self, segment: Segment) -> str | None:
        """The number column that a segment names and nothing has used."""
        if segment.used:
            return None
        found = [name for name in segment.columns if is_number(self.column(name))]
        return self._one(segment, found)

    def category(self, segment: Segment) -> str | None:
        """The column to group by that a segment names and nothing has used."""
        if segment.used:
            return None
        found = [name for name in segment.columns if not is_number(self.column(name))]
        return self._one(segment, found)

    def _one(self, segment: Segment, found: Sequence[str]) -> str | None:
        if len(found) > 1 and not segment.literal:
            found = self._closest(found)
        if len(found) > 1 and len(segment.columns) >= len(found):
            self.ambiguous.append((segment.text, tuple(found)))
        return found[0] if found else None

    def _closest(self, names: Sequence[str]) -> Sequence[str]:
        """Of several columns those of which most words are said somewhere in the clause."""
        said = {folded(s.text) for s in self.found}
        scores = [sum(folded(w) in said for w in word_tokens(name)) for name in names]
        return [name for name, score in zip(names, scores, strict=True) if score == max(scores)]

    def add_filter(self, made: Filter) -> None:
        """Add a filter; values of one column that are all kept or all excluded are one filter."""
        self.named.add("filter")
        for index, one in enumerate(self.filters):
            if (one.column, one.op, one.grain) == (made.column, made.op, made.grain) and (
                made.op in (Op.IS, Op.IS_NOT)
            ):
                values = (*one.values, *(v for v in made.values if v not in one.values))
                self.filters[index] = Filter(one.column, one.op, values, one.grain)
                return
        self.filters.append(made)

    def add_group(self, column: str) -> None:
        """Group by a column; a date column is the time axis."""
        self.named.add("group")
        if self.column(column).kind is Kind.DATE:
            self.time = column
            self.named.add("time")
        elif column not in self.groups:
            self.groups.append(column)

    def set_grain(self, grain: Grain) -> bool:
        """Make the date column the axis; without dates, group by the column of such entries, as
        month names. False when the table has neither."""
        if not self.dates:
            meant = Grain.WEEKDAY if grain is Grain.DAY else grain
            named = [c.name for c in self.names.table.columns if c.grain is meant]
            for name in named:
                self.add_group(name)
            return bool(named)
        self.time = self.time or self.dates[0].name
        self.grain = grain
        self.named.add("time")
        return True

    def derive(self, derived: Derived) -> None:
        """Compute something from every measure."""
        self.measures = [Measure(m.column, m.aggregate, derived) for m in self.measures]

    def query(self) -> Query:
        """What was put together."""
        return Query(
            table=self.names.table.id,
            measures=tuple(self.measures),
            groups=tuple(self.groups),
            time=self.time,
            grain=self.grain,
            filters=tuple(self.filters),
            having=tuple(self.having),
            order=self.order,
            ends=self.ends,
            along=self.along,
        )

    def unused(self) -> tuple[str, ...]:
        """Content words that nothing stands for."""
        left: list[str] = [*self.unclear]
        for segment in self.found:
            if segment.used or segment.kind in ("mark", "file"):
                continue
            guessed = segment.corrected and not any(t.section in _CORRECTED for t in segment.tags)
            if guessed or (self.asked and _says_what(segment)):
                left.append(segment.text)
                continue
            if segment.tags and all(tag.section in IGNORED for tag in segment.tags):
                continue
            ignorable = any(tag.section in IGNORED for tag in segment.tags)
            placed = segment.has("ordinal") and not segment.has("filler")
            shaped = segment.has("kind") and not segment.has("filler")
            if (
                ignorable
                and not placed
                and not shaped
                and not segment.columns
                and not segment.values
            ):
                continue
            left.append(segment.text)
        return tuple(dict.fromkeys(left))


def _says_what(segment: Segment) -> bool:
    said = {tag.section for tag in segment.tags}
    return bool(said & set(_SAYS_WHAT)) and not said & {"filler", "from", "of", "for", "question"}


def is_number(column: Column) -> bool:
    """Whether a column holds numbers that may be computed with."""
    return column.kind is Kind.NUMBER and column.role in (Role.AMOUNT, Role.RATE)


def default_aggregate(column: Column) -> Aggregate:
    """What a column's rows become when nothing is said."""
    if column.role is Role.AMOUNT:
        return Aggregate.SUM
    return Aggregate.MEAN if is_number(column) else Aggregate.DISTINCT


_PREFERRED = ("revenue", "profit", "cost", "quantity", "orders", "visits", "budget")


def is_sure(names: Names) -> bool:
    """Whether a table has one column that is meant when none is named."""
    if any(names.concepts.get(concept) for concept in _PREFERRED):
        return True
    return sum(is_number(column) for column in names.table.columns) <= 1


def default_measure(names: Names) -> Measure:
    """What a table is usually asked for: revenue before quantity, never a sum of rates."""
    for concept in _PREFERRED:
        for name in names.concepts.get(concept, ()):
            if names.column(name).role is Role.AMOUNT and is_number(names.column(name)):
                return Measure(name, Aggregate.SUM)
    for role, aggregate in ((Role.AMOUNT, Aggregate.SUM), (Role.RATE, Aggregate.MEAN)):
        for column in names.table.columns:
            if column.role is role and is_number(column):
                return Measure(column.name, aggregate)
    return Measure(None, Aggregate.COUNT)
