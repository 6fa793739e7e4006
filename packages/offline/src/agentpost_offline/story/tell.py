"""Tell what the figures of some queries say."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import msgspec

from agentpost_offline.data.model import Column, Result, Table
from agentpost_offline.frame import Query
from agentpost_offline.story import groups, naming, periods
from agentpost_offline.story.draft import Draft, Subject
from agentpost_offline.story.model import Claim, ClaimKind, Story
from agentpost_offline.story.second import Second, Source
from agentpost_offline.story.shape import grid, is_additive, number
from agentpost_offline.style import numbers
from agentpost_offline.style.languages import words

_LATER = 0.93
"""What each further query weighs against the one before."""
_MISSING_FROM = 0.02


def tell(source: Source, queries: Sequence[Query], language: str = "en") -> Story:
    """The story of some queries: what was computed, and what it says, most important first.

    A claim is kept only when each of its figures comes out again by a second computation from the
    tables. Raises what the source raises for a query that cannot be run.

    Args:
        source: the opened tables.
        queries: what to compute; the first matters most.
        language: of the claims.
    """
    known = {table.id: table for table in source.tables}
    results: list[Result] = []
    claims: list[Claim] = []
    used: list[Table] = []
    notes: list[str] = []
    for n, query in enumerate(queries):
        result = source.run(query)
        table = known[query.table]
        if table not in used:
            used.append(table)
        results.append(result)
        notes.extend(result.notes)
        claims.extend(findings(source, result, table, n, language))
    for table in used:
        notes.extend(f"{table.name}: {note}" for note in table.notes)
        claims.extend(_missing(table, len(results) - 1, results, language))
    claims.sort(key=lambda claim: -claim.weight)
    return Story(
        tuple(_distinct(claims)),
        tuple(results),
        tuple(source_line(table, language) for table in used),
        tuple(dict.fromkeys(notes)),
        language,
        tuple(used),
    )


def findings(
    source: Source, result: Result, table: Table, place: int = 0, language: str = "en"
) -> list[Claim]:
    """The checked claims of one result, which is the story's ``place``-th."""
    subject = Subject(result, grid(result, table, language), table, language)
    second = Second(source, result.query)
    claims = []
    for draft in _drafts(source, subject):
        finite = all(math.isfinite(value) for value in draft.figures.values())
        if finite and draft.checks and all(second.agrees(check) for check in draft.checks):
            claim = draft.claim(place, subject)
            claims.append(msgspec.structs.replace(claim, weight=claim.weight * _LATER**place))
    claims.sort(key=lambda claim: -claim.weight)
    return claims


def source_line(table: Table, language: str = "en") -> str:
    """``Source: orders.csv, 600 rows``."""
    source = words(naming.WORDS, language)["source"].format(table.name)
    return f"{source}, {naming.row_count(table, language)}"


def _drafts(source: Source, subject: Subject) -> list[Draft]:
    query = subject.result.query
    if not query.groups and query.time is None:
        return groups.totals(subject)
    if subject.grid.timed:
        found = [*periods.over_time(subject), *periods.drivers(subject)]
        found += _overall(source, subject)
    else:
        found = groups.of_groups(groups.added_up(subject), _whole(source, subject))
    return [*found, *groups.sums(subject)]


def _overall(source: Source, subject: Subject) -> list[Draft]:
    """Of groups over time, how they stand over the whole time."""
    query = subject.result.query
    if len(query.groups) != 1 or query.order is not None or query.having:
        return []
    if any(measure.derived is not None for measure in query.measures):
        return []
    overall = source.run(msgspec.structs.replace(query, time=None, grain=None))
    laid = grid(overall, subject.table, subject.code)
    whole = Subject(overall, laid, subject.table, subject.code)
    drafts = groups.of_groups(whole, _whole(source, whole))
    return [dataclasses.replace(draft, weight=draft.weight * 0.85) for draft in drafts]


def _whole(source: Source, subject: Subject) -> float | None:
    """The first measure over all groups: added up where all are there, else asked for."""
    query = subject.result.query
    if not subject.grid.lines or not is_additive(subject.grid.lines[0].measure):
        return None
    line = subject.grid.lines[0]
    if line.measure.derived is not None:
        return None
    if not query.having and (query.order is None or query.order.count is None):
        lines = [other for other in subject.grid.lines if other.measure == line.measure]
        return math.fsum(v for other in lines for v in other.values if v is not None)
    everything = msgspec.structs.replace(query, order=None, having=(), measures=(line.measure,))
    values = [number(row[-1]) for row in source.run(everything).rows]
    return math.fsum(value for value in values if value is not None)


def _missing(table: Table, place: int, results: Sequence[Result], language: str) -> list[Claim]:
    """Columns that the results use and that are empty in some rows."""
    names: set[str] = set()
    last = -1
    for n, result in enumerate(results):
        query = result.query
        if query.table == table.id:
            last = n
            names |= {*query.groups, *(m.column for m in query.measures if m.column)}
            names |= {query.time} if query.time else set()
    claims = []
    for column in table.columns:
        share = column.missing / table.rows if table.rows else 0.0
        if column.name in names and share >= _MISSING_FROM:
            claims.append(_missing_claim(column, table, share, min(last, place), language))
    return claims


def _missing_claim(column: Column, table: Table, share: float, place: int, language: str) -> Claim:
    headline, sentence = words(naming.WORDS, language)["claims"]["missing"]
    said = {
        "column": column.label,
        "share": numbers.percent(100 * share, language),
        "count": numbers.full(column.missing, None, language),
        "n": numbers.full(table.rows, None, language),
    }
    figures = (("count", float(column.missing)), ("n", float(table.rows)), ("share", 100 * share))
    return Claim(ClaimKind.MISSING, headline.format(**said), sentence.format(**said), figures,
                 place, 0.2 + min(0.2, share), (), (said["share"], column.label))  # fmt: skip


def _distinct(claims: Sequence[Claim]) -> list[Claim]:
    """Without those that say the same: an equal headline, or the same figure of the same thing."""
    kept: dict[tuple[object, ...], Claim] = {}
    for claim in claims:
        kept.setdefault((claim.kind, claim.headline), claim)
    return list(kept.values())
