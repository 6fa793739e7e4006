"""What a request probably means that is not sure: whole requests of the parts that were understood,
of what was asked before, and of what an unknown word may stand for, the likeliest first.

Each part has a weight, and a suggestion the sum of its parts. None is done unasked, so that a part
may be guessed; the words of the button say all of it.
"""

import copy
import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from agentpost_offline.data import roles, words as words_of_tables
from agentpost_offline.data.formulas import Sign, formula
from agentpost_offline.data.model import Column, Kind, Role
from agentpost_offline.frame import (
    COMPARED,
    ROW_COUNT,
    TELLING,
    Act,
    Aggregate,
    Derivation,
    Filter,
    Frame,
    Grain,
    Measure,
    Op,
    Order,
    Query,
    Style,
    Thing,
)
from agentpost_offline.grammar import comparing
from agentpost_offline.grammar.describing import frame_text
from agentpost_offline.grammar.draft import Comparing, Draft, MeasureRequest, Ranking
from agentpost_offline.grammar.material import (
    Material,
    calendar_of,
    is_better_lower,
    material_of,
    no_value,
    yes_value,
)
from agentpost_offline.grammar.reading import MOST_CHOICES, Choice, Reading, Unclear
from agentpost_offline.grammar.requests import Surrounding, thing_of
from agentpost_offline.grammar.resolving import Resolved
from agentpost_offline.grammar.text import fold, name_tokens, tokens
from agentpost_offline.grammar.vocabulary import concept_of, lexicon, word_list
from agentpost_offline.style.numbers import is_currency

_ALIKE = 0.3
"""What a part is worth less for each suggestion before that has it."""
_DERIVED = (Derivation.SHARE, Derivation.CUMULATIVE)
_ROWS = ROW_COUNT
_OTHERS = 3
"""So many columns may be meant by a number."""
_OPTIONS = 5
"""So many measures, axes and conditions are put together."""
_FEW = 4
"""As many values of a column "status" are offered."""
_MOST_GROUPS = 30
_BEGINNING = 4
"""Letters by which a word of a request is like one of a column's name."""
_SHORT = 6
"""A message of so few words may go on with the one before."""
_NAMED, _LIKE, _GUESS, _FAINT = 3.0, 1.5, 1.0, 0.3
"""The weights of what was named, of what is like a word, of what is usual, of what is possible."""


_Part = TypeVar("_Part")


class _Axes(NamedTuple):
    groups: tuple[str, ...] = ()
    time: str | None = None
    grain: Grain | None = None

    @property
    def size(self) -> int:
        """How many groups and time axes there are."""
        return len(self.groups) + (self.time is not None)


def suggest(reading: Reading, around: Surrounding) -> list[Choice]:
    """Whole requests that a reading may mean, the likeliest first; none where it is about no table,
    or where what is made would lack what was asked for.

    Args:
        reading: what was understood, and what would be done where that is known.
        around: what the message was read over.
    """
    draft, table = copy.deepcopy(reading.draft), reading.table
    if table is None or (draft.model and not draft.has_query):
        return []
    thing = thing_of(draft, around)
    if thing in (Thing.DOCUMENT, Thing.IMAGE) or (
        "unable" in draft.marks and thing is not Thing.ANSWER
    ):
        return []
    suggester = _Suggester(
        reading, draft, thing, material_of(table, lexicon(around.language)), around
    )
    template = reading.frame or Frame(
        Act.ASK if thing is Thing.ANSWER else Act.MAKE, thing, (),
        replace(draft.style, options=dict(draft.options)), tuple(draft.formats),
        draft.language or around.language, said=draft.text,
    )  # fmt: skip
    queries = suggester.queries()
    frames = [replace(template, queries=(one,), text="") for one in queries]
    if thing in TELLING and not draft.has_query:  # all of the table, without a word of its look
        style = Style(pages=draft.style.pages, title=draft.style.title)
        frames.insert(0, replace(template, queries=(), style=style))
    choices = [Choice(frame_text(one, table), (one,)) for one in frames]
    apart = suggester.in_two_periods(queries) or suggester.at_both_ends(queries)
    if thing is Thing.ANSWER and apart:
        both = tuple(replace(frames[0], queries=(one,)) for one in apart)
        choices.insert(0, Choice(" + ".join(frame_text(one, table) for one in both), both))
    return choices


class _Suggester:
    def __init__(
        self, reading: Reading, draft: Draft, thing: Thing, material: Material, around: Surrounding
    ) -> None:
        self.draft, self.thing, self.material, self.around = draft, thing, material, around
        words = [one for one in tokens(draft.text) if one.kind != "mark"]
        text = f" {' '.join(fold(one.text) for one in words)} "
        denials = word_list(around.language)["not"]["not"].split(";")
        self.denies = any(
            one.strip() in text if around.language == "zh" else f" {one.strip()} " in text
            for one in denials
        ) and not any(
            one.op is Op.IS and one.values == (no_value(material.column(one.column)),)
            for one in draft.filters
        )  # what is denied was read
        self.beginnings = {
            fold(one.text)[:_BEGINNING] for one in words if len(one.text) >= _BEGINNING
        }
        self.query = self._only_query(reading.frame)
        self.before = self._only_query(around.works[0].frame if around.works else None)
        goes_on = bool(draft.marks & {"it", "about", "too", "change", "only"})
        self.goes_on = _LIKE if goes_on or len(words) <= _SHORT else _FAINT
        measures = {word for one in draft.measures for word in name_tokens(one.column)}
        dates = sorted(
            material.date_columns, key=lambda one: (
                one.name != draft.time, measures.isdisjoint(name_tokens(one.name))
            )
        )  # fmt: skip
        time = dates[0] if dates else None
        self.calendar = calendar_of(time, around.today) if time is not None else None

    def _only_query(self, frame: Frame | None) -> Query | None:
        """The query of a frame that has one, over this table."""
        if frame is None or len(frame.queries) != 1:
            return None
        (query,) = frame.queries
        names = [
            *(one.column for one in query.measures), *(one.column for one in query.filters),
            *query.groups, query.time,
        ]  # fmt: skip
        columns = self.material.columns_by_name
        is_known = all(columns.find(name) for name in names if name)
        return query if query.table == self.material.table.id and is_known else None

    def queries(self) -> list[Query]:
        """The likeliest queries, each once."""
        figures = _best(self._measures())
        parts = itertools.product(figures, _best(self._axes()), _best(self._conditions()))
        weights = {
            query: weight + _LIKE + _NAMED * bool(query.groups or query.time)
            + _LIKE * len(query.filters)
            for measures, weight in figures if len(measures) == 1
            if (query := self._resolved(*measures)) is not None
        }  # fmt: skip
        for (measures, weight), (axes, of_axes), (filters, of_filters) in parts:
            query = self._query(measures, axes, filters)
            if query is not None:
                weights[query] = max(weight + of_axes + of_filters, weights.get(query, 0))
        for query, weight in self._row_lists():
            weights[query] = max(weight, weights.get(query, 0))
        results = list[Query]()
        while weights and len(results) < MOST_CHOICES:
            best = max(weights, key=lambda one: weights[one])
            results.append(best)
            del weights[best]
            for other in weights:  # another guess is worth more than one more of the same
                weights[other] -= _ALIKE * (
                    (other.measures == best.measures)
                    + (other.filters == best.filters != self.known)
                    + ((other.groups, other.time) == (best.groups, best.time))
                )  # fmt: skip
        return results

    def in_two_periods(self, queries: Sequence[Query]) -> list[Query]:
        """The likeliest query of each of two periods, side by side: what they have in common may be
        compared though they are not equally long; none where there are not two."""
        periods = [one for one in self.draft.periods if not one.weekdays]
        if self.calendar is None or len(periods) != 2 or not queries:
            return []
        rest = tuple(one for one in queries[0].filters if one.column != self.calendar.column)
        apart = [(*rest, one.filter(self.calendar)) for one in periods]
        plain = replace(queries[0], time=None, grain=None)
        measures = tuple(Measure(one.column, one.aggregate) for one in plain.measures)
        return [replace(plain, measures=measures, filters=one) for one in apart]

    def at_both_ends(self, queries: Sequence[Query]) -> list[Query]:
        """The likeliest query with the best and with the worst: "which sells best and which worst";
        none where one end is asked for."""
        words = lexicon(self.around.language).exact
        ends = {
            meaning.partition(".")[2].partition("_")[0]
            for token in tokens(self.draft.text) for meaning in words.get((fold(token.text),), ())
            if meaning.startswith("extreme.")
        }  # fmt: skip
        order = queries[0].order if queries else None
        if order is None or not ends >= {"top", "bottom"}:
            return []
        orders = (Order(top, order.count) for top in (True, False))
        return [replace(queries[0], order=one) for one in orders]

    def _row_lists(self) -> Iterator[tuple[Query, float]]:
        """The rows themselves, under the likeliest conditions."""
        draft, table = self.draft, self.material.table
        if self.thing not in (Thing.ANSWER, Thing.TABLE) or (
            draft.grains or draft.derivation or draft.aggregate
        ):  # fmt: skip
            return
        if draft.ranking is not None:
            if self.thing is Thing.ANSWER:
                yield from self._best_rows(draft.ranking)
            return
        before = self.before is not None and not self.before.measures
        names = (*draft.groups, *draft.mentions, *(one.column for one in draft.measures))
        asks_rows = before or self._lists or "who" in draft.asks or "all" in draft.marks
        is_list = before or "list" in draft.asks or (asks_rows and len(names) > 1)
        weight = (
            2 * _NAMED if is_list else _NAMED + _LIKE if asks_rows
            else _NAMED if draft.comparing else _FAINT
        )  # fmt: skip
        order = None if draft.sort is None else Order(bool(draft.sort))
        for filters, of_filters in _best(self._conditions()):
            if not filters:
                continue
            sources = [*names, *(one.column for one in filters if one.op is not Op.IS)]
            sources += [one.name for one in self.material.numbers if is_currency(one.unit)][:1]
            fields = [
                each for one in sources
                for each in (self.material.column(one).formula[::2] or (one,))
            ]  # fmt: skip
            columns = tuple(dict.fromkeys((*filter(None, [self.material.row_name]), *fields)))
            query = Query(
                table.id, filters=filters, order=order,
                rows_by=self._row_order(filters) if order is not None else None,
                columns=columns if names and self.material.row_name else (),
            )  # fmt: skip
            yield query, weight + of_filters

    def _best_rows(self, ranking: Ranking) -> Iterator[tuple[Query, float]]:
        """The rows that are most or least, as of "the 3 dearest trips"."""
        order = Order(ranking.is_top, ranking.count or self._count())
        is_several = (order.count or 1) > 1 and not (
            self.draft.groups or self.draft.which_columns
        )  # fmt: skip
        for filters, of_filters in _best(self._conditions()):
            rows_by = self._row_order(filters)
            query = Query(self.material.table.id, filters=filters, order=order, rows_by=rows_by)
            yield query, (_NAMED + _LIKE if is_several else _FAINT) + of_filters

    def _row_order(self, filters: Sequence[Filter]) -> str:
        """The column by which rows stand in the order that is asked for: "biggest first"."""
        numbers = {one.name for one in self.material.numbers}
        bounds = [one.column for one in filters if one.column in numbers]
        main = [one.name for one in self.material.numbers if self._is_main(one)]
        return self.draft.row_order or (*bounds, *main, self.material.table.columns[0].name)[0]

    def _resolved(self, measure: Measure) -> Query | None:
        """The request with a measure in place of its own, all else as it was understood; None where
        that is unclear too."""
        draft = copy.deepcopy(self.draft)
        if measure.column is None:
            draft.measures, draft.counts = [], ["rows"]
        else:
            draft.measures = [MeasureRequest(measure.column, measure.aggregate)]
            draft.asks -= {"many"}
        draft.aggregate, draft.by_numbers = None, []
        draft.ambiguous = []
        if measure.derived is not None:
            return None
        try:
            result = Resolved(
                draft, self.material, self.thing, self.around.today, self.around.language,
                is_choice=True,
            )  # fmt: skip
        except Unclear:
            return None
        has_rows = not any(key == "covered_none" for key, _ in result.notes)
        return result.query if has_rows else None

    def _query(
        self, measures: tuple[Measure, ...], axes: _Axes, filters: tuple[Filter, ...]
    ) -> Query | None:
        """The query of some parts; None where they do not go together."""
        fixed = {one.column for one in filters if one.op is Op.IS and len(one.values) == 1}
        if fixed & {*axes.groups} or axes.size > 2:
            return None
        if any(one.derived in COMPARED for one in measures) and (
            axes.time is None or self.thing is not Thing.ANSWER
        ):  # what is drawn has the figures of both periods
            measures = tuple(Measure(one.column, one.aggregate) for one in measures)
        if any(
            one.aggregate is Aggregate.DISTINCT and one.column in axes.groups for one in measures
        ):
            return None
        if self.thing is Thing.CHART and not axes.size and len(measures) < 2:  # of a scatter plot
            return None
        if measures == (_ROWS,) and axes.size == 1 and (
            self.material.is_row([*axes.groups, *filter(None, [axes.time])])
        ):  # fmt: skip
            return None  # each is one: the rows are a list
        names = [one.column for one in measures]
        columns = self.material.columns_by_name.operands(names)
        is_narrow = bool(axes.size or fixed)
        code = roles.currencies(self.material.table.columns, columns, is_narrow=is_narrow)
        if code is not None and code.name not in {*axes.groups, *fixed}:
            return None
        order, ranking = None, self.draft.ranking
        if ranking is not None and not axes.size:  # "longest resolution" is that of a row
            how = Aggregate.MAX if ranking.is_top else Aggregate.MIN
            measures = tuple(Measure(one.column, how) for one in measures if one.column)
            if not measures:
                return None
        if axes.size and ranking is not None:
            is_top = ranking.is_top or (ranking.is_judged and measures == (_ROWS,))
            if ranking.is_judged and any(
                one.column and is_better_lower(self.material.column(one.column))
                for one in measures
            ):  # fmt: skip
                is_top = not ranking.is_top  # the worst wait is the longest
            order = Order(is_top, ranking.count or self._count())  # the worst offender has most
        elif axes.size and self.draft.sort is not None:
            is_best = "judged" not in self.draft.marks or self.material.is_best_highest(measures)
            order = Order(self.draft.sort is bool(is_best))
        adds = all(one.aggregate in (Aggregate.SUM, Aggregate.COUNT) for one in measures)
        if axes.size and adds and self.draft.derivation in _DERIVED:
            measures = tuple(
                Measure(one.column, one.aggregate, self.draft.derivation) for one in measures
            )
        return Query(
            self.material.table.id, measures, axes.groups, axes.time, axes.grain, filters,
            order=order,
        )  # fmt: skip

    def _count(self) -> int:
        """How many are asked for: the only small number of the message, as of "the 3 things"."""
        numbers = [one.text for one in tokens(self.draft.text) if one.kind == "number"]
        values = " ".join(value for _, value in self.draft.values)  # as the route of "on route 14"
        small = [
            int(one) for one in numbers
            if one.isdigit() and 1 < int(one) <= _MOST_GROUPS and one not in values
        ]  # fmt: skip
        return small[0] if len(small) == 1 and not self.draft.comparing else 1

    # Measures

    def _measures(self) -> Iterator[tuple[tuple[Measure, ...], float]]:
        draft = self.draft
        named = [
            Measure(one.column, one.aggregate or self._usual(one.column)) for one in draft.measures
        ]
        for like in (one for _, names in draft.ambiguous for one in names):
            if self.material.column(like) in self.material.numbers:
                yield (Measure(like, draft.aggregate or self._usual(like)),), _NAMED - _FAINT
        counts = "many" in draft.asks or (
            draft.counts and not (draft.is_own_name and draft.measures)
        )
        if self.query is not None and self.query.measures:
            is_named = bool(draft.measures or counts or not draft.unknown) and not self._lists
            yield self.query.measures, _NAMED if is_named else _LIKE
        if len(named) > 1:
            yield tuple(dict.fromkeys(named)), _NAMED
            left, right = (self.material.column(str(one.column)) for one in named[:2])
            sign = Sign.MINUS if "difference" in draft.marks else Sign.OVER
            if name := formula(left, sign, right):
                yield (Measure(name, self._usual(name)),), _GUESS
        yield from (((one,), _NAMED - _FAINT) for one in named)
        if "each_row" in draft.marks and len({one.column for one in named}) == 1:
            both = (Aggregate.SUM, Aggregate.MEAN)  # "total, and the average per entry"
            yield tuple(Measure(named[0].column, one) for one in both), _NAMED
        if counts and not named and draft.aggregate is Aggregate.SUM:  # "sum and number"
            main = [one for one in self.material.numbers if self._is_main(one)][:1]
            yield from (
                ((Measure(one.name, Aggregate.SUM), _ROWS), _NAMED + _FAINT) for one in main
            )
        if counts and named:  # "average price per kind, and how many of each"
            yield (*dict.fromkeys(named), _ROWS), _NAMED + _FAINT
        if counts or (self._lists and not named and self.material.row_name):
            yield (_ROWS,), _NAMED
        if self.before is not None and self.before.measures:
            yield self.before.measures, self.goes_on
        yield from ((ratio, _NAMED) for ratio in self._ratios(named))
        for column in self.material.numbers:
            if named and not self._is_like(column):
                continue
            weight = _LIKE if self._is_like(column) else _GUESS if self._is_main(column) else _FAINT
            if "much" in draft.asks and roles.is_additive(column):
                weight += _LIKE  # "how much did we get"
            how = draft.aggregate or self._usual(column.name)
            yield (Measure(column.name, how),), weight
            if weight > _FAINT and how is Aggregate.SUM and not is_currency(column.unit):
                yield (Measure(column.name, Aggregate.MEAN),), weight - _FAINT
        if not named:
            money = [one for one in self.material.numbers if is_currency(one.unit)]
            yield from self._difference(money, Aggregate.SUM, _GUESS - _FAINT)
            if "long" in draft.marks or draft.ranking is None:
                lasts = _NAMED if "long" in draft.marks else _FAINT
                days = sorted(self.material.date_columns, key=lambda one: str(one.last))
                yield from self._difference(days[::-1], Aggregate.MEAN, lasts)
            # "which animals do we see most" counts them
            is_count = draft.ranking is not None or draft.derivation is Derivation.SHARE
            yield (_ROWS,), _GUESS if is_count else _GUESS - _FAINT

    @staticmethod
    def _difference(
        columns: Sequence[Column], how: Aggregate, weight: float
    ) -> Iterator[tuple[tuple[Measure, ...], float]]:
        """What one of two columns leaves of the other: of the money, or how long something took
        that has a day of its beginning and one of its end."""
        if len(columns) == 2 and (name := formula(columns[0], Sign.MINUS, columns[1])):
            yield (Measure(name, how),), weight

    def _ratios(self, named: Sequence[Measure]) -> Iterator[tuple[Measure, ...]]:
        """As in "and per km?": a figure for each of a column behind "per"."""
        before = self.before.measures if self.before is not None else ()
        for one, by in itertools.product((*named, *before)[:1], self.draft.by_numbers):
            names = (one.column, by.column)
            left, right = (self.material.columns_by_name.find(name) for name in names)
            if left and right and (name := formula(left, Sign.OVER, right)):
                yield (Measure(name, Aggregate.MEAN),)

    @property
    def _compares(self) -> bool:
        """Whether those of a yes are set against those of a no."""
        return bool(self.draft.marks & {"more", "versus"} and "flag" in self.draft.marks)

    @property
    def _lists(self) -> bool:
        """Whether the rows themselves are asked for."""
        return bool(self.draft.asks & {"which", "list"}) and self.draft.ranking is None

    def _is_like(self, column: Column) -> bool:
        """Whether a word of a column's name begins as one of the request does."""
        names = name_tokens(column.name)
        return any(fold(word)[:_BEGINNING] in self.beginnings for word in names)

    def _is_main(self, column: Column) -> bool:
        numbers = self.material.numbers
        money = [*self.material.takings, *self.material.concepts.get("revenue", ())] or [
            one.name for one in numbers if words_of_tables.names(one.name, "money")
        ]
        return column.name in (money or [numbers[0].name])

    def _usual(self, name: str) -> Aggregate:
        column = self.material.column(name)
        is_rate = column.role is Role.RATE and name not in self.material.takings
        return Aggregate.MEAN if is_rate else Aggregate.SUM

    # Groups and periods

    def _axes(self) -> Iterator[tuple[_Axes, float]]:
        draft = self.draft
        names = dict.fromkeys((*draft.groups, *draft.which_columns, *draft.mentions))
        conditions = {one.column for one in self.known}
        groups = tuple(name for name in names if name not in conditions)
        time = self.calendar.column if self.calendar and (draft.grains or draft.is_trend) else None
        grain = draft.grains[-1] if draft.grains else None
        whole = _Axes(groups[: 2 - (time is not None)], time, grain)
        if self.query is not None:
            axes = _Axes(self.query.groups, self.query.time, self.query.grain)
            yield axes, _NAMED if axes.size or not self._lists else _GUESS
        if whole.size:
            yield whole, _NAMED
            yield from (
                (_Axes(whole.groups, time, one), _NAMED - _FAINT) for one in draft.grains[:-1]
            )
            if whole.size > 1:
                yield from ((_Axes((one,)), _NAMED - _FAINT) for one in groups)
        if (
            self.before is not None
            and self.before.measures
            and groups
            and (self.before.measures[0].derived in COMPARED)
        ):  # "now by route", of two quarters
            yield _Axes(groups[:1], self.before.time, self.before.grain), _NAMED + _FAINT
        if self.before is not None and not whole.size:
            before = _Axes(self.before.groups, self.before.time, self.before.grain)
            yield before, self.goes_on
        if "who" in draft.asks:
            yield from ((_Axes((one,)), _NAMED) for one in self._people())
        if self._lists and not groups:
            yield from ((one, _NAMED) for one in self._rows())
        flags = (one.column for one in self.known if self._opposite(one) != one)
        weight = _LIKE + _FAINT if self.denies else _GUESS  # "with a raffle and without"
        weight = _NAMED if self._compares else weight
        yield from ((_Axes((name,)), weight) for name in flags)
        is_share = draft.derivation is Derivation.SHARE
        is_asked = draft.ranking or "which" in draft.asks or self.thing is not Thing.ANSWER
        for column in self._categories():
            weight = _GUESS if (is_asked or is_share) and not groups else 0
            yield _Axes((column.name,)), max(weight, _LIKE * self._is_like(column))
        yield _Axes(), 0 if whole.size or is_share else _GUESS

    def _rows(self) -> Iterator[_Axes]:
        """What tells the rows: their names, else their days."""
        if self.material.row_name is not None:
            yield _Axes((self.material.row_name,))
        elif self.calendar is not None:
            conditions = {one.column for one in self.known}
            names = tuple(one.name for one in self._categories() if one.name not in conditions)[:1]
            yield _Axes(names, self.calendar.column, Grain.DAY)

    def _people(self) -> Sequence[str]:
        """The column that names people: else the one of texts with the most different values."""
        concepts = self.material.concepts
        texts = [one for one in self.material.groups if one.kind is Kind.TEXT]
        likely = [one.name for one in sorted(texts, key=lambda one: -one.distinct)]
        people = concepts.get("person") or concepts.get("customer") or likely
        if self.draft.marks & {"sold", "earned"}:  # who sells is no customer
            buyers = concepts.get("customer", ())
            sellers = [
                one for one in likely if words_of_tables.names(one, "person") and one not in buyers
            ]
            return (sellers or people)[:1]
        return people[:1]

    def _categories(self) -> list[Column]:
        columns = [
            one for one in self.material.groups
            if one.role is Role.CATEGORY and 1 < one.distinct <= _MOST_GROUPS
        ]  # fmt: skip
        columns.sort(key=lambda one: (not self._is_like(one), bool(yes_value(one))))
        return columns[:3]

    # Conditions

    def _conditions(self) -> Iterator[tuple[tuple[Filter, ...], float]]:
        known = self.known
        weight = _LIKE * len(known)
        for at in range(1, _OTHERS):  # "over 75" may be an age or an amount
            others = tuple(dict.fromkeys(self._known(at)))
            if others != known and len(others) == len(known):
                yield others, weight + _LIKE - at * _FAINT
        opposite = tuple(map(self._opposite, known))
        is_denied = self.denies and opposite != known
        yield known, weight + (_GUESS if is_denied else _LIKE)
        if self.before is not None and self.before.filters:
            columns = {one.column for one in known}
            rest = tuple(one for one in self.before.filters if one.column not in columns)
            yield (*rest, *known), weight + _GUESS + self.goes_on
            if self.draft.grains and self.calendar is not None:
                yield (
                    (*(_whole_year(one, self.calendar.column) for one in rest), *known),
                    (weight + _GUESS + self.goes_on + _FAINT),
                )
        if self._compares:  # "do those in the club do better"
            flags = tuple(one for one in known if self._opposite(one) == one)
            yield flags, weight + _NAMED
        without_present = tuple(one for one in known if one.op is not Op.PRESENT)
        if without_present != known:  # "with the supplier", who may only be asked for
            yield without_present, weight + _LIKE
        rest = tuple(one for one in known if self._opposite(one) == one and one.op is not Op.IS_NOT)
        if rest != known and self.denies:
            yield rest, weight + _LIKE
        if opposite != known and self.draft.unknown:
            yield opposite, weight + (_LIKE if is_denied else _GUESS - _FAINT)
        if "sold" in self.draft.marks:  # "which author sells best", where each book may be sold
            sold = [
                Filter(name, Op.IS, (value,))
                for name in self.material.concepts.get("sold", ())
                if (value := yes_value(self.material.column(name)))
            ]
            yield from (((*known, one), weight + _LIKE + _GUESS) for one in sold)
        fixed = {one.column for one in known}
        for one, likeness in self._possible():
            if one.column not in fixed:
                yield (*known, one), weight + likeness

    @cached_property
    def known(self) -> tuple[Filter, ...]:
        """The conditions that were understood, each once."""
        return tuple(dict.fromkeys(self._known()))

    def _known(self, place: int = 0) -> Iterator[Filter]:
        """The conditions that were understood; ``place`` tells which of the columns is meant, the
        likeliest first, by a number that names none."""
        if self.query is not None:
            yield from self.query.filters
            return
        yield from self.draft.filters
        if self.calendar is not None:
            yield from (one.filter(self.calendar, Op.IS_NOT) for one in self.draft.exclusions)
        by_column: dict[str, list[str]] = {}
        for column, value in self.draft.values:
            by_column.setdefault(column, []).append(value)
        for name, values in by_column.items():
            yield Filter(name, Op.IS, tuple(dict.fromkeys(values)))
        periods = [one for one in self.draft.periods if not one.weekdays]
        if self.calendar is not None and len(periods) == 1 and (
            comparing.last_covered(periods[0], self.calendar, self.around.language) is None
        ):  # fmt: skip
            yield periods[0].filter(self.calendar)
        for condition in self.draft.comparing:
            if names := [condition.column] if condition.column else self._columns_around(condition):
                yield Filter(names[min(place, len(names) - 1)], condition.op, condition.values)

    def _columns_around(self, condition: Comparing) -> list[str]:
        """The columns of numbers that a condition divides, the likeliest first."""
        low, high = min(condition.values), max(condition.values)
        columns = [
            one for one in self.material.numbers
            if isinstance(one.first, float) and isinstance(one.last, float)
            and one.first <= high and low <= one.last
        ]  # fmt: skip
        likely: list[str | None] = [one.column for one in self.draft.measures]
        likely += [one.column for one in self.before.measures] if self.before is not None else []
        columns.sort(key=lambda one: (
            one.name not in likely, not self._is_like(one),
            is_currency(one.unit) != condition.has_money,
        ))  # fmt: skip
        return [one.name for one in columns]

    def _opposite(self, one: Filter) -> Filter:
        column = self.material.columns_by_name.find(one.column)
        yes, no = (yes_value(column), no_value(column)) if column else ("", "")
        if one.op is not Op.IS or not (yes and no) or len(one.values) != 1:
            return one
        return replace(one, values=(no if one.values[0] == yes else yes,))

    def _possible(self) -> Iterator[tuple[Filter, float]]:
        """Conditions that a word may stand for which was not understood, as "that nobody picked
        up" does for a column "Collected"."""
        if not self.draft.unknown:
            return
        for column in self.material.table.columns:
            weight = _LIKE if self._is_like(column) else 0.0
            if yes_value(column) and self._lists:  # "that missed it, a list"
                weight += _GUESS
            values = [value for value in (no_value(column), yes_value(column)) if value]
            if concept_of(column.name) == "status" and column.distinct <= _FEW:
                values = list(column.values)
            for value in values:
                is_denied = self.denies and value == no_value(column)
                yield Filter(column.name, Op.IS, (value,)), weight + (_GUESS if is_denied else 0)
            if column.missing and not values and column.kind in (Kind.DATE, Kind.TEXT):
                weight += _GUESS * self._lists
                yield Filter(column.name, Op.MISSING), weight
                yield Filter(column.name, Op.PRESENT), weight - _FAINT / 2


def _whole_year(one: Filter, time: str) -> Filter:
    """A condition on days of one year as that on the year: "by month" is of more than May."""
    years = {str(value)[:4] for value in one.values}
    is_within = one.column == time and one.op is Op.BETWEEN and len(years) == 1
    return Filter(time, Op.IS, tuple(years)) if is_within else one


def _best(options: Iterable[tuple[_Part, float]]) -> list[tuple[_Part, float]]:
    """The likeliest options, each once with its best weight."""
    weights: dict[_Part, float] = {}
    for one, weight in options:
        weights[one] = max(weight, weights.get(one, weight))
    return sorted(weights.items(), key=lambda one: -one[1])[:_OPTIONS]
