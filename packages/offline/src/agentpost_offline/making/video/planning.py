"""Which film: a race of the bars of a table, or a caller's sections, one after the other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents.base import CannotSucceed, File, JobFailed
from agentpost_offline.archives import unpacking
from agentpost_offline.data.model import Role, Table
from agentpost_offline.frame import Aggregate, Frame, Grain, Query, from_json
from agentpost_offline.making import material, queries
from agentpost_offline.making.deck import sectioned
from agentpost_offline.making.deck.slides import Outline, Slide
from agentpost_offline.making.sections import Section
from agentpost_offline.making.video.film import (
    Film,
    Kind,
    Race,
    Runner,
    Scene,
    captions,
    lasting,
)
from agentpost_offline.story import naming, shape
from agentpost_offline.story.tell import source_line
from agentpost_offline.style import dates, languages, palette

TEXTS = Path(__file__).with_name("texts")
LONGEST = 180.0
"""Seconds of a film."""
_RUNNERS = 8
_PERIODS = 120
_LEVEL = 3
"""How many are named that finish level."""


@unpacking
def plan(files: Sequence[File], frame: dict[str, Any], sections: Any) -> dict[str, Any]:
    """A step: what the film shows (``film``), and the slides behind it (``outline``), as JSON.

    Raises `JobFailed` for a table without a column of dates, and `CannotSucceed` without any.
    """
    film, outline, _ = planned(files, from_json(frame), sections)
    return {"film": msgspec.to_builtins(film), "outline": msgspec.to_builtins(outline)}


def planned(
    files: Sequence[File], frame: Frame, sections: Any
) -> tuple[Film, Outline | None, list[bytes]]:
    """The film of these files, its slides, and the pictures on them."""
    texts = languages.words(TEXTS, frame.language)
    if frame.style.seconds is not None and frame.style.seconds > LONGEST:
        raise JobFailed(texts["long"].format(most=int(LONGEST)))
    accent = palette.colour(frame.style.colour) if frame.style.colour else None
    parts = msgspec.convert(sections, tuple[Section, ...])
    if parts:
        outline, images = sectioned.of_sections(files, parts, frame)
        scenes = lasting(_narrated(outline.slides), frame.style.seconds)
        film = Film(
            Kind.SLIDES, outline.title, (1280, 720), scenes, language=frame.language,
            accent=accent, used=outline.used, remarks=outline.remarks,
        )  # fmt: skip
        if film.duration > LONGEST:
            raise JobFailed(texts["long"].format(most=int(LONGEST)))
        return film, outline, images
    race, used, skipped = _raced(files, frame)
    if race is None:
        raise CannotSucceed("; ".join([*skipped, texts["race"]]))
    seconds = frame.style.seconds or min(30.0, max(8.0, 0.8 * len(race.periods)))
    film = Film(
        Kind.RACE, race.title, _size(frame), race=race, seconds=seconds, language=frame.language,
        accent=accent, used=used, skipped=skipped,
    )  # fmt: skip
    return film, None, []


def _size(frame: Frame) -> tuple[int, int]:
    """Even pixels, at most 1080 of them on the shorter side."""
    size = frame.style.size
    if frame.style.options.get("portrait"):
        return (720, 1280)
    if size is None or min(size) < 100:
        if size is not None and size[0] == size[1]:
            return (1080, 1080)
        return (720, 1280) if size is not None and size[0] < size[1] else (1280, 720)
    scale = min(1.0, 1080 / min(size), 1920 / max(size))
    return (max(160, round(size[0] * scale / 2) * 2), max(160, round(size[1] * scale / 2) * 2))


def _narrated(slides: Sequence[Slide]) -> tuple[Scene, ...]:
    """A scene for each slide, with its notes as captions, else with its title."""
    spoken: set[str] = set()
    scenes = []
    for at, slide in enumerate(slides):
        text = slide.notes.partition("\n")[0] or slide.title
        scenes.append(Scene(at, captions("" if text in spoken else text)))
        spoken.add(text)
    return tuple(scenes)


def _raced(
    files: Sequence[File], frame: Frame
) -> tuple[Race | None, tuple[str, ...], tuple[str, ...]]:
    """The race of the first table that has groups and time, what was used, what was skipped."""
    from agentpost_offline.data.dataset import opened

    asked, pasted = material.table_files(files, frame)
    with opened(asked, pasted, frame.language) as dataset:
        for table in dataset.tables:
            query = _query(table, frame)
            if query is None:
                continue
            laid = shape.grid(dataset.run(query), table, frame.language)
            race = _race(laid, query, table, frame)
            if race is not None:
                return race, (naming.with_rows(table, frame.language),), dataset.skipped
        return None, (), dataset.skipped


def _query(table: Table, frame: Frame) -> Query | None:
    named = next((one for one in frame.queries if one.table == table.id), None)
    times = [column for column in table.columns if column.role is Role.TIME]
    groups = [c for c in table.columns if c.role is Role.CATEGORY and 2 < c.distinct <= 200]
    if not times or not (groups or (named and named.groups)):
        return None
    chosen = next((one for one in queries.chosen([table]) if one.time), None)
    group = named.groups[:1] if named and named.groups else (groups[0].name,)
    measures = named.measures[:1] if named and named.measures else ()
    return Query(
        table.id,
        measures or (queries.main_measure(table),),
        group,
        (named.time if named else None) or times[0].name,
        (named.grain if named else None) or (chosen.grain if chosen else None),
        named.filters if named else (),
    )


def _race(grid: shape.Grid, query: Query, table: Table, frame: Frame) -> Race | None:
    if len(grid.keys) < 3 or len(grid.lines) < 2 or not grid.timed:
        return None
    code = frame.language
    summed = grid.additive and query.measures[0].aggregate in (Aggregate.SUM, Aggregate.COUNT)
    runners = []
    for line in grid.lines:
        values = [value or 0.0 for value in line.values]
        steps = list(itertools.accumulate(values)) if summed else values
        runners.append(Runner(line.name, tuple(steps[-_PERIODS:])))
    if min(value for runner in runners for value in runner.values) < 0:
        return None
    runners.sort(key=lambda runner: -max(runner.values))
    grain = grid.grain or Grain.DAY
    texts = languages.words(TEXTS, code)
    periods = tuple(dates.period(key, grain, code, short=True) for key in grid.keys)
    shown = naming.subtitle(msgspec.structs.replace(query, time=None, grain=None), table, code)
    subtitle = shown
    if summed:
        subtitle = texts["summed"].format(what=shown, first=periods[-_PERIODS:][0])
    title = frame.style.title or _ahead(runners, code) or shown
    source = source_line(table, code)
    return Race(
        title, subtitle, source, periods[-_PERIODS:], tuple(runners[: 3 * _RUNNERS]),
        grid.lines[0].unit, code, summed,
    )  # fmt: skip


def _ahead(runners: Sequence[Runner], code: str) -> str:
    """Who is ahead in the last period; empty where many are."""
    texts = languages.words(TEXTS, code)
    most = max(runner.values[-1] for runner in runners)
    names = [r.name for r in runners if math.isclose(r.values[-1], most, rel_tol=1e-9)]
    if len(names) == 1:
        return str(texts["ahead"]).format(name=names[0])
    level = str(texts["level"]).format(names=languages.language(code).listed(names))
    return level if len(names) <= _LEVEL else ""
