"""One clause while it is read: its terms, the table they may name, and the draft they fill."""

from collections.abc import Sequence
from typing import Any

import msgspec

from agentpost_offline.data.formulas import Sign, formula
from agentpost_offline.data.model import Column, Role
from agentpost_offline.frame import Aggregate, Filter, Op
from agentpost_offline.grammar.draft import Draft
from agentpost_offline.grammar.material import NO_TABLE, Calendar, Material, calendar_of, yes_value
from agentpost_offline.grammar.tagging import END, Term
from agentpost_offline.grammar.text import name_tokens
from agentpost_offline.grammar.vocabulary import lexicon


class Clause:
    """The terms of one clause, and what the productions have understood of them so far."""

    def __init__(
        self, text: str, terms: list[Term], material: Material | None, today: str, language: str,
        files: Sequence[str], has_images: bool,
    ) -> None:  # fmt: skip
        self.has_images, self.file_count = has_images, len(files)
        key = lexicon(language).key
        self.files = {
            key(word) for name in files for word in name_tokens(name.rpartition(".")[0])
            if len(word) > 1  # a Han character is no word
        }  # fmt: skip
        self.text, self.terms, self.language = text, terms, language
        self.material = material or NO_TABLE
        clause = text[terms[0].start : terms[-1].end] if terms else ""
        self.draft = Draft(clause)
        self.calendar = self._calendar(today)
        self.pending: Aggregate | None = None
        """How the next column is to be computed."""
        self.unknown: list[tuple[int, int]] = []
        """Where words stand in the text that no production took."""
        self.measure_places: list[int] = []
        """Where figures stand."""
        self.pending_too: list[Aggregate] = []
        """More aggregates for the same column: "total and average"."""
        self.adds_aggregate = False
        """Whether an "and" stands between a figure and the aggregate that waits for its column."""
        self.person_spans: list[tuple[int, int]] = []
        """Words for people where no column has any."""
        self.control_at = 0, 0
        self.lacking_at: set[int] = set()
        self.repeated: set[int] = set()
        self._ends: dict[tuple[str, ...], dict[int, int]] = {}
        """Where places lead that are skipped, by what is skipped besides glue; see `skip`."""

    @property
    def last_measure_at(self) -> int:
        """The place of the last figure."""
        return self.measure_places[-1] if self.measure_places else -9

    def term(self, at: int) -> Term:
        """The term at a place; `END` before the first and behind the last."""
        return self.terms[at] if 0 <= at < len(self.terms) else END

    def skip(self, at: int, *more: str) -> int:
        """The next place that is no glue, nor one of the meanings. It is remembered: each of 20,000
        dots would walk over all that follow it."""
        ends = self._ends.setdefault(more, {})
        first = at
        while at not in ends and not self.names(term := self.term(at)):
            if not (term.is_glue or (more and term.has(*more))) or term.has("small.and"):
                break
            at += 1
        end = ends.get(at, at)
        ends.update(dict.fromkeys(range(first, at), end))
        return end

    def names(self, term: Term) -> bool:
        """Whether a term names a column or a value."""
        return bool(term.columns or term.values)

    def column(self, term: Term) -> Column | None:
        """The one column that a term names; several are ambiguous unless one is named whole."""
        if not term.columns:
            return None
        term.columns = self.material.narrow(term.columns)
        return self.material.column(term.columns[0])

    def number(self, term: Term) -> float | None:
        """The number that a term is or says."""
        if term.number is not None:
            return term.number
        key = term.key("number")
        return float(key) if key else None

    def set_look(self, slot: str, value: Any, text: str) -> None:
        """Fill a part of the look; a second value for it is not understood."""
        if getattr(self.draft.style, slot) not in (None, value):
            self.draft.unknown.append(text)
            return
        self.draft.style = msgspec.structs.replace(self.draft.style, **{slot: value})

    def add_value(self, term: Term, op: Op) -> None:
        """Make a condition of a value; one of several columns is ambiguous."""
        near = {name for one in self.terms for name in one.columns}
        options = [pair for pair in term.values if pair[0] in near] or list(term.values)
        if len({column for column, _ in options}) > 1:
            columns = tuple(dict.fromkeys(column for column, _ in options))
            self.draft.ambiguous.append((term.text, columns))
            return
        column = options[0][0]
        values = tuple(value for _, value in options)
        if values == ("",):
            op = Op.MISSING if op is Op.IS else Op.PRESENT
        if op is not Op.IS:
            self.draft.filters.append(Filter(column, op, tuple(filter(None, values))))
            return
        self.draft.values += [one for one in options if one not in self.draft.values]

    def is_measure(self, term: Term) -> bool:
        """Whether a term names a column of figures that can be computed."""
        column = self.column(term)
        return column is not None and column.role in (Role.AMOUNT, Role.RATE)

    def is_flag(self, term: Term) -> bool:
        """Whether a term names a column of yes and no."""
        column = self.column(term)
        return column is not None and bool(yes_value(column))

    def term_before(self, at: int, *more: str) -> Term:
        """The last term before a place that is no glue, or has one of the meanings."""
        terms = (self.terms[place] for place in range(at - 1, -1, -1))
        return next((one for one in terms if not one.is_glue or (more and one.has(*more))), END)

    def start_of_part(self, at: int) -> int:
        """Where the part of the clause begins that a place is in: behind the last mark."""
        start = at
        while start and self.terms[start - 1].kind != "mark":
            start -= 1
        return start

    def formula_of(self, left: Term, sign: Sign, right: Term) -> str | None:
        """The name of the figure that the columns of two terms make."""
        columns = [
            self.column(one) for one in (left, right) if len(one.columns) == 1 and not one.values
        ]
        if len(columns) < 2 or columns[0] is None or columns[1] is None:
            return None
        if any(one.has("kind.scatter", "kind.heatmap") for one in self.terms):
            return None
        return formula(columns[0], sign, columns[1])

    def _calendar(self, today: str) -> Calendar | None:
        """The calendar of the column of dates that is named, else of the only one."""
        if not self.material.date_columns:
            return None
        time_columns = [
            column for column in self.material.date_columns
            if any(column.name in term.columns for term in self.terms)
        ]  # fmt: skip
        if time_columns:
            self.draft.time = time_columns[0].name
        self.draft.has_several_times = len(time_columns) > 1
        return calendar_of((time_columns or self.material.date_columns)[0], today)
