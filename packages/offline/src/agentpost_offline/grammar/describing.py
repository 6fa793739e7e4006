"""A query in words, as the button that runs it and the question about it say it."""

from agentpost_offline.data import wording
from agentpost_offline.data.formulas import by_name
from agentpost_offline.data.model import Table
from agentpost_offline.frame import COMPARED, Frame, Query, Thing
from agentpost_offline.replying import knows, say, shorten
from agentpost_offline.style.languages import language as tongue, texts

_MOST = 190


def query_text(query: Query, table: Table, language: str) -> str:
    """As in "total revenue by region, 2025"."""
    columns, words = by_name(table), wording.texts(language)
    measures = [wording.measure(one, columns.find(one.column), language) for one in query.measures]
    groups = [columns[name].label for name in query.groups]
    if query.time is not None:
        groups.append(
            wording.periods(query.grain, query.time, table, language) if query.grain
            else columns[query.time].label
        )  # fmt: skip
    text = str(words["and"]).join(measures or [columns[one].label for one in query.columns])
    text = text or table.name
    growth = query.measures and query.measures[0].derived in COMPARED
    if growth:
        groups = groups[: len(query.groups)]
    if groups:
        text = f"{text} {words['by'].format(str(words['and']).join(groups))}"
    if query.order is not None and query.order.count is not None:
        text = say(language, "top" if query.order.descending else "bottom",
                   count=query.order.count, what=text)  # fmt: skip
    conditions = [
        wording.filter_text(one, columns[one.column], language, "and" if growth else "or")
        for one in query.filters
    ]
    for one in query.having:
        column = columns.find(one.column)
        phrase = wording.group_filter_text(one, column, language)
        conditions.append(phrase.replace(column.label, measures[0], 1) if column else phrase)
    if query.rows_by is not None:
        key = "rows_down" if query.order and query.order.descending else "rows_up"
        conditions.append(say(language, key, column=columns[query.rows_by].label))
    return tongue(language).separator.join([text, *conditions])


def _look_text(frame: Frame) -> str:
    """The format of a document; what is done to a picture, and its words."""
    if frame.thing is Thing.DOCUMENT:
        return ", ".join(one.upper() for one in frame.formats)
    if frame.thing is not Thing.IMAGE:
        return ""
    marks, options = tongue(frame.language).quotes, frame.style.options
    words = options.get("text")
    size = " × ".join(map(str, frame.style.size)) if frame.style.size else ""
    looks = [
        say(frame.language, f"looks.{key}", value=value) for key, value in options.items()
        if value and knows(frame.language, f"looks.{key}")
    ]  # fmt: skip
    return ", ".join(filter(None, [size, *looks, f"{marks[0]}{words}{marks[1]}" if words else ""]))


def frame_text(frame: Frame, table: Table | None) -> str:
    """As in "a chart of total revenue by region"."""
    language = frame.language
    text = ""
    if table is not None and frame.queries:
        text = tongue(language).separator.join(
            query_text(query, table, language) for query in frame.queries if query.table == table.id
        )
    if frame.thing in (None, Thing.ANSWER):
        lists = any(not query.measures for query in frame.queries)
        return shorten(say(language, "list_of", what=text) if lists else text, _MOST)
    text = text or _look_text(frame)
    key = f"things.{frame.thing}"
    thing = say(language, key) if knows(language, key) else str(frame.thing)
    if frame.style.chart == "scatter":  # of each row, and of no totals
        thing = f"{thing} ({texts('chart', language)['kinds']['scatter']})"
    return shorten(say(language, "of_what", thing=thing, what=text) if text else thing, _MOST)
