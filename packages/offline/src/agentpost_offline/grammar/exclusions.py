"""What a clause leaves out: values, periods, rows that a column denies, and parts of a result."""

import re
from typing import Final

from agentpost_offline.data.model import Column, Kind
from agentpost_offline.frame import Filter, Grain, Op
from agentpost_offline.grammar import periods
from agentpost_offline.grammar.clause import Clause
from agentpost_offline.grammar.draft import Draft
from agentpost_offline.grammar.material import no_value, yes_value
from agentpost_offline.grammar.rows import PRONOUNS, is_own
from agentpost_offline.grammar.tagging import END
from agentpost_offline.grammar.text import COMMAS, name_tokens
from agentpost_offline.grammar.vocabulary import lexicon

_LEFT_OUT_MAX: Final = 6
"""So many terms stand at most between "leave" and "out"."""
_OPPOSITE: Final = re.compile(r"(?i)(?:un|non-?|in|im)(\w{4,})")
_LACKING_MAX: Final = 4
"""Among so many terms behind "no" is the column that has no value."""
_SHORT: Final = 2
"""A word of so many characters is no part of a column's name: the "on" of "Done on"."""


def take_exclusion(clause: Clause, at: int) -> int:
    """As in "without North and South", "except 2024", "without a value in city"."""
    term = clause.terms[at]
    if term.has("leave.open") and (size := _leaves_out(clause, at)):
        return size
    if not term.has("not.not", "not.missing") or clause.names(term):
        return 0
    if size := _twice_denied(clause, at):
        return size
    after = clause.term(at + 1)
    if term.has("not.after") and after.kind == "mark":
        return _exclude_before(clause, at)  # "cancelled ones dont count, total by month"
    end = clause.skip(at + 1, "small.in", "small.of", "small.still")
    if term.has("not.missing"):
        if size := _is_missing(clause, at):
            return size
        column = clause.column(clause.term(end))
        if column is None:
            return 0
        is_flag = bool(no_value(column)) and not column.missing  # "consent form is missing"
        clause.draft.filters.append(
            _answers_no(column) if is_flag else Filter(column.name, Op.MISSING)
        )
        return end + 1 - at
    start = end = _behind_row_noun(clause, end)
    if size := _denied_thing(clause, at, start) or _lacking_date(clause, at):
        return size
    lacking = clause.term(at + 1) if clause.language == "zh" else clause.term(end)
    if (flag := _flag_with(clause, lacking.text)) is not None:
        clause.draft.filters.append(_answers_no(flag))
        return 2
    lacking, after = clause.term(end), clause.term(clause.skip(end + 1))
    if lacking.columns and not lacking.values and not after.values:
        column = clause.column(lacking)
        if column is not None:
            _exclude_column(clause.draft, column)
            return _exclude_more(clause, end + 1) - at
    end = _exclude_listed(clause, start)
    if end == start and term.has("not.after"):
        return _exclude_before(clause, at)
    return end - at if end > start else 0


def _twice_denied(clause: Clause, at: int) -> int:
    """As in "without the ones that haven't paid", which are those who have: how many terms."""
    place = at + 1
    while (one := clause.term(place)) is not END and not clause.names(one) and (
        one.is_glue or one.text in PRONOUNS or one.has("rows", "goods", "concept.person")
    ) and not one.has("not.not"):  # fmt: skip
        place += 1
    inner, flag = clause.term(place), clause.term(clause.skip(place + 1, "small.still"))
    if place == at + 1 or not inner.has("not.not"):
        return 0
    column = clause.column(flag) if flag.columns else None
    if column is not None and yes_value(column):
        clause.draft.filters.append(Filter(column.name, Op.IS, (yes_value(column),)))
        clause.draft.marks.add("flag")
    elif flag.values and flag.kind != "number":
        clause.add_value(flag, Op.IS)
    else:
        return 0
    return clause.skip(place + 1, "small.still") + 1 - at


def take_opposite(clause: Clause, at: int) -> int:
    """As "unwitnessed" where a column of yes and no is "Witnessed"."""
    term = clause.terms[at]
    if clause.names(term) or term.meanings or term.kind != "word":
        return 0
    match = _OPPOSITE.fullmatch(term.text)
    key = lexicon(clause.language).key
    flags = [] if match is None else [
        one for one in clause.material.table.columns
        if no_value(one) and key(match[1]) in map(key, name_tokens(one.name))
    ]  # fmt: skip
    if len(flags) != 1:
        return 0
    clause.draft.filters.append(_answers_no(flags[0]))
    clause.draft.marks.add("flag")
    return 1


def _behind_row_noun(clause: Clause, at: int) -> int:
    """The place behind the word for rows of "sans les séances annulées"."""
    noun, after = clause.term(at), clause.term(clause.skip(at + 1))
    if clause.names(noun) or not (
        noun.has("rows", "goods") or is_own(clause, noun)
    ):  # fmt: skip
        return at
    return clause.skip(at + 1) if after.values or clause.is_flag(after) else at


def _lacking_date(clause: Clause, at: int) -> int:
    """As in "with no done date" and "not done", where a column of dates is "Done on": how many
    terms."""
    key = lexicon(clause.language).key
    for end in range(at + 1, min(at + _LACKING_MAX, len(clause.terms))):
        term = clause.terms[end]
        if term.kind != "word" or term.values or not (term.is_glue or term.columns):
            return 0
        same = [
            one
            for one in clause.material.table.columns
            if key(term.text) in map(key, name_tokens(one.name))
        ]
        is_lacking = len(same) == 1 and same[0].kind is Kind.DATE and bool(same[0].missing)
        if is_lacking and len(term.text) > _SHORT:
            clause.draft.filters.append(Filter(same[0].name, Op.MISSING))
            after = clause.term(end + 1)
            is_date = after.has("concept.date")
            return end + 1 + is_date - at
    return 0


def _exclude_more(clause: Clause, at: int) -> int:
    """Leave out what is joined to a column that was left out: "without the late ones and Ann"."""
    noun = clause.term(at)
    end = at + 1 if (noun.has("rows") or noun.text in PRONOUNS) else at
    if not _joins(clause, end):
        return at
    after = _exclude_listed(clause, clause.skip(end + 1))
    return after if after > clause.skip(end + 1) else at


def _is_missing(clause: Clause, at: int) -> int:
    """As in "whose consent form is missing", of a column of yes and no."""
    before, after = clause.term_before(at), clause.term(at + 1)
    column = clause.column(before) if before.columns else None
    if column is None or not no_value(column) or column.missing or (
        after.columns
    ):  # fmt: skip
        return 0
    yes = Filter(column.name, Op.IS, (yes_value(column),))
    clause.draft.filters = [one for one in clause.draft.filters if one != yes]
    clause.draft.mentions = [one for one in clause.draft.mentions if one != column.name]
    clause.draft.filters.append(_answers_no(column))
    clause.draft.marks.add("flag")
    return 1


def _exclude_column(draft: Draft, column: Column) -> None:
    """Leave out the rows that a column affirms, or that have something in it; else the column."""
    if no_value(column):
        draft.filters.append(_answers_no(column))
        draft.marks.add("flag")
    elif column.missing:
        draft.filters.append(Filter(column.name, Op.MISSING))
        draft.marks.add("lacking")
    else:
        draft.unwanted.append(column.name)


def _exclude_listed(clause: Clause, start: int) -> int:
    """Leave out the values and periods that stand at a place, and tell where they end."""
    end = start
    while (one := clause.term(end)) is not END:
        if one.values and one.kind != "number":
            clause.add_value(one, Op.IS_NOT)
            end += 1
        elif clause.calendar is not None and (
            (pair := periods.read(clause.terms, end, clause.calendar))[0] is not None
        ):
            clause.draft.exclusions.append(pair[0])
            end += pair[1]
        elif end > start and not one.values and (
            (column := clause.column(one)) is not None and yes_value(column)
        ):  # fmt: skip
            _exclude_column(clause.draft, column)
            end += 1
        elif (end > start and _continues(clause, end)) or (
            one.columns and clause.term(end + 1).values and not clause.is_flag(one)
        ):  # fmt: skip
            end += 1
        else:
            break
    return end


def _continues(clause: Clause, at: int) -> bool:
    """Whether a list goes on behind a word: an "and", the article of "… and the no shows", the
    noun of "the unpaid ones and South"."""
    one, before, after = clause.terms[at], clause.term(at - 1), clause.term(at + 1)
    if _joins(clause, at):
        return True
    if one.text in PRONOUNS:
        return after.text not in PRONOUNS and _continues(clause, at + 1)
    joins = before.has("small.and") or before.text in COMMAS
    return one.is_glue and joins and bool(after.values)


def _leaves_out(clause: Clause, at: int) -> int:
    """As in "leave the cafe out": how many terms."""
    for end in range(at + 2, min(at + 2 + _LEFT_OUT_MAX, len(clause.terms))):
        if clause.terms[end].has("leave.close") and not clause.names(clause.terms[end]):
            inside = clause.terms[at + 1 : end]
            values = [one for one in inside if one.values and one.kind != "number"]
            if not values or any(
                not (one.values or one.is_glue or one.has("small", "rows", "goods"))
                for one in inside
            ):  # fmt: skip
                return 0
            for one in values:
                clause.add_value(one, Op.IS_NOT)
            return end + 1 - at
    return 0


def _exclude_before(clause: Clause, at: int) -> int:
    """Leave out what stands before, as in "…, cancelled ones dont count"."""
    draft, terms = clause.draft, clause.terms[clause.start_of_part(at) : at]
    pairs = [pair for term in terms for pair in term.values if pair in draft.values]
    flags = [one for term in terms if (one := clause.column(term)) and yes_value(one)
             and Filter(one.name, Op.IS, (yes_value(one),)) in draft.filters]  # fmt: skip
    if not (pairs or flags):
        return 0
    draft.values = [pair for pair in draft.values if pair not in pairs]
    for column in dict.fromkeys(column for column, _ in pairs):
        values = tuple(value for name, value in pairs if name == column)
        draft.filters.append(Filter(column, Op.IS_NOT, values))
    for one in flags:
        draft.filters.remove(Filter(one.name, Op.IS, (yes_value(one),)))
        draft.filters.append(_answers_no(one))
    grains = {
        one for one in Grain if any(term.has(f"grain.{one}") for term in terms)
    }  # "sick days"
    draft.grains = [one for one in draft.grains if one not in grains]
    names = {name for term in terms for name in term.columns}
    for noun in names & {*draft.row_nouns, *draft.mentions}:
        draft.row_nouns = [one for one in draft.row_nouns if one != noun]
        draft.mentions = [one for one in draft.mentions if one != noun]
    return 1


def _denied_thing(clause: Clause, at: int, start: int) -> int:
    """As in "a table instead of a picture", and "without the total line": how many terms."""
    term = clause.term(start)
    if clause.names(term):
        return 0
    if term.has("thing", "kind"):
        others = [*clause.terms[:at], *clause.terms[start + 1 :]]
        parts = ("kind", "thing.chart", "thing.table", "thing.image")  # of a report or a deck
        same = parts if term.has(*parts) else ("thing", "kind")
        return start + 1 - at if any(one.has(*same) for one in others) else 0
    places = [one for one in (start, start + 1) if clause.term(one).has("aggregate.sum")]
    beside = clause.term(start + (start in places))
    if not places or beside.has("by", "unit", "ask"):
        return 0
    clause.draft.options["no_total"] = True
    is_line = not clause.names(beside) and beside.has("rows", "kind.line")
    return max(places) + 1 + (is_line and start in places) - at


def _joins(clause: Clause, at: int) -> bool:
    """Whether an "and" or a comma stands before one more value, period or column of yes and no."""
    term = clause.term(at)
    after = clause.term(clause.skip(at + 1))
    joins = term.has("small.and", "small.or") or term.text in COMMAS
    return joins and (bool(after.values) or after.has("month", "weekday") or clause.is_flag(after))


def _flag_with(clause: Clause, character: str) -> Column | None:
    """The only column of yes and no whose name has a Han character: "没取" of "是否取件"."""
    if clause.language != "zh" or len(character) > 1:
        return None
    flags = [one for one in clause.material.table.columns
             if character in one.name and yes_value(one)]  # fmt: skip
    return flags[0] if len(flags) == 1 else None


def _answers_no(column: Column) -> Filter:
    """The rows that a column of yes and no denies: without an answer nothing is refunded."""
    if column.missing:
        return Filter(column.name, Op.IS_NOT, (yes_value(column),))
    return Filter(column.name, Op.IS, (no_value(column),))
