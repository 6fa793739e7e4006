"""A story as slides: key figures, a chart with its finding, the figures behind it."""

from __future__ import annotations

from collections.abc import Sequence

from agentpost.agents.offline.data.model import Result, Table
from agentpost.agents.offline.making.deck.plotted import chart_of
from agentpost.agents.offline.making.deck.slides import Figure, Grid, Layout, Slide
from agentpost.agents.offline.story import naming, shape
from agentpost.agents.offline.story.model import Claim, ClaimKind, Story
from agentpost.agents.offline.style import numbers

_PERCENT_FIRST = (ClaimKind.GROWTH, ClaimKind.CONTRIBUTION, ClaimKind.CONCENTRATION)
_LABELS = {
    ClaimKind.TOTAL: "total",
    ClaimKind.GROWTH: "growth",
    ClaimKind.BEST: "best",
    ClaimKind.WORST: "worst",
    ClaimKind.CONTRIBUTION: "part",
    ClaimKind.CONCENTRATION: "part",
}
_MOST_ROWS = 9
_MOST_COLUMNS = 7


class Telling:
    """Makes the slides of one story."""

    def __init__(self, story: Story, tables: Sequence[Table], texts: dict[str, str]) -> None:
        self.story = story
        self.tables = {table.id: table for table in tables}
        self.texts = texts
        self.code = story.language
        self.source = "; ".join(story.sources)

    def slides(self) -> list[Slide]:
        """All slides there are to say it, in their order."""
        found: list[Slide] = []
        figures = self._key_figures()
        if figures is not None:
            found.append(figures)
        order = sorted(
            range(len(self.story.results)),
            key=lambda at: -max((c.weight for c in self._claims(at)), default=0.0),
        )
        found.extend(s for at in order if (s := self._charted(at)) is not None)
        shown = [s for at in order if (s := self.behind(at)) is not None]
        return found + shown[:1]

    def extra(self) -> list[Slide]:
        """More slides, for when more are asked for."""
        tables = [s for at in range(len(self.story.results)) if (s := self.behind(at))]
        return tables[1:] + [
            Slide(
                Layout.STATEMENT, claim.headline, points=(claim.sentence,), source=self.source,
                notes=claim.sentence, weight=claim.weight * 0.3,
            )
            for claim in self.story.claims[1:]
        ]  # fmt: skip

    def points(self, most: int) -> tuple[str, ...]:
        """The main findings, a sentence each."""
        return tuple(dict.fromkeys(claim.sentence for claim in self.story.claims))[:most]

    def course(self) -> tuple[float, ...]:
        """How the main figure developed, for the title's silhouette."""
        for result in self.story.results:
            table = self.tables.get(result.query.table)
            if table is None or result.query.time is None:
                continue
            line = shape.grid(result, table, self.code).lines[0]
            values = [value for value in line.values if value is not None]
            if 5 < len(values) <= 60 and min(values) >= 0:
                return tuple(values)
        return ()

    def _claims(self, at: int) -> list[Claim]:
        return [claim for claim in self.story.claims if claim.result == at]

    def _table(self, at: int) -> Table | None:
        return self.tables.get(self.story.results[at].query.table)

    def _key_figures(self) -> Slide | None:
        figures: list[Figure] = []
        for claim in self.story.claims:
            figure = self._figure(claim)
            if figure is not None and figure.value not in [f.value for f in figures]:
                figures.append(figure)
        if len(figures) < 2:
            return None
        figures = figures[:4]
        points = self.points(3)
        return Slide(
            Layout.FIGURES, self.texts["figures"], figures=tuple(figures), points=points,
            source=self.source, notes=" ".join(self.points(5)), weight=0.95,
        )  # fmt: skip

    def _figure(self, claim: Claim) -> Figure | None:
        """The claim's figure as its own sentence writes it."""
        table = self._table(claim.result)
        kind = _LABELS.get(claim.kind)
        measures = self.story.results[claim.result].query.measures
        if kind is None or table is None or not measures:
            return None
        if kind in ("best", "worst", "part") and not claim.marks:
            return None
        said = f"{claim.headline} {claim.sentence}"
        unit = naming.unit(measures[0], table)
        for value in self._written(claim, unit):
            if value not in said and value.lstrip(f"+{numbers.MINUS}") not in said:
                continue
            name = naming.measure(measures[0], table, self.code)
            inner = naming.inner(name, self.code)
            label = self.texts[kind].format(
                measure=inner if kind == "part" else name, mark=", ".join(claim.marks[:2])
            )
            return Figure(value, label)
        return None

    def _written(self, claim: Claim, unit: str | None) -> list[str]:
        """How the claim's values may be written, the most telling first."""
        parts, sizes = [], []
        for _, value in claim.figures:
            for part in (value, value * 100):
                signed = claim.kind is ClaimKind.GROWTH
                parts.append(numbers.percent(part, self.code, signed=signed))
            sizes += [numbers.short(value, unit, self.code), numbers.full(value, unit, self.code)]
        return parts + sizes if claim.kind in _PERCENT_FIRST else sizes

    def _charted(self, at: int) -> Slide | None:
        result, table = self.story.results[at], self._table(at)
        if table is None:
            return None
        claims = self._claims(at)
        lead = claims[0] if claims else None
        chart = chart_of(result, table, self.code, lead.marks if lead else ())
        if chart is None:
            return None
        subtitle = naming.subtitle(result.query, table, self.code)
        points = tuple(dict.fromkeys(claim.sentence for claim in claims))[:4]
        notes = "\n".join([*points, result.reading or subtitle, chart.alt])
        return Slide(
            Layout.CHART,
            lead.headline if lead else subtitle,
            subtitle=subtitle if lead else "",
            points=points,
            chart=chart,
            source=self.source,
            notes=notes,
            weight=0.5 + 0.4 * (lead.weight if lead else 0.0),
        )

    def behind(self, at: int) -> Slide | None:
        """A result as a table."""
        result, table = self.story.results[at], self._table(at)
        if table is None or not result.rows:
            return None
        grid = _grid(result, table, self.code)
        if grid is None:
            return None
        return Slide(
            Layout.TABLE,
            self.texts["behind"],
            subtitle=naming.subtitle(result.query, table, self.code),
            grid=grid,
            source=self.source,
            notes=result.reading,
            weight=0.3,
        )


def _grid(result: Result, table: Table, code: str) -> Grid | None:
    laid = shape.grid(result, table, code)
    if not 2 <= len(laid.keys) or len(laid.lines) > _MOST_COLUMNS - 1:
        return None
    places = list(range(len(laid.keys)))
    if laid.timed:
        places = places[-_MOST_ROWS:]
    else:
        if result.query.order is None:
            places.sort(key=lambda at: -(laid.lines[0].values[at] or 0))
        places = places[:_MOST_ROWS]
    whole = laid.additive and len(places) == len(laid.keys) and result.query.order is None
    rows = [[laid.labels[at], *(_cell(line, at, code) for line in laid.lines)] for at in places]
    header = [_group(result, table, laid.grain is not None), *(line.name for line in laid.lines)]
    share = whole and len(laid.lines) == 1 and not laid.timed
    sums = [sum(shape.present(line.values)) for line in laid.lines]
    if share and sums[0] > 0:
        header.append(numbers.PERCENT)
        for row, at in zip(rows, places, strict=True):
            row.append(numbers.percent(100 * (laid.lines[0].values[at] or 0) / sums[0], code))
    if whole:
        last = ["Σ", *(numbers.full(s, line.unit, code) for s, line in zip(sums, laid.lines, strict=True))]
        rows.append(last + ["100%"] * (len(header) - len(last)))
    numeric = tuple(range(1, len(header)))
    return Grid(tuple(header), tuple(map(tuple, rows)), numeric, total=whole)


def _group(result: Result, table: Table, timed: bool) -> str:
    query = result.query
    if timed:
        return naming.label(query.time, table)
    return naming.label(query.groups[0], table) if query.groups else ""


def _cell(line: shape.Line, at: int, code: str) -> str:
    value = line.values[at]
    return "–" if value is None else numbers.full(value, line.unit, code)
