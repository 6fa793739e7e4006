"""What is to be made, how large it is and how it looks: things, sizes, colours, formats."""

import re
from typing import Final

import msgspec

from agentpost_offline.frame import Thing
from agentpost_offline.grammar.clause import Clause
from agentpost_offline.grammar.tagging import END

_LEAST: Final = 8
"""So many pixels has a side at least: "the tall one" is no height."""
_PALETTE: Final = ("crop", "square", "resize", "convert", "collage", "rotate", "grayscale")
SHEET: Final = re.compile("excel|إكسل|اكسل|xls|csv|sheet", re.IGNORECASE)
"""What a table is called as a file: more than the place where a question looks."""
_BARS = ("bar", "column")
_PACES = {"slower": 1.6, "faster": 0.6}
"""How many times as long a film lasts that is to be slower."""


def take_amount(clause: Clause, at: int) -> int:
    """As in "6 slides", "max 4 pages", "20 seconds", "800 pixels wide", "90°"."""
    start = at
    if clause.terms[at].has("op.at_most", "op.equal"):
        at = clause.skip(at + 1)
    term = clause.term(at)
    value = clause.number(term)
    if term.has("unit.wide", "unit.high") and not clause.names(term):
        return _side(clause, at, start)
    is_deck = term.has("unit.slides") and not clause.names(term)
    if at == start and is_deck and not _is_asked_about(clause, at):
        _add_thing(clause, Thing.DECK)
        if term.text.casefold() == "slide":
            clause.set_look("pages", 1, term.text)
        return 1
    if value is None or clause.names(term):
        return 0
    end = at + 1
    while (one := clause.term(end)).text in "-":
        end += 1
    unit = one.key("unit")
    after = clause.term(end + 1)
    if value == 1 and unit in ("slides", "pages") and after.has("by.per"):
        clause.draft.unknown.append(clause.text[term.start : after.end])  # "one slide per server"
        clause.draft.marks.add("unable")
        return end + 2 - start
    if one.text == "%" and clause.has_images:
        clause.draft.options["percent"] = value
        return end + 1 - start
    if one.has("unit.slides") or (one.has("thing.deck") and term.number is not None):
        unit = "slides"
    if unit in ("money", None) or one.columns:
        return 0
    sides = [clause.term(end + 1), clause.term(end + 2)]
    has_side = any(one.has("unit.wide", "unit.high") for one in sides)
    if unit != "pixels" or not has_side:
        _measure_out(clause, "wide" if unit == "pixels" else str(unit), value)
    end += 1
    if clause.term(end).has("unit.long"):
        end += 1
    if clause.term(end).has("op.at_most") and (
        clause.number(clause.term(clause.skip(end + 1))) is None
    ):  # fmt: skip  # "15 seconds max"
        end += 1
    while (one := clause.term(end)).has("unit.wide", "unit.high"):
        _measure_out(clause, str(one.key("unit")), value)
        end += 1
    return end - start


def _side(clause: Clause, at: int, start: int) -> int:
    """As in "width 500 px"."""
    place = clause.skip(at + 1, "small.to", "op.equal", "small.in")
    value = clause.number(clause.term(place))
    after = clause.term(place + 1)
    if value is None or value < _LEAST or after.has("unit.slides", "unit.pages"):
        return 0
    _measure_out(clause, "wide" if clause.terms[at].has("unit.wide") else "high", value)
    return place + 1 + after.has("unit.pixels") - start


def _measure_out(clause: Clause, unit: str, value: float) -> None:
    options = clause.draft.options
    if unit in ("slides", "pages"):
        clause.set_look("pages", int(value), f"{value:g}")
        if unit == "slides":
            _add_thing(clause, Thing.DECK)
    elif unit in ("seconds", "minutes"):
        seconds = value * (60 if unit == "minutes" else 1)
        clause.set_look("seconds", seconds, f"{value:g}")
    elif unit == "degrees":
        options["rotate"] = int(value)
    else:
        options[unit] = int(value)


def take_thing(clause: Clause, at: int) -> int:
    """What is to be made: "line chart", "a deck", "as a spreadsheet"."""
    term = clause.terms[at]
    if clause.names(term) or not term.has("thing", "kind"):
        return 0
    if term.has("carry") and clause.draft.asks:  # "quel site rapporte le plus"
        return 0
    if term.has("rows") and "many" in clause.draft.asks:
        return 0
    if _is_place(clause, at):
        clause.draft.marks.add("source")
        return 1
    if _is_purpose(clause, at) or _is_asked_about(clause, at):
        return 0
    if at and any(one.has("small.as") for one in clause.terms[max(0, at - 3) : at]):
        clause.draft.marks.add("as")
    kind = term.key("kind")
    if kind == "column" and _is_header(clause, at):
        return 1
    if kind is not None:
        before = clause.draft.style.chart
        if before in ("grouped", "stacked") and kind in _BARS:  # "a grouped bar chart"
            kind = before
        elif before in _BARS and kind in ("grouped", "stacked"):  # "bars, stacked"
            clause.draft.style = msgspec.structs.replace(clause.draft.style, chart=None)
        clause.set_look("chart", kind, term.text)
        words = (clause.draft.look_words.get("chart"), term.text)
        clause.draft.look_words["chart"] = " ".join(filter(None, words))
    elif (key := term.key("thing")) is not None:
        _add_thing(clause, Thing(key))
    if term.has("option.pivot"):
        clause.draft.options["pivot"] = True
    if term.has("them"):  # joined to the verb, as in "ارسمهم"
        clause.draft.several, clause.draft.several_word = int(term.key("them") or 0), term.text
        clause.draft.marks.add("it")
    if (key := term.key("format")) is not None and key not in clause.draft.formats:
        clause.draft.formats.append(key)
    if term.has("small.it"):  # joined to the verb
        clause.draft.marks.add("it")
    return 1


def _add_thing(clause: Clause, thing: Thing) -> None:
    if thing not in clause.draft.things:
        clause.draft.things.append(thing)


def _is_place(clause: Clause, at: int) -> bool:
    """Whether a question only says where it looks: "how many rows are in the table?"."""
    before = clause.term_before(at, "small.in")
    is_table = clause.terms[at].has("thing.table") and not SHEET.search(clause.terms[at].text)
    return is_table and before.has("small.in") and bool(
        clause.draft.asks & {"many", "much", "what", "which", "who"}
    )  # fmt: skip


def _is_purpose(clause: Clause, at: int) -> bool:
    """As the report of "figures for my report", which need not be made."""
    before = at - 1
    if before > 0 and clause.terms[before].is_glue and not clause.terms[before].has("small.in"):
        before -= 1
    return before > 0 and clause.terms[before].has("small.purpose") and clause.draft.has_query


def _is_header(clause: Clause, at: int) -> bool:
    """Whether "column" says that a name follows: "the total of column 2024"."""
    after = clause.term(clause.skip(at + 1))
    makes = any(one.has("thing") for one in clause.terms)
    is_computed = clause.pending is not None or (clause.draft.aggregate is not None and not makes)
    is_name = after.number is not None or bool(after.columns)
    return is_computed and is_name


def _is_asked_about(clause: Clause, at: int) -> bool:
    """Whether a question is about a thing, as in "how many films?" and "is there a report?"."""
    before = clause.term_before(at, "small.it")
    if before is END:
        return at > 0 and clause.terms[0].has("there")
    return before.has("ask") and not clause.terms[at].has("rows")


def take_look(clause: Clause, at: int) -> int:
    """A format, a colour, a language, an option, a length."""
    term = clause.terms[at]
    if clause.names(term):
        return 0
    if term.has("centre"):  # a square is cut out of the middle
        return int(any(one.has("option.square") for one in clause.terms))
    if term.kind == "hex" or (term.has("colour") and not term.has("colour.colour")):
        colour = term.text.casefold() if term.kind == "hex" else term.key("colour")
        clause.set_look("colour", colour, term.text)
        clause.draft.look_words.setdefault("colour", term.text)
    elif term.kind == "size":
        wide, high = re.findall("[0-9]+", term.text)
        clause.set_look("size", (int(wide), int(high)), term.text)
    elif (key := term.key("format")) is not None:
        if key not in clause.draft.formats:
            clause.draft.formats.append(key)
    elif (key := term.key("language")) is not None:
        if clause.draft.language not in (None, key):
            return 0
        clause.draft.language = key
        clause.draft.look_words["language"] = term.text
    elif (key := term.key("option")) is not None and key != "caption":
        clause.draft.options.setdefault(key, True)
        clause.draft.look_words.setdefault(key, term.text)
        if key == "resize" and (size := term.key("lettering")) is not None:
            clause.draft.marks.add(size)
        if key in _PALETTE and term.has("option.convert"):
            clause.draft.marks.add("convert")
    elif (key := term.key("pace")) is not None:
        clause.draft.options["pace"] = _PACES[key]
        clause.draft.look_words["pace"] = term.text
    elif term.has("edit.shorter", "edit.longer"):
        units = ("unit.slides", "unit.pages", "unit.seconds")
        is_beside = clause.term(at - 1).has(*units)  # "2 slides shorter"
        if not is_beside and any(one.has(*units) for one in clause.terms):
            return 1  # "shorter, 4 slides" says how short
        length = "shorter" if term.has("edit.shorter") else "longer"
        clause.set_look("length", length, term.text)
        clause.draft.look_words["length"] = term.text
    else:
        return 0
    return 1
