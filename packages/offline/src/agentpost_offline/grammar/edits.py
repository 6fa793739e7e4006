"""Changes to what was made before: a closed list, beyond which every message is a new request.

The list: split by, only, without, another period, sort, top N, kind of chart, colour, title,
format, length, language, undo, and "as a …, too".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from agentpost_offline.data.formulas import Sign, formula
from agentpost_offline.data.model import Column, Role
from agentpost_offline.data.roles import is_additive, is_reading
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
from agentpost_offline.grammar import comparing, together
from agentpost_offline.grammar.describing import frame_text
from agentpost_offline.grammar.draft import Comparing, Draft
from agentpost_offline.grammar.material import (
    Calendar,
    Material,
    calendar_of,
    no_value,
    reaches,
    yes_value,
)
from agentpost_offline.grammar.reading import Choice, Unclear
from agentpost_offline.style.numbers import is_currency

ANSWERED = ""
"""The id of the work that stands for the last question that was answered."""
FORMAT_OF_THING = {Thing.DECK: "pptx", Thing.SITE: "html", Thing.REPORT: "pdf"}
"""The format of a document that is asked for as such a thing."""
CONDITIONS = ("values", "filters", "periods", "exclusions", "comparing", "time")
"""The fields of a draft that narrow what was shown."""
_MARKS = frozenset(
    ("it", "change", "about", "only", "too", "split", "undo", "source", "others", "same")
)


@dataclass(frozen=True)
class Work:
    """Something made before: its frame, and the frames that it had earlier, oldest first; of the
    last answer, the answers before it, of which the last ``beside`` are of the same message."""

    id: str
    frame: Frame
    earlier: tuple[Frame, ...] = ()
    formats: tuple[str, ...] = ()
    """The formats that its maker writes when none is named."""
    beside: int = 0


@dataclass(slots=True)
class Edit:
    """A frame after a change; ``target`` is None where it is another thing."""

    frame: Frame
    target: str | None
    is_free: bool
    notes: list[comparing.Note] = field(default_factory=list)


def of(draft: Draft, material: Material | None, works: Sequence[Work], today: str) -> Edit | None:
    """The edit that a clause is; None for a new request. Raises `Unclear`."""
    _read_which(draft, works)
    if not works or _is_new(draft, works):
        return None
    work = _target(draft, works)
    if work is None:
        return None
    if material is not None and _is_list(work.frame, material):
        if "dated" in draft.marks or draft.grains == [Grain.DAY]:
            return _rows_by_date(draft, material, work)
        if draft.ranking is not None or (draft.sort is not None and not draft.row_order):
            raise Unclear("ask_anew")  # "biggest first", of rows that were listed
    _read_count(draft, works, work)
    if draft.several is not None and not draft.has_query_besides("measures"):
        answers = _several(draft, works)
        draft.several_word = ""
        if answers is not None and not (draft.things or draft.style.chart or draft.measures):
            return Edit(replace(answers, said=draft.text), None, False)
        if answers is not None:
            work, draft.aggregate = Work(ANSWERED, answers), None
            draft.marks.add("it")
    if not _is_edit(draft, work):
        return None
    if "undo" in draft.marks and (draft.has_look or draft.has_query):
        raise Unclear("ask_anew")  # "undo that and make it red": one after the other
    if "undo" in draft.marks:
        return _undone(draft, work)
    frame, thing = _frame_to_change(draft, work, material), _thing(draft, work.frame)
    if frame.thing is Thing.ANSWER and material is not None:
        frame = replace(frame, queries=tuple(_as_rate(query, material) for query in frame.queries))
    if thing is Thing.IMAGE:
        return None  # a picture beside the file is changed, and no picture of an answer
    if material is None or not any(query.table == material.table.id for query in frame.queries):
        if draft.has_query:
            return None
        queries = frame.queries
    else:
        calendar = _calendar(draft, material, today, frame.queries)
        queries = tuple(_query(query, draft, calendar, material) for query in frame.queries)
        if (thing or frame.thing) in TELLING:
            queries = tuple(map(_without_single_groups, queries))
    if frame.thing is Thing.IMAGE and "text" in frame.style.options:
        _set_letters(draft)
    style = _style(frame.style, draft)
    if frame.thing is Thing.IMAGE and draft.options.keys() == {"resize"} and not draft.style.size:
        raise Unclear("picture_size")  # "smaller"
    if "rotate" in draft.options and "collage" in style.options:
        raise Unclear("ask_anew")  # the whole, or each of its pictures?
    if style.chart == "donut" and draft.style.chart is None and (draft.grains or draft.is_trend):
        style = replace(style, chart=None)  # months are no parts of a whole
    if thing is Thing.CHART and not draft.has_query and _is_figure(frame):
        choices = _drawn_before(work, thing, draft, material)
        if choices or draft.style.chart:  # a pie of one figure has one part
            raise Unclear("ask_anew", choices)
    if thing is not None:
        return _another(frame, thing, queries, style, draft, material)
    if frame.thing is Thing.ANSWER and (draft.formats or style != frame.style):
        return None
    result = replace(
        frame, queries=queries, style=style, formats=_formats(work, draft), said=draft.text,
        language=draft.language or frame.language,
    )  # fmt: skip
    if replace(result, said=frame.said) == frame:
        return None
    return Edit(result, work.id, _only_renders(frame, result))


def _frame_to_change(draft: Draft, work: Work, material: Material | None) -> Frame:
    """What is changed: of "and just July" behind two answers of one message, both; of "leave out
    wholesale" behind a report on all of a table, what the table tells without it."""
    is_all = work.frame.thing in TELLING and not work.frame.queries
    if is_all and material is not None and draft.has(*CONDITIONS):
        return replace(work.frame, queries=(Query(material.table.id),))
    beside = work.earlier[len(work.earlier) - work.beside :]
    narrows = draft.has_query and not draft.has_besides("unknown", *CONDITIONS)
    if not narrows or any(one.files != work.frame.files for one in beside):
        return work.frame
    queries = [query for one in (*beside, work.frame) for query in one.queries]
    return replace(work.frame, queries=tuple(dict.fromkeys(queries)))


def _read_which(draft: Draft, works: Sequence[Work]) -> None:
    """A bare "and which branch?" after a figure is by branch."""
    is_asked = draft.asks == {"which"} and "about" in draft.marks and len(draft.which_columns) == 1
    if is_asked and works and not draft.has_besides("asks", "which_columns"):
        if not _is_figure(works[0].frame):
            raise Unclear("ask_anew")
        draft.groups, draft.which_columns, draft.asks = draft.which_columns, [], set()


def _rows_by_date(draft: Draft, material: Material, work: Work) -> Edit | None:
    """The rows that were listed by their date: "newest first", "by date". Raises `Unclear`."""
    names = [draft.time] if draft.time else [one.name for one in material.date_columns]
    if draft.has_besides("grains", "time", "sort"):
        return None
    if len(names) != 1 or len(work.frame.queries) != 1:
        raise Unclear("ask_anew")
    order = Order(bool(draft.sort))
    query = replace(work.frame.queries[0], measures=(), groups=(), order=order, rows_by=names[0])
    frame = replace(work.frame, queries=(query,), said=draft.text)
    return Edit(frame, work.id, False)


def _is_figure(frame: Frame) -> bool:
    """Whether an answer is a single figure, beside which nothing could be drawn."""
    has_more = any(one.groups or one.time or one.measures[1:] for one in frame.queries)
    return frame.thing is Thing.ANSWER and bool(frame.queries) and not has_more


def _drawn_before(
    work: Work, thing: Thing, draft: Draft, material: Material | None
) -> list[Choice]:
    """The answer before a single figure as a chart: "tons by region, and what is the total?", then
    "as a pie"."""
    before = work.earlier[-1] if work.earlier else work.frame
    if material is None or _is_figure(before) or not (before.files or before.text):
        return []
    style = _style(Style(), draft)
    frame = _another(before, thing, before.queries, style, draft, material).frame
    return [Choice(frame_text(frame, material.table), (frame,))]


def _is_new(draft: Draft, works: Sequence[Work]) -> bool:
    """Whether a clause asks for something new, whatever was made before. A "same" makes the figure
    that it names the one that is shown: "same but by money"."""
    # As in "great, put that in excel" and "do it as pdf".
    talks = draft.talk not in (None, "thanks", "hello", "yes")
    if _counts_instead(draft, works[0].frame):
        return False
    if draft.counts or talks or draft.which_columns:
        return True
    if draft.asks - {"what"} and not _is_whole(draft):  # "as percent of what was cooked"
        return True
    is_joined = draft.style.chart == "grouped" or "collage" in draft.options
    if is_joined and works[0].frame.thing is Thing.IMAGE:
        return True  # "both side by side": of all pictures
    if draft.asks and draft.marks & {"sold", "earned", "spent"}:  # "what we sold in May"
        return True
    if draft.row_nouns and (draft.groups or draft.grains):  # "loans per month"
        return True
    if "same" in draft.marks and not draft.measures:
        draft.measures, draft.by_numbers = draft.by_numbers, []
    may_replace = _may_replace_measure(draft) or draft.several is not None
    is_bound = "only" in draft.marks or not (
        draft.has_query_besides("comparing") or draft.asks or draft.things
    )
    compares = draft.comparing and not (is_bound and len(draft.comparing) == 1)
    return bool(draft.by_numbers or compares) or not may_replace


def _set_letters(draft: Draft) -> None:
    """As in "red and bigger", of the text on a picture."""
    sizes = [size for size in ("larger", "smaller") if size in draft.marks]
    if Thing.IMAGE in draft.things:
        return  # "the picture bigger and the text red"
    if sizes and (draft.style.colour is not None or "of_text" in draft.marks):
        draft.options.pop("resize", None)
        draft.options["lettering"] = sizes[0]


def _counts_instead(draft: Draft, frame: Frame) -> bool:
    """As in "number of trips instead of fares", where the fares are shown."""
    measures = {one.column for query in frame.queries for one in query.measures}
    return bool(draft.unwanted and (draft.counts or draft.row_nouns)) and (
        measures == {*draft.unwanted} and not draft.measures
    )


def _thing(draft: Draft, frame: Frame) -> Thing | None:
    """The other thing that is made of a frame; None where it stays what it is. A document that is
    asked for as such a thing only gets its format. Raises `Unclear`."""
    if frame.thing is Thing.DOCUMENT and not draft.formats and not draft.has_query:
        draft.formats = [FORMAT_OF_THING[one] for one in draft.things if one in FORMAT_OF_THING]
        draft.things = [] if draft.formats else draft.things
    thing = next((one for one in draft.things if one is not frame.thing), None)
    others = [one for one in draft.things if one not in (frame.thing, thing)]
    draft.unknown += [one.value for one in others]  # "as a chart and in excel": one at a time
    if thing is not None:
        return thing
    adds = draft.style.length or draft.sort is not None or draft.ranking or "too" in draft.marks
    if adds and (draft.style.pages or draft.style.seconds):
        raise Unclear("ask_anew")  # "add a slide", "10 seconds longer"
    if not draft.style.chart:
        return None
    if frame.thing is Thing.ANSWER or (frame.thing is Thing.TABLE and frame.queries):
        has_axis = draft.has_query or any(one.time or one.groups for one in frame.queries)
        if draft.style.chart == "line" and not has_axis:
            raise Unclear("ask_anew")  # one figure is no line
        return Thing.CHART
    if frame.thing is Thing.TABLE:
        raise Unclear("ask_anew")  # "bars for that": of rows, which are many
    return None


def _is_list(frame: Frame, material: Material) -> bool:
    """Whether a frame answers with rows, or with their names."""
    return frame.thing is Thing.ANSWER and all(
        not one.measures
        or (
            one.measures == (ROW_COUNT,)
            and one.table == material.table.id
            and material.is_row(one.groups)
        )
        for one in frame.queries
    )


def _read_count(draft: Draft, works: Sequence[Work], work: Work | None) -> None:
    """A number behind "make it" is of the pages of what has some; else it counts the last works,
    of which only one is changed. Raises `Unclear`."""
    is_paged = work and (work.frame.thing is Thing.DECK or work.frame.style.pages)
    may_count = is_paged and not draft.things and "change" in draft.marks
    if draft.several and may_count and draft.several_word.isdigit():
        draft.style = replace(draft.style, pages=draft.several)
        draft.several, draft.several_word = None, ""
    names_several = draft.values or draft.measures or draft.groups or draft.mentions
    if draft.several and works[0].id != ANSWERED and not names_several:
        raise Unclear("ask_anew")  # "both in blue": only one is changed


def speaks_of_list(draft: Draft, material: Material | None, works: Sequence[Work]) -> bool:
    """Whether a clause is about the rows that were listed last, and names a figure: "only under 4
    in score", "as a bar chart of hours"."""
    if material is None or not works or not _is_list(works[0].frame, material):
        return False
    if not any(one.filters for one in works[0].frame.queries):
        return False
    narrows = bool(draft.comparing) and "only" in draft.marks
    draws = "as" in draft.marks and bool(draft.things or draft.style.chart)
    return (narrows or draws) and bool(draft.measures or draft.comparing)


def follow_up(draft: Draft, material: Material | None, works: Sequence[Work]) -> Frame | None:
    """The question about the rows that were shown last; None where a clause asks for other rows."""
    last = works[0].frame if works else None
    if last is None or material is None or len(last.queries) != 1:
        return None
    (query,) = last.queries
    if query.table != material.table.id:
        return None
    follow_ups = (
        _count_of_list, _list_of_count, _sum_of_list, _part_of_sum, _among, _rate_of_count
    )  # fmt: skip
    results = (one(draft, material, query) for one in follow_ups)
    result = next(filter(None, results), None)
    return None if result is None else Frame(
        Act.ASK, Thing.ANSWER, (result,),
        language=last.language, files=last.files, text=last.text, said=draft.text,
    )  # fmt: skip


def other_end(draft: Draft, frame: Frame) -> Frame | None:
    """The worst where the best was shown: "… and which the fewest"; None for another demand."""
    ranking = draft.ranking
    if (
        ranking is None
        or ranking.concept
        or draft.has_besides("ranking", "asks", "counts", "aggregate")
    ):
        return None
    if len(frame.queries) != 1 or (order := frame.queries[0].order) is None:
        return None
    if order.descending == ranking.is_top or ranking.count not in (None, order.count):
        return None
    query = replace(frame.queries[0], order=Order(ranking.is_top, order.count))
    return replace(frame, queries=(query,), said=draft.text)


def _of_same_rows(
    query: Query, measures: Sequence[Measure], groups: Sequence[str] = (),
    conditions: Sequence[Filter] = (),
) -> Query:  # fmt: skip
    """Other measures of the rows that a query kept, as "per team how many is that"."""
    filters = (*query.filters, *conditions)
    return Query(query.table, tuple(measures), tuple(groups), filters=filters)


def _is_whole_list(query: Query) -> bool:
    """Whether a query has all rows that its filters keep."""
    return not (query.having or query.order or query.time)


def _count_of_list(draft: Draft, material: Material, query: Query) -> Query | None:
    """The number of what was listed last: "how many is that?"; None where no list came last."""
    is_asked = draft.asks == {"many"} and {"it"} <= draft.marks <= {"it", "per"}
    names = [*draft.groups, *draft.mentions]
    if not (is_asked and _is_whole_list(query)) or len(names) > 1 or (
        draft.has_besides("asks", "groups", "mentions", "row_nouns", "counts", "aggregate")
    ):  # fmt: skip
        return None
    if [one.aggregate for one in query.measures] == [Aggregate.DISTINCT] and not query.groups:
        return _of_same_rows(query, query.measures, names)
    is_list = query.measures == () if not query.groups else (
        query.measures == (ROW_COUNT,) and material.is_row(query.groups)
    )  # fmt: skip
    return _of_same_rows(query, (ROW_COUNT,), names) if is_list else None


def _among(draft: Draft, material: Material, query: Query) -> Query | None:
    """Those listed last that have more in common, or their number: "how many of them are in 8B?",
    in each group where they were counted so; None where no rows were listed last."""
    if not (asks_among(draft) and _is_whole_list(query)):
        return None
    counts = draft.asks == {"many"}
    is_of_rows = bool(query.groups) and material.is_row(query.groups)
    is_count = query.measures == (ROW_COUNT,) and counts  # "… of those are new"
    if not (is_count or (is_of_rows and query.filters)):
        return None
    conditions = (*draft.filters, *draft.value_filters)
    if counts:
        groups = () if is_of_rows else query.groups
        return _of_same_rows(query, (ROW_COUNT,), groups, conditions)
    return replace(query, filters=(*query.filters, *conditions))


_ASKED_OF_THEM = frozenset(("many", "which", "who", "list", "what"))


def asks_among(draft: Draft) -> bool:
    """Whether a number or a list is asked of what "them" stands for, under a condition."""
    is_of_them = draft.several_word and ("it" in draft.marks or not draft.several)
    is_asked = len(draft.asks) == 1 and draft.asks <= _ASKED_OF_THEM
    is_narrowed = len(draft.values) + len(draft.filters) == 1
    return is_asked and is_narrowed and bool(is_of_them or "among" in draft.marks) and not (
        draft.has_besides(
            "asks", "values", "filters", "mentions", "counts", "row_nouns", "aggregate"
        )
    )  # fmt: skip


def _sum_of_list(draft: Draft, material: Material, query: Query) -> Query | None:
    """What all that was shown last comes to: "how much is that?"; None where it cannot be told."""
    if not asks_sum_of_it(draft) or query.having or (query.order and query.order.count):
        return None
    measures, takings = query.measures, material.takings
    are_rows = all(
        one.aggregate in _COUNTS and one.derived in (None, Derivation.SHARE) for one in measures
    )
    names = [one.column for one in draft.measures] or takings or (
        material.concepts.get("revenue") or material.concepts.get("amount") or []
    )  # fmt: skip
    if are_rows:
        columns = [material.column(name) for name in names]
        adds = [one for one in columns if is_additive(one) or material.is_price_of_row(one)]
        if len(columns) != 1 or not adds:
            return None
        return _of_same_rows(query, [Measure(names[0], Aggregate.SUM)], draft.groups)
    if len(measures) != 1 or measures[0].aggregate is not Aggregate.SUM or not measures[0].column:
        return None
    (measure,) = measures
    is_other = len(takings) == 1 and names == takings and measure.column != names[0]
    if "much" in draft.asks and is_other:  # "… and how much money was that"
        measure = Measure(takings[0], Aggregate.SUM)
    elif draft.measures or measure.derived or not (
        is_currency(material.column(str(measure.column)).unit) or draft.aggregate is Aggregate.SUM
    ):  # fmt: skip
        return None
    return _of_same_rows(query, [measure], draft.groups)


def _part_of_sum(draft: Draft, material: Material, query: Query) -> Query | None:
    """How much of a sum that was shown last its rows under one more condition have: "how much of
    that is not paid?"; None for a share in percent, and where no sum was shown."""
    conditions = [*draft.value_filters, *draft.filters]
    calendar = _calendar(draft, material, "")
    if calendar is not None:
        conditions += [one.filter(calendar) for one in draft.periods]
    is_part = "part" in draft.marks or (draft.derivation is None and draft.asks == {"much"})
    is_asked = is_part and len(conditions) == 1 and (
        {"it"} <= draft.marks <= {"it", "about", "flag", "part"}
    )  # fmt: skip
    is_sum = [(one.aggregate, one.derived) for one in query.measures] == [(Aggregate.SUM, None)]
    if not (is_asked and is_sum) or query.having or _overlap(query.filters, conditions) or (
        draft.has_besides("asks", "derivation", "aggregate", "counts", "row_nouns", *CONDITIONS)
    ):  # fmt: skip
        return None
    return _of_same_rows(query, query.measures, (), conditions)


def _overlap(filters: Sequence[Filter], others: Sequence[Filter]) -> bool:
    """Whether two groups of conditions have a column in common."""
    return not {one.column for one in filters}.isdisjoint(one.column for one in others)


def _rate_of_count(draft: Draft, material: Material, query: Query) -> Query | None:
    """How many percent of the rows, or of those of each group, were counted or listed last: "in
    percent of their jobs", "what percent is that"; None where no rows with a "yes" were shown."""
    speaks = draft.counts or draft.row_nouns or draft.groups or "it" in draft.marks
    is_asked = draft.derivation is Derivation.SHARE and set(draft.groups) <= set(query.groups)
    flags = [one for one in query.filters if material.is_yes(one)]
    if not (is_asked and speaks and query.measures in ((), (ROW_COUNT,)) and len(flags) == 1) or (
        draft.has_besides("derivation", "counts", "row_nouns", "groups", "asks", "aggregate")
    ):  # fmt: skip
        return None
    rate = Measure(flags[0].column, Aggregate.COUNT, Derivation.RATE)
    is_list = not query.measures or material.is_row(query.groups)
    return replace(query, measures=(rate,), groups=() if is_list else query.groups)


_COUNTS = (Aggregate.COUNT, Aggregate.DISTINCT)


def asks_sum_of_it(draft: Draft) -> bool:
    """Whether a clause asks what "that" comes to."""
    is_sum = draft.aggregate is Aggregate.SUM
    is_asked = (
        "much" in draft.asks
        or ("many" in draft.asks and bool(draft.measures))  # "how many hours is that"
        or (is_sum and (draft.asks == {"what"} or "many" in draft.marks))  # "combien en tout"
    )
    return is_asked and draft.marks - {"many", "per"} in ({"it"}, {"it", "about"}) and not (
        len(draft.groups) > 1 or draft.aggregate not in (None, Aggregate.SUM)
        or draft.has_besides("asks", "aggregate", "measures", "groups", "row_nouns")
    )  # fmt: skip


def _list_of_count(draft: Draft, material: Material, query: Query) -> Query | None:
    """What was counted last, by its names: "who are they?", "who are they, just the juniors"; None
    where no count came last."""
    asks_which = bool(draft.asks) and draft.asks <= {"who", "which", "what", "list"}
    conditions = [*draft.value_filters, *draft.filters]
    is_of_them = draft.marks >= {"it", "only"} or "ones" in draft.look_words or not conditions
    is_count = query.measures == (ROW_COUNT,) and not (query.groups or query.time)
    if not (asks_which and is_of_them and is_count) or _overlap(query.filters, conditions) or (
        draft.has_besides("asks", "values", "filters") or not material.row_name
    ):  # fmt: skip
        return None
    return replace(query, groups=(material.row_name,), filters=(*query.filters, *conditions))


def _several(draft: Draft, works: Sequence[Work]) -> Frame | None:
    """The last answers as one frame; None where "them" is one answer. Raises `Unclear` where so
    many answers cannot be one."""
    if works[0].id != ANSWERED:
        return None
    answers = [*works[0].earlier, works[0].frame]
    is_sum = draft.aggregate is Aggregate.SUM
    if draft.several == 0:
        return together.longest(answers, is_sum=is_sum)
    count = draft.several or 0
    one = together.of(answers[-count:], is_sum=is_sum) if len(answers) >= count else None
    shows_several = any(query.groups or query.time for query in works[0].frame.queries)
    groups = [[query.groups for query in frame.queries] for frame in answers[-2:]]
    if len(groups) > 1 and groups[0] == groups[1]:
        shows_several = False  # both answers by rider, or both riders of the last one
    if one is None and not (shows_several and draft.several == 2):
        raise Unclear("ask_anew")
    return one


def _may_replace_measure(draft: Draft) -> bool:
    """Whether a clause leaves the measure, or is one like "and the cost?", "as a share"."""
    names_measure = draft.measures or draft.aggregate or draft.derivation
    continues = draft.marks & {"about", "change", "it", "only", "too", "same"} or _is_whole(draft)
    keeps_groups = draft.sort is not None and not (draft.groups or draft.mentions)
    names_column = not keeps_groups and (
        draft.groups or draft.mentions or draft.values or draft.filters or draft.ranking
    )
    if draft.derivation not in (None, Derivation.SHARE):
        return False
    return not names_measure or bool(continues and not names_column)


def _is_whole(draft: Draft) -> bool:
    """Whether a clause names the whole that what was shown is a part of: "as percent of the
    takings"."""
    words = draft.text.casefold().split()
    is_share = draft.derivation is Derivation.SHARE and len(draft.measures) == 1
    return is_share and draft.whole_at == 0 and (words[0] in _AS_WHOLE or "it" in draft.marks)


def _measures(old: Query, draft: Draft, material: Material) -> tuple[Measure, ...]:
    """The measures after "and the cost?", "the median instead", "as a share of the total"."""
    if not old.measures:
        raise Unclear("ask_anew")
    rest = [one for one in old.measures if one.column not in draft.unwanted]
    if draft.unwanted and (draft.counts or draft.row_nouns) and not rest:
        return (ROW_COUNT,)
    if len(rest) + len(draft.unwanted) != len(old.measures):
        raise Unclear("ask_anew")
    if _is_whole(draft):
        part, whole = old.measures[0], material.column(draft.measures[0].column)
        own = material.column(str(part.column)).formula if part.column else ()
        if own[1:2] == (Sign.PERCENT.value,):  # "as percent of the takings" instead
            part = Measure(own[0], Aggregate.SUM)
        name = formula(material.column(str(part.column)), Sign.PERCENT, whole) if (
            part.column and part.aggregate is Aggregate.SUM and not (part.derived or rest[1:])
        ) else None  # fmt: skip
        if name is None:
            raise Unclear("ask_anew")
        return (Measure(name, Aggregate.MEAN),)
    if draft.measures:
        first = old.measures[0]
        replacements = [
            _like(first, material.column(one.column), one.aggregate or draft.aggregate)
            for one in draft.measures
        ]  # fmt: skip
        rest = [*rest, *replacements] if "too" in draft.marks else replacements
    elif draft.aggregate is not None:
        rest = [_like(one, material.column(str(one.column)), draft.aggregate) for one in rest
                if one.column]  # fmt: skip
    if draft.derivation is not None:
        if any(one.aggregate not in (Aggregate.SUM, Aggregate.COUNT) for one in rest):
            raise Unclear("ask_anew")
        rest = [replace(one, derived=draft.derivation) for one in rest]
    if not rest:
        raise Unclear("ask_anew")
    return tuple(rest)


def _like(old: Measure, column: Column, how: Aggregate | None) -> Measure:
    """A measure of another column, computed as the old one, or as the column may be."""
    if is_reading(column):
        raise Unclear("readings", column=column.label)
    if column.role is Role.RATE and how is Aggregate.SUM:
        raise Unclear("no_sum", column=column.label)
    counts = old.aggregate in (Aggregate.COUNT, Aggregate.DISTINCT)
    if how is None and column.role is Role.RATE and (counts or old.aggregate is Aggregate.SUM):
        how = Aggregate.MEAN
    if how is None and counts:
        raise Unclear("ask_anew")
    derivation = None if column.role is Role.RATE else old.derived
    return Measure(column.name, how or old.aggregate, derivation)


def _target(draft: Draft, works: Sequence[Work]) -> Work | None:
    """The work that is meant: the newest of the thing that is named, or by its place."""
    thing = draft.things[0] if draft.things else None
    if thing is not None and "it" in draft.marks and draft.ordinal is None:
        return works[0]  # "a chart of that", whatever it was
    is_of_table = Thing.TABLE in (work.frame.thing for work in works[1:])
    if thing is None and "source" in draft.marks and is_of_table:
        raise Unclear("ask_anew")  # "the excel only for 2025": the file, or a table that was made
    same = [work for work in works if work.frame.thing is thing]
    candidates = same or list(works)
    if draft.has_look and not draft.has_query and not thing:  # an answer has no colour or format
        candidates = [
            work for work in candidates if work.frame.thing is not Thing.ANSWER
        ] or candidates
    if draft.ordinal is not None and same:
        oldest = same[::-1]
        if draft.ordinal == -1:
            return same[0]
        return oldest[draft.ordinal - 1] if draft.ordinal <= len(oldest) else None
    return candidates[0]


def _is_edit(draft: Draft, work: Work) -> bool:
    """Whether a clause without a measure changes what was made, and is no request by itself."""
    if draft.marks & {"undo"}:
        return True
    other_things = [one for one in draft.things if one is not work.frame.thing]
    if draft.things and not (draft.marks & _MARKS - {"source", "only"} or draft.has_look):
        # "a chart" is a new chart; "as a chart" and "the chart" are of what was made.
        is_bare = draft.things == [Thing.TABLE] and len(draft.text.split()) <= _BARE and (
            work.frame.thing is not Thing.ANSWER and not draft.options
        )  # fmt: skip
        return not draft.has_query and (is_bare or _refers(draft))
    groups = {name for query in work.frame.queries for name in query.groups}
    if draft.mentions and not set(draft.mentions) <= groups and not (
        draft.marks & {"split", "others"}
    ):  # fmt: skip
        return False
    return not other_things or _refers(draft) or bool(draft.marks & {"it", "too"})


def _refers(draft: Draft) -> bool:
    """As in "as a bar chart", "the chart in blue"."""
    words = draft.text.casefold().split()
    marks = draft.marks & {"it", "change", "too", "as", "same"}
    return bool(words) and (words[0] in _AS or bool(marks))


_BARE = 2
"""A message of so few words that names a workbook is of what was made: "excel pls"."""
_AS_WHOLE = frozenset(("as", "als", "como", "en", "comme", "in"))
_AS = _AS_WHOLE | {"now", "jetzt", "and", "und"}


def _calendar(
    draft: Draft, material: Material, today: str, queries: Sequence[Query] = ()
) -> Calendar | None:
    """The calendar that periods of a change are in: of the column that is named, or was used; it is
    asked where neither tells which of several it is."""
    date_columns = material.date_columns
    names = {one.name for one in date_columns}
    used = {query.time for query in queries} | {f.column for q in queries for f in q.filters}
    name = draft.time or next((one.name for one in date_columns if one.name in used), None)
    is_open = queries and draft.periods and name not in names and date_columns[1:]
    if is_open and not material.has_plain_date:
        choices = [Choice(one.label, text=f"{draft.text} ({one.name})") for one in date_columns]
        raise Unclear("which_date", choices)
    match = next((one for one in date_columns if one.name == name), None)
    return calendar_of(match or date_columns[0], today) if date_columns else None


def _query(old: Query, draft: Draft, calendar: Calendar | None, material: Material) -> Query:
    fields: dict[str, object] = {}
    total = _in_total(old, draft)
    is_total, old = total is not None, total or old
    is_rate = any(one.derived is Derivation.RATE for one in old.measures)
    changes_how = draft.aggregate and not (is_rate or is_total)
    if is_rate and not is_total:
        old = _of_other_rate(old, draft, material)
    if draft.comparing:
        old = _under_bound(old, draft.comparing[0], material)
        conditions = {draft.comparing[0].column}
        draft.measures = [one for one in draft.measures if one.column not in conditions]
    if draft.measures or changes_how or draft.derivation or draft.unwanted:
        fields["measures"] = _measures(old, draft, material)
    single = [f for f in old.filters if f.op is Op.IS and len(f.values) == 1 and not f.grain]
    is_part = draft.derivation is Derivation.SHARE and not _is_whole(draft)
    if is_part and not (old.groups or old.time):
        if len(single) != 1:
            raise Unclear("ask_anew")
        fields["groups"] = (single[0].column,)
    own_columns = {*draft.groups, *draft.mentions}
    alone = [one for one in single if one.column in own_columns and "only" not in draft.marks]
    if alone:  # "by city", "with all cities", where one was shown
        old = replace(old, filters=tuple(one for one in old.filters if one not in alone))
    if "others" in draft.marks:
        old = _of_the_others(old, draft, {one.column for one in single}, material)
    groups = (*draft.groups, *(one for one in draft.mentions if one not in old.groups))
    if groups or draft.grains or draft.is_trend:
        if not old.measures:
            raise Unclear("ask_anew")  # of rows, no figure is known
        fields |= _axes(old, draft, groups, calendar)
    if (
        draft.grains
        and not draft.periods
        and any(_is_one(one, draft, calendar) for one in old.filters)
    ):
        raise Unclear("ask_anew")  # "and in May?", then "by month"
    filters, joint = _combined(old, _filters(draft, calendar, old.filters), draft)
    has_room = old.measures and len(old.groups) + bool(old.time) < 2
    sides = {column for column, _ in draft.values} if "versus" in draft.marks else set()
    if len(sides) == 1 and len(draft.values) > 1:  # "group a against group b"
        joint = sides.pop()
    if joint and has_room and joint not in (*old.groups, *groups):
        fields["groups"] = (*old.groups, joint)
    if filters:
        inside = [one for one in filters if one.op is not Op.IS_NOT]
        replacements = {(one.column, one.grain) for one in inside}
        rest = [one for one in old.filters if (one.column, one.grain) not in replacements]
        dates = {one.column for one in inside if calendar and one.column == calendar.column}
        rest = [one for one in rest if one.column not in dates]
        fields["filters"] = tuple(dict.fromkeys((*rest, *filters)))
    if draft.row_order is not None:
        return replace(
            old, measures=(), groups=(), time=None, grain=None, having=(),
            filters=tuple(fields.get("filters", old.filters)),  # type: ignore[arg-type]
            order=Order(bool(draft.sort)), rows_by=draft.row_order,
        )  # fmt: skip
    result = replace(old, **fields)
    order = _order(old, draft, material, result.groups, is_regrouped=bool(groups))
    result = replace(result, order=order)
    if result.order is not None and not (result.groups or result.time):
        raise Unclear("nothing_to_rank")
    only = {one.column for one in result.filters if one.op is Op.IS and len(one.values) == 1}
    if draft.ranking and result.groups and only.issuperset(result.groups) and not result.time:
        raise Unclear("ask_anew")  # the most of one group: "on route 14 what is lost most?"
    if any(one.derived in COMPARED for one in old.measures) and (draft.periods or draft.grains):
        raise Unclear("ask_anew")
    return result


def _as_rate(query: Query, material: Material) -> Query:
    """The share of those that a column says yes of, as a rate: "by rider" it is of the rows of each
    rider."""
    share = Measure(None, Aggregate.COUNT, Derivation.SHARE)
    only = [one for one in query.filters if (one.column,) == query.groups and one.op is Op.IS]
    is_here = query.table == material.table.id and query.measures == (share,) and len(only) == 1
    column = material.column(only[0].column) if is_here else None
    if column is None or only[0].values not in ((yes_value(column),), (no_value(column),)):
        return query
    rate = Measure(only[0].column, Aggregate.COUNT, Derivation.RATE)
    return replace(query, measures=(rate,), groups=())


def _without_single_groups(query: Query) -> Query:
    """A query without the groups of which a condition leaves one: of one region a report has more
    to tell than that it is all of itself."""
    single = {one.column for one in query.filters if one.op is Op.IS and len(one.values) == 1}
    groups = tuple(one for one in query.groups if one not in single)
    order = query.order if groups or query.time else None
    return replace(query, groups=groups, order=order)


def _in_total(old: Query, draft: Draft) -> Query | None:
    """Of "and in total" a query without its groups; None where it is not asked for. Raises
    `Unclear` for some of the groups, of which no sum is known."""
    sums = all(one.aggregate in (Aggregate.SUM, Aggregate.COUNT) for one in old.measures)
    if draft.aggregate is not Aggregate.SUM or draft.has_query or not (
        sums and (old.groups or old.time)
    ):  # fmt: skip
        return None
    if old.having or (old.order is not None and old.order.count):
        raise Unclear("ask_anew")
    return replace(old, groups=(), time=None, grain=None, order=None)


def _of_other_rate(old: Query, draft: Draft, material: Material) -> Query:
    """Another rate than the one that was shown: "same for done", "and in total"."""
    flags = [one for one in draft.filters if material.is_yes(one)]
    if draft.aggregate or draft.measures or len(flags) > 1:
        raise Unclear("ask_anew")
    if not flags or "only" in draft.marks:
        return old
    rates = {one.column for one in old.measures}
    filters = tuple(one for one in old.filters if one.column not in rates)
    measure = Measure(flags[0].column, Aggregate.COUNT, Derivation.RATE)
    return replace(old, measures=(measure,), filters=filters)


def _under_bound(old: Query, condition: Comparing, material: Material) -> Query:
    """A query under one more condition with a number: "only the ones over 500" keeps groups by the
    figure that is shown of them, and rows by the column that is named, or the only money. Raises
    `Unclear`."""
    figure = old.measures[0] if len(old.measures) == 1 else None
    shows_groups = (old.groups or old.time) and not material.is_row(old.groups)
    name = condition.column
    if name is None and shows_groups and figure is not None:
        name = figure.column
    elif name is None and len(material.takings) == 1:
        name = material.takings[0]
    unit = material.column(name).unit if name else None
    may_be_others = any(
        reaches(one, condition.op, condition.values[0])
        for one in material.numbers if one.name != name
    )  # fmt: skip
    rates = figure is not None and figure.derived is Derivation.RATE
    is_rate = rates and "%" in condition.text
    if may_be_others and not (condition.column or condition.has_unit or is_rate):
        raise Unclear("ask_anew")  # "only over 65", of the age or of what was paid
    if not name or (condition.has_money and unit is not None and not is_currency(unit)):
        raise Unclear("ask_anew")
    one = Filter(name, condition.op, condition.values)
    is_of_figure = figure is not None and name == figure.column and figure.derived in (
        None, Derivation.RATE
    )  # fmt: skip
    if shows_groups and is_of_figure and not (old.order and old.order.count):
        return replace(old, having=(*old.having, one))
    is_list = old.measures in ((), (ROW_COUNT,)) and (not old.measures or old.groups)
    if shows_groups or not is_list or any(each.column == name for each in old.filters):
        raise Unclear("ask_anew")
    return replace(old, filters=(*old.filters, one))


def _of_the_others(old: Query, draft: Draft, shown: set[str], material: Material) -> Query:
    """A query by the column of which one value was shown: "and the other shops?"; ``shown``: the
    columns with one value. Raises `Unclear`."""
    columns = {name for name in shown if not yes_value(material.column(name))}
    columns &= {*draft.groups, *draft.mentions} or columns
    if len(columns) != 1 or old.groups:
        raise Unclear("ask_anew")
    draft.groups = [columns.pop()]
    draft.mentions = [one for one in draft.mentions if one not in draft.groups]
    filters = tuple(one for one in old.filters if one.column != draft.groups[0])
    return replace(old, filters=filters)


def _is_one(one: Filter, draft: Draft, calendar: Calendar | None) -> bool:
    """Whether a condition leaves one period of those that are asked for."""
    is_span = calendar is not None and one.column == calendar.column and one.op is Op.BETWEEN
    size = {Grain.MONTH: 7, Grain.YEAR: 4}.get(draft.grains[0])
    return is_span and size is not None and len({str(value)[:size] for value in one.values}) == 1


def _order(
    old: Query, draft: Draft, material: Material, groups: Sequence[str], *, is_regrouped: bool
) -> Order | None:
    """The order of what is shown by ``groups`` after a change. Raises `Unclear`."""
    if draft.ranking is not None:
        if draft.ranking.concept not in ("", "rows", "sold"):
            raise Unclear("ask_anew")  # "and the oldest" is of another figure
        if draft.ranking.is_judged and not material.is_best_highest(old.measures):
            raise Unclear("ask_anew")
        count = draft.ranking.count or (1 if "only" in draft.marks else None)
        return Order(draft.ranking.is_top, count)
    if draft.sort is not None:
        if {name for name, _ in draft.sort_by} - {one.column for one in old.measures}:
            raise Unclear("ask_anew")  # groups stand in the order of what is shown of them
        is_best_highest = "judged" not in draft.marks or material.is_best_highest(old.measures)
        if is_best_highest is None:
            raise Unclear("ask_anew")
        return Order(
            draft.sort is is_best_highest,
            old.order.count if old.order and not is_regrouped else None,
        )
    is_by_time_alone = (draft.grains or draft.is_trend) and not groups
    return None if is_by_time_alone else old.order  # months come in their own order


def _combined(old: Query, filters: Sequence[Filter], draft: Draft) -> tuple[list[Filter], str]:
    """New filters together with what was shown: "add Harbour" and "versus Harbour" join its value,
    "without Harbour" takes it away; and the column of joined values. Raises `Unclear` where
    nothing was shown that they could join, or what is hidden is to be shown."""
    results, joint = [], ""
    plain = [one for one in old.filters if one.grain is None]
    visible = {one.column: one.values for one in plain if one.op is Op.IS}
    hidden = {(one.column, value) for one in plain if one.op is Op.IS_NOT for value in one.values}
    joins = bool(draft.marks & {"too", "versus"})
    is_bound = joins and not ("only" in draft.marks or draft.things or draft.has_look)
    for one in filters:
        before = visible.get(one.column, ()) if one.grain is None else ()
        are_all = "versus" in draft.marks and one.op is Op.IS and len(one.values) > 1
        if one.op is Op.IS_NOT and before:
            rest = tuple(value for value in before if value not in one.values)
            if not rest:
                raise Unclear("ask_anew")
            one = Filter(one.column, Op.IS, rest)
        elif joins and one.op is Op.IS and before:
            values = tuple(dict.fromkeys((*before, *one.values)))
            one, joint = Filter(one.column, Op.IS, values), one.column
        elif one.op is not Op.IS_NOT and ((is_bound and not are_all) or (
            "only" not in draft.marks and hidden & {(one.column, value) for value in one.values}
        )):  # fmt: skip
            raise Unclear("ask_anew")
        results.append(one)
    return results, joint


def _axes(
    old: Query, draft: Draft, groups: Sequence[str], calendar: Calendar | None
) -> dict[str, object]:
    time, grain = old.time, old.grain
    if draft.grains or draft.is_trend:
        if calendar is None:
            raise Unclear("no_dates", table="", words=draft.text)
        time, grain = calendar.column, draft.grains[0] if draft.grains else None
    if draft.marks & {"split", "too"} or draft.style.chart in ("stacked", "grouped"):
        items = (*old.groups, *(one for one in groups if one not in old.groups))
        axes: dict[str, object] = {"groups": items, "time": time, "grain": grain}
    elif groups:
        by_time = bool(draft.grains or draft.is_trend)
        if old.time and old.groups and not by_time:
            raise Unclear("ask_anew")  # in place of the groups, or of the time
        compares = any(one.derived in COMPARED for one in old.measures)
        keeps = by_time or compares  # of two periods, by route
        axes = {"groups": tuple(groups), "time": time if keeps else None,
                "grain": grain if keeps else None}  # fmt: skip
    else:
        axes = {"groups": old.groups if old.time else (), "time": time, "grain": grain}
    if len(tuple(groups)) + (axes["time"] is not None) > 2:
        raise Unclear("too_many_groups")
    return axes


def _year_of(before: Sequence[Filter], calendar: Calendar) -> int | None:
    """The one year of a period that is replaced: "and in June?" is of the same."""
    years = {
        str(value)[:4] for one in before
        if one.column == calendar.column and one.grain is None and one.op is Op.BETWEEN
        for value in one.values
    }  # fmt: skip
    return int(years.pop()) if len(years) == 1 else None


def _filters(draft: Draft, calendar: Calendar | None, before: Sequence[Filter]) -> list[Filter]:
    by_column: dict[str, tuple[str, ...]] = {}
    for column, value in draft.values:
        by_column[column] = (*by_column.get(column, ()), value)
    results = [Filter(column, Op.IS, values) for column, values in by_column.items()]
    results += draft.filters
    if calendar is not None:
        periods = comparing.in_one_year(draft.periods)
        for one in periods:
            if one.days is None and one.year is None:
                one.year = _year_of(before, calendar)
        if len(periods) > 1:
            raise Unclear("ask_anew")
        results += [one.filter(calendar) for one in periods]
        results += [one.filter(calendar, Op.IS_NOT) for one in draft.exclusions]
    return results


def _style(old: Style, draft: Draft) -> Style:
    new = replace(draft.style, options=draft.options)
    changes = {
        name: getattr(new, name)
        for name in new.__struct_fields__
        if getattr(new, name) not in (None, (), {})
    }
    if "options" in changes:
        options = {**old.options, **changes["options"]}
        if "pace" in changes["options"]:  # slower than it is
            options["pace"] *= old.options.get("pace", 1.0)
            if old.seconds:
                changes.setdefault("seconds", old.seconds * changes["options"]["pace"])
        changes["options"] = options
    if "pages" in changes or "seconds" in changes:
        changes.setdefault("length", None)
    return replace(old, **changes)


def _formats(work: Work, draft: Draft) -> tuple[str, ...]:
    targets = tuple(draft.formats)
    if not targets:
        return work.frame.formats
    if "too" in draft.marks:
        return tuple(dict.fromkeys((*(work.frame.formats or work.formats), *targets)))
    return targets


def of_answer(
    thing: Thing, draft: Draft, material: Material | None, works: Sequence[Work]
) -> Frame | None:
    """A thing made of the last answer; None where nothing was answered last."""
    last = works[0].frame if works else None
    if last is None or last.thing is not Thing.ANSWER or not (last.files or last.text):
        return None
    style = _style(Style(), draft)
    return _another(last, thing, last.queries, style, draft, material).frame


def _another(
    frame: Frame, thing: Thing, queries: Sequence[Query], style: Style, draft: Draft,
    material: Material | None,
) -> Edit:  # fmt: skip
    """Another thing of what was made: its look begins anew."""
    is_answer = frame.thing is Thing.ANSWER
    new_queries = tuple(map(_as_picture, queries)) if is_answer else queries
    if thing is Thing.ANSWER or (not frame.files and not frame.text):
        raise Unclear("ask_anew")
    is_list = material is not None and _is_list(frame, material)
    if thing is not Thing.TABLE and is_list and frame.queries and not draft.measures:
        raise Unclear("ask_anew")  # of rows nothing is drawn
    if thing is Thing.TABLE:  # "those as Excel": the rows that were counted
        new_queries = tuple(_rows_of(query, material) for query in new_queries)
    result = replace(
        frame, act=Act.MAKE, thing=thing, queries=tuple(new_queries), formats=tuple(draft.formats),
        style=replace(draft.style, options=dict(draft.options)), said=draft.text,
        language=draft.language or frame.language,
    )  # fmt: skip
    return Edit(result, None, False)


def _rows_of(query: Query, material: Material | None) -> Query:
    """Of a number of rows, or of rows that were listed by their names, the rows."""
    is_count = query.measures == (ROW_COUNT,)
    is_list = not query.groups or bool(
        query.filters and material is not None and query.table == material.table.id
        and material.is_row(query.groups)
    )  # fmt: skip
    if not is_count or not is_list or query.time or query.having:
        return query
    return replace(query, measures=(), groups=(), order=None)


def _as_picture(query: Query) -> Query:
    """Of an answer about the best group or a difference, all that was compared."""
    measures = tuple(
        Measure(one.column, one.aggregate)
        if one.derived in (*COMPARED, Derivation.SHARE) else one
        for one in query.measures
    )  # fmt: skip
    order = query.order
    if order is not None and order.count == 1:
        order = Order(order.descending)
    return replace(query, measures=measures, order=order)


def _undone(draft: Draft, work: Work) -> Edit | None:
    if not work.earlier or work.id == ANSWERED:
        raise Unclear("nothing_to_undo")
    back = work.earlier[0] if draft.ordinal == 1 else work.earlier[-1]
    return Edit(replace(back, said=draft.text), work.id, True)


def _only_renders(before: Frame, after: Frame) -> bool:
    """Whether a change only draws again: other colours, words, formats or order."""
    same_length = all(
        getattr(before.style, name) == getattr(after.style, name)
        for name in ("pages", "seconds", "length")
    )
    queries = [
        [replace(q, order=None) if q.order and q.order.count is None else q
         for q in frame.queries]
        for frame in (before, after)
    ]  # fmt: skip
    return queries[0] == queries[1] and same_length
