"""Which figures a request asks for: those it names, counts, or only implies."""

import msgspec

from agentpost_offline.data import roles, words
from agentpost_offline.data.formulas import Sign, formula
from agentpost_offline.data.model import Column, Kind, Role
from agentpost_offline.frame import (
    ROW_COUNT,
    Aggregate,
    Derivation,
    Filter,
    Grain,
    Measure,
    Op,
    Thing,
)
from agentpost_offline.grammar.draft import ROWS, Draft, MeasureRequest, Ranking
from agentpost_offline.grammar.material import yes_value
from agentpost_offline.grammar.query_parts import QueryParts
from agentpost_offline.grammar.reading import Choice, Unclear
from agentpost_offline.grammar.text import name_tokens
from agentpost_offline.grammar.vocabulary import carry_of, concept_of, lexicon
from agentpost_offline.style.numbers import is_currency

_OVERALL = ("overall", "insgesamt", "en general", "globalement", "总体", "إجمالا")
"""Words for a sum that of a rate only say that it is that of all rows."""
_COUNTING = (Aggregate.COUNT, Aggregate.DISTINCT)
_SUM_WORDS = ("sum", "som")
"""Beginnings of the words that ask for a sum; a "total" of orders may be their number."""
_CARRIED = {
    "sold": ("sold", "quantity", "revenue"),
    "earned": ("revenue", "salary"),
    "spent": ("amount", "cost"),
}
"""Columns that a verb speaks of: what was sold is a quantity, else an amount."""
_KINDS = ("person", "customer", "store", "country", "city", "region", "department", "category",
          "channel", "product", "grade", "status")  # fmt: skip
"""Of these "how many" asks for how many different ones there are."""
_LENGTHS = ("m", "km", "mi")
"""Units of how far something is."""
NAMED = 12
"""As many values are named beside their number; more of them are listed."""


def measures_of(parts: QueryParts) -> list[Measure]:
    """The figures of a request; none where it shows the rows. Raises `Unclear`."""
    draft = parts.draft
    if draft.measures and draft.ranking is not None and draft.ranking.concept == "rows":
        raise Unclear("which_measure")  # "who is late most often": how often, or how many minutes
    _put_in_percent(parts)
    if draft.by_numbers:
        races = parts.thing is Thing.VIDEO  # "a race by sales"
        if not (draft.ranking or draft.sort is not None or races) or draft.measures:
            draft.unknown += [one.word for one in draft.by_numbers]
        else:
            draft.measures = draft.by_numbers
    if draft.row_nouns and not (parts.groups and draft.row_nouns[0] in parts.groups):
        draft.counts += draft.row_nouns
    takings = parts.material.takings
    if "sales" in draft.marks and len(takings) == 1 and not (
        draft.measures or draft.filters or draft.values or draft.derivation
    ):  # fmt: skip
        both = [Measure(takings[0], Aggregate.SUM), ROW_COUNT]
        raise Unclear("which_measure", parts.as_choices(both))
    if "lacking" in draft.marks and draft.measures and not parts.is_counting:
        raise Unclear("which_condition", words=draft.text)
    if parts.thing is Thing.TABLE and not (parts.is_counting or draft.measures or parts.groups
                                          or parts.time or draft.aggregate):  # fmt: skip
        return []
    is_of_row = draft.ranking is not None and draft.ranking.concept not in ("", "rows", "sold")
    lists = draft.ranking or draft.comparing or draft.asks & {"which", "who", "list"}
    if "count_too" in draft.marks and draft.measures and not lists:
        return [ROW_COUNT, *dict.fromkeys(measure_of(parts, one) for one in draft.measures)]
    is_open = parts.narrows_payment and "many" not in draft.marks  # "combien" may ask for either
    if "much" in draft.asks and (draft.asks & {"who", "which"} or is_open) and not (
        draft.measures or draft.derivation or draft.counts
    ):  # fmt: skip
        return [Measure(_only_money(parts), Aggregate.SUM)]  # "who has not paid, and how much"
    if (results := _of_rows_called_so(parts)) is not None:
        return results
    if draft.asks >= {"many", "much"} and not draft.measures:
        return [ROW_COUNT, Measure(_only_money(parts), Aggregate.SUM)]
    if "rate" in draft.marks and len(draft.values) == 1 and parts.groups and not draft.measures:
        return [ROW_COUNT]  # the return rate of each club
    if parts.is_counting or (draft.counts and not draft.measures and not is_of_row):
        return _counting(parts)
    if any(one.column == ROWS for one in draft.comparing) and not draft.measures:
        parts.groups = parts.groups or draft.mentions[:1]
        draft.counts.append(ROWS)
        return [ROW_COUNT]
    conditions = {one.measure_at for one in draft.comparing if one.measure_at is not None}
    targets = [one for at, one in enumerate(draft.measures) if at not in conditions]
    if conditions and not targets and _lists_rows_under_condition(parts):
        return []
    if targets or (draft.measures and not (parts.groups or draft.counts or is_of_row)):
        if not targets:
            raise Unclear("condition_alone", _condition_choices(parts))
        if len({one.column for one in targets}) < len(targets):
            targets = [one for at, one in enumerate(targets)
                      if (one.column, one.aggregate) not in
                      {(o.column, o.aggregate) for o in targets[:at]}]  # fmt: skip
        return list(dict.fromkeys(measure_of(parts, one) for one in targets))
    if conditions and not is_of_row:
        return [measure_of(parts, one) for one in draft.measures[:1]]
    if draft.asks == {"list"} and parts.thing is Thing.ANSWER and not (
        parts.groups or parts.time or draft.ranking or draft.aggregate or draft.mentions
    ) and (parts.filters or draft.filters or draft.comparing):  # fmt: skip
        draft.marks.discard("time")  # "the unpaid visits", where a column is "Visit date"
        return [_row_count(draft)]
    return _implied_measure(parts)


def _lists_rows_under_condition(parts: QueryParts) -> bool:
    """Whether the rows themselves are asked for: "which invoices over 250 are unpaid?"."""
    draft = parts.draft
    is_figure = draft.aggregate or draft.aggregate_word or draft.derivation or draft.ranking or (
        parts.is_counting or draft.marks & {"versus", "more", "difference", "sold", "earned"}
    )  # fmt: skip
    has_axis = parts.groups or draft.grains or draft.is_trend or draft.which_columns
    lists = draft.asks & {"list", "which"} and draft.asks <= {"list", "which", "what"}
    writes = parts.thing is Thing.TABLE and not draft.asks and "pivot" not in draft.options
    return not (is_figure or has_axis) and (
        writes or (bool(lists) and parts.thing is Thing.ANSWER)
    )  # fmt: skip


def _put_in_percent(parts: QueryParts) -> None:
    """Of "wasted as percent of cooked" make one figure: the one of the other."""
    draft = parts.draft
    columns = list(dict.fromkeys(one.column for one in draft.measures))
    hows = {one.aggregate for one in draft.measures} | {draft.aggregate}
    if draft.derivation is Derivation.SHARE and draft.marks & {"of_value", "it"} and (
        draft.measures and ("of_value" in draft.marks or draft.whole_at == len(columns) > 1)
    ):  # fmt: skip
        raise Unclear("share_what")  # "what percent of soup was wasted", "… as percent of it"
    if draft.derivation is not Derivation.SHARE or len(columns) != 2 or not (
        draft.whole_at < len(columns) and hows <= {None, Aggregate.SUM}
    ):  # fmt: skip
        return
    if draft.comparing:
        raise Unclear("which_condition", words=draft.comparing[0].text)
    whole = parts.material.column(columns.pop(draft.whole_at))
    name = formula(parts.material.column(columns[0]), Sign.PERCENT, whole)
    if name is not None:
        draft.measures = [MeasureRequest(name, word=draft.measures[0].word)]
        draft.derivation = draft.aggregate = None


def _only_money(parts: QueryParts) -> str:
    """The only column of money that "how much" may ask for. Raises `Unclear`."""
    concepts = parts.material.concepts
    names = parts.material.takings or concepts.get("revenue") or concepts.get("amount") or [
        one.name for one in parts.material.numbers if is_currency(one.unit)
    ]  # fmt: skip
    if len(names) != 1:
        raise Unclear("which_measure", parts.as_choices(
            Measure(one, Aggregate.SUM) for one in names
        ))  # fmt: skip
    return names[0]


def _condition_choices(parts: QueryParts) -> list[Choice]:
    """Of "revenue over 1000" alone: the rows that it leaves, counted or summed."""
    parts.filters += [
        Filter(str(one.column), one.op, one.values) for one in parts.draft.comparing
        if one.column
    ]  # fmt: skip
    column = parts.draft.measures[0].column
    choices = parts.as_choices([ROW_COUNT, Measure(column, Aggregate.SUM)])
    names = [one for one in parts.material.groups if one.distinct >= parts.material.table.rows]
    if names and not parts.groups:  # each row has a name: they are listed first
        parts.groups = [names[0].name]
        choices = parts.as_choices([Measure(column, Aggregate.SUM)]) + choices
    return choices


def measure_of(parts: QueryParts, one: MeasureRequest) -> Measure:
    """The figure of one column, as it was asked for or is usual. Raises `Unclear`."""
    column = parts.material.column(one.column)
    how = one.aggregate or parts.draft.aggregate
    if roles.is_reading(column) and how in (None, Aggregate.SUM, Aggregate.MEAN):
        return _of_readings(parts, column, one, how)
    can_add = column.role is not Role.RATE or parts.material.is_price_of_row(column)
    if how is Aggregate.SUM and not can_add and (
        parts.draft.aggregate_word.casefold() in _OVERALL
    ):  # fmt: skip
        how = Aggregate.MEAN
    if how is Aggregate.SUM and not can_add:
        raise Unclear(
            "no_sum", parts.as_choices([Measure(column.name, Aggregate.MEAN)]),
            column=column.label,
        )  # fmt: skip
    if how is not None:
        return Measure(column.name, how)
    return Measure(column.name, _usual(parts, column))


def _of_readings(
    parts: QueryParts, column: Column, one: MeasureRequest, how: Aggregate | None
) -> Measure:
    """A meter goes on counting: its last reading may be shown, while what was used is the
    difference of two readings, which is not computed here."""
    is_named = any(words.names(word, "reading") for word in name_tokens(one.word))
    if how is None and is_named and not words.names(column.name, "level"):
        return Measure(column.name, Aggregate.MAX)
    choices = parts.as_choices([Measure(column.name, Aggregate.MAX)])
    raise Unclear("readings", choices, column=column.label)


def _usual(parts: QueryParts, column: Column) -> Aggregate:
    """How a column is computed when it is not said."""
    shows_parts = parts.thing is Thing.CHART and parts.draft.style.chart in ("donut", "stacked")
    if column.role is Role.RATE:
        return _usual_of_rate(parts, column)
    ranking = parts.draft.ranking
    is_each = ranking is not None and ranking.concept == "hours"  # "the longest wait by doctor"
    draws_rows = parts.draft.style.chart == "scatter" and not parts.groups
    if (
        parts.is_row_each
        or shows_parts
        or draws_rows
        or (roles.is_additive(column) and not is_each)
    ):
        return Aggregate.SUM
    if ranking is not None and not (parts.groups or parts.time):
        return Aggregate.MAX if ranking.is_top else Aggregate.MIN
    if ranking is not None and ranking.asks_sum and _counts(column):
        return Aggregate.SUM  # "which room has the most visits"
    how = (Aggregate.SUM, Aggregate.MEAN)
    choices = parts.as_choices([Measure(column.name, one) for one in how])
    raise Unclear("sum_or_mean", choices, column=column.label)


def _counts(column: Column) -> bool:
    """Whether a column of numbers may hold how many there are of something that adds up."""
    is_amount = column.role is Role.AMOUNT and not roles.is_scale(column)
    return is_amount and not words.names(column.name, "level")


def _usual_of_rate(parts: QueryParts, column: Column) -> Aggregate:
    """The average; a pie has the sums of what each row cost, and no averages."""
    if parts.thing is not Thing.CHART or parts.draft.style.chart != "donut":
        return Aggregate.MEAN
    if parts.material.is_price_of_row(column) and not column.formula:
        return Aggregate.SUM
    pie, parts.draft.style = parts.draft.style, msgspec.structs.replace(
        parts.draft.style, chart="bar"
    )  # fmt: skip
    choices = parts.as_choices([Measure(column.name, Aggregate.MEAN)])
    parts.draft.style = pie
    choices += parts.as_choices([ROW_COUNT])
    raise Unclear("no_parts", choices, column=column.label)


def _row_count(draft: Draft) -> Measure:
    """The number of the rows, which no word names."""
    draft.counts.append("")
    return ROW_COUNT


def _counting(parts: QueryParts) -> list[Measure]:
    """Of "how many": rows, different values, or a quantity; never rows for want of better."""
    draft = parts.draft
    if draft.aggregate not in (None, Aggregate.SUM) and draft.aggregate not in _COUNTING:
        is_average = draft.aggregate is Aggregate.MEAN and parts.thing is Thing.ANSWER
        if not is_average or not (parts.groups or parts.time):
            raise Unclear("count_what", words=draft.text)
        return [Measure(None, Aggregate.COUNT, Derivation.AVERAGE)]
    conditions = {one.measure_at for one in draft.comparing}
    quantities = [one for at, one in enumerate(draft.measures) if at not in conditions]
    if (
        "days" in draft.marks
        and not quantities
        and parts.calendar is not None
        and draft.grains == [Grain.DAY]
    ):
        parts.time, parts.grain, draft.marks = None, None, draft.marks - {"sold"}
        return [Measure(parts.calendar.column, Aggregate.DISTINCT)]  # "on how many days"
    if draft.aggregate is Aggregate.SUM and not parts.is_counting:
        sums = [one for one in parts.material.numbers if roles.is_additive(one)]
        if len(sums) == 1 and draft.aggregate_word.casefold().startswith(_SUM_WORDS):
            return [Measure(sums[0].name, Aggregate.SUM)]
        raise Unclear("count_what", words=draft.text)
    if results := _counted_quantities(parts, quantities):
        return results
    since = [one for one in draft.periods if not one.weekdays]
    if "time" in draft.marks and draft.time and since and parts.material.row_name:
        return [_row_count(draft)]  # "how many joined since 2020"
    if "time" in draft.marks and draft.time and not draft.counts:  # "how many rehearsals"
        days = Measure(draft.time, Aggregate.DISTINCT)
        raise Unclear("count_what", parts.as_choices([ROW_COUNT, days]), words=draft.text)
    if "sold" in draft.marks and parts.material.concepts.keys() & {"sold", "quantity"}:
        return [_of_concept(parts, *_CARRIED["sold"])]  # "how many items were sold"
    if draft.mentions and (yes := yes_value(parts.material.column(draft.mentions[0]))):
        draft.filters.append(Filter(draft.mentions.pop(0), Op.IS, (yes,)))
        return [ROW_COUNT]
    if draft.mentions:
        return [_counted_mention(parts, draft.mentions[0])]
    if "flag" in draft.marks or ("spent" in draft.marks and draft.values):
        return [_row_count(draft)]  # "how many paid by card"
    things = {column for column, _ in draft.values} & {
        name for concept in ("product", "category")
        for name in parts.material.concepts.get(concept, ())
    }  # fmt: skip
    if "sold" in draft.marks or (things and "quantity" in parts.material.concepts):
        return [_of_concept(parts, *_CARRIED["sold"])]
    if parts.counts_all and draft.has_query:
        return [ROW_COUNT]
    has_condition = draft.values or draft.filters or draft.comparing
    adds_nothing = not any(map(roles.is_additive, parts.material.numbers))
    if (
        # Each visit has a number: "how many dogs did we see?".
        (has_condition and _numbers_rows(parts) and "quantity" not in parts.material.concepts)
        # Nothing else can be counted: "how many falls on each ward".
        or (has_condition and adds_nothing and "many" not in draft.marks)
        # "How many in each patrol".
        or (draft.groups and draft.asks == {"many"} and "it" not in draft.marks and not (
            has_condition or parts.material.concepts.keys() & {"quantity", "sold"}
        ))
    ):  # fmt: skip
        return [_row_count(draft)]
    raise Unclear("count_what", words=draft.text)


def _of_rows_called_so(parts: QueryParts) -> list[Measure] | None:
    """What is asked of the rows by a word that a column of dates has, too: "how many sailings" of
    ``sailings.csv`` with a sailing date. None where nothing is."""
    draft = parts.draft
    key = lexicon(parts.language).key
    if not draft.time or "time" not in draft.marks or parts.material.own.isdisjoint(
        map(key, name_tokens(draft.time))
    ):  # fmt: skip
        return None
    counts = draft.asks == {"many"} or parts.groups or parts.time or draft.ranking or (
        draft.derivation is not None
    )  # fmt: skip
    if counts and not (draft.measures or draft.aggregate or draft.asks & {"when", "list"}):
        return [_row_count(draft)]
    narrows = parts.filters or draft.filters or draft.values or draft.periods
    if narrows and "show" in draft.marks and not (
        counts or draft.asks or draft.measures or draft.aggregate or draft.comparing
        or parts.thing is not Thing.ANSWER
    ):  # fmt: skip
        return []  # "show me the unpaid visits"
    if draft.measures and draft.asks == {"many"} and not draft.comparing:
        return [ROW_COUNT, *dict.fromkeys(measure_of(parts, one) for one in draft.measures)]
    return None


def _counted_quantities(parts: QueryParts, quantities: list[MeasureRequest]) -> list[Measure]:
    """What is counted where figures are named with "how many"; empty where nothing decides."""
    draft = parts.draft
    if (
        quantities
        and (parts.filters or draft.filters)
        and all(carry_of(one.word) == "spent" for one in quantities)
    ):  # "how many paid cash"
        draft.measures = []
        draft.counts.append("")
    else:
        money = {*parts.material.takings}.union(
            *(parts.material.concepts.get(one, ()) for one in ("revenue", "cost", "profit"))
        )  # "how many days did we make a profit"
        is_money = any(one.column in money for one in quantities)
        if draft.counts_measure and draft.is_own_name and not is_money:
            draft.counts = []
        if quantities and parts.is_counting and (draft.counts or is_money):
            raise Unclear("count_what", words=draft.text)
    if draft.counts:
        return [ROW_COUNT]
    draft.measures = quantities or draft.measures
    for one in quantities:
        if one.aggregate is None and draft.aggregate is None and _counts(
            parts.material.column(one.column)
        ):  # fmt: skip
            one.aggregate = Aggregate.SUM  # "how many points"
    results = [measure_of(parts, one) for one in quantities]
    if any(one.aggregate is Aggregate.MEAN for one in results):
        raise Unclear("count_what", words=draft.text)
    return results


def _counted_mention(parts: QueryParts, name: str) -> Measure:
    """The rows, or the different values of a column of names: of "tickets" the kinds, or each
    one."""
    draft = parts.draft
    column = parts.material.column(name)
    is_person = name in parts.material.concepts.get("person", ()) and _numbers_rows(parts)
    if is_person and 2 * column.distinct > parts.material.table.rows:  # two may share a name
        draft.counts.append(draft.mentions.pop(0))
        return ROW_COUNT
    measure = Measure(name, Aggregate.DISTINCT)
    concept = concept_of(name)
    has_pieces = concept == "product" and "quantity" in parts.material.concepts
    if (concept not in _KINDS or has_pieces) and draft.aggregate is None and (
        column.distinct <= NAMED
    ):  # fmt: skip
        raise Unclear("count_what", parts.as_choices([measure, ROW_COUNT]), words=draft.text)
    return measure


def _numbers_rows(parts: QueryParts) -> bool:
    """Whether each row has a number: it is one thing, as an order or a visit is."""
    return any(
        one.role is Role.IDENTIFIER and one.distinct >= parts.material.table.rows
        for one in parts.material.groups
    )


def _of_concept(parts: QueryParts, *concepts: str) -> Measure:
    """The measure of the first concept that the table has exactly one column of."""
    for concept in concepts:
        of_money = {"revenue": parts.material.takings, "cost": parts.material.spendings}
        takings = of_money.get(concept, [])
        names = [
            name for name in parts.material.concepts.get(concept, takings)
            if parts.material.column(name).kind is Kind.NUMBER
        ]  # fmt: skip
        if len(names) == 1 and not ("spent" in parts.draft.marks and _is_signed(parts, names[0])):
            how = parts.draft.aggregate or (Aggregate.SUM if names[0] in takings else None)
            return Measure(names[0], how or _usual(parts, parts.material.column(names[0])))
    raise Unclear("which_measure")


def _is_signed(parts: QueryParts, name: str) -> bool:
    """Whether a column holds what came in and what went out."""
    first = parts.material.column(name).first
    return isinstance(first, float) and first < 0


def _implied_measure(parts: QueryParts) -> list[Measure]:
    """The measure of a clause that names none."""
    draft = parts.draft
    measure = _ranked_measure(parts) or _carried_measure(parts) or _kinds(parts)
    if measure is not None:
        return [measure]
    if draft.aggregate in (Aggregate.SUM, Aggregate.MEAN, Aggregate.MEDIAN) and (
        "time" in draft.marks
    ):  # dates are not added up
        raise Unclear("which_measure")
    if not draft.has_query and draft.aggregate is None:
        return []
    listing = parts.thing is Thing.ANSWER and parts.groups and not (
        draft.ranking or draft.aggregate or draft.derivation or parts.time
        or draft.sort is not None
    )  # fmt: skip
    if listing and (draft.asks & {"list", "which", "what", "who"} or draft.row_nouns):
        if parts.filters or draft.filters or draft.comparing:
            return [_row_count(draft)]
        if len(parts.groups) == 1:
            name = parts.groups.pop()
            return [Measure(name, Aggregate.DISTINCT)]
    only_rows = not (parts.groups or parts.time or draft.ranking or draft.aggregate)
    if parts.thing is not Thing.ANSWER and only_rows:
        return []
    return [_only_measure(parts)]


def _ranked_measure(parts: QueryParts) -> Measure | None:
    """The measure of "most often", "cheapest" and "best selling", and of yes and no."""
    draft, ranking = parts.draft, parts.draft.ranking
    is_often = ranking is not None and ranking.concept == "rows"
    if is_often and not parts.material.row_name:  # a row may stand for many
        raise Unclear("which_measure")
    speaks = draft.marks & set(_CARRIED) or "much" in draft.asks  # "how much did each bring in"
    if is_often or ("flag" in draft.marks and not draft.aggregate and not speaks and (
        parts.groups or parts.time or draft.derivation or parts.thing is Thing.CHART
    )):  # fmt: skip
        return _row_count(draft)
    if ranking is not None and ranking.concept not in ("", "sold"):
        return _ranked_concept(parts, ranking)
    if ranking is not None and ranking.concept == "sold":
        if "who" in draft.asks and _sells_both(parts):  # the most pieces, or for the most money
            raise Unclear("which_measure")
        return _of_concept(parts, *_CARRIED["sold"])
    return None


def _sells_both(parts: QueryParts) -> bool:
    """Whether a table says how many were sold and for how much."""
    concepts = parts.material.concepts
    return "quantity" in concepts and bool("revenue" in concepts or parts.material.takings)


def _ranked_concept(parts: QueryParts, ranking: Ranking) -> Measure:
    """The figure of "cheapest" and "longest": of each row, of groups their sum."""
    concepts = parts.material.concepts
    is_pace = ranking.concept == "pace"
    speeds = [one.name for one in parts.material.numbers if words.names(one.name, "speed")]
    if is_pace and len(speeds) == 1:  # who is fast has a high speed
        ranking.is_top = not ranking.is_top
        how = Aggregate.MAX if ranking.is_top else Aggregate.MIN
        return Measure(speeds[0], Aggregate.MEAN if parts.groups else how)
    names = concepts.get("hours" if is_pace else ranking.concept, [])
    if is_pace:  # who works many hours is not slow
        names = [one for one in names if words.names(one, "duration")]
    if not names and ranking.concept == "price" and (
        not parts.groups or parts.is_row_each
    ):  # fmt: skip
        names = parts.material.takings or concepts.get("cost", [])
    if not names and ranking.concept in ("hours", "pace"):
        names = [
            one.name for one in parts.material.numbers
            if one.unit in ("min", "h", "s") or words.names(one.name, "duration")
        ]  # fmt: skip
    if ranking.concept == "hours":  # the longest run takes the most time, or is the farthest
        names = [*names, *(one.name for one in parts.material.numbers if one.unit in _LENGTHS)]
    if not names:
        parts.draft.unknown.append(ranking.word)
    if len(names) != 1:
        raise Unclear("which_measure")
    column = parts.material.column(names[0])
    adds = roles.is_additive(column) and column.unit is not None and not parts.is_row_each
    if adds and parts.groups == parts.draft.mentions:
        parts.groups = []  # "longest job? with date and kind": the row is shown with all of it
    if (parts.groups or parts.time) and adds:
        return Measure(column.name, Aggregate.SUM)
    if parts.groups and (column.role is Role.RATE or is_pace) and not parts.is_row_each:
        return Measure(column.name, Aggregate.MEAN)  # the cheapest station on the whole
    return Measure(column.name, Aggregate.MAX if ranking.is_top else Aggregate.MIN)


def _carried_measure(parts: QueryParts) -> Measure | None:
    """The measure that a verb speaks of: what was sold, earned or spent. "Make a chart" and
    "bikes brought in" speak of none."""
    draft = parts.draft
    if "spent" in draft.marks and any(concept_of(one) == "customer" for one in parts.groups):
        return _of_concept(parts, "revenue", "amount")  # what customers spent was taken
    for mark, concepts in _CARRIED.items():
        is_other = (mark == "spent" and "revenue" in parts.material.concepts) or (
            mark == "earned" and not (draft.asks or draft.marks & {"more", "versus"})
        )
        if mark not in draft.marks or is_other:
            continue
        if mark == "sold" and not draft.asks & {"many", "much"} and _sells_both(parts):
            raise Unclear("which_measure")
        return _of_concept(parts, *(concepts[::-1] if "much" in draft.asks else concepts))
    return None


def _kinds(parts: QueryParts) -> Measure | None:
    """How many different values a column has that stands alone."""
    draft = parts.draft
    if not draft.mentions or parts.groups or draft.aggregate:
        return None
    measure = Measure(draft.mentions[0], Aggregate.DISTINCT)
    is_flag = bool(yes_value(parts.material.column(draft.mentions[0])))
    if is_flag or (draft.filters and not draft.asks):
        raise Unclear("count_what", parts.as_choices([ROW_COUNT, measure]), words=draft.text)
    return measure


def _only_measure(parts: QueryParts) -> Measure:
    """The rows where nothing else is there, or the only figure that may be meant."""
    draft = parts.draft
    adds_nothing = not any(map(roles.is_additive, parts.material.numbers))
    has_amounts = any(one.role is Role.AMOUNT for one in parts.material.numbers)
    if draft.style.chart == "donut" and adds_nothing and not (has_amounts and draft.groups):
        draft.counts.append("")  # a pie of the classes; rates are no parts of a whole
    if parts.counts_all or draft.counts:
        return ROW_COUNT
    sure = [one for one in parts.material.numbers
            if one.role is Role.AMOUNT and roles.is_additive(one)]  # fmt: skip
    is_rate = all(one.role is Role.RATE for one in parts.material.numbers)
    if len(parts.material.numbers) == 1 and not (draft.ranking and is_rate):
        sure = parts.material.numbers
    elif len(sure) != 1 or (
        parts.thing in (Thing.ANSWER, Thing.CHART) and draft.aggregate is not Aggregate.SUM
    ):  # "total by month" is of the only figure that adds up
        raise Unclear("which_measure")
    if "many" in draft.marks:
        raise Unclear("count_what", words=draft.text)
    if "time" in draft.marks and draft.ranking is not None:
        raise Unclear("which_measure")  # "who found the most", where a column is "Found"
    measure = measure_of(parts, MeasureRequest(sure[0].name))
    says_how = draft.aggregate or draft.ranking or draft.derivation or "much" in draft.asks
    is_of_rows = draft.ranking is not None and "it" in draft.marks  # "most of them"
    if is_of_rows or (parts.material.row_name and not says_how):
        measures = [ROW_COUNT, measure] if is_of_rows else [measure, ROW_COUNT]
        raise Unclear("which_measure", parts.as_choices(measures))
    return measure
