"""From terms to a draft: each production takes the terms at a place that it knows, and what no
production takes is unknown."""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec

from agentpost_offline.data.formulas import Sign, formula
from agentpost_offline.data.model import Column, Kind, Role
from agentpost_offline.frame import Aggregate, Derivation, Filter, Grain, Op, Thing
from agentpost_offline.grammar import periods
from agentpost_offline.grammar.draft import ROWS, Comparing, Draft, MeasureRequest, Ranking
from agentpost_offline.grammar.material import Calendar, Material, calendar_of, no_value, yes_value
from agentpost_offline.grammar.tagging import Term
from agentpost_offline.grammar.text import fold, is_inflection, name_tokens
from agentpost_offline.grammar.vocabulary import concept_of, lexicon, things_called

_QUOTED: Final = re.compile(
    r"\s*[:：]?\s*(?:[\"“„«「『]([^\"”“»」』]{1,160})[\"”“»」』]|'([^'\n]{1,160})'(?!\w))"
)
_BARE: Final = re.compile(r"\s*(?:[:：]|to\b|as\b|auf\b|a\b|en\b|为|成)?\s*([^\"\n]{1,120})")
_PALETTE: Final = ("crop", "square", "resize", "convert", "collage", "rotate", "grayscale")
_OPS: Final = (Op.AT_LEAST, Op.AT_MOST, Op.ABOVE, Op.BELOW)
_CURRENCIES: Final = {"eur": "€", "dol": "$", "usd": "$", "dól": "$", "pou": "£", "欧元": "€"}
_SHEET: Final = re.compile("excel|إكسل|اكسل|xls|csv|sheet", re.IGNORECASE)
_FIGURES: Final = tuple(
    f"concept.{one}"
    for one in ("revenue", "cost", "profit", "margin", "amount", "budget", "salary", "price",
                "quantity", "age", "hours", "rating", "grade", "temperature", "population", "stock")
)  # fmt: skip
"""Words for figures: where a table is called so, its rows are not meant."""
_DAYS_MAX: Final = 366
"""Of a column that is named: with more days, a result is by weeks, months or years."""
_SIGNS: Final = {
    "-": Sign.MINUS, "–": Sign.MINUS, "−": Sign.MINUS, "*": Sign.TIMES, "×": Sign.TIMES,
    "÷": Sign.OVER, "+": Sign.PLUS,
}  # fmt: skip
"""A slash is none: of "takings/costs" both are meant."""
_SEVERAL: Final = (2, 3, 4, 5, 6)
_COUNTERS: Final = ("分", "岁", "天", "次", "个", "件", "人")
"""What stands between a Chinese number and what is said of it: "60分以下"."""
_ONE: Final = ("one", "ones")
"""What stands for a noun: "the spring one", "a shorter one"."""
_RATES: Final = ("rate", "率", "比率")
"""What may be a share of all, or of another figure."""
_ROWS: Final = ("people", "rows")
"""The kinds of nouns that a table's rows are called by."""
_PURPOSE: Final = 6
"""So many terms a purpose has at most: "for the annual meeting of the parents"."""
_STARTS: Final = 4
"""Among so many terms of a remark one is a subject or a verb: "the housekeeper has to …"."""
_OF_REMARKS: Final = ("small", "concept", "idle", "statement", "greeting", "audience", "having",
                      "there", "carry", "talk", "them")  # fmt: skip
"""What the words of a remark may mean otherwise."""
_BEFORE: Final = 4
"""How many terms before a condition its column may stand."""


def parse(
    text: str, phrases: Sequence[Term], material: Material | None, today: str, language: str,
    files: Sequence[str] = (), *, has_images: bool = False,
) -> Draft:  # fmt: skip
    """Read the terms of one clause; ``text`` is the whole message, in which they have places, and
    ``files`` the names of the files that it may be about, ``has_images`` whether pictures are
    among them."""
    return _Parser(text, list(phrases), material, today, language, files, has_images).draft


class _Parser:
    def __init__(
        self, text: str, phrases: list[Term], material: Material | None, today: str, language: str,
        files: Sequence[str], has_images: bool,
    ) -> None:  # fmt: skip
        self.has_images, self.file_count = has_images, len(files)
        key = lexicon(language).key
        self.files = {
            key(word) for name in files for word in name_tokens(name.rpartition(".")[0])
            if len(word) > 1  # a Han character is no word
        }  # fmt: skip
        self.text, self.phrases, self.material, self.language = text, phrases, material, language
        clause = text[phrases[0].start : phrases[-1].end] if phrases else ""
        self.draft = Draft(clause)
        self.calendar = self._calendar(today)
        self.pending: Aggregate | None = None
        self.pending_too: list[Aggregate] = []
        """More of them for the same column: "total and average"."""
        self._ends: dict[tuple[str, ...], dict[int, int]] = {}
        """Where places lead that are skipped, by what is skipped besides glue; see `_skip`."""
        self.unknown: list[tuple[int, int]] = []
        self.person_spans: list[tuple[int, int]] = []
        """Words for people where no column has any."""
        self.control_at = 0, 0
        self.lacking_at: set[int] = set()
        self.last_measure_at = -9
        if any(term.has("needs.table") for term in phrases):
            self.draft.marks.add("table")
        self._drop_other_names()
        self.repeated = self._repetitions()
        at = 0
        while at < len(phrases):
            at += self._take(at)
        self._late_aggregate()
        for at, one in enumerate(phrases[:-2]):
            if one.has("small.in") and phrases[at + 1].has("small.and", "small.or") and (
                phrases[at + 2].has("not.not")
            ):  # fmt: skip
                self.draft.unknown.append(text[one.start : phrases[at + 2].end])  # both of them
        if self.draft.control is not None and not self.draft.steers:  # "annulées par mois"
            self.draft.control = None
            self.unknown = sorted([*self.unknown, self.control_at])
        if not self.draft.measures or self.draft.asks & {"many", "who"}:
            self.unknown = sorted([*self.unknown, *self.person_spans])
        self._set_remarks_apart()
        self.draft.states = _is_remark(phrases)
        self.draft.unknown += self._unknown_words()

    def _drop_other_names(self) -> None:
        """Leave other names of columns only where a column is asked for: "total cost of our club"
        is not by club."""
        for at, term in enumerate(self.phrases):
            if (
                term.has("kind")
                and term.values
                and any(one.has("thing.chart") for one in self.phrases[max(0, at - 2) : at])
            ):  # "gráfico de barras", where bread is called so
                term.values = ()
            if term.is_other_name and (self._is_own(term) or not self._is_asked_for(at)):
                term.columns, term.typo_of = (), ""
            elif term.has("concept.person", "concept.customer") and self._is_each_row(term):
                term.columns = ()

    def _is_each_row(self, term: Term) -> bool:
        """Whether a word for people is what the table is called, and no column's name: in
        ``members.xlsx`` the section with the most members is that with the most rows."""
        key = lexicon(self.language).key
        words = {key(word) for name in term.columns for word in name_tokens(name)}
        return bool(term.columns) and key(term.text) not in words and self._is_own(term)

    def _is_asked_for(self, at: int) -> bool:
        """Whether a column has to follow the word before: "by", "total", "most", "which"; a figure
        may also follow a verb or what is made, or come first."""
        is_figure = bool(things_called(self.phrases[at].text, "figures"))
        after = self._at(at + 1)
        before = at - 1
        while before >= 0 and self.phrases[before].is_glue:
            before -= 1
        if before < 0:
            return is_figure and not (after is not None and after.text in ":：")
        sections = ["by", "aggregate", "extreme", "ask", "small.and", "versus", "op", "only.where"]
        sections += ["small.verb", "thing", "kind"] if is_figure else []
        return self.phrases[before].has(*sections)

    def _set_remarks_apart(self) -> None:
        """Take the words of remarks out of the unknown ones: "…, they get a cake". Nothing else may
        be in them, and a request has to stand beside them."""
        start = 0
        for end in range(len(self.phrases) + 1):
            term = self._at(end)
            if term is not None and not (term.kind == "mark" and term.text in ",;:()–，；：،؛"):
                continue
            terms = self.phrases[start:end]
            start = end + 1
            if not (self.draft.has_query and _is_remark(terms)):
                continue
            first, last = terms[0].start, terms[-1].end
            inside = [one for one in self.unknown if first <= one[0] < last]
            if inside:
                self.draft.remarks.append(self.text[first:last])
                self.unknown = [one for one in self.unknown if one not in inside]

    def _unknown_words(self) -> list[str]:
        """The words that no production took; those that stand side by side as one."""
        spans: list[tuple[int, int]] = []
        for start, end in self.unknown:
            if spans and not re.search(r"[^\s_-]", self.text[spans[-1][1] : start]):
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        starts = {self.phrases[at].start for at in self.lacking_at}
        self.draft.lacking = [self.text[a:b] for a, b in spans if a in starts]
        return [self.text[start:end] for start, end in spans]

    def _calendar(self, today: str) -> Calendar | None:
        """The calendar of the column of dates that is named, else of the only one."""
        if self.material is None or not self.material.date_columns:
            return None
        time_columns = [
            column for column in self.material.date_columns
            if any(column.name in term.columns for term in self.phrases)
        ]  # fmt: skip
        if time_columns:
            self.draft.time = time_columns[0].name
        self.draft.several_times = len(time_columns) > 1
        return calendar_of((time_columns or self.material.date_columns)[0], today)

    def _repetitions(self) -> set[int]:
        """The places of what goes on with a column's name: "against varroa" of "treated against
        varroa", where the column is "Treated varroa"."""
        places: set[int] = set()
        last = -1
        for at, term in enumerate(self.phrases):
            if term.is_literal or term.values or not term.columns:
                continue
            between = self.phrases[last + 1 : at]
            if last >= 0 and self.phrases[last].columns == term.columns and all(
                one.is_glue or one.has("small", "versus") for one in between
            ) and term.text != self.phrases[last].text:  # fmt: skip
                places |= set(range(last + 1, at + 1))
            last = at
        return places

    def _take(self, at: int) -> int:
        if at in self.repeated:
            return 1
        term = self.phrases[at]
        for production in _PRODUCTIONS:
            size = production(self, at)
            if size:
                for one in self.phrases[at : at + size]:
                    if one.typo_of and production not in (_Parser.title, _Parser.caption):
                        self.draft.typos.append((one.text, one.typo_of))
                return size
        after = self._skip(at + 1)
        before = self._at(at - 1)
        if term.has("by") and self._is_unknown(after):
            self.lacking_at.add(after)
        elif self._is_explained(at):
            pass
        elif term.has("concept.person", "concept.customer", "concept.grade", "idle") and not (
            before and before.has("by")
        ):
            self.person_spans.append((term.start, term.end))
        elif term.kind != "mark" or term.text in "%":
            self.unknown.append((term.start, term.end))
        return 1

    def _is_explained(self, at: int) -> bool:
        """Whether a name of the table stands in brackets behind a word: "tienda (Store)"."""
        opens, name, closes = (self._at(at + one) for one in (1, 2, 3))
        return bool(
            opens and name and closes and opens.text == "(" and self._names(name)
            and closes.text == ")"
        )  # fmt: skip

    def _is_unknown(self, at: int) -> bool:
        term = self._at(at)
        if term is None or self._names(term) or term.is_glue:
            return False
        return all(one.startswith(("concept.", "carry.")) for one in term.meanings)

    def _at(self, at: int) -> Term | None:
        return self.phrases[at] if 0 <= at < len(self.phrases) else None

    def _skip(self, at: int, *more: str) -> int:
        """The next place that is no glue, nor one of the meanings. It is remembered: each of 20,000
        dots would walk over all that follow it."""
        ends = self._ends.setdefault(more, {})
        first = at
        while at not in ends and (term := self._at(at)) is not None and not self._names(term):
            if not (term.is_glue or (more and term.has(*more))) or term.has("small.and"):
                break
            at += 1
        end = ends.get(at, at)
        ends.update(dict.fromkeys(range(first, at), end))
        return end

    def _names(self, term: Term) -> bool:
        return bool(term.columns or term.values)

    def _column(self, term: Term) -> Column | None:
        """The one column that a term names; several are ambiguous unless one is named whole."""
        if not term.columns or self.material is None:
            return None
        term.columns = self.material.narrow(term.columns)
        return self.material.column(term.columns[0])

    def _set(self, slot: str, value: Any, text: str) -> None:
        """Fill a part of the look; a second value for it is not understood."""
        if getattr(self.draft.style, slot) not in (None, value):
            self.draft.unknown.append(text)
            return
        self.draft.style = msgspec.structs.replace(self.draft.style, **{slot: value})

    # Productions: each returns how many terms it took.

    def title(self, at: int) -> int:
        term = self.phrases[at]
        if not term.has("title.title") or term.columns:
            return 0
        quoted = _QUOTED.match(self.text, term.end)
        match = quoted or _BARE.match(self.text[: self.phrases[-1].end], term.end)
        if match is None or not match[match.lastindex or 1].strip(" .!。"):
            return 0
        end = match.end()
        if not quoted:
            end = next(
                (
                    one.start
                    for place, one in enumerate(self.phrases[at:], at)
                    if self._goes_on(place)
                ),
                self.phrases[-1].end,
            )
            for one in reversed(self.phrases[at + 2 :]):
                if one.end == end and one.has("small.polite"):
                    end = one.start
                    end -= len(self.text[:end]) - len(self.text[:end].rstrip())
            match = _BARE.match(self.text[:end], term.end) or match
        title = match[match.lastindex or 1].strip(" .!。,")
        self.draft.style = msgspec.structs.replace(self.draft.style, title=title)
        return sum(term.start <= one.start < end for one in self.phrases)

    def _goes_on(self, at: int) -> bool:
        """Whether an "and" at a place begins a demand of its own: "… and make it green"."""
        after = self._at(at + 1)
        term = self.phrases[at]
        joins = term.has("small.and", "edit.about") or term.text in ",;，；"
        if not joins or after is None:
            return False
        if after.has("small.in", "small.as") and (look := self._at(at + 2)) is not None:
            return look.kind == "hex" or look.has("colour", "format")  # "… and in orange"
        return after.has("small.verb", "edit", "format", "colour")

    def caption(self, at: int) -> int:
        """The words to stand on a picture: "write “Hello” on it", "put “Hello” at the bottom"."""
        term = self.phrases[at]
        if not (term.has("option.caption") or (term.has("small.verb") and self.has_images)):
            return 0
        quoted = _QUOTED.match(self.text, term.end)
        if quoted is None:
            end = at + 1
            while end < len(self.phrases) and not self._goes_on(end):
                end += 1
            is_placed = self.material is None and any(
                one.has("place") for one in self.phrases[at + 2 : end]
            )  # "put Summer fete at the bottom"
            is_caption = self.has_images and (term.has("option.caption") or is_placed)
            return self._bare_caption(at) if is_caption else 0
        self.draft.options["text"] = str(quoted[quoted.lastindex or 1]).strip()
        return sum(self.phrases[at].start <= one.start < quoted.end() for one in self.phrases)

    def _bare_caption(self, at: int) -> int:
        """As in "write Hello on it": the words up to where on the picture they stand, or to the
        next demand."""
        first = end = at + 1
        while (one := self._at(end)) is not None and not self._goes_on(end):
            is_place = any(
                after is not None and after.has("small.it", "thing.image", "place", "option")
                for after in (self._at(end + 1), self._at(self._skip(end + 1)))
            )
            if one.has("place") or (one.has("small.in") and is_place):
                break
            end += 1
        if first == end:
            return 0
        last = end
        while last > first + 1 and self.phrases[last - 1].has(
            "small.it", "small.in", "small.polite"
        ):
            last -= 1
        text = self.text[self.phrases[first].start : self.phrases[last - 1].end].strip(
            " .。,，':："
        )
        ending = self.phrases[last - 1]
        if ending.has("small") and not (
            ending.typo_of or ending.text.isupper()
        ):  # of the words or not: "write Be there now"
            self.draft.unknown.append(self.phrases[last - 1].text)
        self.draft.options["text"] = text
        return end - at

    def purpose(self, at: int) -> int:
        """As in "for the area manager": for whom a result is, which changes nothing about it."""
        if not self.phrases[at].has("small.purpose"):
            return 0
        end, others = at + 1, list[Term]()
        while (one := self._at(end)) is not None and end - at <= _PURPOSE:
            if one.has("audience") and not self._names(one):
                break
            if self._names(one) or not (one.is_glue or _is_without_sense(one)):
                return 0
            others += [] if one.is_glue or one.meanings else [one]
            end += 1
        else:
            return 0
        while (one := self._at(end)) is not None and not self._names(one) and (
            one.has("audience", "weekday") or self._is_of_weekday(end)
        ):  # fmt: skip
            end += 1
        if (one is not None and self._names(one)) or not self._is_audience(others, at, end):
            return 0
        if others:  # "the area manager"
            self.draft.remarks.append(self.text[self.phrases[at].start : self.phrases[end - 1].end])
        return end - at

    def _is_of_weekday(self, at: int) -> bool:
        """As the "on" of "the meeting on Thursday"."""
        day = self._at(at + 1)
        return self.phrases[at].has("small.in") and day is not None and day.has("weekday")

    def _is_audience(self, others: Sequence[Term], at: int, end: int) -> bool:
        """Whether nothing of a purpose may narrow a result: no name or number, as in "the Bristol
        office", and no word of a value, as in "the party" where there is a party box."""
        if any(one.kind != "word" for one in others) or (
            self.language != "de" and any(one.text[:1].isupper() for one in others)
        ):  # fmt: skip
            return False
        words = self.material.value_words if self.material is not None else ()
        key = lexicon(self.language).key
        return not any(
            all(fold(word) in words or key(word) in words for word in name_tokens(one.text))
            for one in self.phrases[at:end] if one.has("audience")
        )  # fmt: skip

    def place(self, at: int) -> int:
        """Where a caption stands: "at the bottom", as it does unasked, or "at the top"."""
        term = self.phrases[at]
        if not (self.has_images and term.has("place")):
            return 0
        if not (self._quotes or any(one.has("option.caption") for one in self.phrases)):
            return 0
        if term.has("place.top"):
            self.draft.options["top"] = True
        return 1

    @property
    def _quotes(self) -> bool:
        """Whether a text in quotes is to stand on a picture."""
        return "text" in self.draft.options

    def amount(self, at: int) -> int:
        """As in "6 slides", "max 4 pages", "20 seconds", "800 pixels wide", "90°"."""
        start = at
        if self.phrases[at].has("op.at_most", "op.equal"):
            at = self._skip(at + 1)
        term = self._at(at)
        value = self._number(term)
        if term is not None and term.has("unit.wide", "unit.high") and not self._names(term):
            return self._side(at, start)
        is_deck = term is not None and term.has("unit.slides") and not self._names(term)
        if term is not None and at == start and is_deck and not self._is_asked_about(at):
            if Thing.DECK not in self.draft.things:
                self.draft.things.append(Thing.DECK)
            if term.text.casefold() == "slide":
                self._set("pages", 1, term.text)
            return 1
        if term is None or value is None or self._names(term):
            return 0
        end = at + 1
        while (one := self._at(end)) is not None and one.text in "-":
            end += 1
        unit = one.key("unit") if one is not None else None
        after = self._at(end + 1)
        if value == 1 and unit in ("slides", "pages") and after is not None and after.has("by.per"):
            self.draft.unknown.append(self.text[term.start : after.end])  # "one slide per server"
            self.draft.marks.add("unable")
            return end + 2 - start
        if one is not None and one.text == "%" and self.has_images:
            self.draft.options["percent"] = value
            return end + 1 - start
        if one is not None and (
            one.has("unit.slides") or (one.has("thing.deck") and term.number is not None)
        ):
            unit = "slides"
        if unit in ("money", None) or (one is not None and one.columns):
            return 0
        sides = [self._at(end + 1), self._at(end + 2)]
        has_side = any(one is not None and one.has("unit.wide", "unit.high") for one in sides)
        if unit != "pixels" or not has_side:
            self._measure_out("wide" if unit == "pixels" else str(unit), value)
        end += 1
        if (one := self._at(end)) is not None and one.has("unit.long"):
            end += 1
        if (
            (one := self._at(end)) is not None
            and one.has("op.at_most")
            and (self._number(self._at(self._skip(end + 1))) is None)
        ):  # "15 seconds max"
            end += 1
        while (one := self._at(end)) is not None and one.has("unit.wide", "unit.high"):
            self._measure_out(str(one.key("unit")), value)
            end += 1
        return end - start

    def _side(self, at: int, start: int) -> int:
        """As in "width 500 px"."""
        place = self._skip(at + 1, "small.to", "op.equal", "small.in")
        value = self._number(self._at(place))
        after = self._at(place + 1)
        if value is None or (after is not None and after.has("unit.slides", "unit.pages")):
            return 0
        self._measure_out("wide" if self.phrases[at].has("unit.wide") else "high", value)
        return place + 1 + bool(after is not None and after.has("unit.pixels")) - start

    def _measure_out(self, unit: str, value: float) -> None:
        options = self.draft.options
        if unit in ("slides", "pages"):
            self._set("pages", int(value), f"{value:g}")
            if unit == "slides" and Thing.DECK not in self.draft.things:
                self.draft.things.append(Thing.DECK)
        elif unit in ("seconds", "minutes"):
            seconds = value * (60 if unit == "minutes" else 1)
            self._set("seconds", seconds, f"{value:g}")
        elif unit == "degrees":
            options["rotate"] = int(value)
        else:
            options[unit] = int(value)

    def _number(self, term: Term | None) -> float | None:
        if term is None:
            return None
        if term.number is not None:
            return term.number
        key = term.key("number")
        return float(key) if key else None

    def period(self, at: int) -> int:
        if self.phrases[at].values and self.phrases[at].kind != "number":
            return 0
        calendar = self.calendar
        if calendar is None:
            return self._dateless(at)
        period, size = periods.read(self.phrases, at, calendar)
        if period is None:
            return 0
        end = self.phrases[at + size - 1].end
        if self.text[end : end + 1] == "-" and at + size < len(self.phrases):  # "Jan-Mar"
            last, more = periods.read(self.phrases, at + size, calendar)
            if last is not None and (both := periods.span(period, last, calendar)) is not None:
                period, size = both, size + more
        period.text = self.text[self.phrases[at].start : self.phrases[at + size - 1].end]
        self.draft.periods.append(period)
        return size

    def _dateless(self, at: int) -> int:
        """A period where the table has no dates: months may be values of its columns."""
        term = self.phrases[at]
        if self.material is None or self._names(term):
            return 0
        is_month = term.has("month", "weekday") or re.fullmatch(
            "quarter[1-4]|half[12]", term.key("period") or ""
        )
        is_year = term.kind == "number" and re.fullmatch("(19|20)[0-9][0-9]", term.text)
        if not (is_month or is_year or term.kind == "date"):
            return 0
        self.draft.is_dateless = term.text
        return 1

    def exclusion(self, at: int) -> int:
        """As in "without North and South", "except 2024", "without a value in city"."""
        term = self.phrases[at]
        if term.has("leave.open") and (size := self._leaves_out(at)):
            return size
        if not term.has("not.not", "not.missing") or self._names(term):
            return 0
        after = self._at(at + 1)
        if term.has("not.after") and (after is None or after.kind == "mark"):
            return self._exclude_before(at)  # "cancelled ones dont count, total by month"
        end = self._skip(at + 1, "small.in", "small.of", "small.still")
        if term.has("not.missing"):
            near = self._at(end) or self._at(at)
            column = self._column(near) if near is not None else None
            if column is None:
                return 0
            self.draft.filters.append(Filter(column.name, Op.MISSING))
            return end + 1 - at
        start = end
        if size := self._denied_thing(at, start):
            return size
        lacking = self._at(at + 1) if self.language == "zh" else self._at(end)
        if lacking is not None and (flag := self._flag_with(lacking.text)) is not None:
            self.draft.filters.append(self._answers_no(flag))
            return 2
        lacking, after = self._at(end), self._at(self._skip(end + 1))
        if lacking is not None and lacking.columns and not lacking.values and not (
            after is not None and after.values
        ):  # fmt: skip
            column = self._column(lacking)
            if column is not None and no_value(column):
                if after is not None and after.values:
                    return 0
                self.draft.filters.append(self._answers_no(column))
                self.draft.marks.add("flag")
                return end + 1 - at
            if column is not None and column.missing:
                self.draft.filters.append(Filter(column.name, Op.MISSING))
                self.draft.marks.add("lacking")
                return end + 1 - at
            if column is not None:
                self.draft.unwanted.append(column.name)
                return end + 1 - at
        while (one := self._at(end)) is not None:
            if one.values and one.kind != "number":
                self._value(one, Op.IS_NOT)
                end += 1
            elif self.calendar is not None and (
                periods.read(self.phrases, end, self.calendar)[0] is not None
            ):
                period, size = periods.read(self.phrases, end, self.calendar)
                assert period is not None
                self.draft.exclusions.append(period)
                end += size
            elif (end > start and self._joins(end)) or (
                one.columns and (after := self._at(end + 1)) is not None and after.values
                and not self._is_flag(one)
            ):  # fmt: skip
                end += 1
            else:
                break
        if end == start and term.has("not.after"):
            return self._exclude_before(at)
        return end - at if end > start else 0

    def _leaves_out(self, at: int) -> int:
        """As in "leave the cafe out": how many terms."""
        for end in range(at + 2, min(at + 2 + _PURPOSE, len(self.phrases))):
            if self.phrases[end].has("leave.close") and not self._names(self.phrases[end]):
                inside = self.phrases[at + 1 : end]
                values = [one for one in inside if one.values and one.kind != "number"]
                if not values or any(
                    not (one.values or one.is_glue or one.has("small", "rows")) for one in inside
                ):  # fmt: skip
                    return 0
                for one in values:
                    self._value(one, Op.IS_NOT)
                return end + 1 - at
        return 0

    def _exclude_before(self, at: int) -> int:
        """Leave out what stands before, as in "…, cancelled ones dont count"."""
        start = at
        while start and self.phrases[start - 1].kind != "mark":
            start -= 1
        draft, terms = self.draft, self.phrases[start:at]
        pairs = [pair for term in terms for pair in term.values if pair in draft.values]
        flags = [one for term in terms if (one := self._column(term)) and yes_value(one)
                 and Filter(one.name, Op.IS, (yes_value(one),)) in draft.filters]  # fmt: skip
        if not (pairs or flags):
            return 0
        draft.values = [pair for pair in draft.values if pair not in pairs]
        for column in dict.fromkeys(column for column, _ in pairs):
            values = tuple(value for name, value in pairs if name == column)
            draft.filters.append(Filter(column, Op.IS_NOT, values))
        for one in flags:
            draft.filters.remove(Filter(one.name, Op.IS, (yes_value(one),)))
            draft.filters.append(self._answers_no(one))
        grains = {Grain(key) for one in terms if (key := one.key("grain"))}  # "sick days"
        draft.grains = [one for one in draft.grains if one not in grains]
        names = {name for term in terms for name in term.columns}
        for noun in names & {*draft.row_nouns, *draft.mentions}:
            draft.row_nouns = [one for one in draft.row_nouns if one != noun]
            draft.mentions = [one for one in draft.mentions if one != noun]
        return 1

    def _flag_with(self, character: str) -> Column | None:
        """The only column of yes and no whose name has a Han character: "没取" of "是否取件"."""
        if self.language != "zh" or self.material is None or len(character) > 1:
            return None
        flags = [one for one in self.material.table.columns
                 if character in one.name and yes_value(one)]  # fmt: skip
        return flags[0] if len(flags) == 1 else None

    @staticmethod
    def _answers_no(column: Column) -> Filter:
        """The rows that a column of yes and no denies: without an answer nothing is refunded."""
        if column.missing:
            return Filter(column.name, Op.IS_NOT, (yes_value(column),))
        return Filter(column.name, Op.IS, (no_value(column),))

    def _is_flag(self, term: Term) -> bool:
        """Whether a term names a column of yes and no: "except refunded tea" leaves out only some
        tea, which is not understood."""
        column = self._column(term)
        return column is not None and bool(yes_value(column))

    def _denied_thing(self, at: int, start: int) -> int:
        """As in "a table instead of a picture", and "without the total line": how many terms."""
        term = self._at(start)
        if term is None or self._names(term):
            return 0
        if term.has("thing", "kind"):
            others = [*self.phrases[:at], *self.phrases[start + 1 :]]
            parts = ("kind", "thing.chart", "thing.table", "thing.image")  # of a report or a deck
            same = parts if term.has(*parts) else ("thing", "kind")
            return start + 1 - at if any(one.has(*same) for one in others) else 0
        places = [one for one in (start, start + 1)
                  if (word := self._at(one)) is not None and word.has("aggregate.sum")]  # fmt: skip
        beside = self._at(start + (start in places))
        if not places or (beside is not None and beside.has("by", "unit", "ask")):
            return 0
        self.draft.options["no_total"] = True
        is_line = beside is not None and not self._names(beside) and beside.has("rows", "kind.line")
        return max(places) + 1 + (is_line and start in places) - at

    def _joins(self, at: int) -> bool:
        """Whether an "and" or a comma stands before one more value or period."""
        term = self.phrases[at]
        after = self._at(self._skip(at + 1))
        joins = term.has("small.and", "small.or") or term.text in ",、，،"
        return joins and after is not None and bool(after.values or after.has("month", "weekday"))

    def comparison(self, at: int) -> int:
        """As in "above 100", "at least 5 units", "between 10 and 20", "over 2k €"."""
        term = self.phrases[at]
        op = next((one for one in _OPS if term.has(f"op.{one}")), None)
        if term.has("op.equal"):
            op = Op.IS
        between = term.has("period.between")
        if op is None and not between:
            return 0
        end = self._skip(at + 1)
        value, end = self._figure(end)
        if value is None:
            return self._compare_columns(at, end, op)
        values = [value]
        if between:
            joint = self._at(end)
            if joint is None or not joint.has("small.and", "small.to"):
                return 0
            second, end = self._figure(self._skip(end + 1))
            if second is None:
                return 0
            values.append(second)
            op = Op.BETWEEN
        assert op is not None
        if op is Op.ABOVE and self._spans_time(at, end, value):
            return end + 1 - at
        self._compare(at, end, op, tuple(values))
        after = self._at(end)
        if after is not None and self._is_row_word(end, after):
            self.draft.comparing[-1].column = ROWS
            return end + 1 - at
        has_money = any(one.has("unit.money") for one in self.phrases[at:end])
        self.draft.comparing[-1].has_unit = self.draft.comparing[-1].has_money = has_money
        name = self.draft.comparing[-1].column
        is_unit = after is not None and after.has("unit", "grain") and name is not None and (
            self.material is not None and self.material.column(name).unit is not None
        )  # fmt: skip
        measured = self._measured_in(after) if after is not None else []
        if is_unit or measured:
            self.draft.comparing[-1].has_unit = True
            if name is None and len(measured) == 1:
                self.draft.comparing[-1].column = measured[0]
            return end + 1 - at
        names_column = after is not None and after.columns and not after.values
        if self.draft.comparing[-1].column is None and after is not None and names_column:
            column = self._column(after)
            if column is not None and column.kind is Kind.NUMBER:
                self.draft.comparing[-1].column = column.name
                end += 1
        return end - at

    def _compare_columns(self, at: int, place: int, op: Op | None) -> int:
        """As in "stock below reorder level", of the two figures of each row."""
        is_beside = self._skip(self.last_measure_at + 1, "small.verb") == at
        name = self._formula(self._at(self.last_measure_at), Sign.MINUS, self._at(place))
        if op is None or name is None or not (self.draft.measures and is_beside):
            return 0
        self.draft.measures.pop()
        self.draft.filters.append(Filter(name, op, (0.0,)))
        return place + 1 - at

    def _spans_time(self, at: int, end: int, value: float) -> bool:
        """Whether "over the two years" says how long, and compares nothing: all of the table, or
        what is not understood."""
        grain = self._at(end)
        if grain is None or not grain.has("grain") or self._skip(at + 1) == at + 1:
            return False
        calendar = self.calendar
        years = calendar.last.year - calendar.first.year + 1 if calendar is not None else 0
        if not (grain.has("grain.year") and value == years):
            self.draft.unknown.append(self.text[self.phrases[at].start : grain.end])
        return True

    def _is_row_word(self, at: int, term: Term) -> bool:
        """As the orders of "more than 5 orders", by which each group's rows are counted."""
        if term.columns:
            return not term.values and self._column(term) is not None and (
                self._is_row_noun(at, term.columns)
            )  # fmt: skip
        return not self._names(term) and (term.has("rows") or self._is_own(term))

    def _measured_in(self, term: Term) -> list[str]:
        """The columns that a unit belongs to, as the days of "over 100 days" to "Waiting time
        days"."""
        if self.material is None or term.kind != "word" or term.values:
            return []
        key = lexicon(self.language).key
        return [
            one.name for one in self.material.numbers
            if key(term.text) in map(key, name_tokens(one.name)[1:])
        ]  # fmt: skip

    def _figure(self, at: int) -> tuple[float | None, int]:
        """A number with its scale and currency, and the place behind it."""
        if (term := self._at(at)) is not None and term.has("unit.money"):
            at += 1
        value = self._number(self._at(at))
        if value is None:
            return None, at
        at += 1
        if (term := self._at(at)) is not None and term.has("scale"):
            value *= float(term.key("scale") or 1)
            at += 1
        if (term := self._at(at)) is not None and (
            term.has("unit.money") or term.text == "%" or term.text in _COUNTERS
        ):  # fmt: skip
            at += 1
        return value, at

    def _compare(self, at: int, end: int, op: Op, values: tuple[float, ...]) -> None:
        text = self.text[self.phrases[at].start : self.phrases[end - 1].end]
        result = Comparing(op, values, text=text)
        if self.draft.measures and at - self.last_measure_at <= _BEFORE and all(
            term.is_glue or term.has("small", "only") or term.text == "%"
            for term in self.phrases[self.last_measure_at + 1 : at]
        ):  # fmt: skip
            result.column = self.draft.measures[-1].column
            result.measure_at = len(self.draft.measures) - 1
        self.draft.comparing.append(result)

    def postfix(self, at: int) -> int:
        """As in "100 or more"."""
        value, end = self._figure(at)
        term = self._at(end)
        if value is None or term is None:
            return 0
        ops = _OPS if self.language == "zh" else _OPS[:2]  # "60以下"
        op = next((one for one in ops if term.has(f"op.{one}")), None)
        if op is None or self._number(self._at(self._skip(end + 1))) is not None:
            return 0
        self._compare(at, end + 1, op, (value,))
        return end + 1 - at

    def figure_of_two(self, at: int) -> int:
        """As in "takings minus costs" and "stock × price"."""
        first = self.phrases[at]
        if len(first.columns) != 1 or first.values:  # each of 20,000 dots would look for its sign
            return self._unread_sign(at)
        sign_at = at + 1
        while (sign := self._sign(self._at(sign_at))) is None and self._skip(sign_at) > sign_at:
            sign_at += 1
        is_each = self.pending not in (None, Aggregate.SUM)  # "average takings minus total costs"
        place = self._skip(sign_at + 1, *(() if is_each else ("aggregate.sum",)))
        name = self._formula(first, sign, self._at(place)) if sign is not None else None
        if name is None:
            return self._unread_sign(at)
        how = None if sign is Sign.OVER and self.pending is Aggregate.SUM else self.pending
        text = self.text[self.phrases[at].start : self.phrases[place].end]
        self.draft.measures.append(MeasureRequest(name, how, text))
        self.last_measure_at, self.pending = place, None
        self._unread_sign(place, "+/")  # "takings - costs - hours"
        return place + 1 - at

    def _unread_sign(self, at: int, more: str = "") -> int:
        """A mark between two figures that make none, as in "price × discount" and "takings-costs",
        which may be both of them: it is not understood."""
        others = [
            one for one in map(self._at, range(at + 1, at + 4)) if one and self._is_measure(one)
        ]
        if others and self._is_measure(self.phrases[at]):
            joint = self.text[self.phrases[at].end : others[0].start].strip(" ()")
            if joint and (joint in more or (joint in _SIGNS and joint != "+")):
                self.draft.unknown.append(self.text[self.phrases[at].start : others[0].end])
        return 0

    @staticmethod
    def _sign(term: Term | None) -> Sign | None:
        if term is None:
            return None
        return _SIGNS.get(term.text) or next(
            (sign for sign in Sign if term.has(f"formula.{sign.name.lower()}")), None
        )

    def _formula(self, left: Term | None, sign: Sign, right: Term | None) -> str | None:
        """The name of the figure that the columns of two terms make."""
        columns = [
            self._column(one) for one in (left, right)
            if one is not None and len(one.columns) == 1 and not one.values
        ]  # fmt: skip
        if len(columns) < 2 or columns[0] is None or columns[1] is None:
            return None
        if any(one.has("kind.scatter", "kind.heatmap") for one in self.phrases):
            return None
        return formula(columns[0], sign, columns[1])

    def _ratio(self, at: int) -> bool:
        """Whether a column behind "per" divides the figure before it: "cost per km"."""
        name = self._formula(self._at(self.last_measure_at), Sign.OVER, self._at(at))
        if name is None or len(self.draft.measures) != 1 or self._is_length_of_time(at):
            return False
        before = self.draft.measures[-1]
        if before.column not in name.split(f" {Sign.OVER} "):
            return False  # "takings minus costs per hour"
        if before.aggregate in (None, Aggregate.SUM, Aggregate.MEAN):
            self.draft.measures[-1] = MeasureRequest(name, None, before.word)
            return True
        return False

    def _is_length_of_time(self, at: int) -> bool:
        """Whether a column behind "per" may as well be a part of the time axis: "per month"."""
        grain = self.phrases[at].key("grain")
        column = self.material.column(self.calendar.column) if (
            self.material and self.calendar
        ) else None  # fmt: skip
        is_hourly = column is not None and column.grain is Grain.HOUR
        return grain is not None and (grain != Grain.HOUR or is_hourly)

    def counted_group(self, at: int) -> int:
        """The number of "the 3 products with the highest revenue"."""
        value = self._number(self.phrases[at])
        after = self._at(self._skip(at + 1))
        if value is None or after is None or not after.columns or self._names(self.phrases[at]):
            return 0
        if value % 1 or not 0 < value < 100 or self._is_measure(after) or after.values:
            return 0
        self.draft.options["which"] = int(value)
        return 1

    def ranking(self, at: int) -> int:
        """As in "top 5", "the 3 highest", "lowest", "cheapest"."""
        term = self.phrases[at]
        start, count = at, None
        value = self._number(term)
        if value is not None and not self._names(term):
            at = self._skip(at + 1)
            count = int(value) if value % 1 == 0 and 0 < value < 1000 else None
            if count is None or (term := self._at(at) or term) is self.phrases[start]:
                return 0
        if not term.has("extreme") or term.columns:
            return 0
        if term.has("edit") and not any(map(self._names, self.phrases)):  # "shorter: 2 slides"
            return 0
        key = str(term.key("extreme"))
        end = at + 1
        if count is None:
            value = self._number(self._at(self._skip(end)))
            if value is not None and value % 1 == 0 and 0 < value < 1000:
                count, end = int(value), self._skip(end) + 1
        if self.draft.ranking is not None and self.draft.ranking.is_top != key.startswith("top"):
            is_like = key.partition("_")[2] in ("good", self.draft.ranking.concept)
            joins = any(one.has("small.and", "versus") for one in self.phrases[:at])
            if not (is_like and joins and count is None) or self.draft.ranking.count not in (
                None,
                1,
            ):
                return 0
            self.draft.marks.add("both_ends")  # "best and worst"
            if (after := self._at(end)) is not None and after.has("grain"):
                self.draft.asks.add("when")
            self.draft.look_words["ends"] = term.text
            return end - start
        after = self._at(end)
        if after is not None and after.has("grain") and not self._names(after):
            self.draft.asks.add("when")
        before = self.draft.ranking
        if before is not None:
            count = before.count if count is None else count
            if before.count not in (None, count):
                return 0
        side, _, concept = key.partition("_")
        concept = concept or (before.concept if before is not None else "")
        is_judged = concept == "good"
        self.draft.ranking = Ranking(
            side == "top", count, "" if is_judged else concept, term.text, is_judged
        )
        return end - start

    def sorting(self, at: int) -> int:
        """As in "sorted by date", "largest first", "best on top"."""
        term = self.phrases[at]
        if term.has("extreme") and not term.columns:
            place = at + 1
            while (one := self._at(place)) is not None and not one.has("sort.first"):
                if not (one.is_glue or one.has("rows", "concept")) or self._names(one):
                    return 0
                place += 1
            if one is None:
                return 0
            side, _, concept = str(term.key("extreme")).partition("_")
            if concept not in ("", "good"):  # "slowest on top" is by a figure of its own
                self.draft.unknown.append(term.text)
            if concept == "good":
                self.draft.marks.add("judged")
            is_low = side == "bottom"
            self.draft.sort = self.draft.is_descending = not is_low
            self.draft.look_words["sort"] = term.text
            return place + 1 - at
        if not term.has("sort") or term.columns or term.has("sort.first"):
            return 0
        if not term.has("sort.sort"):
            self.draft.is_descending = not term.has("sort.asc")
        if not term.has("sort.sort") or self.draft.sort is None:
            self.draft.sort = not term.has("sort.asc")
        self.draft.look_words["sort"] = term.text
        return 1

    def value(self, at: int) -> int:
        term = self.phrases[at]
        if not term.values:
            return 0
        if term.kind == "number" and self.calendar is not None:
            period, _ = periods.read(self.phrases, at, self.calendar)
            if period is not None:
                return 0
        if term.columns and not term.has("ask") and self._follows_by(at):
            return 0
        if self._ends_range(at):
            return 0
        if self._is_made(at) or (term.has("audience") and self._costs and self._is_for(at)):
            self.draft.unknown.append(term.text)
        else:
            self._value(term, Op.IS)
        return 1

    @cached_property
    def _costs(self) -> bool:
        """Whether something is to be made."""
        return any(one.has("thing", "kind", "format") for one in self.phrases)

    @cached_property
    def _ranks(self) -> bool:
        """Whether one of several is asked for, or two are compared."""
        return any(one.has("extreme", "versus", "edit.more") for one in self.phrases)

    def _is_made(self, at: int) -> bool:
        """Whether a value may be what is to be made: "a table of sales", "sales in a table" where
        tables are sold."""
        if not self.phrases[at].has("thing") or self.language == "zh":
            return False
        before = self._before(at)
        begins = before is None and len(self.phrases) > 1
        return begins or (before is not None and before.has("small.in", "small.verb"))

    def _is_for(self, at: int) -> bool:
        """Whether "for" stands before: for the board, of which there may be a value or column."""
        before = self._before(at)
        return before is not None and before.has("small.purpose") and (
            self.language == "de" or not self.phrases[at].text[:1].isupper()
        )  # fmt: skip

    def _ends_range(self, at: int) -> bool:
        """Whether a value ends a range, or is left out: "January to March" of months that are no
        dates, "until March", "all shops but North"."""
        before = at - 1
        while before > 0 and self.phrases[before].is_glue and not self.phrases[before].has("small"):
            before -= 1
        joint, first = self._at(before), self._at(before - 1)
        if joint is None or joint.has("small.and"):
            return False
        of_first = {name for name, _ in first.values} if first is not None else set()
        is_second = not of_first.isdisjoint(name for name, _ in self.phrases[at].values)
        is_bound = joint.has("period.until") and not joint.has("small.in")
        return joint.has("small.but") or is_bound or (joint.has("small.to") and is_second)

    def _is_said_before(self, term: Term) -> bool:
        """Whether a word that fits several columns goes on with what was named: "how much plastic,
        in kg", and "who has paid the fee" of a column "Fee paid"."""
        if self.material is None:
            return False
        units = {self.material.column(one.column).unit for one in self.draft.measures}
        conditions = {one.column for one in self.draft.filters}
        return not conditions.isdisjoint(term.columns) or (
            term.text.casefold() in {(unit or "").casefold() for unit in units}
        )

    def _value(self, term: Term, op: Op) -> None:
        near = {name for one in self.phrases for name in one.columns}
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
        self.draft.values += options

    def _follows_by(self, at: int) -> bool:
        before = [one for one in self.phrases[max(0, at - 2) : at] if not one.is_glue]
        return bool(before) and before[-1].has("by")

    def axis(self, at: int) -> int:
        """As in "by region and month", "per quarter", "for each store"."""
        term = self.phrases[at]
        if not term.has("by") or self._names(term):
            return 0
        end = start = self._skip(at + 1)
        per = term.has("by.per")
        while (one := self._at(end)) is not None:
            column = self._column(one)
            if (column is None and self._is_of_next(end)) or self._is_explained_beside(end):
                end += 1  # "by booking channel"
                continue
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
            elif column is not None and column.role in (Role.AMOUNT, Role.RATE):
                if end > start:
                    break
                if per and self._skip(self.last_measure_at + 1) == at and self._ratio(end):
                    return end + 1 - at
                self.draft.by_numbers.append(MeasureRequest(column.name, self.pending, one.text))
                self.pending = None
            elif column is not None and (per or self.pending is Aggregate.MEAN) and (
                self._is_row_noun(end, one.columns)
            ) and not any(term.has("thing", "kind") for term in self.phrases):  # fmt: skip
                self.draft.marks.add("each_row")
            elif column is not None:
                self.draft.groups.append(column.name)
            elif one.has("grain"):
                self._grain(str(one.key("grain")))
            elif end == start and self.draft.measures and self._is_row_word(end, one):
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
        if end == start and self._at(end) is None and term.has("by.each") and self._has_axis:
            return 1  # "the price per kind and how many of each we sold"
        if end > start and per and not term.has("by.each"):
            self.draft.marks.add("per")
        if end > start and term.has("by.split"):
            self.draft.marks.add("split")
        return end - at if end > start else 0

    @property
    def _has_axis(self) -> bool:
        return bool(self.draft.groups or self.draft.grains)

    def _is_of_next(self, at: int) -> bool:
        """Whether a value stands before the name of its own column."""
        after = self._at(at + 1)
        return after is not None and any(
            name in after.columns for name, _ in self.phrases[at].values
        )

    def _lists(self, at: int) -> bool:
        """Whether an "and", a comma or a repeated "by" stands before one more column or grain."""
        term = self.phrases[at]
        place = self._skip(at + 1, "by")
        after = self._at(place)
        if after is not None and after.columns and self._is_stated(place):
            return False
        joins = term.has("small.and", "by", "small.of") or term.text in ",、，،" or term.is_glue
        return joins and after is not None and not self._is_left_out(at) and (
            (bool(after.columns) and not self._is_measure(after)) or after.has("grain")
        )  # fmt: skip

    def _is_left_out(self, at: int) -> bool:
        """Whether what stands behind a comma does not count: "by month, cancelled ones dont"."""
        for one in self.phrases[at + 1 :]:
            if one.kind == "mark" or one.has("not.after"):
                return one.has("not.after")
        return False

    def _is_measure(self, term: Term) -> bool:
        column = self._column(term)
        return column is not None and column.role in (Role.AMOUNT, Role.RATE)

    def _grain(self, key: str) -> None:
        if key == "trend":
            self.draft.is_trend = True
        elif Grain(key) not in self.draft.grains:
            self.draft.grains.append(Grain(key))

    def which(self, at: int) -> int:
        """As in "which region", "what 3 products", "in which month", "who"."""
        term = self.phrases[at]
        if not term.has("ask.which", "ask.who", "ask.what") or self._names(term):
            return 0
        key = "which" if term.has("ask.which") else "who" if term.has("ask.who") else "what"
        if term.has("needs.hours"):
            self.draft.marks.add("long")
        after = self._at(at + 1)
        if key == "what" and after is not None and (after.columns or after.has("grain")):
            key = "which"
        self.draft.asks.add(key)
        self.draft.look_words.setdefault(key, term.text)
        end = self._skip(at + 1, "small.of") if key == "which" else at + 1
        number = self._number(self._at(end)) if key == "which" else None
        after = self._at(end + 1 if number is not None else end)
        if key != "which" or after is None:
            return 1
        column = self._column(after)
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

    def asking(self, at: int) -> int:
        term = self.phrases[at]
        if not term.has("ask") or self._names(term):
            return 0
        if term.has("ask.number") and not term.has(
            "ask.many"
        ):  # "number, total price and average miles"
            if self._counts_beside(at):
                self.draft.marks.add("count_too")
                return 1
            return 0
        key = str(term.key("ask"))
        for name in ("passage", "many", "much", "list"):
            if term.has(f"ask.{name}"):
                key = name
        after = self._at(self._skip(at + 1, "small.of"))
        is_averaged = self.pending not in (None, Aggregate.SUM, Aggregate.DISTINCT)
        if key == "many" and is_averaged and after is not None and self._is_measure(after):
            return 1  # "average number of nights"
        if key == "many" and self._counts_beside(at):
            self.draft.marks.add("count_too")
            return 1
        if term.has("ask.many") and key == "much":  # "combien" is both
            self.draft.marks.add("many")
        if key == "why":
            self.draft.model.append(("why", term.text))
        self.draft.asks.add(key)
        return 1

    def _stands_beside_figure(self, at: int) -> bool:
        """As the bookings of "bookings and revenue by channel"."""
        joint, beside = self._at(at + 1), self._at(self._skip(at + 2, "aggregate"))
        if _joins_words(joint) and beside is not None and self._is_measure(beside):
            return True
        return _joins_words(self._at(at - 1)) and self.last_measure_at == at - 2 and at > 1

    def _counts_beside(self, at: int) -> bool:
        """Whether rows are counted beside a figure: "the number of bookings and the revenue", "the
        revenue and how many bookings"."""
        after = at + 1 if _joins_words(self._at(at + 1)) else self._skip(at + 1, "small.of")
        noun = self._at(after)
        if noun is not None and not (
            _joins_words(noun) or noun.has("by") or noun.kind == "mark"
        ):  # fmt: skip
            if not self._is_row_word(after, noun):
                return False
            after += 1
        joint, beside = self._at(after), self._at(self._skip(after + 1, "aggregate"))
        if _joins_words(joint):
            return beside is not None and self._is_measure(beside)
        ends = joint is None or joint.has("by") or joint.kind == "mark"
        return bool(self.draft.measures) and ends and _joins_words(self._at(at - 1))

    def aggregate(self, at: int) -> int:
        term = self.phrases[at]
        key = term.key("aggregate")
        if key is None or (term.columns and not self._measure_follows(at)):
            return 0
        before, joint = self._at(at - 2), self._at(at - 1)
        joins = (joint is not None and joint.has("small.and")) or self._is_joined(term)
        if joins and before is not None and before.has("aggregate") and before.columns:
            self.draft.unknown.append(before.text)  # the total of it, or the column "Total"?
        if self.pending is not None and joins:
            self.pending_too.append(Aggregate(key))
            return 1
        if self.pending is not None and self.pending is not Aggregate.SUM:
            return 0
        between = self.phrases[self.last_measure_at + 1 : at] if self.draft.measures else []
        if any(one.has("small.verb") for one in between):  # "revenue by region, and show the total"
            return 0
        if self.pending is None or key != "sum":
            self.pending = Aggregate(key)
            self.draft.aggregate_word = term.text
        return 1

    def _is_joined(self, term: Term) -> bool:
        """Whether an Arabic "and" is joined to a word."""
        words = lexicon(self.language).exact
        is_whole = (fold(term.text),) in words
        return self.language == "ar" and term.text.startswith("و") and not is_whole

    def _measure_follows(self, at: int) -> bool:
        after = self._at(self._skip(at + 1, "small.of"))
        return after is not None and self._is_measure(after)

    def _late_aggregate(self) -> None:
        """An aggregate behind its column: "the revenue in total"."""
        if self.pending is None:
            return
        if self.draft.measures and self.draft.measures[-1].aggregate is None:
            for measure in self.draft.measures:
                measure.aggregate = measure.aggregate or self.pending
            self._add_pending(self.draft.measures[-1])
        elif self.draft.aggregate is None:
            self.draft.aggregate = self.pending
        self.pending = None

    def _add_pending(self, measure: MeasureRequest) -> None:
        """The same column once more for each other aggregate that was named with the first."""
        self.draft.measures += [
            MeasureRequest(measure.column, how, measure.word) for how in self.pending_too
        ]
        self.pending_too = []

    def _is_explained_beside(self, at: int) -> bool:
        """Whether the word beside one that may be several columns tells which: "merch money", where
        fees are money too."""
        columns = self.phrases[at].columns
        beside = [one.columns for one in (self._at(at - 1), self._at(at + 1)) if one is not None]
        return len(columns) > 1 and any(len(one) == 1 and one[0] in columns for one in beside)

    def column(self, at: int) -> int:
        term = self.phrases[at]
        if self._is_language(at):  # "auf englisch", where there are marks in English
            term.columns = ()
            self._ends.clear()
        columns = term.columns
        column = self._column(term)
        if column is None:
            return 0
        if term.has("model") and (verb := self._before(at)) and verb.has("option.caption"):
            self.draft.model.append((str(term.key("model")), term.text))
            return 1  # "write a newsletter", where each row is one
        if yes_value(column) and self._is_stated(at):
            self.draft.unknown.append(term.text)
            return 1
        self._note_order(at, column)
        if self._is_row_noun(at, columns):
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
        elif column.role in (Role.AMOUNT, Role.RATE):
            before = self._at(at - 1)
            if before is not None and before.has("op") and before.has("small.in"):
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
                return 1
            if how is None and self.material is not None and column.name in self.material.takings:
                how = Aggregate.SUM if term.has("concept.revenue") else None
            self.draft.measures.append(MeasureRequest(column.name, how, term.text))
            self._add_pending(self.draft.measures[-1])
            self.last_measure_at = at
            self.pending = None
        else:
            return self._mention(at, column)
        return 1

    def _is_valued_at(self, at: int, column: Column) -> bool:
        """Whether what stock is worth is asked for at the price of a column: "worth at cost and at
        selling price"."""
        worth = next((one for one in self.draft.measures if f" {Sign.TIMES} " in one.column), None)
        before = at - 1
        while before > 0 and self.phrases[before].has("carry"):
            before -= 1
        is_price = concept_of(column.name) in ("price", "cost") and not column.formula
        if worth is None or self.material is None or not is_price or not (
            self.phrases[before].has("small.in")
        ):  # fmt: skip
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
        start = at
        while start and self.phrases[start - 1].kind != "mark":
            start -= 1
        terms = self.phrases[start : at + 1]
        return start > 0 and terms[0].has("statement.statement") and not any(
            one.has("statement.demand", "by", "ask") for one in terms
        )  # fmt: skip

    def _shared_aggregate(self, at: int) -> Aggregate | None:
        """As of the second column of "average of A and B"; a sum is not shared."""
        if not self.draft.measures or not all(
            one.is_glue or one.has("small.and") or one.text in ",、，،"
            for one in self.phrases[self.last_measure_at + 1 : at]
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
        before = self._at(at - 1)
        return self.phrases[at].has("language") and before is not None and (
            before.has("small.in", "small.as") and not any(
                self._names(one) or one.has("ask", "aggregate", "extreme", "thing", "by")
                for one in self.phrases if one is not self.phrases[at]
            )
        )  # fmt: skip

    def _note_order(self, at: int, column: Column) -> None:
        """A column that an order is named for: "sorted by due date"."""
        before = at - 1
        while before > 0 and (
            self.phrases[before].is_glue or self.phrases[before].has("by")
            or self._is_row_word(before, self.phrases[before])
        ):  # fmt: skip
            before -= 1
        if before >= 0 and self.phrases[before].has("sort"):
            text = self.text[self.phrases[before].start : self.phrases[at].end]
            self.draft.sort_by.append((column.name, text))

    def _is_row_noun(self, at: int, columns: Sequence[str]) -> bool:
        """Whether a word names what each row is: "orders" where there is an ``order_id``."""
        assert self.material is not None, "there are columns"
        if self._is_shown_beside(at):
            return False
        roles = {self.material.column(one).role for one in columns}
        if roles & {Role.AMOUNT, Role.RATE, Role.TIME} or not self.material.is_row(columns):
            return False
        after = self._at(self._skip(at + 1, "op.equal"))
        return after is None or not any(name in columns for name, _ in after.values)

    def _is_shown_beside(self, at: int) -> bool:
        """As in "names and salaries": each row's name beside its figure."""
        places = ((at + 1, at + 2), (at - 1, at - 2))
        return any(
            (joint := self._at(one)) is not None and joint.has("small.and")
            and (other := self._at(two)) is not None and self._is_measure(other)
            for one, two in places
        )  # fmt: skip

    def _mention(self, at: int, column: Column) -> int:
        """A column of groups; before a value of its own, or a code, it only names the value."""
        if self.pending is Aggregate.DISTINCT:
            self.draft.asks.add("many")
            self.pending = None
        after = self._at(self._skip(at + 1, "op.equal"))
        if after is not None and any(name == column.name for name, _ in after.values):
            return 1
        before = self._at(at - 1)
        if before is not None and any(name == column.name for name, _ in before.values):
            return 1
        if column.kind is Kind.NUMBER and after is not None and after.number is not None:
            self.draft.filters.append(Filter(column.name, Op.IS, (after.number,)))
            return self.phrases.index(after) + 1 - at
        narrows = "only" in self.draft.marks or self.draft.asks & {"many", "which", "list"}
        if before is None or not before.has("having"):
            before = self._at(at - 2)
        if narrows and column.missing and not yes_value(column) and (
            before is not None and before.has("having")
        ):  # fmt: skip
            self.draft.filters.append(Filter(column.name, Op.PRESENT))
            return 1
        yes = yes_value(column)
        is_looked_up = bool(self.draft.asks & {"what", "which"}) and any(
            one.values for one in self.phrases
        )
        if yes and not is_looked_up:
            self.draft.filters.append(Filter(column.name, Op.IS, (yes,)))
            self.draft.marks.add("flag")
            return 1
        is_article = not self.phrases[at - 1].has("small.purpose")
        if self._is_for(at) and (is_article or self.phrases[at].has("audience")):
            self.draft.unknown.append(self.phrases[at].text)
            return 1
        if before is not None and before.has("having") and not self.draft.things:
            return 0  # "donations with gift aid" are not told apart by it
        if len(name_tokens(column.name)) > len(name_tokens(self.phrases[at].text)) and (
            self.draft.measures or "many" in self.draft.asks
        ):  # "visits" need not be the column "Visit type"
            return 0
        self.draft.mentions.append(column.name)
        return 1

    def grain(self, at: int) -> int:
        term = self.phrases[at]
        if not term.has("grain") or self._names(term):
            return 0
        if self.material is not None and self.calendar is None:
            return 0
        after = self._at(self._skip(at + 1, "small.of"))
        if term.has("grain.month") and after is not None and after.has("month"):
            return 1  # "in the month of March"
        if term.has("grain.year") and self.draft.grains and self._is_of(at) and self._has_one_year:
            return 1  # "the busiest day of the year"
        article, joint = self._at(at - 1), self._at(at - 2)
        if article is not None and article.is_glue and joint is not None and joint.has("small.in"):
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
        while before > 0 and not self.phrases[before].has("small.of") and (
            self.phrases[before].is_glue or self.phrases[before].has("small.all")
        ):  # fmt: skip
            before -= 1
        return before > 0 and self.phrases[before].has("small.of")

    def derivation(self, at: int) -> int:
        term = self.phrases[at]
        if not term.has("derived") or self._names(term):
            return 0
        before = self._at(at - 1)
        column = self._column(before) if before is not None and term.text == "%" else None
        if column is not None and column.unit == "%":
            return 1  # of the column's own name: "attendance %"
        if before is not None and self._is_measure(before) and term.text.casefold() in _RATES:
            return 0  # the "open rate" is of those who got it
        derivation = Derivation(str(term.key("derived")))
        if self.draft.derivation not in (None, derivation):
            return 0
        if derivation is Derivation.SHARE and self._shows_shares(at):
            return 1
        self.draft.derivation = derivation
        if term.has("fall"):
            self.draft.marks.add("fall")
        return 1

    def _shows_shares(self, at: int) -> bool:
        """Whether "with percentages" only names what a pie shows anyway."""
        place = at - 1
        while place > 0 and self.phrases[place].is_glue:
            place -= 1
        before = self._at(place)
        is_beside = before is not None and before.has("small.in", "small.and", "not.not")
        return is_beside and any(one.has("kind.donut") for one in self.phrases)

    def thing(self, at: int) -> int:
        """What is to be made: "line chart", "a deck", "as a spreadsheet"."""
        term = self.phrases[at]
        if self._names(term) or not term.has("thing", "kind"):
            return 0
        if term.has("carry") and self.draft.asks:  # "quel site rapporte le plus"
            return 0
        if term.has("rows") and "many" in self.draft.asks:
            return 0
        if self._is_place(at):
            self.draft.marks.add("source")
            return 1
        if self._is_purpose(at) or self._is_asked_about(at):
            return 0
        if at and any(one.has("small.as") for one in self.phrases[max(0, at - 3) : at]):
            self.draft.marks.add("as")
        kind = term.key("kind")
        if kind == "bar" and self._is_header(at):
            return 1
        if kind is not None:
            before = self.draft.style.chart
            if before in ("grouped", "stacked") and kind == "bar":  # "a grouped bar chart"
                kind = before
            elif before == "bar" and kind in ("grouped", "stacked"):  # "bars, stacked"
                self.draft.style = msgspec.structs.replace(self.draft.style, chart=None)
            self._set("chart", kind, term.text)
            words = (self.draft.look_words.get("chart"), term.text)
            self.draft.look_words["chart"] = " ".join(filter(None, words))
        elif (key := term.key("thing")) is not None and Thing(key) not in self.draft.things:
            self.draft.things.append(Thing(key))
        if term.has("option.pivot"):
            self.draft.options["pivot"] = True
        if term.has("them"):  # joined to the verb, as in "ارسمهم"
            self.draft.several, self.draft.several_word = int(term.key("them") or 0), term.text
            self.draft.marks.add("it")
        if (key := term.key("format")) is not None and key not in self.draft.formats:
            self.draft.formats.append(key)
        if term.has("small.it"):  # joined to the verb
            self.draft.marks.add("it")
        return 1

    def _is_asked_about(self, at: int) -> bool:
        """Whether a question is about a thing, as in "how many films?" and "is there a report?"."""
        before = at - 1
        while before >= 0 and self.phrases[before].is_glue and not (
            self.phrases[before].has("small.it")
        ):  # fmt: skip
            if before == 0 and self.phrases[0].has("there"):
                return True
            before -= 1
        return before >= 0 and self.phrases[before].has("ask") and not self.phrases[at].has("rows")

    def _is_purpose(self, at: int) -> bool:
        """As the report of "figures for my report", which need not be made."""
        before = at - 1
        if before > 0 and self.phrases[before].is_glue and not self.phrases[before].has("small.in"):
            before -= 1
        return before > 0 and self.phrases[before].has("small.purpose") and self.draft.has_query

    def _is_header(self, at: int) -> bool:
        """Whether "column" says that a name follows: "the total of column 2024"."""
        after = self._at(self._skip(at + 1))
        makes = any(one.has("thing") for one in self.phrases)
        is_computed = self.pending is not None or (self.draft.aggregate is not None and not makes)
        is_name = after is not None and (after.number is not None or bool(after.columns))
        return is_computed and is_name

    def _is_place(self, at: int) -> bool:
        """Whether a question only says where it looks: "how many rows are in the table?"."""
        before = at - 1
        while (
            before >= 0
            and self.phrases[before].is_glue
            and not self.phrases[before].has("small.in")
        ):
            before -= 1
        is_table = self.phrases[at].has("thing.table") and not _SHEET.search(self.phrases[at].text)
        return is_table and before >= 0 and self.phrases[before].has("small.in") and bool(
            self.draft.asks & {"many", "much", "what", "which", "who"}
        )  # fmt: skip

    def look(self, at: int) -> int:
        """A format, a colour, a language, an option, a length."""
        term = self.phrases[at]
        if self._names(term):
            return 0
        if term.kind == "hex" or (term.has("colour") and not term.has("colour.colour")):
            colour = term.text.casefold() if term.kind == "hex" else term.key("colour")
            self._set("colour", colour, term.text)
            self.draft.look_words.setdefault("colour", term.text)
        elif term.kind == "size":
            wide, high = re.findall("[0-9]+", term.text)
            self._set("size", (int(wide), int(high)), term.text)
        elif (key := term.key("format")) is not None:
            if key not in self.draft.formats:
                self.draft.formats.append(key)
        elif (key := term.key("language")) is not None:
            if self.draft.language not in (None, key):
                return 0
            self.draft.language = key
            self.draft.look_words["language"] = term.text
        elif (key := term.key("option")) is not None and key != "caption":
            self.draft.options.setdefault(key, True)
            self.draft.look_words.setdefault(key, term.text)
            if key in _PALETTE and term.has("option.convert"):
                self.draft.marks.add("convert")
        elif term.has("edit.shorter", "edit.longer"):
            length = "shorter" if term.has("edit.shorter") else "longer"
            self._set("length", length, term.text)
            self.draft.look_words["length"] = term.text
        else:
            return 0
        return 1

    def several(self, at: int) -> int:
        """As in "draw both", "a chart of the three": so many of the last answers."""
        term = self.phrases[at]
        if self._names(term):
            return 0
        value = self._number(term) or float(term.key("them") or 0) or None
        is_last = self._at(self._skip(at + 1, "small.polite")) is None
        after = self._at(at + 1)
        is_all = self.has_images and value == self.file_count
        if is_all and after is not None and after.has("thing.image"):
            return 1  # "both photos": those that are there
        if not term.has("them") and not (value in _SEVERAL and is_last):
            return 0
        self.draft.several = int(term.key("them") or value or 0)
        self.draft.several_word = term.text
        if term.has("small.it"):
            self.draft.marks.add("it")
        return 1

    def people(self, at: int) -> int:
        """Another word for those of whom each row is one: "kids" of a list of players."""
        term = self.phrases[at]
        if self._names(term) or self.material is None or not things_called(term.text, "people"):
            return 0
        name = self.material.person
        if name is None or name in self.draft.row_nouns or not self.material.is_row([name]):
            return 0
        if at and self.phrases[at - 1].has("having"):  # "guests with kids"
            return 0
        self.draft.row_nouns.append(name)
        return 1

    def word(self, at: int) -> int:
        """Words that stand for themselves: talk, control, edits, rows, what needs a model."""
        term = self.phrases[at]
        if self._names(term):
            return 0
        draft = self.draft
        if term.has("unable"):
            draft.unknown.append(term.text)
            draft.marks.add("unable")
        elif term.has("model") and not self._is_of_rows(at):
            draft.model.append((str(term.key("model")), term.text))
        elif term.has("rows") or self._is_own(term) or self._is_article(term):
            if self._stands_beside_figure(at):
                draft.marks.add("count_too")
            draft.is_own_name = not term.has("rows") and (draft.is_own_name or not draft.counts)
            draft.counts.append(term.text)
        elif term.has("only.where"):
            if not any(one.values or one.has("op", "not") for one in self.phrases[at + 1 : at + 6]):
                return 0  # "where they came from"
            draft.marks.add("only")
        elif term.has("only", "versus", "edit", "small.all", "carry", "others"):
            for section in ("only", "versus", "edit", "carry", "others"):
                if (key := term.key(section)) is not None:
                    draft.marks.add(key)
            if term.has("others"):
                draft.look_words["others"] = term.text
        elif term.has("by.split"):
            draft.marks.add("split")
        elif term.has("control"):
            if draft.control is None and not (term.has("control.again") and draft.has_query):
                draft.control = term.key("control")
                self.control_at = term.start, term.end
        elif term.has("talk.no") and not at and self._goes_on_after_comma():
            pass  # "no, by month"
        elif term.has("greeting") and self._greets(at):
            draft.talk = draft.talk or (None if len(self.phrases) > _ALONE else "hello")
        elif term.has("talk") and not ((term.has("small.glue") and at) or self._denies(at)):
            draft.talk = draft.talk or term.key("talk")
        elif term.has("ordinal"):
            draft.ordinal = int(term.key("ordinal") or 1)
        else:
            return 0
        if term.has("small.it", "small.all"):
            draft.marks |= {"it"} if term.has("small.it") else {"all"}
        return 1

    def _is_article(self, term: Term) -> bool:
        """Whether a word for goods is one for the rows: no column says which they are, or how many
        of them each row has."""
        if self.material is None or not term.has("concept.product", "goods"):
            return False
        says_which = self.material.concepts.keys() & {"product", "quantity", "sold"}
        return "many" in self.draft.asks and not says_which

    def _is_of_rows(self, at: int) -> bool:
        """Whether a word for what a model writes names the rows: "newsletters" of
        ``newsletters.csv``, or what is counted."""
        term, before = self.phrases[at], self._before(at)
        is_exact = (fold(term.text),) in lexicon(self.language).exact
        counts = before is not None and before.has("ask.many", "by.per", "extreme")
        names_rows = term.has("concept") or (
            not is_exact and bool(things_called(term.text, *_ROWS))
        )
        is_written = before is not None and before.has("small.verb", "option.caption")
        return self.material is not None and not is_written and (
            counts or names_rows or self._is_own(term)
        )  # fmt: skip

    def _before(self, at: int) -> Term | None:
        """The last term before one that is no glue, or is a verb."""
        terms = (self.phrases[place] for place in range(at - 1, -1, -1))
        return next((one for one in terms if one.has("small.verb") or not one.is_glue), None)

    def _greets(self, at: int) -> bool:
        """Whether a word like "morning" stands before the request, as a greeting does."""
        after = self._at(at + 1)
        is_first = all(one.is_glue or one.has("talk") for one in self.phrases[:at])
        return is_first and (after is None or after.kind == "mark")

    def _goes_on_after_comma(self) -> bool:
        after = self._at(1)
        return after is not None and after.text in ",，،" and len(self.phrases) > _ALONE

    def _denies(self, at: int) -> bool:
        """Whether a "no" belongs to what follows it, and is no answer: "no e-mail"."""
        after = self._at(at + 1)
        return self.phrases[at].has("not") and after is not None and after.kind != "mark"

    def _is_own(self, term: Term) -> bool:
        """Whether a word is the table's own name, as "orders" of ``orders.csv``, or a word that
        means nothing else is another name of it, as "kids" of ``Kinder.csv``; of "expenses" no rows
        are meant."""
        if self.material is None or term.kind != "word" or term.has("carry", *_FIGURES):
            return False
        key, typed = lexicon(self.language).key(term.text), fold(term.text)
        things = things_called(term.text, *_ROWS)
        if things and all(one.startswith("model.") for one in term.meanings) and any(
            things & things_called(word, *_ROWS) for word in self.material.own_words
        ):  # fmt: skip
            return True
        return key in self.material.own and (
            self.language == "ar"  # a word has its article joined to it
            or any(is_inflection(typed, one) for one in self.material.own_words)
        )

    def glue(self, at: int) -> int:
        """Small words that only hold a sentence together."""
        term = self.phrases[at]
        if term.has("small.it"):
            self.draft.marks.add("it")
        if term.has("that.that"):
            self.draft.look_words["that"] = term.text
        if term.has("small.source"):
            is_format = _SHEET.search(term.text) and any(
                one.has("small.as") for one in self.phrases[max(0, at - 2) : at]
            )
            if is_format:  # "as a csv file"
                return 0
            self.draft.marks.add("source")
        if term.has("having") and all(one.is_glue or one.has("small") for one in self.phrases[:at]):
            self.draft.marks.add("with")
        if at == 0 and term.has("small.and") and not term.has("edit"):
            self.draft.marks.add("too")  # "plus Harbour"
        if term.has("small.colour") and not any(one.has("colour") or one.kind == "hex"
                                                for one in self.phrases):  # fmt: skip
            return 0  # "colour by town"
        if term.has("period.until") and self.calendar and (
            periods.read(self.phrases, self._skip(at + 1), self.calendar)[0]
        ):  # fmt: skip
            return 0  # "until June", of several years
        is_file = term.kind == "file" or (term.kind == "word" and self._names_file(term.text))
        is_value = self.material is not None and fold(term.text) in self.material.value_words
        if term.text.casefold() in _ONE and at and not is_value and (
            self._names(before := self.phrases[at - 1]) or before.has("edit", "extreme", "thing")
        ):  # fmt: skip
            return 1
        if term.has("axis"):  # "clients down, quarters across"
            return int(any(one.has("option.pivot", "kind.heatmap") for one in self.phrases))
        if term.has("small.still"):
            beside = [self._at(at - 1), self._at(self._skip(at + 1))]
            goes_on = any(one is not None and one.values for one in beside) or any(
                one.has("not", "op") for one in self.phrases
            )
            return int(goes_on or self.has_images)
        is_unit = self._is_unit(term) or (term.text == "%" and at > 0)
        asks = self._at(at - 1)
        is_unit = is_unit or (term.has("unit.money") and asks is not None and asks.has("ask.much"))
        after = self._at(at + 1)
        is_unit = is_unit or (
            term.has("number.1") and after is not None and after.has("thing", "kind")
        )
        return int(is_file or is_unit or term.is_glue or term.has("small"))

    def _names_file(self, word: str) -> bool:
        """Whether a word stands in the name of a file, or four letters begin one: "temp"."""
        key = lexicon(self.language).key(word)
        return key in self.files or (
            len(word) > 3 and any(one.startswith(fold(word)) for one in self.files)
        )

    def _is_unit(self, term: Term) -> bool:
        """Whether a currency is that of a column: in another one nothing is stated."""
        if not term.has("unit.money") or self.material is None:
            return False
        code = _CURRENCIES.get(term.text.casefold()[:3], term.text)
        return any(column.unit == code for column in self.material.table.columns)


def _joins_words(term: Term | None) -> bool:
    return term is not None and (term.has("small.and") or term.text in ",،，、")


def _is_without_sense(term: Term) -> bool:
    """Whether a word that names nothing of the table may stand in a remark."""
    return all(one.partition(".")[0] in _OF_REMARKS for one in term.meanings)


def _is_remark(terms: Sequence[Term]) -> bool:
    """Whether terms only say what somebody does or feels: "they get a cake"."""
    states = any(one.has("statement.statement") for one in terms[:_STARTS])
    return states and not any(one.has("statement.demand") for one in terms) and all(
        one.is_glue or (one.kind == "word" and not (one.columns or one.values)
                        and one.number is None and _is_without_sense(one))
        for one in terms
    )  # fmt: skip


_ALONE = 2
"""As many terms a word and a comma are."""

_PRODUCTIONS: tuple[Callable[[_Parser, int], int], ...] = (
    _Parser.title, _Parser.caption, _Parser.purpose, _Parser.place, _Parser.amount, _Parser.sorting,
    _Parser.exclusion,
    _Parser.period, _Parser.comparison, _Parser.postfix, _Parser.which, _Parser.ranking,
    _Parser.counted_group, _Parser.figure_of_two,
    _Parser.value, _Parser.axis, _Parser.aggregate, _Parser.column, _Parser.grain,
    _Parser.derivation,
    _Parser.asking, _Parser.thing, _Parser.look, _Parser.several, _Parser.people, _Parser.word,
    _Parser.glue,
)  # fmt: skip
