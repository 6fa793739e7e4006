"""The parts of a query as far as they are decided, and the choices where something is open."""

import copy
from collections.abc import Iterable

import msgspec

from agentpost_offline.frame import Act, Filter, Frame, Grain, Measure, Op, Order, Query, Thing
from agentpost_offline.grammar.describing import frame_text
from agentpost_offline.grammar.draft import Draft, MeasureRequest
from agentpost_offline.grammar.material import Calendar, Material, calendar_of, is_of_payment
from agentpost_offline.grammar.reading import Choice, Unclear

MOST_CHOICES = 4
"""So many buttons a question has at most."""


class QueryParts:
    """What a draft asks of a table: its rows, groups and periods; ``notes`` says what the reader
    must know of it."""

    query: Query
    """What is decided in the end."""

    def __init__(
        self, draft: Draft, material: Material, thing: Thing, today: str, language: str,
        *, is_choice: bool = False,
    ) -> None:  # fmt: skip
        self.is_choice = is_choice
        self.draft, self.material, self.thing, self.language = draft, material, thing, language
        self.blank, self.today = copy.deepcopy(draft), today
        self.notes: list[tuple[str, dict[str, str]]] = []
        self.calendar = self._calendar(today)
        self.filters: list[Filter] = []
        self.having: list[Filter] = []
        self.groups: list[str] = []
        self.time: str | None = None
        self.grain: Grain | None = None

    def over(
        self, measures: Iterable[Measure], order: Order | None = None,
        having: Iterable[Filter] = (),
    ) -> Query:  # fmt: skip
        """The measures over the groups, periods and rows that were named."""
        return Query(
            self.material.table.id, tuple(measures), tuple(self.groups), self.time, self.grain,
            tuple(dict.fromkeys((*self.draft.filters, *self.filters))), tuple(having), order,
        )  # fmt: skip

    @property
    def is_counting(self) -> bool:
        """Whether "how many" is asked."""
        return "many" in self.draft.asks

    @property
    def all_filters(self) -> tuple[Filter, ...]:
        """The conditions, also those that the clause names as such."""
        return (*self.filters, *self.draft.filters)

    @property
    def narrows_payment(self) -> bool:
        """Whether a condition is on what was paid."""
        columns = [one.column for one in self.draft.filters]
        columns += [column for column, _ in self.draft.values]
        return any(map(is_of_payment, columns))

    @property
    def counts_all(self) -> bool:
        """Whether rows are all that there is to count: no column has figures."""
        return not self.material.numbers

    @property
    def is_row_each(self) -> bool:
        """Whether each group is one row, so that nothing is summed."""
        table = self.material.table
        if len(self.groups) == 1 and self.time is None:
            return self.material.column(self.groups[0]).distinct >= table.rows
        if self.time is not None and not self.groups:
            column = self.material.column(self.time)
            return column.distinct >= table.rows and self.grain in (None, column.grain)
        value_filters = [f for f in self.filters if f.op is Op.IS and len(f.values) == 1]
        return any(self.material.column(f.column).distinct >= table.rows for f in value_filters)

    def as_choices(self, measures: Iterable[Measure]) -> list[Choice]:
        """Buttons that run the query with another measure."""
        choices: list[Choice] = []
        for measure in measures:
            query = self._with_measure(measure)
            if query is not None:
                choices.append(self.choice(query))
                continue
            order = None
            ranking = self.draft.ranking
            if ranking is not None and (self.groups or self.time):
                order = Order(ranking.is_top, ranking.count or 1)
            choices.append(self.choice(self.over([measure], order)))
        return choices

    def _with_measure(self, measure: Measure) -> Query | None:
        """The whole request with a measure in place of its own; None where that is unclear too."""
        if self.is_choice:  # a choice offers no choices
            return None
        draft = copy.deepcopy(self.blank)
        if measure.column is None or draft.measures[:1] != draft.measures or draft.comparing:
            return None
        draft.measures = [MeasureRequest(measure.column, measure.aggregate)]
        draft.asks, draft.aggregate = draft.asks - {"many"}, None
        try:
            return type(self)(
                draft, self.material, self.thing, self.today, self.language, is_choice=True
            ).query
        except Unclear:
            return None

    def choice(self, query: Query) -> Choice:
        """A button that runs a query, or makes what was asked for of it."""
        act = Act.ASK if self.thing is Thing.ANSWER else Act.MAKE
        style = msgspec.structs.replace(self.draft.style, options=dict(self.draft.options))
        frame = Frame(act, self.thing, (query,), style, tuple(self.draft.formats),
                      self.language, said=self.draft.text)  # fmt: skip
        return Choice(frame_text(frame, self.material.table), (frame,))

    def _calendar(self, today: str) -> Calendar | None:
        """The calendar of the column of dates that is meant. Raises `Unclear`."""
        date_columns = self.material.date_columns
        match = next((one for one in date_columns if one.name == self.draft.time), None)
        if not date_columns:
            return None
        conditions = [one for one in self.draft.periods if not (one.weekdays or one.edge)]
        if len(date_columns) > 1 and conditions and (self.draft.has_several_times or (
            match is not None and len(conditions) > 1
            and not self.draft.marks & {"versus", "difference", "more"}
        )):  # fmt: skip
            raise Unclear("two_dates")  # "ordered in January, delivered in February"
        uses_time = bool(self.draft.periods or self.draft.exclusions or self.draft.grains
                         or self.draft.is_trend)  # fmt: skip
        if match is None and len(date_columns) > 1 and uses_time and not (
            self.material.has_plain_date
        ):  # fmt: skip
            choices = [
                Choice(one.label, text=f"{self.draft.text} ({one.name})") for one in date_columns
            ]
            raise Unclear("which_date", choices[:MOST_CHOICES])
        return calendar_of(match or date_columns[0], today)
