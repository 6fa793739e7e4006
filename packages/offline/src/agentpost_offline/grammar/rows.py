"""What each row of a table is, and where a clause counts the rows: "orders" of ``orders.csv``, and
the bookings of "bookings and revenue by channel"."""

from collections.abc import Sequence
from typing import Final

from agentpost_offline.data.model import Role
from agentpost_offline.frame import Thing
from agentpost_offline.grammar.clause import Clause
from agentpost_offline.grammar.material import NO_TABLE
from agentpost_offline.grammar.tagging import Term
from agentpost_offline.grammar.text import COMMAS, fold, is_inflection, name_tokens
from agentpost_offline.grammar.vocabulary import lexicon, things_called

PRONOUNS: Final = ("one", "ones")
"""What stands for a noun: "the spring one", "a shorter one"."""
_FIGURES: Final = tuple(
    f"concept.{one}"
    for one in ("revenue", "cost", "profit", "margin", "amount", "budget", "salary", "price",
                "quantity", "age", "hours", "rating", "grade", "temperature", "population", "stock")
)  # fmt: skip
"""Words for figures: where a table is called so, its rows are not meant."""
_ROWS: Final = ("people", "rows")
"""The kinds of nouns that a table's rows are called by."""


def take_people(clause: Clause, at: int) -> int:
    """Another word for those of whom each row is one: "kids" of a list of players."""
    term = clause.terms[at]
    if clause.names(term) or not things_called(term.text, "people"):
        return 0
    name = clause.material.person
    if name is None or name in clause.draft.row_nouns or not clause.material.is_row([name]):
        return 0
    if at and clause.terms[at - 1].has("having"):  # "guests with kids"
        return 0
    clause.draft.row_nouns.append(name)
    return 1


def is_own(clause: Clause, term: Term) -> bool:
    """Whether a word is the table's own name, as "orders" of ``orders.csv``, or a word that
    means nothing else is another name of it, as "kids" of ``Kinder.csv``; of "expenses" no rows
    are meant."""
    if term.kind != "word" or term.has("carry", *_FIGURES):
        return False
    if term.has("grain") and clause.calendar is not None:  # "over the weeks", of a weekly table
        return False
    key, typed = lexicon(clause.language).key(term.text), fold(term.text)
    things = things_called(term.text, *_ROWS)
    if things and all(one.startswith("model.") for one in term.meanings) and any(
        things & things_called(word, *_ROWS) for word in clause.material.own_words
    ):  # fmt: skip
        return True
    return key in clause.material.own and (
        clause.language == "ar"  # a word has its article joined to it
        or any(is_inflection(typed, one) for one in clause.material.names)
    )


def is_each_row(clause: Clause, term: Term) -> bool:
    """Whether a word for people is what the table is called, and no column's name: in
    ``members.xlsx`` the section with the most members is that with the most rows."""
    key = lexicon(clause.language).key
    words = {key(word) for name in term.columns for word in name_tokens(name)}
    return bool(term.columns) and key(term.text) not in words and is_own(clause, term)


def is_article(clause: Clause, term: Term) -> bool:
    """Whether a word for goods is one for the rows: no column says which they are, or how many
    of them each row has."""
    if clause.material is NO_TABLE or not term.has("concept.product", "goods"):
        return False
    says_which = clause.material.concepts.keys() & {"product", "quantity", "sold"}
    lists = term.has("goods") and (
        clause.draft.asks & {"list", "which"} or Thing.TABLE in clause.draft.things
    )  # fmt: skip
    return bool("many" in clause.draft.asks or lists) and not says_which


def is_of_rows(clause: Clause, at: int) -> bool:
    """Whether a word for what a model writes names the rows: "newsletters" of
    ``newsletters.csv``, or what is counted."""
    term, before = clause.terms[at], clause.term_before(at, "small.verb")
    is_exact = (fold(term.text),) in lexicon(clause.language).exact
    counts = before.has("ask.many", "by.per", "extreme")
    names_rows = term.has("concept") or (not is_exact and bool(things_called(term.text, *_ROWS)))
    is_written = before.has("small.verb", "option.caption")
    return clause.material is not NO_TABLE and not is_written and (
        counts or names_rows or is_own(clause, term)
    )  # fmt: skip


def is_row_word(clause: Clause, at: int, term: Term) -> bool:
    """As the orders of "more than 5 orders", by which each group's rows are counted."""
    if term.columns:
        return not term.values and clause.column(term) is not None and (
            is_row_noun(clause, at, term.columns)
        )  # fmt: skip
    return not clause.names(term) and (term.has("rows") or is_own(clause, term))


def is_row_noun(clause: Clause, at: int, columns: Sequence[str]) -> bool:
    """Whether a word names what each row is: "orders" where there is an ``order_id``."""
    if any(
        clause.term(at + one).has("small.and") and clause.is_measure(clause.term(at + 2 * one))
        for one in (1, -1)
    ):  # "names and salaries": each row's name beside its figure
        return False
    roles = {clause.material.column(one).role for one in columns}
    if roles & {Role.AMOUNT, Role.RATE, Role.TIME} or not clause.material.is_row(columns):
        return False
    after = clause.term(clause.skip(at + 1, "op.equal"))
    return not any(name in columns for name, _ in after.values)


def stands_beside_figure(clause: Clause, at: int) -> bool:
    """As the bookings of "bookings and revenue by channel"."""
    joint, beside = clause.term(at + 1), clause.term(clause.skip(at + 2, "aggregate"))
    if joins_words(joint) and clause.is_measure(beside):
        return True
    return joins_words(clause.term(at - 1)) and clause.last_measure_at == at - 2 and at > 1


def counts_beside(clause: Clause, at: int) -> bool:
    """Whether rows are counted beside a figure: "the number of bookings and the revenue", "the
    revenue and how many bookings"."""
    after = at + 1 if joins_words(clause.term(at + 1)) else clause.skip(at + 1, "small.of")
    noun = clause.term(after)
    if not (joins_words(noun) or noun.has("by") or noun.kind == "mark"):
        if not is_row_word(clause, after, noun):
            return False
        after += 1
    joint, beside = clause.term(after), clause.term(clause.skip(after + 1, "aggregate"))
    if joins_words(joint):
        return clause.is_measure(beside)
    ends = joint.has("by") or joint.kind == "mark"
    return bool(clause.draft.measures) and ends and joins_words(clause.term(at - 1))


def joins_words(term: Term) -> bool:
    """Whether a term is an "and" or a comma."""
    return term.has("small.and") or term.text in COMMAS
