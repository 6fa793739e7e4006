"""From a draft to a query: which numbers of which rows, or what has to be asked first.

Three guards stand before any figure: rows are counted only where rows are asked for, rates and the
like are never summed, and periods that are compared are complete and equally long.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from agentpost_offline.data import roles, words
from agentpost_offline.data.formulas import Sign, formula
from agentpost_offline.data.model import Kind, Role
from agentpost_offline.frame import (
    ROW_COUNT,
    Aggregate,
    Derivation,
    Filter,
    Grain,
    Measure,
    Op,
    Order,
    Query,
    Thing,
)
from agentpost_offline.grammar import comparing
from agentpost_offline.grammar.draft import ROWS, Comparing, Draft, MeasureRequest
from agentpost_offline.grammar.material import (
    Calendar,
    Material,
    is_better_higher,
    is_of_payment,
    is_worse_higher,
    reaches,
    value_meant,
    yes_value,
)
from agentpost_offline.grammar.measures import NAMED, measure_of, measures_of
from agentpost_offline.grammar.periods import Period
from agentpost_offline.grammar.query_parts import MOST_CHOICES, QueryParts
from agentpost_offline.grammar.reading import Choice, Unclear
from agentpost_offline.grammar.text import fold
from agentpost_offline.grammar.vocabulary import concept_of
from agentpost_offline.style.numbers import is_currency

_ENDS = " .!?。！？؟"
"""What a request may end with."""
_CLASS = 3
"""With more columns of numbers than these, the last word of one's name may stand for several."""


class Resolved(QueryParts):
    """A draft's query, as soon as it is there."""

    def __init__(
        self, draft: Draft, material: Material, thing: Thing, today: str, language: str,
        *, is_choice: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(draft, material, thing, today, language, is_choice=is_choice)
        for one in draft.filters:
            column = self.material.column(one.column)
            if one.op is Op.IS_NOT and column.missing and self.material.is_yes(one):
                self.notes.append(("blank_too", {"column": column.label}))
        if draft.ambiguous:
            word, columns = draft.ambiguous[0]
            labels = [Choice(name, text=self._instead(word, name)) for name in columns]
            raise Unclear("ambiguous", labels, word=word)
        if draft.dateless_words:
            raise Unclear("no_dates", table=material.table.name, words=draft.dateless_words)
        self.query = self._query()

    def _instead(self, word: str, name: str) -> str:
        return self.draft.text.replace(word, name, 1)

    # The parts of the query

    def _query(self) -> Query:
        draft = self.draft
        self._groups()
        self._values()
        self._periods()
        measures = measures_of(self)
        self._conditions(measures)
        self._check_contradiction()
        self._check_payment(measures)
        if self._lists_figure(measures):
            return self.over(())
        if self.thing is Thing.TABLE and draft.sort is not None and self.all_filters and not (
            measures or self.groups or self.time or draft.sort_by or draft.row_order
        ):  # fmt: skip
            return self._rows_in_order()
        self._compare_each(measures)
        if draft.derivation is Derivation.GROWTH or (self._compares_periods() and measures):
            return self._compare_periods(measures)
        self._averages(measures)
        if draft.row_order is not None and not (measures or self.groups or self.time):
            return self._rows_by(draft.row_order)
        if draft.asks == {"list"} and draft.time and draft.grains == [Grain.DAY] and (
            list(measures) in ([], [ROW_COUNT]) and not self.groups
        ):  # fmt: skip  # "list late jobs by date"
            self.time, self.grain, draft.sort = None, None, False
            draft.look_words.setdefault("sort", draft.text)
            draft.marks.add("dated")
        if "dated" in draft.marks:
            return self._rows_by_date(measures)
        if any(one.aggregate is Aggregate.DISTINCT and one.column in self.groups
               for one in measures):  # fmt: skip
            raise Unclear("which_measure")  # each group has one: itself
        measures, order = self._rank(measures)
        measures = self._derive(measures)
        self._comparison(measures)
        self._is_whole(measures)
        self._one_currency(measures)
        is_count = measures == [ROW_COUNT]
        name = self.material.row_name
        names_rows = name is not None and (
            name == self.material.person or self.material.column(name).role is Role.IDENTIFIER
        )
        if self._lists_rows and name is not None and names_rows:
            self.groups = [name]
        elif self._lists_rows:  # "which expenses have no receipt?" is no total of them
            return self.over(())
        if is_count and "list" in draft.asks and not (
            self.groups or self.time or self.is_counting or self.thing is not Thing.ANSWER
        ):  # fmt: skip
            self.groups = list(filter(None, [self.material.row_name]))
            if not self.groups:
                return self.over(())
        if is_count and draft.sort is not None and self.material.is_row(self.groups):
            return self._rows_in_order()
        says_nothing = (
            is_count
            and self.groups
            and self.is_row_each
            and (self.thing is Thing.CHART or draft.ranking is not None)
        )
        if (is_count and not (draft.counts or self.counts_all)) or (
            self._names_only_the_table or (says_nothing and self.material.numbers)
        ):  # fmt: skip
            raise Unclear("which_measure")
        if self.time is not None and draft.style.chart == "line" and (
            order is not None and not order.count
        ):  # fmt: skip
            order = None  # a line runs with time
            draft.unknown += filter(None, [draft.look_words.get("sort")])
        return self.over(measures, order, self.having)

    def _lists_figure(self, measures: Sequence[Measure]) -> bool:
        """Whether one figure would answer a list: "list all expenses" of ``expenses.csv``."""
        draft = self.draft
        says_how = draft.aggregate or draft.derivation or draft.ranking or (
            draft.sort is not None or any(one.aggregate for one in draft.measures)
        )  # fmt: skip
        has_axis = self.groups or self.time or self.having
        is_list = draft.asks == {"list"} and self.thing is Thing.ANSWER
        return is_list and not (says_how or has_axis) and len(measures) == 1 and (
            measures[0].aggregate in (Aggregate.SUM, Aggregate.MEAN)
        )  # fmt: skip

    def _check_contradiction(self) -> None:
        """Raise `Unclear` where a column would have to be two things: "paid amount and unpaid
        amount" are two demands."""
        values_by_column: dict[str, set[str | float]] = {}
        for one in self.all_filters:
            if one.op is Op.IS and one.grain is None:
                values = values_by_column.setdefault(one.column, set(one.values))
                values &= set(one.values)
                if not values:
                    raise Unclear("not_clear")

    def _check_payment(self, measures: Sequence[Measure]) -> None:
        """Raise `Unclear` where a verb for "paid" stands, and a column that says what was paid is
        called in another language."""
        draft = self.draft
        conditions = {one.column for one in self.all_filters} | {*self.groups}
        flags = [
            one for one in self.material.table.columns
            if yes_value(one) and is_of_payment(one.name) and one.name not in conditions
        ]  # fmt: skip
        if "spent" in draft.marks and len(flags) == 1 and not draft.measures:
            all_rows = self.over(measures)
            paid = Filter(flags[0].name, Op.IS, (yes_value(flags[0]),))
            rows = replace(all_rows, filters=(*all_rows.filters, paid))
            raise Unclear("not_clear", [self.choice(rows), self.choice(all_rows)])

    def _rows_in_order(self) -> Query:
        """The rows of "which are not paid, biggest first": by the figure that a condition is on, or
        by the only money."""
        conditions = self.all_filters
        bounds = [one.column for one in conditions if self.material.column(one.column).kind
                    is Kind.NUMBER]  # fmt: skip
        money = [one.name for one in self.material.numbers if is_currency(one.unit)]
        names = list(dict.fromkeys(bounds)) or money
        if len(names) != 1:
            raise Unclear("which_measure")
        return self._rows_by(names[0])

    def _rows_by(self, name: str) -> Query:
        """The rows in the order of a column."""
        self.groups = []
        return replace(self.over((), Order(bool(self.draft.sort))), rows_by=name)

    def _rows_by_date(self, measures: Sequence[Measure]) -> Query:
        """The rows of "list the urgent ones, oldest first": by the only date that no condition is
        on. Raises `Unclear` where another order may be meant."""
        conditions = {one.column for one in self.all_filters}
        names = (
            [self.draft.time]
            if self.draft.time
            else [one.name for one in self.material.date_columns if one.name not in conditions]
        )
        is_list = self.draft.asks & {"list", "which", "who"} and (
            not self.groups or self.material.is_row(self.groups)
        )  # fmt: skip
        has_age = "age" in self.material.concepts or self.draft.ranking or self.time
        if not names or has_age or not is_list or list(measures) not in ([], [ROW_COUNT]):
            self.draft.unknown.append(self.draft.look_words["sort"])
            raise Unclear("which_measure")
        queries = [self._rows_by(name) for name in names]
        if len(queries) > 1:
            raise Unclear("which_date", [self.choice(one) for one in queries])
        return queries[0]

    @property
    def _lists_rows(self) -> bool:
        """Whether rows are asked for under a condition that nothing names: no column says "which"
        it is, and no figure is named."""
        draft = self.draft
        is_asked = draft.asks == {"which"} and not (draft.which_columns or draft.ranking)
        is_figure = draft.aggregate_word or draft.derivation or draft.marks & {
            "sold", "earned", "spent", "versus", "more", "difference"
        }  # fmt: skip
        has_axis = self.groups or self.time
        return bool(is_asked and (self.filters or draft.filters) and not (is_figure or has_axis)
                    and self.thing is Thing.ANSWER)  # fmt: skip

    @property
    def _names_only_the_table(self) -> bool:
        """As in "Actual" of a sheet that is called so: nothing is asked of its rows yet."""
        draft = self.draft
        return draft.is_own_name and not (
            draft.asks or draft.measures or draft.filters or self.groups or self.time
            or self.filters or draft.row_nouns or draft.ranking
        )  # fmt: skip

    def _groups(self) -> None:
        """The groups and periods that a result is by. Raises `Unclear`."""
        draft = self.draft
        self._flags()
        self.groups = list(dict.fromkeys((*draft.groups, *draft.which_columns)))
        makes = self.thing is not Thing.ANSWER
        looks_up = (
            draft.values or draft.filters
        ) and not draft.measures  # "the region of Order 17"
        if draft.mentions and (
            makes or draft.ranking or "versus" in draft.marks
            or (draft.comparing and not self.is_counting)
            or ("list" in draft.asks and not draft.measures and any(
                self.material.column(name).distinct > NAMED for name in draft.mentions
            ))
            or not (self.groups or self.is_counting or looks_up)
        ):  # fmt: skip
            self.groups = list(dict.fromkeys((*self.groups, *draft.mentions)))
        self._who()
        self._rows_as_groups()
        self._time_axis()
        named = list(dict.fromkeys(column for column, _ in draft.values))
        if self.thing is Thing.CHART and not self.groups and (
            len(named) == 1 and len(set(draft.values)) > 1
        ):  # fmt: skip
            self.groups = named  # a line for each of "planetarium and trains"
        if len(self.groups) + (self.time is not None) > 2:
            raise Unclear("too_many_groups")

    def _rows_as_groups(self) -> None:
        """Each row, or each product, is a group where no column says which groups are meant."""
        draft = self.draft
        listing = draft.asks & {"list"} or draft.asks == {"which"} or draft.ranking or (
            (draft.comparing or draft.values or draft.filters) and not draft.derivation
        )  # fmt: skip
        has_measure = len(draft.measures) > len(
            {one.measure_at for one in draft.comparing if one.measure_at is not None}
        )
        if draft.row_nouns and not self.groups and not self.is_counting and listing and (
            self.thing is not Thing.TABLE
        ) and not (
            draft.grains or draft.is_trend or (has_measure and not draft.ranking)
        ):  # fmt: skip
            self.groups = draft.row_nouns[:1]
        if "all" in draft.marks and draft.comparing and not (draft.measures or draft.asks):
            draft.asks.add("list")  # "everything over 100 euros"
        lists_rows = draft.asks & {"which", "list"} or "all" in draft.marks
        of_rows = draft.counts or (
            (draft.values or draft.comparing or "flag" in draft.marks) and "which" not in draft.asks
        )
        if lists_rows and of_rows and self.thing is Thing.ANSWER and not (
            draft.row_nouns or self.groups or draft.mentions or draft.measures
            or self.is_counting or draft.grains or draft.ranking or draft.derivation
        ):  # fmt: skip
            self.groups = list(filter(None, [self.material.row_name]))
        if draft.ranking and (draft.ranking.count or 0) > 1 and draft.measures and not (
            self.groups or draft.grains
        ) and (name := self.material.row_name) and (
            self.material.column(name).kind is Kind.TEXT
        ):  # fmt: skip
            self.groups = [name]
        if draft.ranking and draft.ranking.concept == "sold" and not (
            self.groups or draft.grains or "when" in draft.asks
        ):  # fmt: skip
            self.groups = list(self.material.concepts.get("product", ()))[:1]

    def _time_axis(self) -> None:
        """The periods that a result is by. Raises `Unclear`."""
        draft = self.draft
        if draft.grains or draft.is_trend or (draft.time and "when" in draft.asks):
            self.time = self._dates.column
            if len(draft.grains) > 1:
                raise Unclear("two_grains")
            self.grain = draft.grains[0] if draft.grains else None
            if self.grain is Grain.HOUR and self.material.column(self.time).grain is not Grain.HOUR:
                raise Unclear("no_hours", column=self.material.column(self.time).label)
            self._list_dates()
        elif "when" in draft.asks and draft.ranking and self.calendar is not None:
            self.time, self.grain = self.calendar.column, Grain.MONTH
        elif self.thing is Thing.CHART and draft.style.chart == "line" and (
            self.calendar is not None and len(self.groups) < 2
        ):  # fmt: skip
            self.time = self.calendar.column  # a line runs over time

    @property
    def _dates(self) -> Calendar:
        """The calendar that is meant. Raises `Unclear` where the table has no dates."""
        if self.calendar is None:
            raise Unclear("no_dates", table=self.material.table.name, words=self.draft.text)
        return self.calendar

    def _list_dates(self) -> None:
        """Of "which vans are leased, and when is the test due" the rows are shown with their dates,
        and not how many there are in each month."""
        draft, name = self.draft, self.material.row_name
        asks_figure = draft.measures or draft.ranking or draft.aggregate or draft.counts
        narrows = draft.filters or draft.values
        if "when" not in draft.asks or draft.grains or asks_figure or not (name and narrows):
            return
        self.time, self.grain = None, None
        draft.asks.discard("when")
        self.groups = self.groups or [name]

    def _who(self) -> None:
        """The groups of "who": the people of the table, or those that are named."""
        draft = self.draft
        if "who" not in draft.asks:
            return
        of_others = [one for one in draft.mentions if self.material.column(one).missing]
        if of_others and not draft.ranking:  # "who has an allergy?"
            raise self._unclear_who([])
        if self.groups:
            return
        of_values = {column for column, _ in draft.values}
        if len(of_values) == 1 < len(draft.values):
            self.groups = list(of_values)  # "who has more hours, Ann or Bo?"
            return
        full_name = self.material.full_name
        groups = full_name or self._people()
        if self.material.row_name in groups and not full_name:
            groups = (str(self.material.row_name),)
        if len(groups) != 1 and not full_name:
            raise self._unclear_who([])
        pays = self._pays and groups[0] in self.material.concepts.get("customer", ())
        others = [] if pays else [
            one.name for one in self.material.groups
            if one.name not in groups and words.names(one.name, "person") and not yes_value(one)
        ]  # fmt: skip
        if others:  # of lessons the pupil, or the instructor
            raise self._unclear_who([groups[0], *others])
        self.groups = list(groups)

    def _unclear_who(self, names: Sequence[str]) -> Unclear:
        """The question who of several columns is meant; where there is none, that it lacks."""
        who, text = self.draft.look_words["who"], self.draft.text.rstrip(_ENDS)
        if not names:
            return Unclear("no_column", table=self.material.table.name, words=who)
        labels = [Choice(self.material.column(one).label, text=f"{text} · {one}") for one in names]
        return Unclear("ambiguous", labels, word=who)

    def _people(self) -> tuple[str, ...]:
        """The people that "who" asks for: those who sell, or those who buy and pay."""
        draft, sellers = self.draft, self.material.people
        customers = self.material.concepts.get("customer", ())
        buyers = tuple(one for one in customers if self.material.column(one).kind is Kind.TEXT)
        of_sale = draft.ranking.concept if draft.ranking is not None else ""
        if {"sold", "earned"} & {of_sale, *draft.marks}:
            return () if {*sellers} <= {*buyers} else sellers
        others = [one for one in sellers if one not in buyers]
        if not (buyers and others):
            return sellers
        if self._pays and len(buyers) == 1:
            return buyers
        raise self._unclear_who([*others, *buyers])

    @property
    def _pays(self) -> bool:
        """Whether a question is about who pays, or has paid."""
        return "spent" in self.draft.marks or self.narrows_payment

    def _flags(self) -> None:
        """Of "insured and not insured" both stand side by side."""
        draft = self.draft
        if "flag" not in draft.marks:
            return
        is_bare = (
            self.thing is Thing.CHART
            and len(draft.filters) == 1
            and not (
                draft.has_query_besides("filters", "periods", "counts", "derivation") or draft.asks
            )
        )
        if is_bare and self.material.is_yes(draft.filters[0]):  # "a pie of paid" has both
            draft.groups.append(draft.filters.pop().column)
            draft.counts.append("")
            return
        by_column: dict[str, set[Filter]] = {}
        for one in draft.filters:
            if one.op in (Op.IS, Op.IS_NOT) and yes_value(self.material.column(one.column)):
                by_column.setdefault(one.column, set()).add(one)
        for column, both in by_column.items():
            if len(both) > 1:
                draft.filters = [one for one in draft.filters if one.column != column]
                draft.groups.append(column)
                draft.mentions = [] if "versus" in draft.marks else draft.mentions

    def _values(self) -> None:
        """Values that were named keep their rows; two of a column are shown side by side."""
        by_column: dict[str, list[str]] = {}
        for column, value in self.draft.values:
            entries = by_column.setdefault(column, [])
            if value not in entries:
                entries.append(value)
        for column, values in by_column.items():
            self.filters.append(Filter(column, Op.IS, tuple(values)))
            together = self.draft.aggregate is Aggregate.SUM or any(
                one.aggregate is Aggregate.SUM for one in self.draft.measures
            )
            apart = bool(self.draft.marks & {"versus", "difference", "more"})
            if len(values) > 1 and column not in self.groups and (apart or not together):
                self.groups.append(column)

    def _periods(self) -> None:
        draft, calendar = self.draft, self.calendar
        if not (draft.periods or draft.exclusions):
            return
        assert calendar is not None, "periods are only read with a calendar"
        for one in draft.exclusions:
            self.filters.append(one.filter(calendar, Op.IS_NOT))
        if self._compares_periods() or draft.derivation is Derivation.GROWTH:
            return
        for one in draft.periods:
            one.year = one.year or comparing.only_year(one, calendar)
        weekdays = [one for one in draft.periods if one.weekdays]
        if weekdays:
            days = tuple(float(day) for one in weekdays for day in one.weekdays)
            self.filters.append(Filter(calendar.column, Op.IS, days, Grain.WEEKDAY))
        items = [one for one in draft.periods if not one.weekdays]
        if len(items) > 1:
            self._several(items, calendar)
        elif items:
            self._check_reach(items[0], calendar)
            if not self.notes:
                self.notes += comparing.coverage_note(items[0], calendar, self.language)
            self.filters.append(items[0].filter(calendar))
            if items[0].reach is None:
                self._which_year(calendar)

    def _check_reach(self, period: Period, calendar: Calendar) -> None:
        """Raises `Unclear` for a period of which the data has nothing, and offers its last one."""
        name = comparing.last_covered(period, calendar, self.language)
        if name is None:
            return
        if not period.is_relative:
            self.notes.append(("covered_none", comparing.reach_text(calendar, self.language)))
            return
        choices = [Choice(name, text=self._instead(period.text, name))] if period.text else []
        raise Unclear("no_data", choices, **comparing.reach_text(calendar, self.language))

    def _several(self, periods: Sequence[Period], calendar: Calendar) -> None:
        """As in "in May and June 2025": each is shown; "since May until July" are both ends."""
        if all(one.edge for one in periods):
            self.filters += [one.filter(calendar) for one in periods]
            return
        periods = comparing.in_one_year(periods)
        texts = [one.iso for one in periods]
        grains = {one.grain for one in periods}
        if any(one.reach is None for one in periods):
            raise Unclear("which_year", self._year_choices(calendar))
        if None in texts or len(grains) > 1:
            raise Unclear("periods_unclear")
        for one in periods:
            self.notes += comparing.coverage_note(one, calendar, self.language)
        self.filters.append(Filter(calendar.column, Op.IS, tuple(str(text) for text in texts)))
        if self.time is None and len(self.groups) < 2:
            self.time, self.grain = calendar.column, next(iter(grains))

    def _which_year(self, calendar: Calendar) -> None:
        """A month of several years: each year's is shown, or it is asked which year's."""
        if self.time is not None:
            return
        if not self.groups:
            self.time, self.grain = calendar.column, Grain.MONTH
            return
        raise Unclear("which_year", self._year_choices(calendar))

    def _year_choices(self, calendar: Calendar) -> list[Choice]:
        years = range(calendar.last.year, calendar.first.year - 1, -1)
        text = self.draft.text.rstrip(_ENDS)
        return [Choice(str(year), text=f"{text} {year}") for year in years][:MOST_CHOICES]

    # Conditions

    def _compare_each(self, measures: list[Measure]) -> None:
        """Of "which venues have takings below costs" each row may be meant, or the totals."""
        pairs = [one for one in self.draft.filters if self.material.column(one.column).formula]
        is_list = _asks_for_list(self.draft) and bool(self.groups or self.time)
        if not (is_list and len(pairs) == 1) or self.is_row_each:
            return
        rows = self.over(measures)
        rest = tuple(one for one in rows.filters if one not in pairs)
        groups = replace(
            rows, measures=(Measure(pairs[0].column, Aggregate.SUM),), filters=rest,
            having=tuple(pairs),
        )  # fmt: skip
        raise Unclear("rows_or_groups", [self.choice(groups), self.choice(rows)])

    def _conditions(self, measures: list[Measure]) -> None:
        """Conditions with numbers: of the rows, or of the groups where their total is meant."""
        is_count = measures == [ROW_COUNT]
        for one in self.draft.comparing:
            column = self._compared_column(one, measures)
            result = Filter(column, one.op, one.values)
            if column == ROWS:
                if not (self.groups and is_count):
                    raise Unclear("which_condition", words=one.text)
                self.having.append(result)
                continue
            of_groups = bool(self.groups or self.time) and any(m.column == column for m in measures)
            lists = _asks_for_list(self.draft) and bool(self.groups) and not self.is_row_each
            if lists and not of_groups and is_count:
                self._list_by(column, result, measures)
            elif self.is_row_each or not (
                of_groups or (is_count and self.groups and self.groups == self.draft.mentions)
            ):  # "donors who gave over 500" each time, or in all
                self.filters.append(result)
            elif _asks_for_list(self.draft):
                self.having.append(result)
            else:
                query = self.over(measures)
                rows = replace(query, filters=(*query.filters, result))
                groups = replace(query, having=(result,))
                raise Unclear("rows_or_groups", [self.choice(rows), self.choice(groups)])

    def _list_by(self, column: str, condition: Filter, measures: list[Measure]) -> None:
        """As in "which products have more than 100 units": the total of each decides."""
        if any(one is not condition for one in self.having):
            raise Unclear("which_measure")
        measures[:] = [measure_of(self, MeasureRequest(column))]
        if measures[0].aggregate is not Aggregate.SUM:
            of_rows = Query(
                self.material.table.id, (ROW_COUNT,), tuple(self.groups),
                filters=(*self.draft.filters, *self.filters, condition),
            )  # fmt: skip
            of_groups = replace(
                of_rows, measures=tuple(measures), filters=of_rows.filters[:-1], having=(condition,)
            )
            raise Unclear("rows_or_groups", [self.choice(of_groups), self.choice(of_rows)])
        self.having.append(condition)

    def _compared_column(self, one: Comparing, measures: list[Measure]) -> str:
        if one.column is not None:
            unit = self.material.column(one.column).unit if one.column != ROWS else None
            if one.has_money and unit is not None and not is_currency(unit):
                raise Unclear("which_condition", words=one.text)  # pounds are no kilograms
            return one.column
        takings = self.material.takings
        concepts = self.material.concepts
        money = takings or concepts.get("revenue") or concepts.get("cost") or ()
        figures = map(self.material.column, money)
        money = [each.name for each in figures if each.kind is Kind.NUMBER and not each.formula]
        if one.has_money and len(money) == 1:  # "over 1000 euros"
            return money[0]
        numbers = sorted(self.material.numbers, key=lambda each: each.name not in takings)
        if one.has_money:  # pounds of money are no kilograms
            numbers = [each for each in numbers if each.unit is None or is_currency(each.unit)]
        of_groups = bool(self.groups or self.time) and not self.is_row_each  # totals are larger
        reached = {
            column.name for column in numbers
            if (of_groups and column.role is not Role.RATE)
            or reaches(column, one.op, one.values[0])
        }  # fmt: skip
        columns = {measure.column for measure in measures} & reached
        if len(columns) == 1 and (one.has_unit or len(reached) == 1 or not self.draft.counts):
            return str(next(iter(columns)))  # "the fees of members over 40" may be of their age
        is_alone = len(numbers) == 1 and numbers[0].name in reached
        if is_alone and (one.has_unit or not self.material.row_name):
            return numbers[0].name
        asks_rows = self.draft.asks & {"list", "who", "which", "many"}
        if len(numbers) > 1 and len(reached) == 1 and asks_rows and not measures[1:]:
            return reached.pop()
        choices = [
            Choice(each.label, text=self._instead(one.text, f"{each.name} {one.text}"))
            for each in numbers[:MOST_CHOICES]
        ]
        raise Unclear("which_condition", choices, words=one.text)

    # What is computed of the measures

    @property
    def queries(self) -> tuple[Query, ...]:
        """The query, or that with the best and that with the worst where both are asked for."""
        query = self.query
        shares = [one.derived in (Derivation.SHARE, Derivation.RATE) for one in query.measures]
        if (
            shares == [True]
            and self.thing is Thing.ANSWER
            and "many" in self.draft.asks
            and (query.measures[0].aggregate is Aggregate.COUNT)
        ):  # "how often, and how many percent is that"
            return replace(query, measures=(ROW_COUNT,)), query
        if "both_ends" not in self.draft.marks:
            return (query,)
        if query.order is not None and query.order.count and self.thing is Thing.ANSWER:
            orders = (Order(top, query.order.count) for top in (True, False))
            return tuple(replace(query, order=one) for one in orders)
        how = (Aggregate.MAX, Aggregate.MIN)
        if len(query.measures) == 1 and query.measures[0].aggregate in how and not query.order:
            (measure,) = query.measures
            return tuple(replace(query, measures=(Measure(measure.column, one),)) for one in how)
        self.draft.unknown.append(self.draft.look_words["ends"])
        return (query,)

    def _rank(self, measures: list[Measure]) -> tuple[list[Measure], Order | None]:
        draft, ranking = self.draft, self.draft.ranking
        has_axis = bool(self.groups or self.time)
        others = [text for name, text in draft.sort_by if measures and name != measures[0].column]
        if ranking is None:
            draft.unknown += others if draft.sort is not None else []
            wants_order = draft.sort is not None and has_axis
            is_judged = wants_order and "judged" in draft.marks
            if is_judged and not self.material.is_best_highest(measures):
                both = [self.over(measures, Order(top)) for top in (True, False)]
                raise Unclear("rank_what", [self.choice(query) for query in both])
            if draft.sort is not None and not has_axis:
                draft.unknown.append(draft.look_words["sort"])
            return measures, Order(bool(draft.sort)) if wants_order else None
        if draft.groups and (draft.row_nouns or "who" in draft.asks):
            raise Unclear("rank_what")  # "the oldest child in each class"
        if draft.sort is not None and draft.sort is not ranking.is_top:
            draft.unknown.append(draft.look_words["sort"])  # "top 3, worst first"
        if ranking.is_judged and self._is_worse_more(measures):
            if ranking.is_top:
                raise Unclear("rank_what", self._both_ends(measures))
            ranking.is_top, ranking.is_judged = True, False
        if any(self._has_no_best(one) for one in measures):
            is_group = has_axis or ranking.count is None
            ends = self._both_ends(measures) if is_group else []
            column = self.material.column(str(measures[0].column))
            if self.language == "de" and roles.is_scale(column):  # 1 is the best mark
                ends = ends[::-1]
            raise Unclear("rank_what", ends)
        names_class = any(
            len(words.tokens(one.column)) > 1 and fold(one.word).startswith(
                fold(words.tokens(one.column)[-1])
            ) for one in draft.measures
        )  # fmt: skip
        if not has_axis and names_class and len(self.material.numbers) > _CLASS:
            raise Unclear("rank_what")  # "biggest club" of many clubs
        if not has_axis and (
            draft.asks & {"which", "who"} or draft.marks & {"sold"} or ranking.concept == "sold"
        ):  # the best of what is not understood
            raise Unclear("rank_what")
        if not has_axis:
            return [self._extreme(one, ranking.is_top) for one in measures], None
        count = ranking.count
        if count is None and "which" in draft.options:
            count = int(draft.options.pop("which"))
        has_subject = bool(
            draft.which_columns or draft.mentions or "who" in draft.asks or "when" in draft.asks
        )
        if count is None and not has_subject and self.thing is Thing.ANSWER and not ranking.concept:
            best = Order(ranking.is_top, 1)
            query = self.over(measures, best)
            single = replace(
                query, order=None,
                measures=tuple(self._extreme(one, ranking.is_top) for one in measures),
            )  # fmt: skip
            raise Unclear("best_or_each", [self.choice(query), self.choice(single)])
        if count is None and self.thing is Thing.ANSWER:
            count = 1
        is_one = "difference" in draft.marks  # of both
        if count == 1 and len(measures) > 1 and self.thing is Thing.ANSWER and not is_one:
            raise Unclear("rank_what")  # the best in one is hardly that in the other
        return measures, Order(ranking.is_top, count)

    def _is_worse_more(self, measures: Sequence[Measure]) -> bool:
        """Whether the worst is surely the highest: of delays, of what is not paid. Raises `Unclear`
        for rows of which that cannot be told."""
        flags = [
            one for one in self.all_filters
            if one.op is Op.IS and not one.grain and yes_value(self.material.column(one.column))
        ]  # fmt: skip
        if any(is_of_payment(one.column) and not self.material.is_yes(one) for one in flags):
            return True
        if any(one.column for one in measures):
            return self.material.is_best_highest(measures) is False
        if any(is_worse_higher(self.material.column(one.column)) for one in flags):
            return True
        if flags and self.groups:
            raise Unclear("rank_what", self._both_ends(measures))
        return False

    def _has_no_best(self, one: Measure) -> bool:
        """Whether "best" may be the lowest: of marks, costs and times; "top 3" only of marks."""
        ranking = self.draft.ranking
        if one.column is None or ranking is None or ranking.concept:
            return False
        column = self.material.column(one.column)
        if roles.is_scale(column) and concept_of(column.name) != "rating":
            return ranking.is_judged or ranking.count is not None
        return ranking.is_judged and not is_better_higher(column)

    def _both_ends(self, measures: Sequence[Measure]) -> list[Choice]:
        """The request with the highest, and with the lowest."""
        assert self.draft.ranking is not None, "something is ranked"
        if self.groups or self.time:
            count = self.draft.ranking.count or 1
            ends = [self.over(measures, Order(top, count)) for top in (True, False)]
        else:
            ends = [
                self.over([Measure(one.column, how) for one in measures])
                for how in (Aggregate.MAX, Aggregate.MIN)
            ]
        return [self.choice(one) for one in ends]

    def _averages(self, measures: list[Measure]) -> None:
        """ "Average revenue per month" is that of the rows of each month, or of the months."""
        draft = self.draft
        hows = {one.aggregate for one in measures}
        is_both = hows == {Aggregate.SUM, Aggregate.MEAN} and not (self.groups or self.time)
        if "each_row" in draft.marks and not is_both and not (
            hows == {Aggregate.MEAN} and draft.aggregate_word
        ):  # fmt: skip
            raise Unclear("average_of_what", self.as_choices(
                Measure(one.column, Aggregate.MEAN) for one in measures if one.column
            ))  # fmt: skip
        is_grouped = bool(self.groups or self.time) and "each_row" not in draft.marks
        if "per" not in draft.marks or not is_grouped or draft.ranking:
            return
        if len(measures) != 1 or measures[0].aggregate is not Aggregate.MEAN:
            return
        column = self.material.column(str(measures[0].column))
        is_measured = words.names(column.name, "duration") or (
            column.unit is not None and not is_currency(column.unit)
        )
        if column.role is not Role.AMOUNT or roles.is_scale(column) or (
            is_measured and self.time is None
        ):  # fmt: skip
            return
        if self.is_row_each:
            self.time, self.grain, self.groups = None, None, []
            return
        query = self.over(measures)
        if self.thing is not Thing.ANSWER:  # what is drawn has a figure for each group
            if self.time is None:
                return
            sums = self.over([Measure(column.name, Aggregate.SUM)])
            raise Unclear("average_of_what", [self.choice(query), self.choice(sums)])
        total = Measure(column.name, Aggregate.SUM, Derivation.AVERAGE)
        of_totals = replace(query, measures=(total,))
        choices = [self.choice(of_totals), self.choice(query)]
        # Of months the totals are likely, of groups the single rows.
        raise Unclear("average_of_what", choices if self.time is not None else choices[::-1])

    def _extreme(self, one: Measure, is_top: bool) -> Measure:
        draft = self.draft
        if draft.asks == {"what"} and draft.ranking is not None and draft.ranking.asks_sum and (
            self._value_filters
        ):  # fmt: skip
            raise Unclear("rank_what")  # "what did we spend most on" asks for a kind of it
        how = Aggregate.MAX if is_top else Aggregate.MIN
        if one.column is None or self.draft.ranking is None or self.draft.ranking.count:
            raise Unclear("rank_what")
        if self.draft.aggregate is not None or one.aggregate not in (
            Aggregate.SUM, Aggregate.MEAN, how
        ) or any(each.aggregate not in (None, how) for each in self.draft.measures):  # fmt: skip
            raise Unclear("rank_what")  # "average and highest amount"
        return Measure(one.column, how)

    def _derive(self, measures: list[Measure]) -> list[Measure]:
        derivation = self.draft.derivation
        if derivation is None:
            return measures
        adds = all(one.aggregate in (Aggregate.SUM, Aggregate.COUNT) for one in measures)
        if derivation is Derivation.CUMULATIVE and not adds:
            column = self.material.column(str(measures[0].column))
            raise Unclear("no_sum", column=column.label)
        if derivation is Derivation.CUMULATIVE and self.time is None:
            self.time, self.grain = self._dates.column, None
        if derivation is Derivation.SHARE and self.draft.is_rate and (
            rate := self._rate(measures)
        ):  # fmt: skip
            return [rate]
        if derivation is Derivation.SHARE:
            if not measures or any(
                one.aggregate not in (Aggregate.SUM, Aggregate.COUNT) for one in measures
            ):
                raise Unclear("share_what")
            value_filters = self._value_filters
            if any(len(one.values) > 1 and self._has_both_kinds(one) for one in value_filters):
                raise Unclear("share_what")  # "what percent of the income did we spend"
            if (self.groups or self.time) and any(
                f.column not in self.groups for f in value_filters
            ):
                parts = [replace(one, derived=derivation) for one in measures]
                raise Unclear("share_what", [*self._rates(measures),
                                             self.choice(self.over(parts))])  # fmt: skip
            if not self.groups and not self.time and len(value_filters) == 1:
                self.groups = [value_filters[0].column]
            elif not self.groups and not self.time:
                raise Unclear("share_what")
        return [Measure(one.column, one.aggregate, derivation) for one in measures]

    def _has_both_kinds(self, one: Filter) -> bool:
        """Whether a condition has the income and the expenses of a cash book."""
        pairs = [value_meant(self.material, kind) for kind in ("income", "expense")]
        return all(
            any(name == one.column and value in one.values for name, value in kind)
            for kind in pairs
        )

    def _rates(self, measures: Sequence[Measure]) -> list[Choice]:
        """How many percent of each group's rows a condition leaves, where rows are counted."""
        columns = {one.column for one in self._value_filters if one.column not in self.groups}
        if len(columns) != 1 or any(one.column for one in measures):
            return []
        rate = Measure(columns.pop(), Aggregate.COUNT, Derivation.RATE)
        return [self.choice(self.over([rate]))]

    def _rate(self, measures: Sequence[Measure]) -> Measure | None:
        """How many percent of the rows of each group have the only "yes" that is named; None where
        no groups are there, and no other condition."""
        flags = {
            one.column for one in self.draft.filters
            if one.op is Op.IS and yes_value(self.material.column(one.column))
        }  # fmt: skip
        if "rate" in self.draft.marks:  # the return rate, where a status may be "returned"
            flags |= {column for column, _ in self.draft.values}
        if flags and any(one.column for one in measures) and "flag" in self.draft.marks:
            raise Unclear("share_what")  # "total qty and return rate"
        is_of_part = self.groups or self.time or len(self._value_filters) > 1
        if len(flags) != 1 or flags & set(self.groups) or list(measures) != [ROW_COUNT] or (
            not is_of_part
        ):  # fmt: skip
            return None
        if self.draft.style.chart == "donut":
            raise Unclear("share_what")  # rates are no parts of a whole
        return Measure(flags.pop(), Aggregate.COUNT, Derivation.RATE)

    @property
    def _value_filters(self) -> list[Filter]:
        """The conditions that name values, or the "yes" of a column."""
        flags = [one for one in self.draft.filters if "flag" in self.draft.marks]
        return [one for one in (*self.filters, *flags) if one.op is Op.IS and one.grain is None]

    def _comparison(self, measures: list[Measure]) -> None:
        """Whether what is compared is there: groups, two measures, or two values of a column."""
        marks = self.draft.marks
        if not marks & {"versus", "difference", "more"}:
            return
        pairs = [  # and not two spellings of one value: "Cash" and "cash"
            f for f in self.filters
            if f.op is Op.IS and len({str(value).casefold() for value in f.values}) > 1
        ]  # fmt: skip
        # As in "North against the others".
        names_one_side = any(len(f.values) == 1 and f.column in self.groups for f in self.filters)
        if "more" in marks and len(measures) > 1 and self.draft.asks & {"which", "who", "many"}:
            raise Unclear("difference_of_what")  # "who did better in maths than in English"
        if "difference" in marks:
            if not pairs and (difference := self._of_two(measures)):
                measures[:] = [difference]
                return
            is_two = len(pairs) == 1 and len(pairs[0].values) == 2 and len(measures) == 1
            if not is_two or self.groups != [pairs[0].column] or self.time:
                raise Unclear("difference_of_what")
            if self.thing is Thing.ANSWER:
                measures[0] = Measure(
                    measures[0].column, measures[0].aggregate, Derivation.DIFFERENCE
                )
        elif (
            ("versus" not in marks and not pairs and len(measures) < 2)
            or not (self.groups or self.time or len(measures) > 1)
            or (names_one_side and not pairs and len(measures) < 2)
        ):
            raise Unclear("difference_of_what")

    def _of_two(self, measures: Sequence[Measure]) -> Measure | None:
        """The difference of two figures, as of "the difference between takings and costs"."""
        columns = [self.material.column(one.column) for one in measures if one.column]
        if len(columns) != 2 or measures[0].aggregate is not measures[-1].aggregate:
            return None
        name = formula(columns[0], Sign.MINUS, columns[1])
        return Measure(name, measures[0].aggregate) if name else None

    def _compares_periods(self) -> bool:
        """Whether two periods are set against each other."""
        marks = self.draft.marks & {"versus", "difference", "more"}
        pairs = [f for f in self.filters if f.op is Op.IS and len(f.values) > 1 and not f.grain]
        periods = [one for one in self.draft.periods if not one.weekdays and not one.edge]
        several = len(periods) > 1 or any(one.ends for one in periods)
        return bool(marks) and several and not pairs

    def _compare_periods(self, measures: list[Measure]) -> Query:
        """A growth or difference between two periods, both cut to what the data covers of both."""
        draft = self.draft
        if measures and self.material.is_row(self.groups):  # "money and bookings" of two months
            self.groups = [one for one in self.groups if not self.material.is_row([one])]
            measures = list(dict.fromkeys([*measures, ROW_COUNT]))
        is_one = len(measures) == 1
        compares = is_one or (self.thing is Thing.ANSWER and draft.ranking is None and measures)
        calendar = self._dates
        if not compares or draft.comparing or draft.sort is not None:
            raise Unclear("growth_of_what", self._growth_choices(measures))
        if any(one.aggregate is Aggregate.DISTINCT for one in measures) and (
            draft.aggregate is not Aggregate.DISTINCT
        ):  # "how are the classes": no figure is named
            raise Unclear("which_measure")
        shows = self.thing is not Thing.ANSWER
        derivation = None if shows and draft.derivation is None else Derivation.GROWTH
        if "difference" in draft.marks and not shows:
            derivation = Derivation.DIFFERENCE
        results = [Measure(one.column, one.aggregate, derivation) for one in measures]
        order = None
        if draft.ranking is not None:
            top = draft.ranking.is_top != ("fall" in draft.marks)
            order = Order(top, draft.ranking.count or 1)
        periods = [one for one in draft.periods if not one.weekdays]
        if not periods and self.time is not None and not self.groups and order is None:
            return self.over(results)
        pair = comparing.pair_of(periods)
        if pair is None or (order is not None and not self.groups):
            raise Unclear("growth_of_what", self._growth_choices(measures))
        if draft.grains and draft.grains != [pair[0].grain]:
            raise Unclear("two_grains", self._growth_choices(measures)[::-1])
        cut = comparing.equally_long(pair, calendar, self.language)
        self.notes += cut.notes
        return Query(
            self.material.table.id, tuple(results), tuple(self.groups), calendar.column,
            cut.grain, (*draft.filters, *self.filters, *cut.filters), order=order,
        )  # fmt: skip

    def _growth_choices(self, measures: list[Measure]) -> list[Choice]:
        if self.calendar is None or len(measures) != 1:
            return []
        base = Query(
            self.material.table.id, (measures[0],), filters=(*self.draft.filters, *self.filters)
        )
        monthly = replace(base, time=self.calendar.column, grain=Grain.MONTH)
        results = [self.choice(monthly)]
        for pair in comparing.last_years(self.calendar):
            try:
                cut = comparing.equally_long(pair, self.calendar, self.language)
            except Unclear:
                continue
            growth = Measure(measures[0].column, measures[0].aggregate, Derivation.GROWTH)
            results.insert(0, self.choice(replace(
                base, measures=(growth,), groups=tuple(self.groups), time=self.calendar.column,
                grain=cut.grain, filters=(*base.filters, *cut.filters),
            )))  # fmt: skip
        return results

    def _one_currency(self, measures: list[Measure]) -> None:
        """Amounts that a column beside them tells to be in several currencies are not added up."""
        columns = self.material.columns_by_name.operands(one.column for one in measures)
        is_narrow = bool(self.groups or self.all_filters)
        column = roles.currencies(self.material.table.columns, columns, is_narrow=is_narrow)
        if column is None or column.name in self.groups or self.is_row_each or self.is_choice:
            return
        rest = [f for f in self.filters if f.column == column.name and f.op is Op.IS]
        if any(len(one.values) == 1 for one in rest):
            return
        query = self.over(measures)
        choices = []
        if len(self.groups) + (self.time is not None) < 2:
            groups = (column.name, *self.groups)
            choices.append(self.choice(replace(query, groups=groups)))
        for code in column.values[:MOST_CHOICES]:
            one = Filter(column.name, Op.IS, (code,))
            alone = replace(query, filters=(*query.filters, one))
            choices.append(self.choice(alone))
        raise Unclear("currencies", choices, codes=", ".join(column.values[:MOST_CHOICES]))

    def _is_whole(self, measures: list[Measure]) -> None:
        """Whether every part of the draft went into the query; what did not is unknown."""
        draft = self.draft
        used = {measure.column for measure in measures} | set(self.groups)
        used |= {one.column for one in self.all_filters}
        used |= set(draft.row_nouns)
        draft.unknown += [self.material.column(name).label for name in draft.unwanted]
        if "change" in draft.marks and len(measures) > 1:  # "use units instead"
            draft.unknown.append(self.material.column(str(measures[-1].column)).label)
        if draft.ordinal is not None or ("when" in draft.asks and self.time is None):
            draft.unknown.append(draft.text)
        if draft.talk == "no":
            draft.unknown.append(draft.talk)
        is_used = self.time or draft.periods or draft.exclusions or draft.time in used
        if "time" in draft.marks and draft.time and not is_used:
            column = self.material.column(draft.time)
            draft.unknown += [column.label] if column.missing else []  # those that have one
        if self._leaves_words(measures):
            draft.unknown.append(draft.text)
        left = [name for name in (*draft.mentions, *draft.which_columns) if name not in used]
        typed = {meant: word for word, meant in draft.typos}
        draft.unknown += [
            typed.get(name) or typed.get(fold(name)) or self.material.column(name).label
            for name in left
        ]
        if "split" in draft.marks and not (self.groups or self.time):
            draft.unknown.append(draft.text)
        if "which" in draft.options:
            draft.unknown.append(str(draft.options.pop("which")))

    def _leaves_words(self, measures: Sequence[Measure]) -> bool:
        """Whether a list would be one figure, or "how long" is answered without a time."""
        draft = self.draft
        columns = [self.material.column(one.column) for one in measures if one.column]
        is_mean = any(one.aggregate is Aggregate.MEAN for one in measures)
        is_one = is_mean and not (self.groups or self.time)
        is_other = draft.measures and not set(draft.row_nouns) <= set(self.groups)
        says_how = draft.aggregate or any(one.aggregate for one in draft.measures)
        if "list" in draft.asks and not says_how and (is_one or is_other):
            return True
        return "long" in draft.marks and not any(
            one.unit in ("s", "min", "h") or concept_of(one.name) == "hours"
            or words.names(one.name, "duration") for one in columns
        )  # fmt: skip


def _asks_for_list(draft: Draft) -> bool:
    """Whether groups are asked for: "which products", "list the shops", "which months"."""
    which_period = "when" in draft.asks and "which" in draft.asks and draft.ranking is None
    return bool(draft.which_columns) or "list" in draft.asks or which_period
