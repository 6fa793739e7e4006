"""A story as slides: key figures, a chart with its finding, the figures behind it."""

from __future__ import annotations

from collections.abc import Sequence

from agentpost_offline.data.model import Table
from agentpost_offline.making.deck.grids import grid_of
from agentpost_offline.making.deck.plotted import chart_of
from agentpost_offline.making.deck.slides import Figure, Layout, Slide
from agentpost_offline.story import naming, shape
from agentpost_offline.story.model import Claim, Story


class Telling:
    """Makes the slides of one story."""

    def __init__(self, story: Story, texts: dict[str, str]) -> None:
        self.story = story
        self.tables = {table.id: table for table in story.tables}
        self.texts = texts
        self.code = story.language
        self.source = "; ".join(story.sources)
        self._stated: set[str] = set()
        self._said: set[str] = set()

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
        return found + self._tables()[:1]

    def _tables(self) -> list[Slide]:
        """The results as tables, the one with most to compare first."""
        shown = [s for at in range(len(self.story.results)) if (s := self.behind(at)) is not None]
        return sorted(shown, key=lambda slide: -len(slide.grid.header if slide.grid else ()))

    def extra(self) -> list[Slide]:
        """More slides, for when more are asked for."""
        return self._tables()[1:] + [
            Slide(
                Layout.STATEMENT, claim.headline, points=(claim.sentence,), source=self.source,
                notes=claim.sentence, weight=claim.weight * 0.3,
            )
            for claim in self.story.claims[1:]
            if claim.sentence not in self._said and claim.headline not in self._stated
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

    def _title(self, claims: Sequence[Claim]) -> str:
        """The first headline that no slide has yet."""
        for claim in claims:
            if claim.headline not in self._stated:
                self._stated.add(claim.headline)
                return claim.headline
        return self.texts["figures"]

    def _claims(self, at: int) -> list[Claim]:
        return [claim for claim in self.story.claims if claim.result == at]

    def _table(self, at: int) -> Table | None:
        return self.tables.get(self.story.results[at].query.table)

    def _key_figures(self) -> Slide | None:
        figures: list[Figure] = []
        for claim in self.story.claims:
            if claim.key is not None and claim.key[0] not in [f.value for f in figures]:
                # A headline that states the figure again adds nothing to it.
                known = not figures or claim.key[0] in claim.headline
                note = "" if known else claim.headline
                figures.append(Figure(*claim.key, note))
        if len(figures) < 2:
            return None
        figures = figures[:4]
        return Slide(
            Layout.FIGURES, self._title(self.story.claims), figures=tuple(figures),
            source=self.source, notes=" ".join(self.points(5)), weight=0.95,
        )  # fmt: skip

    def _charted(self, at: int) -> Slide | None:
        result, table = self.story.results[at], self._table(at)
        if table is None:
            return None
        claims = self._claims(at)
        lead = next((c for c in claims if c.headline not in self._stated), None)
        chart = chart_of(result, table, self.code, lead.marks if lead else ())
        if chart is None:
            return None
        subtitle = naming.subtitle(result.query, table, self.code)
        if lead is not None:
            self._stated.add(lead.headline)
        sentences = dict.fromkeys(claim.sentence for claim in claims)
        points = tuple(text for text in sentences if text not in self._said)[:4]
        self._said.update(points)
        notes = "\n".join([*points, result.reading or subtitle, chart.alt])
        return Slide(
            Layout.CHART,
            lead.headline if lead else subtitle,
            subtitle=subtitle if lead else "",
            points=points,
            chart=chart,
            source=self.source,
            notes=notes,
            weight=0.5 + 0.4 * max((claim.weight for claim in claims), default=0.0),
        )

    def behind(self, at: int) -> Slide | None:
        """A result as a table."""
        result, table = self.story.results[at], self._table(at)
        if table is None or not result.rows:
            return None
        made = grid_of(result, table, self.code)
        if made is None:
            return None
        grid, (shown, known) = made
        subtitle = naming.subtitle(result.query, table, self.code)
        if shown < known:
            subtitle += " " + self.texts["part"].format(shown=shown, all=known)
        return Slide(
            Layout.TABLE,
            self.texts["behind"],
            subtitle=subtitle,
            grid=grid,
            source=self.source,
            notes=result.reading,
            weight=0.3,
        )
