"""Whether a table has what a request names (pure): a guess would be charged for.

Each word of a request must name a column or a value, or say how to draw. What is left over, or asks
for something that charts cannot do, leads to a question instead of a job.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentpost.agents.base import File
from agentpost.agents.offline import query, wording
from agentpost.agents.offline.answers import STOP_WORDS
from agentpost.agents.offline.columns import mentioned, stem, tokens
from agentpost.agents.offline.tables import Column, Table, read_table
from agentpost.agents.offline.texts import listed, shortened, words
from agentpost.extraction import Unreadable

_HOW = words(
    "chart graph plot diagram visual visualise visualize visualisation visualization draw drawing "
    "drawn picture image figure bar line pie slice donut doughnut scatter histogram distribution "
    "correlation trend time timeline series horizontal horizontally vertical vertically sideways "
    "column row axis axes legend title titled label labelled labeled color colour colored coloured "
    "dark light bold data dataset number value table sheet spreadsheet csv tsv excel xlsx workbook "
    "enclosed following result stat statistic total sum average mean avg median max min maximum "
    "minimum highest lowest count top bottom largest biggest smallest best worst least versus vs "
    "against across compare comparing comparison compared relationship relation group grouped "
    "split broken breakdown sort sorted descending ascending png pdf docx word format export save "
    "report memo writeup paper write written summary overview analysis analyse analyze"
)
_FILLERS = words(
    "want wanted create creating build generate produce prepare render display displaying present "
    "draft put convert turn based see look help know thank thanks hello hi hey ok okay yes instead "
    "simply well nice pretty beautiful simple clean clear quick good great professional proper "
    "small big large colourful colorful modern little new another whole entire full complete "
    "different single basic kindly quickly one two three thing stuff here information detail "
    "full short brief long detailed attach send sent upload uploaded i'd i'll it's that's let's "
    "today tomorrow side next together try redo again back called named respectively single way "
    "various month's year's per first over showing shown plotted change changed evolve evolved "
    "evolution develop developed development switch set add rename redraw redo remake"
)
_IGNORED = frozenset(
    stem(word) for word in (STOP_WORDS - {"change"}) | _HOW | _FILLERS | wording.COLORS.keys()
)
_AUDIENCE = re.compile(
    r"\bfor (?:the|my|our|a|an|your|this|next)\s+(?:\w+\s+){0,2}?(?:board|boss|team|meeting|"
    r"presentation|management|managers?|clients?|investors?|slides?|deck|website|newsletter|class|"
    r"school|homework|blog|ceo|cfo|colleagues?|talk|review)(?:\s+meeting)?\b"
)
_FILE_NAME = re.compile(
    r"(?<![\w.-])[\w-][\w.-]{0,100}\.(?:csv|tsv|tab|xlsx?|xlsm|md|txt|pdf|docx?|html?|json|pptx)\b",
    re.IGNORECASE,
)
# What follows is the name of the result.
_NAMING = re.compile(r"\b(?:as|called|named|to|into|title|titled)\s+[\"“']?$", re.IGNORECASE)
_TIMES = {
    "day": 0, "daily": 0, "month": 1, "monthly": 1, "quarter": 2, "quarterly": 2, "year": 3,
    "yearly": 3, "annual": 3, "annually": 3,
}  # fmt: skip
_GRAINS = ("day", "month", "quarter", "year")
_CONDITION = re.compile(
    r"\b(?:above|below|over|under|more than|less than|greater than|at least|at most|between|since"
    r"|before|after|until|from|last|past|previous|first)\s+(?:the\s+)?\d[\d.,-]*(?!\w)"
    r"|\b(?:last|past|previous|this|current)\s+(?:day|week|month|quarter|year)s?\b"
    r"|\b(?:except|excluding|without|other than|not including)\s+(?:the\s+|for\s+)?\w+"
    r"|[<>]=?\s*\d[\d.,]*|\b(?:19|20)\d\d\s*[-–]\s*(?:19|20)?\d\d\b"
)


def absent_files(text: str, names: Sequence[str]) -> list[str]:
    """The files that a text names as sources and that are not among ``names``."""
    known = " ".join(names).lower()
    found = [
        match[0]
        for match in _FILE_NAME.finditer(text)
        if match[0].lower() not in known and not _NAMING.search(text[: match.start()][-20:])
    ]
    return list(dict.fromkeys(found))


def check_files(files: list[File], text: str, must_name: bool) -> list[str | None]:
    """`question` for each of these tables; None for one that cannot be read. A worker's step."""
    found: list[str | None] = []
    for file in files:
        try:
            table = read_table(file.local, file.name)
        except Unreadable:
            found.append(None)  # the job says why
            continue
        asked = question(table, text)
        if asked is None and must_name and not mentioned(text, table.columns):
            asked = f"{_columns(table)} Which of them should I use?"
        found.append(asked)
    return found


def usable(table: Table, wordings: Sequence[str], notes: list[str]) -> tuple[Table, list[str]]:
    """The rows of the table and the wordings, newest first, that can be followed.

    A wording that cannot is noted with the reason. The newest that restricts the rows decides
    which ones are left.
    """
    followed: list[str] = []
    for text in wordings:
        problem = question(table, text)
        if problem is None:
            followed.append(text)
        else:
            notes.append(f"“{shortened(text, 80)}” was not followed: {problem.rstrip('?.')}")
    for text in followed:
        if filters := _filters(table, _plain(text)):
            return _restricted(table, filters, notes), followed
    return table, followed


def _restricted(table: Table, filters: Sequence[query.Filter], notes: list[str]) -> Table:
    rows = sorted(set.intersection(*(one.rows for one in filters)))
    notes.append(f"only the rows for {listed([one.said for one in filters])}")
    columns = [
        Column(c.name, c.kind, [c.values[row] for row in rows], c.unit, c.grain)
        for c in table.columns
    ]
    return Table(table.source, columns, len(rows), table.notes)


def _plain(text: str) -> str:
    """What is left of a wish without quotations, file names and whom it is for."""
    plain = wording.unquoted(text).lower().replace("’", "'")
    return _AUDIENCE.sub(" ", _FILE_NAME.sub(" ", plain))


def _filters(table: Table, plain: str) -> list[query.Filter]:
    """The restrictions of a wish, without values that only say how to draw, like ``bar``."""
    return [one for one in query.filters(table, plain) if not set(tokens(one.said)) <= _IGNORED]


def question(table: Table, text: str) -> str | None:
    """What to ask before a table is charted or reported as ``text`` wishes; None when the table
    has all that the text names."""
    plain = _plain(text)
    filters = _filters(table, plain)
    condition = _CONDITION.search(plain)
    if condition and not set(tokens(condition[0])) <= _named(table, ()):
        return (
            f"I can’t leave out rows by “{condition[0].strip()}”, only keep the rows of a value, "
            f"month, quarter or year. Which rows should I use? {_columns(table)}"
        )
    unknown = _unknown(table, plain, filters)
    if unknown:
        named = listed([f"“{word}”" for word in unknown[:5]], "or")
        return f"{table.source} has no {named}. {_columns(table)} Which of them should I use?"
    if filters and not set.intersection(*(one.rows for one in filters)):
        said = listed([one.said for one in filters])
        return f"{table.source} has no rows for {said}. Which rows should I use?"
    return None


def _columns(table: Table) -> str:
    names = [shortened(column.name, 60) for column in table.columns[:30]]
    more = f" and {len(table.columns) - 30} more" if len(table.columns) > 30 else ""
    times = ""
    if dates := table.of_kind("date"):
        can = _GRAINS[_GRAINS.index(dates[0].grain) :]
        times = f" Dates go by {listed(can, 'or')}."
    return f"Its columns are {listed(names) if not more else ', '.join(names) + more}.{times}"


def _named(table: Table, filters: Sequence[query.Filter]) -> set[str]:
    named = {word for column in table.columns for word in tokens(column.name)}
    named |= {word for column in table.columns for word in tokens(column.label)}
    return named | {word for one in filters for word in tokens(one.said)}


def _unknown(table: Table, text: str, filters: Sequence[query.Filter]) -> list[str]:
    known = _named(table, filters) | set(tokens(table.source))
    dates = table.of_kind("date")
    finest = _GRAINS.index(dates[0].grain) if dates else len(_GRAINS)
    found: list[str] = []
    for word in re.findall(r"[^\W_]+(?:'[^\W\d_]+)?", text):
        bare = stem(word.removesuffix("'s"))
        if bare in _IGNORED or word in _IGNORED or {bare, *tokens(word)} & known:
            continue
        if _TIMES.get(bare, _TIMES.get(word, -1)) >= finest:
            continue
        # A number says how many; a year says which rows.
        if any(char.isdigit() for char in word) and not re.fullmatch(r"(?:19|20)\d\d", word):
            continue
        if len(word) > 1 and word not in found:
            found.append(word)
    return found
