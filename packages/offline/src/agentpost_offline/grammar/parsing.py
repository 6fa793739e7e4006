"""From terms to a draft: each production takes the terms at a place that it knows, and what no
production takes is unknown."""

import dataclasses
import datetime as dt
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

from agentpost_offline.data import words as words_of_tables
from agentpost_offline.data.formulas import Sign, formula
from agentpost_offline.data.model import Column, Kind, Role
from agentpost_offline.frame import Aggregate, Derivation, Filter, Grain, Op
from agentpost_offline.grammar import (
    captions,
    conditions,
    exclusions,
    looks,
    owing,
    periods,
    remarks,
    rows,
    subjects,
)
from agentpost_offline.grammar.clause import Clause
from agentpost_offline.grammar.draft import Draft, MeasureRequest, Ranking
from agentpost_offline.grammar.material import NO_TABLE, Calendar, Material, yes_value
from agentpost_offline.grammar.remarks import is_remark, set_remarks_apart
from agentpost_offline.grammar.rows import (
    PRONOUNS,
    counts_beside,
    is_article,
    is_each_row,
    is_of_rows,
    is_own,
    is_row_noun,
    is_row_word,
    stands_beside_figure,
)
from agentpost_offline.grammar.tagging import END, Term
from agentpost_offline.grammar.text import COMMAS, fold, name_tokens
from agentpost_offline.grammar.vocabulary import concept_of, lexicon, things_called

_CURRENCIES: Final = {"eur": "€", "dol": "$", "usd": "$", "dól": "$", "pou": "£", "欧元": "€"}
_DAYS_MAX: Final = 366
"""Of a column that is named: with more days, a result is by weeks, months or years."""
_SIGNS: Final = {
    "-": Sign.MINUS, "–": Sign.MINUS, "−": Sign.MINUS, "*": Sign.TIMES, "×": Sign.TIMES,
    "÷": Sign.OVER, "+": Sign.PLUS,
}  # fmt: skip
"""A slash is none: of "takings/costs" both are meant."""
_SEVERAL: Final = (2, 3, 4, 5, 6)
_FEW: Final = 12
"""So many different numbers make groups."""
_DENIED_MAX: Final = 5
"""So many terms stand at most between a "not" and the "or" that it denies."""
_HALVES: Final = 2
_QUARTERS: Final = 4
_ANY_YEAR: Final = Calendar("", dt.date.min, dt.date.max, dt.date.max)
"""Of months that have no year."""
_NUMBERED: Final = re.compile(r"(.*\D)(\d{1,6})")
_OPENING: Final = 2
"""So many small words may stand before the first one of a sentence."""


def parse(
    text: str, terms: Sequence[Term], material: Material | None, today: str, language: str,
    files: Sequence[str] = (), *, has_images: bool = False,
) -> Draft:  # fmt: skip
    """Read the terms of one clause; ``text`` is the whole message, in which they have places, and
    ``files`` the names of the files that it may be about, ``has_images`` whether pictures are
    among them."""
    return _Parser(text, list(terms), material, today, language, files, has_images).read()


class _Parser(Clause):
    """A clause that is read from its first term to its last as it is made."""

    def read(self) -> Draft:
        """What the clause says."""
        terms = self.terms
        if any(term.has("needs.table") for term in terms):
            self.draft.marks.add("table")
        self._drop_other_names()
        self.repeated = self._repetitions()
        at = 0
        while at < len(terms):
            at += self._take(at)
        self._late_aggregate()
        if self.draft.derivation is Derivation.SHARE and len(self.measure_places) > 1:
            self._find_whole()
        for at, one in enumerate(terms[:-2]):
            if one.has("small.in") and terms[at + 1].has("small.and", "small.or") and (
                terms[at + 2].has("not.not")
            ):  # fmt: skip
                self.draft.unknown.append(self.text[one.start : terms[at + 2].end])  # both of them
        self._refuse_either()
        if self.draft.control is not None and not self.draft.steers:  # "annulées par mois"
            self.draft.control = None
            self.unknown = sorted([*self.unknown, self.control_at])
        if not self.draft.measures or self.draft.asks & {"many", "who"}:
            self.unknown = sorted([*self.unknown, *self.person_spans])
        set_remarks_apart(self)
        self.draft.is_statement = is_remark(terms)
        self.draft.unknown += self._unknown_words()
        return self.draft

    def _refuse_either(self) -> None:
        """An "or" between conditions on two columns, or before a condition with a number, is not
        understood: all of them have to hold. What is left out may have one: "without A or B"."""
        own_columns = {name for name, _ in self.draft.values}
        for at, one in enumerate(self.terms[1:-1], 1):
            place = self.skip(at + 1, "small.in", "small.verb", "having")
            before, after = self.terms[at - 1], self.term(place)
            if one.has("op") and self.number(after) is not None and (
                "small.or" in lexicon(self.language).meanings_of(one.text.split()[0])
            ):  # fmt: skip
                self.draft.unknown.append(one.text)  # "or over 100", but not "100 or over"
            if not one.has("small.or") or one.has("small.and") or one.columns or after is None:
                continue
            left, right = self._condition_columns(before), self._condition_columns(after)
            is_denied = right.isdisjoint(own_columns) and any(
                each.has("not.not") for each in self.terms[max(0, at - _DENIED_MAX) : at]
            )
            is_bound = any(
                each.has("op.above", "op.below") and not each.columns
                for each in self.terms[at + 1 : place + 1]
            )
            if is_bound or (left and right and left.isdisjoint(right) and not is_denied):
                self.draft.unknown.append(self.text[before.start : one.end])

    def _condition_columns(self, term: Term) -> set[str]:
        """The columns of which a term says what they are: by a value, or by yes."""
        if term.values:
            return {name for name, _ in term.values}
        return set(term.columns[:1]) if self.is_flag(term) else set()

    def _drop_other_names(self) -> None:
        """Leave other names of columns only where a column is asked for: "total cost of our club"
        is not by club."""
        for at, term in enumerate(self.terms):
            if (
                term.has("kind")
                and term.values
                and any(one.has("thing.chart") for one in self.terms[max(0, at - 2) : at])
            ):  # "gráfico de barras", where bread is called so
                term.values = ()
            is_own_rows = is_own(self, term) and not self.is_measure(term)
            if term.is_other_name and (is_own_rows or not self._is_asked_for(at)):
                term.columns, term.typo_of = (), ""
            elif term.has("concept.person", "concept.customer") and is_each_row(self, term):
                term.columns = ()

    def _is_asked_for(self, at: int) -> bool:
        """Whether a column has to follow the word before: "by", "total", "most", "which"; a figure
        may also follow a verb or what is made, or come first."""
        is_figure = bool(things_called(self.terms[at].text, "figures"))
        after = self.term(at + 1)
        before = self.term_before(at)
        if before is END:
            return is_figure and after.text not in ":："
        sections = ["by", "aggregate", "extreme", "ask", "small.and", "versus", "op", "only.where"]
        sections += ["small.verb", "thing", "kind"] if is_figure else []
        return before.has(*sections)

    def _unknown_words(self) -> list[str]:
        """The words that no production took; those that stand side by side as one."""
        spans: list[tuple[int, int]] = []
        for start, end in self.unknown:
            if spans and not re.search(r"[^\s_-]", self.text[spans[-1][1] : start]):
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        starts = {self.terms[at].start for at in self.lacking_at}
        self.draft.lacking = [self.text[a:b] for a, b in spans if a in starts]
        return [self.text[start:end] for start, end in spans]

    def _repetitions(self) -> set[int]:
        """The places of what goes on with a column's name: "against varroa" of "treated against
        varroa", where the column is "Treated varroa"."""
        places: set[int] = set()
        last = -1
        for at, term in enumerate(self.terms):
            if term.is_literal or term.values or not term.columns:
                continue
            between = self.terms[last + 1 : at]
            if last >= 0 and self.terms[last].columns == term.columns and all(
                one.is_glue or one.has("small", "versus") for one in between
            ) and term.text != self.terms[last].text:  # fmt: skip
                places |= set(range(last + 1, at + 1))
            last = at
        return places

    def _take(self, at: int) -> int:
        if at in self.repeated:
            return 1
        term = self.terms[at]
        for production in _PRODUCTIONS:
            size = production(self, at)
            if size:
                for one in self.terms[at : at + size]:
                    if one.typo_of and production not in (
                        captions.take_title,
                        captions.take_caption,
                    ):
                        self.draft.typos.append((one.text, one.typo_of))
                return size
        after = self.skip(at + 1)
        before = self.term(at - 1)
        if term.has("by") and self._is_unknown(after):
            self.lacking_at.add(after)
        elif self._is_explained(at):
            pass
        elif term.has(
            "concept.person", "concept.customer", "concept.grade", "idle"
        ) and not before.has("by"):
            self.person_spans.append((term.start, term.end))
        elif term.kind != "mark" or term.text in "%":
            self.unknown.append((term.start, term.end))
        return 1

    def _is_explained(self, at: int) -> bool:
        """Whether a name of the table stands in brackets behind a word: "tienda (Store)"."""
        opens, name, closes = (self.term(at + one) for one in (1, 2, 3))
        return opens.text == "(" and self.names(name) and closes.text == ")"

    def _is_unknown(self, at: int) -> bool:
        term = self.term(at)
        if term is END or self.names(term) or term.is_glue:
            return False
        return all(one.startswith(("concept.", "carry.")) for one in term.meanings)

    # Productions: each returns how many terms it took.

    def take_period(self, at: int) -> int:
        if self.terms[at].values and self.terms[at].kind != "number":
            return 0
        calendar = self.calendar
        if calendar is None:
            return self._dateless(at)
        period, size = periods.read(self.terms, at, calendar)
        if period is None:
            return self._first_of_two(at, calendar)
        end = self.terms[at + size - 1].end
        if self.text[end : end + 1] == "-" and at + size < len(self.terms):  # "Jan-Mar"
            last, more = periods.read(self.terms, at + size, calendar)
            if last is not None and (both := periods.span(period, last, calendar)) is not None:
                period, size = both, size + more
        period.text = self.text[self.terms[at].start : self.terms[at + size - 1].end]
        self.draft.periods.append(period)
        return size

    def _first_of_two(self, at: int, calendar: Calendar) -> int:
        """The "first" of "the first and the second half", and the "second" of "the first half and
        the second"."""
        place, number = at + 1, int(self.terms[at].key("ordinal") or 0)
        joint = self.term(place)
        figure = self.terms[at].number
        if figure is not None and figure in range(1, _QUARTERS + 1):  # "das 2. und 3. Quartal"
            number, place = int(figure), at + 1 + (joint.text == ".")
            joint = self.term(place)
        if number < 1:
            return 0
        other = self.draft.periods[-1] if self.draft.periods else None
        if joint.has("small.and"):
            other, _ = periods.read(self.terms, self.skip(place + 1), calendar)
        most = 0 if other is None else _HALVES if other.half else _QUARTERS if other.quarter else 0
        if other is None or number > most or number in (other.half, other.quarter) or (
            figure is not None and not joint.has("small.and")
        ):  # fmt: skip
            return 0
        if other.half is not None:
            self.draft.periods.append(dataclasses.replace(other, half=number))
        else:
            self.draft.periods.append(dataclasses.replace(other, quarter=number))
        return place - at

    def _dateless(self, at: int) -> int:
        """A period where the table has no dates: months may be values of its columns."""
        term = self.terms[at]
        if self.material is NO_TABLE or self.names(term):
            return 0
        is_month = term.has("month", "weekday") or re.fullmatch(
            "quarter[1-4]|half[12]", term.key("period") or ""
        )
        is_year = term.kind == "number" and re.fullmatch("(19|20)[0-9][0-9]", term.text)
        if not (is_month or is_year or term.kind == "date"):
            return 0
        if term.text in name_tokens(self.material.table.name.replace(".", " ")):
            return 1  # the "2024" of the sheet "Takings 2024" is all of it
        asked, size = self._months_at(at)
        if values := self._month_values(asked):
            self.draft.values += [one for one in values if one not in self.draft.values]
            return size
        self.draft.dateless_words = term.text
        return 1

    def _months_at(self, at: int) -> tuple[Sequence[int], int]:
        """The numbers of the months of a period without a year, and how many terms it takes: "Q4",
        "October to February"."""
        is_dashed = self.text.startswith("-", self.terms[at].end)  # "Jan-Mar"
        place = at + 1 if is_dashed else at + 2
        first, last = (self._part_of_any_year(one) for one in (at, place))
        if first is None or self._joins_ends(at - 1):  # "until March"
            return (), 1
        if last is None or not (is_dashed or self._joins_ends(at + 1)):
            return first.months, 1
        begin, end = first.months[0], last.months[-1]
        months = [(begin + one - 1) % 12 + 1 for one in range((end - begin) % 12 + 1)]
        return months, place + 1 - at

    def _part_of_any_year(self, at: int) -> periods.Period | None:
        """The month, quarter or half that a word names."""
        period, _ = periods.read([self.term(at)], 0, _ANY_YEAR)
        return period if period and (period.month or period.quarter or period.half) else None

    def _month_values(self, months: Sequence[int]) -> list[tuple[str, str]]:
        """The values that are months, of a column with nothing else: "Oct" and "Nov"."""
        names = words_of_tables.months()
        for column in self.material.groups if months else ():
            numbers = [names.get(one.lower().rstrip("."), 0) for one in column.values]
            if numbers and all(numbers):
                return [(column.name, value)
                        for value, number in zip(column.values, numbers, strict=True)
                        if number in months]  # fmt: skip
        return []

    def _joins_ends(self, at: int) -> bool:
        """Whether a word joins the ends of a range: "to", but not "and", which lists the two."""
        return self.term(at).has("small.to") and not self.term(at).has("small.and")

    def take_figure_of_two(self, at: int) -> int:
        """As in "takings minus costs" and "stock × price"."""
        first = self.terms[at]
        if len(first.columns) != 1 or first.values:  # each of 20,000 dots would look for its sign
            return self._unread_sign(at)
        sign_at = at + 1
        while (sign := self._sign(self.term(sign_at))) is None and self.skip(sign_at) > sign_at:
            sign_at += 1
        is_each = self.pending not in (None, Aggregate.SUM)  # "average takings minus total costs"
        place = self.skip(sign_at + 1, *(() if is_each else ("aggregate.sum",)))
        name = self.formula_of(first, sign, self.term(place)) if sign is not None else None
        if name is None:
            return self._unread_sign(at)
        how = None if sign is Sign.OVER and self.pending is Aggregate.SUM else self.pending
        text = self.text[self.terms[at].start : self.terms[place].end]
        self.draft.measures.append(MeasureRequest(name, how, text))
        self.pending = None
        self.measure_places.append(place)
        self._unread_sign(place, "+/")  # "takings - costs - hours"
        return place + 1 - at

    def _unread_sign(self, at: int, more: str = "") -> int:
        """A mark between two figures that make none, as in "price × discount" and "takings-costs",
        which may be both of them: it is not understood."""
        others = list(filter(self.is_measure, self.terms[at + 1 : at + 4]))
        if others and self.is_measure(self.terms[at]):
            joint = self.text[self.terms[at].end : others[0].start].strip(" ()")
            if joint and (joint in more or (joint in _SIGNS and joint != "+")):
                self.draft.unknown.append(self.text[self.terms[at].start : others[0].end])
        return 0

    @staticmethod
    def _sign(term: Term) -> Sign | None:
        return _SIGNS.get(term.text) or next(
            (sign for sign in Sign if term.has(f"formula.{sign.name.lower()}")), None
        )

    def _ratio(self, at: int) -> bool:
        """Whether a column behind "per" divides the figure before it: "cost per km"."""
        name = self.formula_of(self.term(self.last_measure_at), Sign.OVER, self.term(at))
        columns = {one.column for one in self.draft.measures}  # "grams of soap per load" is one
        if name is None or len(columns) != 1 or self._is_length_of_time(at):
            return False
        before = self.draft.measures[-1]
        if before.column not in name.split(f" {Sign.OVER} "):
            return False  # "takings minus costs per hour"
        if before.aggregate in (None, Aggregate.SUM, Aggregate.MEAN):
            self.draft.measures = [MeasureRequest(name, None, before.word)]
            return True
        return False

    def _is_length_of_time(self, at: int) -> bool:
        """Whether a column behind "per" may as well be a part of the time axis: "per month"."""
        grain = self.terms[at].key("grain")
        column = self.material.column(self.calendar.column) if self.calendar else None
        is_hourly = column is not None and column.grain is Grain.HOUR
        return grain is not None and (grain != Grain.HOUR or is_hourly)

    def take_counted_group(self, at: int) -> int:
        """The number of "the 3 products with the highest revenue"."""
        value = self.number(self.terms[at])
        after = self.term(self.skip(at + 1))
        if value is None or self.names(self.terms[at]) or after.values:
            return 0
        is_group = bool(after.columns) and not self.is_measure(after)
        if value % 1 or not 0 < value < 100 or not (is_group or is_own(self, after)):
            return 0
        self.draft.options["which"] = int(value)
        return 1

    def take_ranking(self, at: int) -> int:
        """As in "top 5", "the 3 highest", "lowest", "cheapest"."""
        term = self.terms[at]
        start, count = at, None
        value = self.number(term)
        if value is not None and not self.names(term):
            at = self.skip(at + 1)
            count = int(value) if value % 1 == 0 and 0 < value < 1000 else None
            term = self.term(at)
            if count is None:
                return 0
        if not term.has("extreme") or term.columns:
            return 0
        if term.has("pace") and not any(map(self.names, self.terms)):
            return 0  # "más lento" of a film, and not "el más lento"
        meanings = lexicon(self.language).meanings_of(term.text)
        if term.values and not any(one.startswith("extreme.") for one in meanings):
            return 0  # "Lead as well", of metals, is not the leading one
        if term.has("edit") and not any(map(self.names, self.terms)):  # "shorter: 2 slides"
            return 0
        key = str(term.key("extreme"))
        end = at + 1
        if count is None:
            value = self.number(self.term(self.skip(end)))
            if value is not None and value % 1 == 0 and 0 < value < 1000:
                count, end = int(value), self.skip(end) + 1
        if count is None and self.draft.ranking is None and "which" in self.draft.options:
            count = int(self.draft.options.pop("which"))  # "the 5 phones that cost most"
        before, after = self.draft.ranking, self.term(end)
        if before is not None and before.is_top != key.startswith("top"):
            if count is not None or not self._adds_other_end(at, before):
                return 0
            self.draft.marks.add("both_ends")
            if after.has("grain"):
                self.draft.asks.add("when")
            self.draft.look_words["ends"] = term.text
            return end - start
        if after.has("grain") and not self.names(after):
            self.draft.asks.add("when")
        if before is not None:
            count = before.count if count is None else count
            if before.count not in (None, count):
                return 0
        side, _, concept = key.partition("_")
        if before is not None and before.concept and concept not in ("", before.concept):
            return 0  # "fastest and cheapest"
        concept = concept or (before.concept if before is not None else "")
        is_judged = concept == "good"
        self.draft.ranking = Ranking(
            side == "top",
            count,
            "" if is_judged else concept,
            term.text,
            is_judged,
            asks_sum=term.has("quantity"),
        )
        return end - start

    def _adds_other_end(self, at: int, before: Ranking) -> bool:
        """As the "worst" of "best and worst", each of them one."""
        _, _, concept = str(self.terms[at].key("extreme")).partition("_")
        joins = any(one.has("small.and", "versus") for one in self.terms[:at])
        return joins and concept in ("good", before.concept) and before.count in (None, 1)

    def take_sorting(self, at: int) -> int:
        """As in "sorted by date", "largest first", "best on top"."""
        term = self.terms[at]
        if term.has("extreme") and not term.columns:
            place, figures = at + 1, list[MeasureRequest]()
            while (one := self.term(place)) is not END and not one.has("sort.first"):
                column = self.column(one)
                if column is not None and column.kind is Kind.NUMBER:  # "highest fee first"
                    figures.append(MeasureRequest(column.name, None, one.text))
                elif not (one.is_glue or one.has("rows", "concept")) or self.names(one):
                    return 0
                place += 1
            if one is END:
                return 0
            self.draft.measures += figures if not self.draft.measures else []
            self.draft.sort_by += [(figure.column, figure.word) for figure in figures]
            side, _, concept = str(term.key("extreme")).partition("_")
            if (
                concept not in ("", "good") and not figures
            ):  # "slowest on top" is by a figure of its own
                self.draft.unknown.append(term.text)
            if concept == "good":
                self.draft.marks.add("judged")
            is_low = side == "bottom"
            self.draft.sort = self.draft.is_descending = not is_low
            self.draft.look_words["sort"] = term.text
            return place + 1 - at
        if term.has("order") and not term.columns:  # of rows, and of no figures
            if term.has("order.oldest", "order.newest"):
                self.draft.marks.add("dated")
            elif not any(one.has("sort.sort") for one in self.terms):
                self.draft.unknown.append(term.text)
            self.draft.sort = self.draft.is_descending = term.has("order.newest")
            self.draft.look_words["sort"] = term.text
            return 1
        if not term.has("sort") or term.columns or term.has("sort.first"):
            return 0
        if not term.has("sort.sort"):
            self.draft.is_descending = not term.has("sort.asc")
        if not term.has("sort.sort") or self.draft.sort is None:
            self.draft.sort = not term.has("sort.asc")
        self.draft.look_words["sort"] = term.text
        return 1

    def take_value(self, at: int) -> int:
        term = self.terms[at]
        if not term.values:
            return 0
        if term.kind == "number" and self.calendar is not None:
            period, _ = periods.read(self.terms, at, self.calendar)
            if period is not None:
                return 0
        if term.columns and not term.has("ask") and self.term_before(at).has("by"):
            return 0
        if size := self._numbered_range(at):
            return size
        if self._ends_range(at) or (term.has("aggregate") and self._measure_follows(at)):
            return 0
        if self._is_made(at) or (term.has("audience") and self._costs and self._is_for(at)):
            self.draft.unknown.append(term.text)
        else:
            self.add_value(term, Op.IS)
        return 1

    def _numbered_range(self, at: int) -> int:
        """As in "WT01 to WT04": the values that are numbered between two."""
        first, last = self.terms[at], self.term(at + 2)
        if len(first.values) != 1 or len(last.values) != 1 or not self._joins_ends(at + 1):
            return 0
        (column, low), (other, high) = first.values[0], last.values[0]
        ends = [_NUMBERED.fullmatch(one) for one in (low, high)]
        if column != other or not (ends[0] and ends[1]) or ends[0][1] != ends[1][1]:
            return 0
        begin, end = sorted((int(ends[0][2]), int(ends[1][2])))
        numbers = range(begin, end + 1)
        for value in self.material.column(column).values:
            match = _NUMBERED.fullmatch(value)
            if match and match[1] == ends[0][1] and int(match[2]) in numbers:
                self.draft.values.append((column, value))
        return 3

    @cached_property
    def _costs(self) -> bool:
        """Whether something is to be made."""
        return any(one.has("thing", "kind", "format") for one in self.terms)

    @cached_property
    def _ranks(self) -> bool:
        """Whether one of several is asked for, or two are compared."""
        return any(one.has("extreme", "versus", "edit.more") for one in self.terms)

    def _is_made(self, at: int) -> bool:
        """Whether a value may be what is to be made: "a table of sales", "sales in a table" where
        tables are sold."""
        if not self.terms[at].has("thing") or self.language == "zh":
            return False
        before = self.term_before(at, "small.verb")
        begins = before is END and len(self.terms) > 1
        return begins or before.has("small.in", "small.verb")

    def _is_for(self, at: int) -> bool:
        """Whether "for" stands before: for the board, of which there may be a value or column."""
        before = self.term_before(at, "small.verb")
        return before.has("small.purpose") and (
            self.language == "de" or not self.terms[at].text[:1].isupper()
        )  # fmt: skip

    def _ends_range(self, at: int) -> bool:
        """Whether a value ends a range, or is left out: "January to March" of months that are no
        dates, "until March", "all shops but North"."""
        before = at - 1
        while before > 0 and self.terms[before].is_glue and not self.terms[before].has("small"):
            before -= 1
        joint, first = self.term(before), self.term(before - 1)
        if joint.has("small.and"):
            return False
        of_first = {name for name, _ in first.values}
        is_second = not of_first.isdisjoint(name for name, _ in self.terms[at].values)
        is_bound = joint.has("period.until") and not joint.has("small.in")
        return joint.has("small.but") or is_bound or (joint.has("small.to") and is_second)

    def _is_said_before(self, term: Term) -> bool:
        """Whether a word that fits several columns goes on with what was named: "how much plastic,
        in kg", and "who has paid the fee" of a column "Fee paid"."""
        units = {self.material.column(one.column).unit for one in self.draft.measures}
        conditions = {one.column for one in self.draft.filters}
        return not conditions.isdisjoint(term.columns) or (
            term.text.casefold() in {(unit or "").casefold() for unit in units}
        )

    def take_axis(self, at: int) -> int:
        """As in "by region and month", "per quarter", "for each store"."""
        term = self.terms[at]
        if not term.has("by") or self.names(term):
            return 0
        end = start = self._counted_at(self.skip(at + 1))
        per = term.has("by.per")
        if self.draft.mentions and self.draft.mentions[-1] in self.term(at - 1).columns and any(
            one.has("option.pivot", "kind.heatmap") for one in self.terms
        ):  # fmt: skip
            self.draft.groups.append(self.draft.mentions.pop())  # "a pivot of region by month"
        while (one := self.term(end)) is not END:
            column = self.column(one)
            if (column is None and self._is_of_next(end)) or self._is_explained_beside(end):
                end += 1  # "by booking channel"
                continue
            if column is not None and (size := self._take_members(at, end, column)):
                return size
            if column is not None:
                self._note_order(end, column)
            if column is not None and len(one.columns) > 1 and not one.is_literal:
                self.draft.ambiguous.append((one.text, one.columns))
            elif column is not None and column.kind is Kind.DATE:
                self.draft.time = column.name
                if (grain := one.key("grain")) is not None:
                    self._grain(grain)
                elif not self.draft.grains:  # else as in "per month (arrived)"
                    if column.grain in (None, Grain.DAY) and column.distinct <= _DAYS_MAX:
                        self._grain(Grain.DAY)  # "by date"
                    else:
                        self.draft.is_trend = True
            elif column is not None and column.kind is Kind.NUMBER and (
                start > self.skip(at + 1) and column.distinct <= _FEW
            ):  # fmt: skip
                self.draft.groups.append(column.name)  # "rent by number of bedrooms"
            elif column is not None and column.role in (Role.AMOUNT, Role.RATE):
                if end > start:
                    break
                if per and self.skip(self.last_measure_at + 1) == at and self._ratio(end):
                    return end + 1 - at
                self.draft.by_numbers.append(MeasureRequest(column.name, self.pending, one.text))
                self.pending = None
            elif column is not None and (per or self.pending is Aggregate.MEAN) and (
                is_row_noun(self, end, one.columns)
            ) and not any(term.has("thing", "kind") for term in self.terms):  # fmt: skip
                self.draft.marks.add("each_row")
            elif column is not None:
                self.draft.groups.append(column.name)
            elif one.has("grain"):
                self._grain(str(one.key("grain")))
            elif end == start and self.draft.measures and is_row_word(self, end, one):
                self.draft.marks.add("each_row")  # "costs per trip" of trips.csv
            elif one.has("aggregate") and self.pending is None:
                self.pending = Aggregate(str(one.key("aggregate")))
            elif end > start and self._lists(end):
                pass
            elif end == start and one.values and not per:
                return end - at  # "paid by card"
            else:
                break
            end += 1
        has_axis = self.draft.groups or self.draft.grains
        if end == start and self.term(end) is END and term.has("by.each") and has_axis:
            return 1  # "the price per kind and how many of each we sold"
        if end > start and per and not term.has("by.each"):
            self.draft.marks.add("per")
        if end > start and term.has("by.split"):
            self.draft.marks.add("split")
        return end - at if end > start else 0

    def _take_members(self, at: int, end: int, column: Column) -> int:
        """As in "paid by the gift aid people": those that a column of yes and no affirms."""
        after = self.term(end + 1)
        if not self.terms[at].text.endswith(" the") or not yes_value(column) or (
            self.term(end + 2) is not END or after.values or not (
                after.has("concept.person", "rows") or after.text in rows.PRONOUNS
            )
        ):  # fmt: skip
            return 0
        self.draft.filters.append(Filter(column.name, Op.IS, (yes_value(column),)))
        self.draft.marks.add("flag")
        return end + 2 - at

    def _counted_at(self, at: int) -> int:
        """The place behind the "number of" of "by number of bedrooms"."""
        term, place = self.term(at), self.skip(at + 1, "small.of")
        after = self.term(place)
        if not term.has("ask.many", "ask.number"):
            return at
        column = self.column(after)
        return place if column is not None and column.kind is Kind.NUMBER else at

    def _is_of_next(self, at: int) -> bool:
        """Whether a value stands before the name of its own column."""
        after = self.term(at + 1)
        return any(name in after.columns for name, _ in self.terms[at].values)

    def _lists(self, at: int) -> bool:
        """Whether an "and", a comma or a repeated "by" stands before one more column or grain."""
        term = self.terms[at]
        place = self.skip(at + 1, "by")
        after = self.term(place)
        if after.columns and self._is_stated(place):
            return False
        joins = term.has("small.and", "by", "small.of") or term.text in COMMAS or term.is_glue
        return joins and not self._is_left_out(at) and (
            (bool(after.columns) and not self.is_measure(after)) or after.has("grain")
        )  # fmt: skip

    def _is_left_out(self, at: int) -> bool:
        """Whether what stands behind a comma does not count: "by month, cancelled ones dont"."""
        for one in self.terms[at + 1 :]:
            if one.kind == "mark" or one.has("not.after"):
                return one.has("not.after")
        return False

    def _grain(self, key: str) -> None:
        if key == "trend":
            self.draft.is_trend = True
        elif Grain(key) not in self.draft.grains:
            self.draft.grains.append(Grain(key))

    def take_which(self, at: int) -> int:
        """As in "which region", "what 3 products", "in which month", "who"."""
        term = self.terms[at]
        if not term.has("ask.which", "ask.who", "ask.what") or self.names(term):
            return 0
        if self._is_preposition(at):
            return 0
        if term.has("ask.many"):  # "كم" is "how many", and "what" before a figure
            after = self.term(self.skip(at + 1, "small.of"))
            if not (after is END or after.has("aggregate", "derived") or self.is_measure(after)):
                return 0
        key = "which" if term.has("ask.which") else "who" if term.has("ask.who") else "what"
        before = self.term(at - 1)
        if key == "who" and (before.text in PRONOUNS or before.has("them")):
            return 1  # "only the ones who have not paid"
        if term.has("small.it"):  # "who are they"
            self.draft.marks.add("it")
        if term.has("needs.hours"):
            self.draft.marks.add("long")
        after = self.term(at + 1)
        if after.has("derived.share"):
            key = "what"  # "which percentage"
        elif key == "what" and (after.columns or after.has("grain")):
            key = "which"
        self.draft.asks.add(key)
        self.draft.look_words.setdefault(key, term.text)
        end = self.skip(at + 1, "small.of") if key == "which" else at + 1
        number = self.number(self.term(end)) if key == "which" else None
        after = self.term(end + 1 if number is not None else end)
        if key != "which" or after is None:
            return 1
        column = self.column(after)
        if column is not None and yes_value(column) and (end > at + 1 or not self._ranks):
            return 1  # "which of those have breakfast", "which are cancelled"
        if column is not None and column.role in (Role.CATEGORY, Role.IDENTIFIER, Role.TEXT):
            if len(after.columns) > 1 and not after.is_literal:
                self.draft.ambiguous.append((after.text, after.columns))
            self.draft.which_columns.append(column.name)
        elif after.has("grain") and not after.has("grain.trend"):
            self._grain(str(after.key("grain")))
            self.draft.asks.add("when")
        else:
            return 1
        if number is not None:
            self.draft.options["which"] = int(number)
        return (end + 2 if number is not None else end + 1) - at

    def _is_preposition(self, at: int) -> bool:
        """Whether "من" is no "who" but the "of" that it is where a sentence does not begin."""
        before, after = self.terms[max(0, at - _OPENING) : at], self.term(at + 1)
        names = (*after.columns, *(name for name, _ in after.values))
        narrows = not all(yes_value(self.material.column(name)) for name in names)
        return self.terms[at].has("small.in") and (
            narrows or not all(one.is_glue for one in before)
        )

    def take_asking(self, at: int) -> int:
        term = self.terms[at]
        if not term.has("ask") or self.names(term) or self._is_preposition(at):
            return 0
        if term.has("ask.number") and not term.has(
            "ask.many"
        ):  # "number, total price and average miles"
            if counts_beside(self, at):
                self.draft.marks.add("count_too")
                return 1
            after = self.term(at + 1)
            averages = self.pending not in (None, Aggregate.SUM)
            return int(averages and self.is_measure(after))
        if term.has("ask.many"):
            first = self.term(self.skip(at + 1, "small.of"))
            if first.has("grain.day") and not self.names(first) and (
                self.calendar is not None
            ):  # fmt: skip
                self.draft.marks.add("days")
            self.draft.counts_measure = self.is_measure(first)
        key = str(term.key("ask"))
        for name in ("passage", "many", "much", "list"):
            if term.has(f"ask.{name}"):
                key = name
        after = self.term(self.skip(at + 1, "small.of"))
        is_averaged = self.pending not in (None, Aggregate.SUM, Aggregate.DISTINCT)
        if key == "many" and is_averaged and self.is_measure(after):
            return 1  # "average number of nights"
        if key == "many" and counts_beside(self, at):
            self.draft.marks.add("count_too")
            return 1
        if term.has("ask.many") and key == "much":  # "combien" is both
            self.draft.marks.add("many")
        if key == "why":
            self.draft.model.append(("why", term.text))
        self.draft.asks.add(key)
        return 1

    def take_aggregate(self, at: int) -> int:
        term = self.terms[at]
        key = term.key("aggregate")
        if key == "mean" and term.columns and not (
            (before := self.term_before(at)) is END or term.text[:1].isupper()
            or before.has("by", "ask", "small.and", "aggregate")
        ):  # fmt: skip
            self.draft.unknown.append(term.text)  # "le don moyen", where a column is "Moyen"
            return 1
        if key is None or (term.columns and not self._measure_follows(at)):
            return 0
        before, joint = self.term(at - 2), self.term(at - 1)
        last = self.term_before(at) if joint.is_glue else joint
        is_listed = joint.text in COMMAS and before.has("aggregate")  # "mean, median and total"
        joins = last.has("small.and") or self._is_joined(term) or is_listed
        if joins and before.has("aggregate") and before.columns:
            self.draft.unknown.append(before.text)  # the total of it, or the column "Total"?
        if self.pending is not None and joins:
            self.pending_too.append(Aggregate(key))
            return 1
        if self.pending is not None and self.pending is not Aggregate.SUM:
            return 0
        between = self.terms[self.last_measure_at + 1 : at] if self.draft.measures else []
        if any(one.has("small.verb") for one in between):  # "revenue by region, and show the total"
            return 0
        if self.pending is None or key != "sum":
            self.pending = Aggregate(key)
            self.draft.aggregate_word = term.text
            self.adds_aggregate = joins and bool(self.draft.measures)
        return 1

    def _is_joined(self, term: Term) -> bool:
        """Whether an Arabic "and" is joined to a word."""
        words = lexicon(self.language).exact
        is_whole = (fold(term.text),) in words
        return self.language == "ar" and term.text.startswith("و") and not is_whole

    def _measure_follows(self, at: int) -> bool:
        after = self.term(self.skip(at + 1, "small.of"))
        return self.is_measure(after)

    def _late_aggregate(self) -> None:
        """An aggregate behind its column: "the revenue in total"; behind an "and", it is one more:
        "total takings, and the average per sale"."""
        if self.pending is None:
            return
        draft, hows = self.draft, [self.pending, *self.pending_too]
        self.pending, self.pending_too = None, []
        if draft.measures and draft.measures[-1].aggregate is None and not self.adds_aggregate:
            self.pending_too = hows[1:]
            for measure in draft.measures:
                measure.aggregate = measure.aggregate or hows[0]
            self._add_pending(draft.measures[-1])
            return
        known = {one.aggregate for one in draft.measures}
        more = [one for one in hows if one not in known]
        joins = any(
            one.has("small.and", "edit.about") for one in self.terms[self.last_measure_at + 1 :]
        )
        of_groups = draft.groups or draft.grains or draft.mentions or draft.ranking
        if not draft.measures or (more in ([], [Aggregate.SUM]) and not self.adds_aggregate):
            draft.aggregate = draft.aggregate or hows[0]
            draft.unknown += [self.draft.aggregate_word] if hows[1:] else []
        elif joins and len({one.column for one in draft.measures}) == 1 and not of_groups:
            last = draft.measures[-1]
            draft.measures += [MeasureRequest(last.column, how, last.word) for how in more]
        elif more:  # "total takings by month and the average"
            draft.unknown.append(self.draft.aggregate_word)

    def _add_pending(self, measure: MeasureRequest) -> None:
        """The same column once more for each other aggregate that was named with the first."""
        self.draft.measures += [
            MeasureRequest(measure.column, how, measure.word) for how in self.pending_too
        ]
        self.pending_too = []

    def _is_explained_beside(self, at: int) -> bool:
        """Whether the word beside one that may be several columns tells which: "merch money", where
        fees are money too."""
        columns = self.terms[at].columns
        beside = [one.columns for one in (self.term(at - 1), self.term(at + 1))]
        return len(columns) > 1 and any(len(one) == 1 and one[0] in columns for one in beside)

    def take_column(self, at: int) -> int:
        term = self.terms[at]
        if self._is_no_column(at):
            term.columns = ()
            self._ends.clear()
        columns = term.columns
        column = self.column(term)
        if column is None:
            return 0
        if term.has("model") and self.term_before(at, "small.verb").has("option.caption"):
            self.draft.model.append((str(term.key("model")), term.text))
            return 1  # "write a newsletter", where each row is one
        if yes_value(column) and self._is_stated(at):
            self.draft.unknown.append(term.text)
            return 1
        self._note_order(at, column)
        if is_row_noun(self, at, columns):
            if term.has("concept.revenue") and "many" not in self.draft.asks:
                self.draft.marks.add("sales")  # each of them, or what they came to
            self.draft.row_nouns.append(column.name)
            return 1
        if len(term.columns) > 1:
            if self._is_explained_beside(at) or self._is_said_before(term):
                return 1
            self.draft.ambiguous.append((term.text, term.columns))
            return 1
        if column.kind is Kind.DATE:
            if (grain := term.key("grain")) is not None:
                self._grain(grain)
                self.draft.marks.add("per")
            else:
                self.draft.marks.add("time")
        elif self.is_measure(term):
            self._measure(at, column)
        else:
            return self._mention(at, column)
        return 1

    def _is_no_column(self, at: int) -> bool:
        """Whether a column is not meant by its name: "auf englisch", where there are marks in
        English; the "escape rate", which is no rating; "who pays the most", where one is "Paid"."""
        term, before = self.terms[at], self.term(at - 1)
        if self._is_language(at):
            return True
        names_it = any(fold(name) == fold(term.text) for name in term.columns)
        if term.has("derived") and self.is_flag(before):
            if names_it:  # beside a column "rate"
                self.draft.unknown.append(self.text[before.start : term.end])
            return True
        return term.has("carry") and self._ranks and not names_it and self.is_flag(term)

    def _measure(self, at: int, column: Column) -> None:
        """A column of figures, computed as the words before it say."""
        term, before = self.terms[at], self.term(at - 1)
        if before.has("op") and before.has("small.in"):
            self.draft.unknown.append(before.text)  # "where are we over budget"
        how = self.pending or self._shared_aggregate(at)
        if (
            column.formula
            and self.draft.measures
            and self.last_measure_at == at - 1
            and (self.draft.measures[-1].column in column.formula)
        ):  # "stock worth"
            how = how or self.draft.measures.pop().aggregate
        if self._is_valued_at(at, column):
            return
        if how is None and column.name in self.material.takings:
            how = Aggregate.SUM if term.has("concept.revenue") else None
        self.draft.measures.append(MeasureRequest(column.name, how, term.text))
        self._add_pending(self.draft.measures[-1])
        self.measure_places.append(at)
        self.pending = None

    def _is_valued_at(self, at: int, column: Column) -> bool:
        """Whether what stock is worth is asked for at the price of a column: "worth at cost and at
        selling price"."""
        worth = next((one for one in self.draft.measures if f" {Sign.TIMES} " in one.column), None)
        before = at - 1
        while before > 0 and self.terms[before].has("carry"):
            before -= 1
        is_price = concept_of(column.name) in ("price", "cost") and not column.formula
        if worth is None or not (is_price and self.terms[before].has("small.in")):
            return False
        pieces, _, _ = worth.column.partition(f" {Sign.TIMES} ")
        name = formula(self.material.column(pieces), Sign.TIMES, column)
        if name is None:
            return False
        if "valued" in self.draft.marks:
            self.draft.measures.append(MeasureRequest(name, None, worth.word))
        else:
            worth.column = name
            self.draft.marks.add("valued")
        return True

    def _is_stated(self, at: int) -> bool:
        """Whether a clause behind a comma says of somebody what a column says of the rows: "…, they
        were sick" names no groups."""
        start = self.start_of_part(at)
        terms = self.terms[start : at + 1]
        return start > 0 and terms[0].has("statement.statement") and not any(
            one.has("statement.demand", "by", "ask") for one in terms
        )  # fmt: skip

    def _shared_aggregate(self, at: int) -> Aggregate | None:
        """As of the second column of "average of A and B"; a sum is not shared."""
        if not self.draft.measures or not all(
            one.is_glue or one.has("small.and") or one.text in COMMAS
            for one in self.terms[self.last_measure_at + 1 : at]
        ):  # fmt: skip
            return None
        last = self.draft.measures[-1]
        both = [one.aggregate for one in self.draft.measures if one.column == last.column]
        if len(both) > 1 and both[0] is not None:  # "total and average hours and pay"
            self.pending_too = [one for one in both[1:] if one is not None]
            return both[0]
        return None if last.aggregate in (None, Aggregate.SUM) else last.aggregate

    def _is_language(self, at: int) -> bool:
        """Whether the name of a column is a language here: nothing else is named, as in "in X"."""
        before = self.term(at - 1)
        return self.terms[at].has("language") and (
            before.has("small.in", "small.as") and not any(
                self.names(one) or one.has("ask", "aggregate", "extreme", "thing", "by")
                for one in self.terms if one is not self.terms[at]
            )
        )  # fmt: skip

    def _note_order(self, at: int, column: Column) -> None:
        """A column that an order is named for: "sorted by due date"."""
        before = at - 1
        while before > 0 and (
            self.terms[before].is_glue or self.terms[before].has("by")
            or is_row_word(self, before, self.terms[before])
        ):  # fmt: skip
            before -= 1
        if before >= 0 and self.terms[before].has("sort"):
            text = self.text[self.terms[before].start : self.terms[at].end]
            self.draft.sort_by.append((column.name, text))

    def _mention(self, at: int, column: Column) -> int:
        """A column of groups; before a value of its own, or a code, it only names the value."""
        if self.pending is Aggregate.DISTINCT:
            self.draft.asks.add("many")
            self.pending = None
        after = self.term(self.skip(at + 1, "op.equal"))
        if any(name == column.name for name, _ in after.values):
            return 1
        before = self.term(at - 1)
        if any(name == column.name for name, _ in before.values):
            return 1
        if column.kind is Kind.NUMBER and after.number is not None:
            self.draft.filters.append(Filter(column.name, Op.IS, (after.number,)))
            return self.terms.index(after) + 1 - at
        narrows = "only" in self.draft.marks or self.draft.asks & {"many", "which", "list"}
        if not before.has("having"):
            before = self.term(at - 2)
        if narrows and column.missing and not yes_value(column) and (
            before.has("having")
        ):  # fmt: skip
            self.draft.filters.append(Filter(column.name, Op.PRESENT))
            return 1
        yes = yes_value(column)
        is_looked_up = (
            bool(self.draft.asks & {"what", "which"})
            and any(one.values for one in self.terms)
            and self.draft.derivation is None
        )
        joint = self.term(at - 1)
        if yes and joint.has("small.and") and self.last_measure_at == at - 2:
            self.draft.unknown.append(self.terms[at].text)  # "qty and returned by shop"
            return 1
        if yes and not is_looked_up:
            self.draft.filters.append(Filter(column.name, Op.IS, (yes,)))
            self.draft.marks.add("flag")
            return 1
        is_article = not self.terms[at - 1].has("small.purpose")
        if self._is_for(at) and (is_article or self.terms[at].has("audience")):
            self.draft.unknown.append(self.terms[at].text)
            return 1
        if before.has("having") and not self.draft.things:
            return 0  # "donations with gift aid" are not told apart by it
        if len(name_tokens(column.name)) > len(name_tokens(self.terms[at].text)) and (
            self.draft.measures or "many" in self.draft.asks
        ):  # "visits" need not be the column "Visit type"
            return 0
        self.draft.mentions.append(column.name)
        return 1

    def take_grain(self, at: int) -> int:
        term = self.terms[at]
        if not term.has("grain") or self.names(term):
            return 0
        if self.material is not NO_TABLE and self.calendar is None:
            return 0
        after = self.term(self.skip(at + 1, "small.of"))
        if term.has("grain.month") and after.has("month"):
            return 1  # "in the month of March"
        if term.has("grain.year") and self.draft.grains and self._is_of(at) and self._has_one_year:
            return 1  # "the busiest day of the year"
        article, joint = self.term(at - 1), self.term(at - 2)
        if article.is_glue and joint.has("small.in"):
            # "For the year"; "within a day" says how long.
            return int(term.has("grain.year") and self._has_one_year)
        self._grain(str(term.key("grain")))
        self.draft.marks.add("per")
        return 1

    @property
    def _has_one_year(self) -> bool:
        return self.calendar is not None and self.calendar.first.year == self.calendar.last.year

    def _is_of(self, at: int) -> bool:
        """Whether an "of" stands before a word."""
        before = at - 1
        while before > 0 and not self.terms[before].has("small.of") and (
            self.terms[before].is_glue or self.terms[before].has("small.all")
        ):  # fmt: skip
            before -= 1
        return before > 0 and self.terms[before].has("small.of")

    def take_derivation(self, at: int) -> int:
        term = self.terms[at]
        if not term.has("derived") or self.names(term) or (
            term.has("derived.growth") and is_own(self, term)  # the falls of ``falls.csv``
        ):  # fmt: skip
            return 0
        before = self.term(at - 1)
        column = self.column(before) if term.text == "%" else None
        if column is not None and column.unit == "%":
            return 1  # of the column's own name: "attendance %"
        if self.is_measure(before) and term.has("rates"):
            return 0  # the "open rate" is of those who got it
        derivation = Derivation(str(term.key("derived")))
        after = self.term(self.skip(at + 1))
        if term.has("part") and (
            after.has("by") or (after.values and self._names_figure_behind(at))
        ):  # fmt: skip
            self.draft.asks.add("much")
            return 1  # "how much of each material", "how much of the soup was wasted"
        if self.draft.derivation not in (None, derivation):
            return 0
        if derivation is Derivation.SHARE and self._shows_shares(at):
            return 1
        if derivation is Derivation.SHARE and self.draft.derivation is None:
            self.draft.whole_at = len(self.draft.measures)
            self.draft.is_rate = not self._is_of_flag(at)
            self.draft.marks |= {"rate"} if term.has("rates") else set()
            whole = self.term(self.skip(at + 1, "small.of"))
            if whole.values and self._names_figure_behind(at):
                self.draft.marks.add("of_value")
        self.draft.derivation = derivation
        if term.has("part"):
            self.draft.marks.add("part")
        if term.has("fall"):
            self.draft.marks.add("fall")
        return 1

    def _names_figure_behind(self, at: int) -> bool:
        """Whether a column of figures follows that is no whole: "of the soup was wasted", but not
        "of North in revenue"."""
        places = (place for place in range(at + 1, len(self.terms))
                  if self.is_measure(self.terms[place]))  # fmt: skip
        place = next(places, 0)
        before = self.term(place - 1)
        return place > 0 and not before.has("small.in", "small.of")

    def _find_whole(self) -> None:
        """Of two figures behind "what percent" the second is the whole where an "of" stands
        before it: "what percent of tickets were returned", "percent returned of tickets"."""
        draft, (first, second) = self.draft, self.measure_places[-2:]
        joints = self.terms[first + 1 : second]
        if draft.whole_at == 0 and any(one.has("small.of", "small.in") for one in joints):
            draft.whole_at = 1

    def _is_of_flag(self, at: int) -> bool:
        """Whether a share is "of" those that a column says yes of, and so may be that of all of
        them: "the percentage of late jobs by rider", but not "what percent of jobs were late"."""
        of, after = self.term(at + 1), self.term(self.skip(at + 1, "small.of"))
        last = self.terms[at].text.split()[-1]
        ends = "small.of" in lexicon(self.language).meanings_of(last)  # "percentage of"
        is_of = ends or of.has("small.of")
        return is_of and self.is_flag(after)

    def _shows_shares(self, at: int) -> bool:
        """Whether "with percentages" only names what a pie shows anyway."""
        is_beside = self.term_before(at).has("small.in", "small.and", "not.not")
        return is_beside and any(one.has("kind.donut") for one in self.terms)

    def take_several(self, at: int) -> int:
        """As in "draw both", "a chart of the three": so many of the last answers."""
        term = self.terms[at]
        if self.names(term):
            return 0
        value = self.number(term) or float(term.key("them") or 0) or None
        is_last = self.term(self.skip(at + 1, "small.polite")) is END
        after = self.term(at + 1)
        is_all = self.has_images and value == self.file_count
        if is_all and after.has("thing.image"):
            return 1  # "both photos": those that are there
        if not term.has("them") and not (value in _SEVERAL and is_last):
            return 0
        self.draft.several = int(term.key("them") or value or 0)
        self.draft.several_word = term.text
        if term.has("small.it"):
            self.draft.marks.add("it")
        return 1

    def take_word(self, at: int) -> int:
        """Words that stand for themselves: talk, control, edits, rows, what needs a model."""
        term = self.terms[at]
        if self.names(term):
            return 0
        draft = self.draft
        beside = [self.term(at - 1), self.term(self.skip(at + 1))]
        if term.has("formula") and all(one.values for one in beside):
            draft.unknown.append(term.text)  # "income less expenses", of one column
        elif term.has("unable"):
            draft.unknown.append(term.text)
            draft.marks.add("unable")
        elif term.has("model") and self._needs_no_model(at):
            return 0
        elif term.has("ahead") and self._asks_ahead(at):
            draft.model.append(("future", self.text[self.terms[max(0, at - 1)].start : term.end]))
        elif term.has("model") and not (term.has("model.model") and is_of_rows(self, at)):
            if self._names_file(term.text):
                draft.marks.add("source")
            else:
                is_written = any(one.has("option.caption") for one in self.terms[:at])
                draft.model.append(("written" if is_written else str(term.key("model")), term.text))
        elif term.has("rows") or is_own(self, term) or is_article(self, term):
            if stands_beside_figure(self, at):
                draft.marks.add("count_too")
            draft.is_own_name = not term.has("rows") and (draft.is_own_name or not draft.counts)
            draft.counts.append(term.text)
        elif term.has("only.where"):
            if not any(one.values or one.has("op", "not") for one in self.terms[at + 1 : at + 6]):
                return 0  # "where they came from"
            draft.marks.add("only")
        elif term.has("back") and self.term(self.skip(at + 1)).has("kind", "thing", "colour"):
            draft.marks.add("change")  # "back to the bars" undoes nothing else
        elif term.has("only", "versus", "edit", "small.all", "carry", "others"):
            for section in ("only", "versus", "edit", "carry", "others"):
                if (key := term.key(section)) is not None:
                    draft.marks.add(key)
            for name in ("others", "edit.same"):
                if term.has(name):
                    draft.look_words[name.removeprefix("edit.")] = term.text
        elif term.has("by.split"):
            draft.marks.add("split")
        elif term.has("control"):
            if draft.control is None and not (term.has("control.again") and draft.has_query):
                draft.control = term.key("control")
                self.control_at = term.start, term.end
        elif term.has("talk.no") and not at and self.term(1).text in ",，،" and self.terms[_ALONE:]:
            pass  # "no, by month"
        elif term.has("greeting") and self._greets(at):
            draft.talk = draft.talk or (None if len(self.terms) > _ALONE else "hello")
        elif term.has("talk") and not (
            (term.has("small.glue") and at)
            or (term.has("not") and self.term(at + 1).kind != "mark")  # "no e-mail"
        ):  # fmt: skip
            draft.talk = draft.talk or term.key("talk")
        elif term.has("ordinal"):
            if draft.ordinal is not None:  # "the first and the third"
                draft.unknown.append(term.text)
            draft.ordinal = int(term.key("ordinal") or 1)
        else:
            return 0
        if term.has("small.it", "small.all"):
            draft.marks |= {"it"} if term.has("small.it") else {"all"}
        return 1

    def _asks_ahead(self, at: int) -> bool:
        """Whether a question is about what is to come: "what will July bring"."""
        after, before = self.term(at + 1), self.terms[self.start_of_part(at) : at]
        is_asked = any(one.has("ask") for one in before) or not before
        return is_asked and not after.has("asked")

    def _needs_no_model(self, at: int) -> bool:
        """As the "call" of a column "call bell", the minutes of "in minutes", and "I need to send
        this to my boss", which only says what the answer is for."""
        term, key = self.terms[at], lexicon(self.language).key
        is_unit = term.has("unit") and self.term(at - 1).has("small.in")
        before = self.terms[self.start_of_part(at) : at] if term.has("model.send") else ()
        return key(term.text) in self.material.parts or is_unit or any(
            one.has("statement.statement") for one in before
        )  # fmt: skip

    def _is_of_pieces(self, at: int) -> bool:
        """Whether a word for goods stands beside the column that counts them: the portions of
        "portions wasted"."""
        places = (self.skip(at + 1, "small.verb"), at - 1)
        beside = [self.column(self.term(place)) for place in places]
        return any(
            one is not None and one.role is Role.AMOUNT and one.unit is None for one in beside
        )

    def _greets(self, at: int) -> bool:
        """Whether a word like "morning" stands before the request, as a greeting does."""
        after = self.term(at + 1)
        is_first = all(one.is_glue or one.has("talk") for one in self.terms[:at])
        return is_first and after.kind == "mark"

    def take_glue(self, at: int) -> int:
        """Small words that only hold a sentence together."""
        term = self.terms[at]
        if term.has("small.verb") and all(one.is_glue for one in self.terms[:at]):
            self.draft.marks.add("show")
        if term.text.casefold() in PRONOUNS:
            self.draft.look_words["ones"] = term.text  # "list the ones by air"
        before, after = self.term(at - 1), self.term(at + 1)
        if term.has("concept.revenue") and self.is_measure(before):
            return int(before.is_literal)  # "prize money", where a column is "Prize"
        if term.has("small.it"):
            self.draft.marks.add("it")
            if term.has("among") or before.has("small.of"):
                self.draft.marks.add("among")
        if term.has("that.that"):
            self.draft.look_words["that"] = term.text
        if term.has("goods") and self._is_of_pieces(at):
            return 1
        if term.has("wholly"):  # "paid in full" is no list of what was paid
            is_of_result = after.has("thing", "rows")  # "the full table"
            return int(is_of_result or not any(one.has("carry.spent") for one in self.terms))
        if term.has("small.source"):
            if looks.SHEET.search(term.text) and any(
                one.has("small.as") for one in self.terms[max(0, at - 2) : at]
            ):  # "as a csv file"
                return 0
            self.draft.marks.add("source")
        if term.has("having") and all(one.is_glue or one.has("small") for one in self.terms[:at]):
            self.draft.marks.add("with")
        if at == 0 and term.has("small.and") and not term.has("edit"):
            self.draft.marks.add("too")  # "plus Harbour"
        if term.has("small.colour") and not any(one.has("colour") or one.kind == "hex"
                                                for one in self.terms):  # fmt: skip
            return 0  # "colour by town"
        if term.has("period.until") and self.calendar and (
            periods.read(self.terms, self.skip(at + 1), self.calendar)[0]
        ):  # fmt: skip
            return 0  # "until June", of several years
        is_file = term.kind == "file" or (term.kind == "word" and self._names_file(term.text))
        is_value = fold(term.text) in self.material.value_words
        if term.text.casefold() in PRONOUNS and not is_value and (
            self.names(before) or self._names_file(before.text)
            or before.has("edit", "extreme", "thing", "ordinal")
        ):  # fmt: skip
            return 1
        if term.has("axis"):  # "clients down, quarters across"
            return int(any(one.has("option.pivot", "kind.heatmap") for one in self.terms))
        if term.has("small.still"):
            return int(
                bool(before.values or self.term(self.skip(at + 1)).values) or self.has_images
                or any(one.has("not", "op") for one in self.terms)
            )  # fmt: skip
        is_unit = (
            self._is_unit(term) or (term.text == "%" and at > 0)
            or (term.has("unit.money") and before.has("ask.much"))
            or (term.has("number.1") and after.has("thing", "kind"))
        )  # fmt: skip
        return int(is_file or is_unit or term.is_glue or term.has("small"))

    def _names_file(self, word: str) -> bool:
        """Whether a word stands in the name of a file, or four letters begin one: "temp"."""
        key = lexicon(self.language).key(word)
        return key in self.files or (
            len(word) > 3 and any(one.startswith(fold(word)) for one in self.files)
        )

    def _is_unit(self, term: Term) -> bool:
        """Whether a currency is that of a column: in another one nothing is stated."""
        if not term.has("unit.money"):
            return False
        code = _CURRENCIES.get(term.text.casefold()[:3], term.text)
        return any(column.unit == code for column in self.material.table.columns)


_ALONE = 2
"""As many terms a word and a comma are."""

_PRODUCTIONS: tuple[Callable[[_Parser, int], int], ...] = (
    captions.take_title, captions.take_caption, remarks.take_closing, remarks.take_purpose,
    captions.take_place, looks.take_amount, _Parser.take_sorting, exclusions.take_exclusion,
    _Parser.take_period, owing.take_owing, conditions.take_comparison, conditions.take_postfix,
    conditions.take_exact, _Parser.take_which, _Parser.take_ranking, _Parser.take_counted_group,
    _Parser.take_figure_of_two, _Parser.take_value, subjects.take_subjects, _Parser.take_axis,
    _Parser.take_aggregate, _Parser.take_column, _Parser.take_grain, _Parser.take_derivation,
    _Parser.take_asking, looks.take_thing, looks.take_look, _Parser.take_several, rows.take_people,
    exclusions.take_opposite, _Parser.take_word, _Parser.take_glue,
)  # fmt: skip
