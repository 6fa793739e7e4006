"""A message as clauses, each read over the table that has its words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from msgspec.structs import replace

from agentpost_offline.data.model import Role, Table
from agentpost_offline.data.wording import filter_text
from agentpost_offline.frame import (
    Act,
    Aggregate,
    Derivation,
    Frame,
    Grain,
    Measure,
    Query,
    Thing,
)
from agentpost_offline.grammar import edits
from agentpost_offline.grammar.describing import frame_text
from agentpost_offline.grammar.draft import Draft
from agentpost_offline.grammar.edits import Work
from agentpost_offline.grammar.material import Material, material_of
from agentpost_offline.grammar.parsing import parse
from agentpost_offline.grammar.reading import Choice, Question, Reading, Unclear
from agentpost_offline.grammar.resolving import Resolved
from agentpost_offline.grammar.tagging import Term, terms
from agentpost_offline.grammar.text import (
    COMMAS,
    HAN,
    WISH_CHARACTERS,
    fold,
    name_tokens,
    normal,
    tokens,
)
from agentpost_offline.grammar.vocabulary import lexicon, word_list
from agentpost_offline.style.languages import language

_BREAKS = "!?;。！？；؟؛…"
_CLAUSES = 6
_SHEET = ", sheet "
"""What stands between the name of a workbook and that of its sheet."""
_THING_OF_FORMAT = {
    "png": Thing.CHART, "svg": Thing.CHART, "jpg": Thing.CHART, "pdf": Thing.REPORT,
    "docx": Thing.REPORT, "pptx": Thing.DECK, "xlsx": Thing.TABLE, "csv": Thing.TABLE,
    "html": Thing.SITE, "mp4": Thing.VIDEO, "gif": Thing.VIDEO,
}  # fmt: skip
_IMAGE_OPTIONS = frozenset(
    ("crop", "square", "resize", "convert", "collage", "rotate", "grayscale", "text", "top",
     "left", "right", "portrait", "landscape", "wide", "high", "percent", "nth", "lettering")
)  # fmt: skip
_DEMANDS_ON_PICTURES = frozenset(("option", "format", "unit", "place"))
_OPTIONS = {
    Thing.IMAGE: _IMAGE_OPTIONS, Thing.TABLE: frozenset(("pivot", "clean", "convert")),
    Thing.VIDEO: frozenset(("pace",)),
    Thing.CHART: frozenset(("horizontal", "wide", "high")),
    Thing.DOCUMENT: frozenset(("convert", "headings")), Thing.DECK: frozenset(("headings",)),
}  # fmt: skip
_WHITE = "#ffffff"
_PAIR = 2
"""Of so many sheets one is "the other"."""
_RACING = 2
"""So many bars race at least."""
_UNTRANSLATED = (Thing.DOCUMENT, Thing.IMAGE, Thing.TABLE)
_PAGED = (Thing.DECK, Thing.REPORT, Thing.SITE, Thing.DOCUMENT)


@dataclass
class Surrounding:
    """What a message is read over."""

    tables: Sequence[Table] = ()
    kinds: frozenset[str] = frozenset()
    """``table document image text``: what there is to make things from."""
    works: Sequence[Work] = ()
    """What was made or answered before, newest first; empty when files came along."""
    today: str = ""
    language: str = "en"
    has_files: bool = field(default=False)
    """Whether files came with this message."""
    is_unanswered: bool = False
    """Whether the message before was a request that was asked about, or failed: "it" has no
    result."""
    names: Sequence[str] = ()
    """The names of the files: "this plan" is ``move_plan.md``."""


def read(text: str, around: Surrounding) -> list[Reading]:
    """The clauses of a message, each with its frame or its question."""
    tables, text = _on_sheet(normal(text[:WISH_CHARACTERS]), around)
    last = _last_queries(around)
    candidates = [material_of(one, lexicon(around.language)) for one in tables]
    said = {fold(one.text) for one in tokens(text)} if len(candidates) > 1 else set()
    candidates.sort(key=lambda one: (
        one.table.id not in [query.table for query in last], said.isdisjoint(one.own_words)
    ))  # fmt: skip
    best: list[Reading] = []
    ties: list[Material] = []
    over: list[Material | None] = [*candidates] or [None]
    for material in over:
        readings = _read_over(text, material, around)
        if not best or _cost(readings) < _cost(best):
            best, ties = readings, [material] if material else []
        elif material is not None and _cost(readings) == _cost(best):
            ties.append(material)
    is_of_last = bool(last) and len(ties) > 1 and ties[0].table.id == last[0].table
    if (
        len(ties) > 1
        and not is_of_last
        and any(
            one.draft.has_query or one.draft.aggregate or (one.frame and one.frame.queries)
            for one in best
        )
    ):
        _ask_which_table(best, ties, text)
    if len(tables) < len(around.tables):
        for one in best:
            if one.frame is not None and one.frame.act is Act.MAKE and not one.frame.queries:
                one.question = Question("which_measure")  # "the games sheet in excel"
    return best


def read_whole(text: str, around: Surrounding, table: Table) -> Reading | None:
    """A message as one clause over a table, whatever its sentences; None where it says nothing."""
    _, text = _on_sheet(normal(text[:WISH_CHARACTERS]), around)
    material = material_of(table, lexicon(around.language))
    readings = _read_clauses(text, [terms(text, around.language, material)], material, around)
    return readings[0] if readings else None


def _on_sheet(text: str, around: Surrounding) -> tuple[Sequence[Table], str]:
    """The only sheet of a workbook that a message names, and the rest of its text: "which are
    keyholders? 2nd sheet", "on the other sheet"; all tables where it names none."""
    sheets = [one for one in around.tables if _SHEET in one.name]
    if len(sheets) < len(around.tables) or len({one.file for one in sheets}) != 1:
        return around.tables, text
    words = word_list(around.language)
    called = "|".join(re.escape(one.strip()) for one in words["sheet"]["sheet"].split(";"))
    others = "|".join(re.escape(one.strip()) for one in words["others"]["others"].split(";"))
    match = re.search(rf"(?i)(?<!\w)(?:{others})[ -]*(?:{called})(?!\w)", text)
    if match is not None and len(sheets) == _PAIR:
        last = {query.table for work in around.works[:1] for query in work.frame.queries}
        rest = [one for one in sheets if one.id not in last]
        return rest or sheets, text[: match.start()] + " " * len(match[0]) + text[match.end() :]
    matches: list[tuple[Table, re.Match[str]]] = []
    for at, sheet in enumerate(sheets, 1):
        names = [sheet.name.partition(_SHEET)[2], *words["ordinal"].get(str(at), "").split(";")]
        name = "|".join(re.escape(one.strip()) for one in names if one.strip())
        pattern = rf"(?i)(?<!\w)(?:(?:{name})[ -]*(?:{called})|(?:{called}) *(?:{name}|{at}))(?!\w)"
        if (match := re.search(pattern, text)) is not None:
            matches.append((sheet, match))
    if len(matches) != 1:
        return around.tables, text
    sheet, match = matches[0]
    return [sheet], text[: match.start()] + " " * len(match[0]) + text[match.end() :]


def _cost(readings: Sequence[Reading]) -> tuple[int, int, int, int]:
    """How badly a message is understood over a table: unknown words, then questions, then figures
    that are named by a part of their names, then columns that are not found: "room" is a column of
    one sheet, and a word of the file's name over the others."""
    unknown = sum(
        len({*one.draft.unknown, *(word for _, word in one.draft.model)}) for one in readings
    )
    dateless = sum(bool(one.draft.dateless_words) for one in readings)
    partly = sum(
        len(name_tokens(measure.column)) > len(name_tokens(measure.word))
        for one in readings for measure in one.draft.measures
    )  # fmt: skip
    names = sum(
        len(one.draft.measures) + len(one.draft.groups) + len(one.draft.mentions)
        + len(one.draft.which_columns) + len(one.draft.values)
        for one in readings
    )  # fmt: skip
    return unknown + dateless, sum(one.question is not None for one in readings), partly, -names


def _ask_which_table(best: list[Reading], candidates: Sequence[Material], text: str) -> None:
    matches = [one for one in candidates if one.table.name.casefold() in text.casefold()]
    if len(matches) == 1 or all(one.is_edit for one in best):
        return
    choices = [Choice(one.table.name, text=text, table=one.table.id) for one in candidates]
    best[0].question = Question("which_table", {}, choices)


def _read_over(text: str, material: Material | None, around: Surrounding) -> list[Reading]:
    result = terms(text, around.language, material)
    clauses = _clauses(text, result)
    readings = _read_clauses(text, clauses, material, around)
    # Two questions are two demands, and so are two figures of which one may be narrowed.
    is_one = sum(bool(one.draft.asks) for one in readings) < 2 and not any(
        one.question is not None and one.question.key in ("which_data", "ask_anew")
        for one in readings
    )
    has_total = any(one.is_sure and one.draft.aggregate_word for one in readings)
    is_one = is_one and not (has_total and any(one.draft.ranking for one in readings))
    if is_one and len(clauses) > 1 and not all(
        one.is_sure or one.draft.is_talk for one in readings
    ):  # fmt: skip
        whole = _read_clauses(text, [result], material, around)
        if all(one.is_sure for one in whole):  # "over 100 in North, how many rows?"
            return whole
    return readings


def _read_clauses(
    text: str, clauses: Sequence[Sequence[Term]], material: Material | None, around: Surrounding
) -> list[Reading]:
    drafts = [
        parse(text, clause, material, around.today, around.language, around.names,
              has_images="image" in around.kinds)
        for clause in clauses
    ]  # fmt: skip
    drafts = _with_remarks([one for one in drafts if not one.is_empty])
    readings = [
        _reading(
            draft, material, around, drafts, is_later=any(not one.is_talk for one in drafts[:at])
        )
        for at, draft in enumerate(drafts)
    ]
    readings = [one for one in readings if not _is_courtesy(one, len(readings))]
    if len(readings) == 1 and around.works and not (around.has_files or around.is_unanswered):
        last = Reading(Draft(""), around.works[0].frame)
        assert last.frame is not None, "it was answered or made"
        is_lent = len(readings[0].draft.periods) > 1 and (
            _read_with_figure_of(last, readings[0], material, around)
        )  # "compare the first quarter with the second"
        goes_on = "about" in readings[0].draft.marks and last.frame.thing is Thing.ANSWER
        if goes_on and not is_lent and readings[0].is_sure:
            _ask_of_which_rows(last, readings[0], is_later=True)  # "and how many were returned?"
    for before, one in pairwise(readings):
        _read_as_follow_up(before, one, material)
        _read_as_form_of(before, one, around)
        if not _read_with_figure_of(before, one, material, around):
            _ask_of_which_rows(before, one)
    if len(readings) == _PAIR and not readings[0].is_sure:
        _read_with_figure_of(
            readings[1], readings[0], material, around
        )  # "best shop and total qty"
    return readings


def _read_with_figure_of(
    before: Reading, one: Reading, material: Material | None, around: Surrounding
) -> bool:
    """Read a demand that only ranks, or compares periods, as one about the figure of the one before
    it: "total meals in May and which site had the most"; whether it is one."""
    first = before.frame.queries[0] if before.frame and len(before.frame.queries) == 1 else None
    if first is None or not before.is_sure or not _lacks_figure(one, first):
        return False
    name = first.measures[0].column if first.measures else None
    if name is None:
        name = word_list(around.language)["rows"]["rows"].partition(";")[0]
    text = f"{one.draft.text.rstrip(' .!?。！？؟')} {name}"
    draft = parse(text, terms(text, around.language, material), material, around.today,
                  around.language, around.names)  # fmt: skip
    whole = _reading(draft, material, around, [draft], is_later=True)
    queries = whole.frame.queries if whole.is_sure and whole.frame is not None else ()
    if whole.frame is None or len(queries) != 1 or queries[0].table != first.table:
        return False
    (query,) = queries
    own_columns = {query.time, *(each.column for each in query.filters)}
    others = [each for each in first.filters if each.column not in own_columns]
    if one.draft.ranking is not None and one.draft.aggregate_word:  # "… had the most overall"
        others = []
    query = replace(query, filters=(*query.filters, *others))
    if not (query.groups or before.draft.text) and len(first.groups) == 1:
        query = replace(query, groups=first.groups)  # "june vs july", by shop
    if query.groups and [m.column for m in query.measures] == [m.column for m in first.measures]:
        query = replace(query, measures=first.measures)
    one.frame, one.question = replace(whole.frame, queries=(query,)), None
    one.notes = whole.notes
    return True


def _lacks_figure(one: Reading, first: Query) -> bool:
    """Whether a demand ranks, compares periods or asks for a total, and names no figure; ``first``:
    the query before it."""
    draft, ranking = one.draft, one.draft.ranking
    is_implied = one.is_sure and ranking is not None and not (ranking.concept or draft.counts)
    asks_figure = one.question is not None and one.question.key in ("which_measure", "ask_anew")
    if draft.measures or len(first.measures) > 1 or not (asks_figure or is_implied):
        return False
    if ranking is not None and ranking.is_judged:  # of rows, more may be better or worse
        return bool(first.measures) and first.measures[0].column is not None
    compares = "versus" in draft.marks and len(draft.periods) > 1
    is_total = first.order is not None and draft.aggregate is not None
    return ranking is not None or compares or is_total


def _read_as_form_of(before: Reading, one: Reading, around: Surrounding) -> None:
    """Another form of what is changed before it: "as a chart, and in Excel" are both of the answer
    that was given."""
    draft, frame = one.draft, before.frame
    is_form = draft.things or draft.formats or draft.style.chart
    names_more = draft.has_query or draft.asks or draft.unknown or draft.options or draft.aggregate
    if frame is None or not (before.is_edit and before.is_sure and is_form) or names_more:
        return
    thing = thing_of(draft, around)
    if thing in (Thing.ANSWER, Thing.IMAGE, Thing.DOCUMENT, frame.thing) or not frame.queries:
        return
    _check_look(draft, thing)
    one.frame = replace(
        frame, thing=thing, style=draft.style, formats=tuple(draft.formats), said=draft.text
    )
    one.question = None


def _read_as_follow_up(before: Reading, one: Reading, material: Material | None) -> None:
    """A demand may be about the rows of the one before it: "… and how much money is that"."""
    if before.frame is None or not before.is_sure or one.is_sure or one.draft.unknown:
        return
    works = [Work(edits.ANSWERED, before.frame)]
    frame = edits.follow_up(one.draft, material, works) or edits.other_end(one.draft, before.frame)
    if frame is not None:
        one.frame, one.question = frame, None


def _with_remarks(drafts: list[Draft]) -> list[Draft]:
    """The drafts of the clauses; one that is only a remark belongs to the first request."""
    requests = [one for one in drafts if one.has_query]
    drafts = [one for one in drafts if not (requests and one.is_purpose)]
    for one in drafts:
        if requests and one.is_remark:
            requests[0].remarks += [one.text]
    return [one for one in drafts if not (requests and one.is_remark)]


def _ask_of_which_rows(before: Reading, one: Reading, *, is_later: bool = False) -> None:
    """A demand without a condition behind one that has some may be about the same rows; in a later
    message, also one with another condition."""
    if before.frame is None or one.frame is None or one.is_edit:
        return
    if len(before.frame.queries) != 1 or len(one.frame.queries) != 1:
        return
    (first,), (second,) = before.frame.queries, one.frame.queries
    has_own = second.groups or second.time or second.filters or second.order
    if (
        first.order is not None
        and first.order.count
        and not has_own
        and not one.draft.aggregate_word  # "best site and total meals"
        and (first.table == second.table)
    ):  # "which site has the most hours, and how many shifts"
        _ask_which_data(one, replace(
            second, groups=first.groups, time=first.time, grain=first.grain, filters=first.filters
        ))  # fmt: skip
        return
    own_columns = {each.column for each in second.filters}
    others = tuple(each for each in first.filters if each.column not in own_columns)
    is_compared = any(each.derived is Derivation.GROWTH for each in first.measures)
    if not others or first.table != second.table:
        return
    query = replace(second, filters=(*second.filters, *others))
    is_contrast = own_columns and own_columns < {each.column for each in first.filters}
    if is_contrast and second.measures == first.measures and second.groups == first.groups:
        one.frame = replace(one.frame, queries=(query,))
        return  # "how much did we take in 2025, and how much did we spend"
    lists = one.draft.asks == {"list"} and bool(one.draft.comparing)  # "list those over 10 kg"
    if second.filters and not (is_compared or is_later or lists):
        return
    if is_compared and not (second.groups or second.time):
        measures = tuple(replace(each, derived=Derivation.GROWTH)
                         for each in second.measures)  # fmt: skip
        query = replace(query, measures=measures, time=first.time, grain=first.grain)
    _ask_which_data(one, query)


def _ask_which_data(one: Reading, query: Query) -> None:
    """Ask whether a demand is about what came before it, as ``query`` says, or about all."""
    assert one.frame is not None, "it was understood"
    frames = (replace(one.frame, queries=(query,)), one.frame)
    choices = [Choice(frame_text(each, one.table), (each,)) for each in frames]
    one.question = Question("which_data", {}, choices)


def _is_courtesy(one: Reading, count: int) -> bool:
    """As the "Hello!" before a request."""
    return count > 1 and one.draft.talk in ("hello", "thanks", "yes") and not (
        one.draft.has_query or one.draft.things or one.draft.unknown
    )  # fmt: skip


def _clauses(text: str, phrases: Sequence[Term]) -> list[Sequence[Term]]:
    """The terms of each clause: cut at the ends of sentences, and where a new thing to make or a
    new question begins behind an "and"."""
    results: list[Sequence[Term]] = []
    start = 0
    for at, term in enumerate(phrases):
        ends = term.kind == "mark" and (term.text in _BREAKS or _is_stop(text, phrases, at))
        gap = text[phrases[at - 1].end : term.start] if at > start else ""
        line = "\n" in gap or (" " in gap and _begins_behind_space(phrases, start, at))
        if ends and at > start:
            results.append(phrases[start : at + 1])
            start = at + 1
        elif at > start and (line or _begins(phrases, start, at)):
            results.append(phrases[start:at])
            start = at
    if start < len(phrases):
        results.append(phrases[start:])
    results = _with_what_hands_over(results)
    if len(results) > _CLAUSES:
        results = [
            *results[: _CLAUSES - 1],
            [one for rest in results[_CLAUSES - 1 :] for one in rest],
        ]
    return results


def _begins_behind_space(phrases: Sequence[Term], start: int, at: int) -> bool:
    """Whether a blank stands for a comma between two Chinese demands."""
    ends = phrases[at - 1].text[-1:] + phrases[at].text[:1]
    is_han = re.fullmatch(f"[{HAN}]{{2}}", ends)
    asked = [any(one.has("ask") for one in part) for part in (phrases[start:at], phrases[at:])]
    return bool(is_han) and all(asked)


def _with_what_hands_over(clauses: Sequence[Sequence[Term]]) -> list[Sequence[Term]]:
    """The clauses, where one that only says as what "it" is to come belongs to what is made:
    "clean this table and give it to me as Excel" is one job."""
    results: list[Sequence[Term]] = []
    for clause in clauses:
        only_adds = (
            _narrows(clause) or _only_sorts(clause)
            or _has_only(clause, "place", "small.polite", "small.in")  # "at the bottom"
            or (_has_only(clause, "ask.much", "small.and", "small.polite")  # "and how much"
                and not any(one.has("small.it") for one in clause))
        )  # fmt: skip
        if results and only_adds:
            results[-1] = [*results[-1], *clause]
        elif results and _makes(results[-1]) and (
            _hands_over(clause)
            or (_has_only(clause, "format", "small.polite", "small.in", "small.as")
                and not any(one.has("thing") for one in clause))  # "Word would be good."
        ):  # fmt: skip
            results[-1] = [*results[-1], *(one for one in clause if not one.has("small.it"))]
        else:
            results.append(clause)
    return results


def _narrows(clause: Sequence[Term]) -> bool:
    """Whether a clause only leaves something out of the one before: "A report on January. Not
    February"."""
    first = next((one for one in clause if not one.is_glue and one.kind != "mark"), None)
    asks_more = any(
        one.has("thing", "kind", "ask", "aggregate", "talk", "control", "model", "edit.undo")
        for one in clause
        if not (one.columns or one.values)
    )
    return first is not None and first.has("not.not", "only") and not first.columns and (
        not asks_more
    )  # fmt: skip


def _words(clause: Sequence[Term]) -> list[Term]:
    return [one for one in clause if not (one.is_glue or one.kind == "mark")]


def _has_only(clause: Sequence[Term], main: str, *more: str) -> bool:
    """Whether a clause has a word of one meaning, and beside it words of some others at most."""
    words = _words(clause)
    return any(one.has(main) for one in words) and all(
        one.has(main, *more) and not (one.columns or one.values) for one in words
    )


def _only_sorts(clause: Sequence[Term]) -> bool:
    """As in "highest amount first", behind a question."""
    words = _words(clause)
    return any(one.has("sort") for one in words) and all(
        one.has("sort", "extreme", "small.polite", "small.and") or (one.columns and not one.values)
        for one in words
    )  # fmt: skip


def _makes(clause: Sequence[Term]) -> bool:
    """Whether a clause has something made, and asks for no figure beside it."""
    is_made = any(one.has("thing", "kind", "option") for one in clause)
    return is_made and not any(one.has("ask") for one in clause)


def _hands_over(clause: Sequence[Term]) -> bool:
    """Whether a clause has "it … as" before its only thing, and nothing else of a request."""
    places = [at for at, one in enumerate(clause) if one.has("thing", "format")]
    if len(places) != 1 or any(one.columns or one.values or one.has("ask") for one in clause):
        return False
    before = clause[: places[0]]
    return any(one.has("small.it") for one in before) and any(one.has("small.as") for one in before)


def _is_stop(text: str, phrases: Sequence[Term], at: int) -> bool:
    """Whether a full stop ends a sentence: not in "2. Quartal" and "e.g."."""
    if phrases[at].text != "." or at + 1 == len(phrases):
        return False
    before = phrases[at - 1] if at else None
    has_space = text[phrases[at].end : phrases[at].end + 1].isspace()
    return has_space and before is not None and before.number is None and len(before.text) > 2


_AHEAD = 12
"""Among so many terms behind an "and" stands what both figures beside it are shown by."""


def _begins(phrases: Sequence[Term], start: int, at: int) -> bool:
    """Whether a new clause begins at an "and" or a comma."""
    if not (phrases[at].has("small.and", "edit.too", "edit.about") or phrases[at].text in COMMAS):
        return False
    if not any(one.has("thing", "ask", "kind") or one.columns for one in phrases[start:at]):
        return False
    tells = any(one.has("thing.report", "thing.deck", "thing.site") for one in phrases[start:at])
    if tells and any(one.has("having") for one in phrases[at + 1 : at + 2]):
        return False  # "a report by region, with a chart"
    for one in phrases[at + 1 : at + 6]:
        if one.columns or one.values:
            return False
        if one.has("kind.grouped", "kind.stacked") and not one.has("kind.bar", "kind.column"):
            return False  # "bars by month, stacked"
        is_thing = one.has("thing") and (one.has("thing.table") or not one.has("format"))
        if is_thing or one.has("kind"):
            return any(
                each.has("thing", "kind", "option.pivot")
                and not each.has("kind.grouped", "kind.stacked")
                for each in phrases[start:at]
            )
        if one.has("ask.many") and not any(
            each.has("by", "ask", "thing", "kind") or each.values
            or (each.has("aggregate") and not any(
                after.has("by") for after in phrases[at : at + _AHEAD]
            ))
            for each in phrases[start:at]
        ):  # fmt: skip
            return False  # "revenue and number of bookings by channel"
        if one.has("extreme") and _sums(phrases[start:at]):
            return True  # "total meals and the top site"
        if one.has("aggregate") and _ranks(phrases[start:at]):
            return True  # "which site had the most meals and the total", "best shop and total qty"
        if one.has("ask.many", "ask.much", "ask.which", "ask.who", "ask.why") or (
            one.has("ask.what")
            and any(each.has("aggregate", "extreme") for each in phrases[at : at + 6])
        ):  # fmt: skip
            return True
        if not (
            one.is_glue
            or one.has("small", "number", "edit", "unit.pages")
            or one.number is not None
        ):
            return False
    return False


def _sums(phrases: Sequence[Term]) -> bool:
    """Whether a sum of a column is asked for, and nothing is ranked."""
    has_sum = any(one.has("aggregate.sum", "aggregate.mean") for one in phrases)
    return has_sum and any(one.columns for one in phrases) and not any(
        one.has("extreme") for one in phrases
    )  # fmt: skip


def _ranks(phrases: Sequence[Term]) -> bool:
    """Whether the best or worst by a column is asked for."""
    return any(one.has("extreme") for one in phrases) and any(one.columns for one in phrases)


def _reading(
    draft: Draft, material: Material | None, around: Surrounding, drafts: Sequence[Draft],
    *, is_later: bool,
) -> Reading:  # fmt: skip
    result = Reading(draft, table=material.table if material is not None else None)
    is_of_rows = bool(around.works) and around.works[0].frame.thing is Thing.TABLE and not (
        draft.things or around.works[0].frame.queries
    )  # fmt: skip
    if Thing.TABLE in draft.things or "clean" in draft.options or is_of_rows:
        _order_rows(draft, material)
    if Thing.TABLE in draft.things and material is not None and "only" in draft.marks:
        _refuse_columns(draft, material)
    if draft.marks & {"undo", "change"}:  # "no, undo that"
        draft.talk = None
    if "passage" in draft.asks:  # "where does it say when the music stops?"
        draft.model, draft.control = [], None
    if draft.model and _is_for_model(draft):
        return result
    if _only_stands(draft):
        return result
    draft.unknown += [word for _, word in draft.model]
    if not (around.has_files or around.is_unanswered or is_later):
        result.frame = edits.follow_up(draft, material, around.works)
        if result.frame is not None:
            return result
    try:
        edit = edits.of(draft, material, around.works, around.today) if not (
            around.has_files or is_later
        ) else None  # fmt: skip
        if edit is not None:
            result.frame, result.target, result.is_free = edit.frame, edit.target, edit.is_free
            result.is_edit = True
            _check_colour_of_part(draft)
            has_text = "text" in edit.frame.style.options
            _check_look(draft, edit.frame.thing or Thing.ANSWER, has_text=has_text)
            result.notes = edit.notes
            return result
        _check_what_it_is(draft, around, is_later=is_later)
        if not (around.has_files or is_later) and (
            edits.speaks_of_list(draft, material, around.works)
        ):  # fmt: skip
            raise Unclear("ask_anew")
        are_files = draft.several == len(around.names) == 2 and around.has_files
        names_several = (*draft.groups, *draft.mentions, *draft.values[1:], *draft.measures[1:],
                         *draft.periods[1:])  # fmt: skip
        is_joined = draft.style.chart == "grouped" or "collage" in draft.options
        are_files = are_files or (is_joined and "image" in around.kinds)
        if draft.several and draft.several_word and not are_files and (
            not names_several or draft.several_word.isdigit()
        ):  # fmt: skip
            draft.unknown.append(draft.several_word)
        if _shows_rows(draft):
            draft.asks.add("list")
            draft.measures = []
            for one in draft.comparing:
                one.measure_at = None
        result.frame = _frame(draft, material, around, drafts, result)
        _tell_remarks(result)
        if result.frame is not None and "among" in draft.marks and _last_queries(around):
            _keep_rows(result.frame, _last_queries(around), result)
        others = (one for one in drafts if one is not draft and not one.is_talk)
        if result.frame is not None and not any(one.has_query or one.asks for one in others):
            _ask_of_which_data(draft, result.frame, material, around)
        if result.frame is not None and material is not None:
            if draft.unknown:
                _ask_which_of_alike(draft, result.frame, material)
            _tell_lost_conditions(result, material, around)
    except Unclear as unclear:
        result.question = unclear.question
    return result


def _shows_rows(draft: Draft) -> bool:
    """Whether rows are to be shown under a condition: "show the unpaid ones over 200"."""
    conditions = {one.column for one in draft.comparing}
    others = [one for one in draft.measures if one.aggregate or one.column not in conditions]
    names_rows = bool(draft.counts or draft.row_nouns)
    if others or ((draft.measures or "only" in draft.marks) and not names_rows):
        return False
    narrowing = ("values", "filters", "comparing")
    return "show" in draft.marks <= {"show", "flag", "dated", "all", "only"} and (
        draft.has(*narrowing) and not draft.has_besides(
            *narrowing, "periods", "measures", "counts", "row_nouns", "unknown"
        )
    )  # fmt: skip


def _keep_rows(frame: Frame, last: Sequence[Query], result: Reading) -> None:
    """Of "who took the most of that" the rows are those of what was shown last."""
    if len(frame.queries) != 1 or len(last) != 1 or frame.queries[0].table != last[0].table:
        raise Unclear("ask_anew")
    (query,) = frame.queries
    own_columns = {one.column for one in query.filters}
    filters = (one for one in last[0].filters if one.column not in own_columns)
    query = replace(query, filters=(*filters, *query.filters))
    if not result.draft.measures and last[0].measures and query.order is not None:
        query = replace(query, measures=last[0].measures)  # of the same figure
    result.frame = replace(frame, queries=(query,))


def _tell_lost_conditions(reading: Reading, material: Material, around: Surrounding) -> None:
    """Tell that a new request is of more rows than what was shown before: of "only March", and
    then "who brought in most"."""
    assert reading.frame is not None, "something is done"
    own_columns = {one.column for query in reading.frame.queries for one in query.filters}
    filters = [
        one for query in _last_queries(around) if query.table == material.table.id
        for one in query.filters if one.column not in own_columns
    ]  # fmt: skip
    texts = dict.fromkeys(
        filter_text(one, column, around.language) for one in filters
        if (column := material.columns_by_name.find(one.column))
    )  # fmt: skip
    if texts:
        what = language(around.language).join([*texts])
        reading.notes.append(("no_longer", {"what": what}))


def _is_for_model(draft: Draft) -> bool:
    """Whether all of a clause needs a model, and not only a word beside a request: "total hours
    by volunteer, thank you cards are going out"."""
    is_picture = bool(draft.options.keys() & _IMAGE_OPTIONS)
    kinds = {kind for kind, _ in draft.model}
    names_figure = draft.measures or draft.counts or draft.aggregate or draft.ranking
    is_unknown = kinds & {"why", "future", "written"} or ("judge" in kinds and not names_figure)
    return bool(is_unknown) or not (draft.has_query or is_picture)


def _last_queries(around: Surrounding) -> tuple[Query, ...]:
    """The queries of the work before; none where files came along."""
    return around.works[0].frame.queries if around.works and not around.has_files else ()


def _check_what_it_is(draft: Draft, around: Surrounding, *, is_later: bool) -> None:
    """Raise `Unclear` where a clause that is no edit speaks of what was shown before."""
    if around.is_unanswered and "it" in draft.marks and (
        draft.options.keys() & _IMAGE_OPTIONS and "image" in around.kinds
    ):  # fmt: skip
        raise Unclear("ask_anew")  # of a picture that was not made
    is_of_picture = Thing.IMAGE in draft.things and "image" in around.kinds
    if around.works and _is_of_before(draft) and not (
        around.has_files or is_later or is_of_picture
    ):  # fmt: skip
        raise Unclear("ask_anew")
    if draft.asks == {"many"} and "it" in draft.marks and not (
        draft.measures or draft.groups or draft.values or draft.filters or draft.periods
    ):  # fmt: skip
        raise Unclear("ask_anew")  # "… and how many was that": rows of what was named before
    of_before = edits.asks_sum_of_it(draft) or edits.asks_among(draft)
    if of_before and (around.works or is_later or around.is_unanswered):
        raise Unclear("ask_anew")
    is_share = draft.derivation is Derivation.SHARE and "it" in draft.marks
    if is_share and any(query.filters for query in _last_queries(around)):
        raise Unclear("ask_anew")  # "how much of that is …": of what was left after a filter


def _tell_remarks(reading: Reading) -> None:
    """Tell what a question has beside it, which changes nothing about the answer; what costs is
    not made with words that are not understood."""
    texts, remarks = list(reading.draft.purposes), reading.draft.remarks
    if reading.frame is not None and reading.frame.act is Act.ASK:
        texts += remarks
    else:
        reading.draft.unknown += remarks
    reading.notes += [("remark", {"words": one}) for one in texts]


def _is_of_before(draft: Draft) -> bool:
    """Whether a clause that is no edit speaks of what was made before: "with a chart", "draw them"
    once more, "only those who have not paid", "the average"."""
    names_anew = draft.measures or (draft.things and "as" not in draft.marks)
    is_again = bool(draft.things) and "it" in draft.marks and not draft.has_query
    is_part = "only" in draft.marks and (not draft.asks or "it" in draft.marks)
    is_bare = draft.aggregate is not None and not (draft.has_query or draft.asks)
    return "with" in draft.marks or is_again or (not names_anew and (is_part or is_bare))


def _check_colour_of_part(draft: Draft) -> None:
    """A colour is that of the whole result: "make the cats orange" is not understood."""
    names_part = bool(draft.values or draft.measures or draft.mentions)
    is_whole = "split" in draft.marks or ("only" in draft.marks and bool(draft.values))
    if draft.style.colour is not None and names_part and not is_whole:
        draft.unknown.append(draft.look_words["colour"])
        draft.marks.add("unable")


def _ask_which_of_alike(draft: Draft, frame: Frame, material: Material) -> None:
    """A word that is not understood may belong to the column's name: of "Pieces" and "Pieces
    returned" the longer names are offered first. Raises `Unclear`."""
    if len(frame.queries) != 1 or len(frame.queries[0].measures) != 1:
        return
    (query,) = frame.queries
    (measure,) = query.measures
    alike = [
        one for one in material.numbers
        if measure.column and one.name.casefold().startswith(f"{measure.column.casefold()} ")
    ]  # fmt: skip
    if not alike:
        return
    columns = [*(one.name for one in alike), str(measure.column)]
    measures = [replace(measure, column=name) for name in columns]
    frames = [replace(frame, queries=(replace(query, measures=(one,)),)) for one in measures]
    choices = [Choice(frame_text(one, material.table), (one,)) for one in frames]
    raise Unclear("ambiguous", choices, word=draft.measures[0].word if draft.measures else "")


def _ask_of_which_data(
    draft: Draft, frame: Frame, material: Material | None, around: Surrounding
) -> None:
    """A bare "excel please" after an answer may mean the answer or the file: raises `Unclear`."""
    is_form = bool(draft.formats or "as" in draft.marks) and not around.has_files
    names_figure = draft.measures or draft.groups or draft.mentions or draft.counts
    speaks_of_it = draft.several == 0 or ("it" in draft.marks and not (
        frame.queries and (names_figure or draft.which_columns)
    ))  # fmt: skip
    narrows = draft.values or draft.filters or draft.periods or draft.comparing
    is_of_that = "that" in draft.look_words and bool(draft.measures or draft.asks) and not narrows
    if around.is_unanswered and (speaks_of_it or is_of_that or (is_form and not names_figure)):
        raise Unclear("ask_anew")
    is_bare = not (frame.queries or around.has_files or draft.marks & {"source", "table"})
    is_form = bool(draft.formats) and not draft.things
    is_open = frame.thing in (Thing.CHART, Thing.TABLE) or is_form
    if frame.thing is None or not is_bare or draft.options or not is_open:
        return
    edit_frame = edits.of_answer(frame.thing, draft, material, around.works)
    if edit_frame is not None and material is not None:
        choices = [Choice(frame_text(one, material.table), (one,)) for one in (edit_frame, frame)]
        raise Unclear("which_data", choices)


def _order_rows(draft: Draft, material: Material | None) -> None:
    """The rows of a table may stand in the order of one column. Where figures are computed, an
    order by another column is named as not understood."""
    asks_figure = draft.measures or draft.asks or draft.groups or draft.aggregate or draft.ranking
    if draft.time and draft.grains == [Grain.DAY] and draft.row_nouns and not asks_figure:
        draft.row_order, draft.sort = draft.time, False  # "excel of jobs by date"
        draft.grains, draft.row_nouns, draft.counts = [], [], []
    if material is None or not draft.sort_by:
        return
    names = {name for name, _ in draft.sort_by}
    others = {*draft.groups, *draft.mentions, *draft.which_columns} - names
    measured = {one.column for one in (*draft.measures, *draft.by_numbers)} - names
    computes = draft.has("aggregate", "derivation", "ranking", "comparing") or bool(
        others or measured or "many" in draft.asks or "pivot" in draft.options
    )
    orders = [] if computes and names <= {one.name for one in material.numbers} else draft.sort_by
    if not orders:
        return
    draft.groups = [name for name in draft.groups if name not in names]
    draft.mentions = [name for name in draft.mentions if name not in names]
    if names & {one.name for one in material.date_columns}:
        draft.is_trend, draft.time = False, None
    if computes or len(names) > 1:
        draft.unknown += [text for _, text in orders]
        draft.sort = None
        return
    draft.row_order = names.pop()
    draft.measures = [one for one in draft.measures if one.column != draft.row_order]
    draft.by_numbers, draft.counts, draft.grains = [], [], []
    is_number = draft.row_order in {one.name for one in material.numbers}
    draft.sort = is_number if draft.is_descending is None else draft.is_descending


def _refuse_columns(draft: Draft, material: Material) -> None:
    """A table has all its columns: "just name and email" is named as not understood."""
    names = [*draft.mentions, *draft.row_nouns]
    if draft.values or draft.measures or draft.filters or draft.periods or not names:
        return
    draft.unknown += [material.column(name).label for name in names]
    draft.mentions, draft.row_nouns, draft.counts = [], [], []
    draft.asks.discard("list")


def _only_stands(draft: Draft) -> bool:
    """Whether a clause only talks, or steers what runs."""
    steers = draft.steers and not draft.has_look
    talks = draft.talk is not None and not (
        draft.has_query or draft.things or draft.control
        or (draft.talk in ("hello", "thanks", "yes") and draft.has_look)  # "hi, crop it"
    )  # fmt: skip
    return steers or talks or "passage" in draft.asks


def _names_chart(draft: Draft, around: Surrounding) -> bool:
    """Whether the words for the kind of a chart say that it is one: "grouped bar chart"."""
    language_words = lexicon(around.language)
    keys = [(language_words.key(word),) for word in draft.look_words.get("chart", "").split()]
    meanings = [one for key in keys for one in language_words.phrases.get(key, ())]
    return not {"thing.chart", "kind.bar", "kind.column"}.isdisjoint(meanings)


def thing_of(draft: Draft, around: Surrounding) -> Thing:
    """What a clause asks to be made; an answer where nothing is."""
    images = "image" in around.kinds and "table" not in around.kinds
    is_only_beside = not draft.things and not _names_chart(draft, around)
    if draft.style.chart == "grouped" and (images or is_only_beside):  # "side by side"
        if images:
            draft.options["collage"] = "row"
        draft.style = replace(draft.style, chart=None)
    things = list(draft.things)
    of_picture = images and things in ([], [Thing.IMAGE])
    if not of_picture and (things or draft.formats):  # "turn it into a PDF"
        draft.options.pop("rotate", None)
    documents = bool(around.kinds & {"document", "text"}) and "table" not in around.kinds
    documents = documents and not ("table" in draft.marks and around.tables)
    documents = documents and not {Thing.CHART, Thing.VIDEO, Thing.TABLE} & set(things)
    if draft.style.chart is not None and Thing.CHART not in things:
        things.append(Thing.CHART)
    if len(things) > 1 and Thing.IMAGE in things:
        things.remove(Thing.IMAGE)
    if len(things) > 1 and Thing.CHART in things and Thing.TABLE not in things:
        things.remove(Thing.CHART)
    picture = bool(draft.options.keys() & _IMAGE_OPTIONS - {"convert", "left", "right"})
    if of_picture and (picture or draft.formats or draft.style.size or things):
        return Thing.IMAGE
    if documents and not draft.has_query and (things or draft.formats or draft.options):
        return Thing.DOCUMENT
    if picture and things in ([], [Thing.IMAGE]) and not (draft.has_query and around.tables):
        return Thing.IMAGE  # "who didnt turn up" turns no picture
    if things:
        draft.unknown += [one.value for one in things[1:]]
        return things[0]
    for option, thing in (("pivot", Thing.TABLE), ("clean", Thing.TABLE)):
        if option in draft.options:
            return thing
    if draft.formats:
        return _THING_OF_FORMAT.get(draft.formats[0], Thing.DOCUMENT)
    return Thing.ANSWER


def _frame(
    draft: Draft, material: Material | None, around: Surrounding, drafts: Sequence[Draft],
    reading: Reading,
) -> Frame | None:  # fmt: skip
    thing = thing_of(draft, around)
    _check_look(draft, thing)
    draft.unknown += [
        draft.look_words[mark] for mark in ("others", "same") if mark in draft.marks
    ]  # of what was shown before, and nothing was
    if {column for column, _ in draft.values} & {*draft.groups}:
        _check_colour_of_part(draft)
    if thing is Thing.IMAGE:
        _check_picture(draft, around)
        if int(draft.options.get("nth", 0)) > len(around.names):
            draft.unknown.append(draft.text)
    if thing in _PAGED and (draft.is_own_name or draft.row_nouns) and "many" not in draft.asks and (
        not draft.has_query_besides("counts", "row_nouns", *edits.CONDITIONS)
    ):  # fmt: skip
        draft.counts, draft.row_nouns = [], []  # "a report on our orders" is of all that they tell
    source = draft
    if not draft.has_query and thing is not Thing.ANSWER:
        source = next((one for one in drafts if one.has_query), draft)
    queries: tuple[Query, ...] = ()
    if thing is Thing.VIDEO and material is not None and material.date_columns and (
        source.has_query and not source.grains
    ):  # fmt: skip
        source.is_trend = True
    if material is not None and (source.has_query or source.aggregate or thing is Thing.ANSWER):
        resolved = Resolved(source, material, thing, around.today, around.language)
        groups = resolved.query.groups
        if "who" in draft.asks and groups and material.people and not any(
            map(material.names_people, groups)
        ):  # fmt: skip
            raise Unclear("which_measure")  # "who is late most often", by the hour
        reading.notes += resolved.notes
        whole = not resolved.query.measures and not (resolved.query.filters or source.has_query)
        queries = () if whole else resolved.queries
    if thing is Thing.CHART and queries and not any(one.measures for one in queries):
        raise Unclear("which_measure")  # rows are not drawn
    if thing is Thing.ANSWER and not queries:
        return None
    if thing is Thing.VIDEO and material is not None:
        if not material.date_columns:
            raise Unclear("film_needs_time", table=material.table.name)
        queries = _raced(source, queries, material)
    style = replace(draft.style, options=dict(draft.options))
    formats = tuple(draft.formats)
    if thing is Thing.DOCUMENT:
        formats = _document_formats(draft)
        if not formats:
            return None
    return Frame(
        Act.ASK if thing is Thing.ANSWER else Act.MAKE, thing, queries, style, formats,
        draft.language or around.language, said=draft.text,
    )  # fmt: skip


def _raced(draft: Draft, queries: Sequence[Query], material: Material) -> tuple[Query, ...]:
    """The queries of a race of bars. Where no column has names, the columns of numbers race: the
    clubs of a table with a column for each; one that is named whole has nothing to race against."""
    names = [one for one in material.groups if one.distinct > 1]
    is_plain = not any(one.groups or one.having or one.order for one in queries)
    if names or len(material.numbers) < _RACING or not is_plain:
        return tuple(queries)
    if any(name_tokens(fold(one.word)) == name_tokens(fold(one.column)) for one in draft.measures):
        if len(draft.measures) < _RACING:
            raise Unclear("film_needs_names", table=material.table.name)
        return tuple(queries)
    amounts = [one for one in material.numbers if one.role is Role.AMOUNT]
    measures = tuple(
        Measure(one.name, Aggregate.MEAN if one.role is Role.RATE else Aggregate.SUM)
        for one in material.table.columns if one in (amounts or material.numbers)
    )  # fmt: skip
    query = queries[0] if queries else Query(material.table.id)
    time = query.time or material.date_columns[0].name
    return (replace(query, measures=measures, time=time),)


def _document_formats(draft: Draft) -> tuple[str, ...]:
    if draft.formats:  # "a web page, and a PDF as well"
        is_page = Thing.SITE in draft.things and "html" not in draft.formats
        return tuple(["html", *draft.formats] if is_page else draft.formats)
    if "headings" in draft.options:
        return ("pptx",)
    return tuple(edits.FORMAT_OF_THING[one] for one in draft.things if one in edits.FORMAT_OF_THING)


def _demands_of_each(draft: Draft, around: Surrounding) -> bool:
    """Whether something is demanded between the names of two pictures, as in "the mug 600 wide, and
    the bowl as jpg"; of "the mug and the bowl 600 wide" it is the same."""
    stems = [one.rpartition(".")[0] for one in around.names]
    text, caption = fold(draft.text), fold(str(draft.options.get("text", "")))
    text = text.replace(caption, "") if caption else text
    for name, stem in zip(around.names, stems, strict=True):
        text = text.replace(fold(name), fold(stem))
    words, parts = name_tokens(text), [{*map(fold, name_tokens(stem))} for stem in stems]
    places = [at for at, word in enumerate(words) if sum(word in part for part in parts) == 1]
    if "collage" in draft.options or not places:
        return False
    first, last = places[0], places[-1]
    is_of_two = not any({words[first], words[last]} <= part for part in parts)
    between = words[first + 1 : last]
    meanings = [one.partition(".")[0] for word in between
                for one in lexicon(around.language).meanings_of(word)]  # fmt: skip
    has_demand = any(map(str.isdigit, between)) or not _DEMANDS_ON_PICTURES.isdisjoint(meanings)
    return is_of_two and has_demand


def _check_picture(draft: Draft, around: Surrounding) -> None:
    """A picture has no rows that could be ranked or left out; a new size has to be told; and of
    several pictures each may have a demand of its own."""
    if _demands_of_each(draft, around):
        raise Unclear("one_picture")
    if draft.has_query or draft.aggregate:
        draft.unknown.append(draft.ranking.word if draft.ranking else draft.text)
    if draft.ordinal is not None and draft.ordinal > 0:  # "the second picture"
        draft.options["nth"] = draft.ordinal
    if draft.options.keys() >= {"collage", "rotate"}:
        draft.unknown.append(draft.text)
    if "crop" in draft.options and draft.unknown:
        draft.marks.add("unable")  # "crop the top 80 px off" cuts another part
    if draft.options.keys() in ({"resize"}, {"crop"}) and draft.style.size is None:
        raise Unclear("picture_size")
    if not (draft.options or draft.formats or draft.style.size):  # nothing is to be done with it
        raise Unclear("not_clear")


def _check_look(draft: Draft, thing: Thing, *, has_text: bool = False) -> None:
    """What a thing cannot have is a word that is not understood; ``has_text``: a text stands on the
    picture that is changed."""
    has_text = has_text or "text" in draft.options
    style, options = draft.style, _OPTIONS.get(thing, frozenset[str]())
    is_answer = thing is Thing.ANSWER
    lacks_text = thing is Thing.IMAGE and not has_text
    is_unseen = style.colour == _WHITE and thing is not Thing.IMAGE
    size = style.size and "×".join(map(str, style.size))
    unfit = [
        (key, str(value) if isinstance(value, (str, int)) and value is not True else key)
        for key, value in draft.options.items()
        if (key not in options and key not in ("which", "no_total"))
        or (key in ("left", "right") and "rotate" not in draft.options)
        or (key in ("top", "lettering") and not has_text)
    ]  # fmt: skip
    unfit += [
        (name, str(value))
        for name, value, is_unfit in (
            ("pages", style.pages, thing not in _PAGED or "more" in draft.marks),
            ("length", style.length, thing not in (*_PAGED, Thing.VIDEO)),
            ("seconds", style.seconds and f"{style.seconds:g} s", thing is not Thing.VIDEO),
            ("chart", style.chart, thing in (Thing.ANSWER, *_UNTRANSLATED)),
            ("colour", style.colour, is_answer or lacks_text or is_unseen),
            ("title", style.title, is_answer or lacks_text),
            ("size", size, is_answer),
            ("language", draft.language, is_answer or thing in _UNTRANSLATED),
            ("of_text", "of_text" in draft.marks or None, lacks_text or thing is not Thing.IMAGE),
        ) if value is not None and is_unfit
    ]  # fmt: skip
    draft.unknown += dict.fromkeys(draft.look_words.get(key, value) for key, value in unfit)
