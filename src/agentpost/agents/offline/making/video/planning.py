"""Which film: the slides of a story, photographs, or a race of bars."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents.base import File, JobFailed
from agentpost.agents.offline.archives import unpacking
from agentpost.agents.offline.data.model import Role, Table
from agentpost.agents.offline.frame import Aggregate, Frame, Grain, Query, from_json
from agentpost.agents.offline.making import material, phrases, queries
from agentpost.agents.offline.making.deck.outline import planned as deck_of
from agentpost.agents.offline.making.deck.slides import Layout, Outline, Slide
from agentpost.agents.offline.making.video.film import (
    Caption,
    Film,
    Kind,
    Race,
    Runner,
    Scene,
    captions,
    lasting,
)
from agentpost.agents.offline.story import naming, shape
from agentpost.agents.offline.style import dates, languages, palette

WORDS = Path(__file__).with_name("words.toml")
TEXTS = Path(__file__).with_name("texts")
LONGEST = 180.0
_MOST_SCENES = 14
_RUNNERS = 8
_MOST_PERIODS = 120
_LEVEL = 3
"""How many are named that finish level."""
_QUOTED = re.compile(r"[\"“„«「『]([^\"”“»」』]{1,160})[\"”“»」』]")


@unpacking
def plan(files: Sequence[File], frame: dict[str, Any]) -> dict[str, Any]:
    """A step: what the film shows (``film``), and the deck behind it (``outline``), as JSON.

    Raises `JobFailed` when nothing can be read.
    """
    wish = from_json(frame)
    film, outline = planned(files, wish)
    return {"film": msgspec.to_builtins(film), "outline": msgspec.to_builtins(outline)}


def planned(files: Sequence[File], frame: Frame) -> tuple[Film, Outline | None]:
    """The film of these files."""
    texts = languages.words(TEXTS, frame.language)
    if frame.style.seconds is not None and frame.style.seconds > LONGEST:
        raise JobFailed(texts["long"].format(most=int(LONGEST)))
    asked = frame.style.options
    race = asked.get("race") or phrases.said(WORDS, frame.language, "kind", frame.said) == "race"
    found = material.gathered(files, frame)
    accent = palette.colour(frame.style.colour) if frame.style.colour else None
    base = Film(
        Kind.SLIDES, "", _size(frame), language=frame.language, accent=accent, used=found.used,
        skipped=found.skipped, captioned=not _without_captions(frame),
    )  # fmt: skip
    if race or _is_race(frame):
        made = _raced(files, frame, found.tables)
        if made is not None:
            seconds = frame.style.seconds or min(30.0, max(8.0, 0.8 * len(made.periods)))
            return _with(base, kind=Kind.RACE, title=made.title, race=made, seconds=seconds), None
        if race:
            raise JobFailed(texts["race"])
    if found.images and not found.tables:
        return _photos(base, files, frame, found, texts), None
    outline = deck_of(found, files, frame)
    slides = outline.slides[:_MOST_SCENES]
    outline = msgspec.structs.replace(outline, slides=slides)
    scenes = _narrated(slides)
    scenes = _fitting(scenes, slides, frame.style.seconds)
    film = _with(
        base, title=outline.title, scenes=lasting(scenes, frame.style.seconds),
        size=(1280, 720), remarks=outline.remarks, finding=outline.finding,
    )  # fmt: skip
    return film, outline


def _with(film: Film, **changes: Any) -> Film:
    return msgspec.structs.replace(film, **changes)


def _size(frame: Frame) -> tuple[int, int]:
    """Even pixels, at most 1080 of them on the shorter side."""
    if frame.style.options.get("portrait") or frame.style.options.get("vertical"):
        return (720, 1280)
    size = frame.style.size
    if size is None or min(size) < 100:
        if size is not None and size[0] == size[1]:
            return (1080, 1080)
        return (720, 1280) if size is not None and size[0] < size[1] else (1280, 720)
    scale = min(1.0, 1080 / min(size), 1920 / max(size))
    return (max(160, round(size[0] * scale / 2) * 2), max(160, round(size[1] * scale / 2) * 2))


def _without_captions(frame: Frame) -> bool:
    return phrases.said(WORDS, frame.language, "captions", frame.said) == "none"


def _narrated(slides: Sequence[Slide]) -> tuple[Scene, ...]:
    """A scene for each slide, with what a narrator would say; no sentence is said twice."""
    spoken: set[str] = set()
    scenes = []
    for at, slide in enumerate(slides):
        text = _said(slide, spoken)
        spoken |= {text, *slide.points[:1]} if slide.layout is not Layout.CLOSING else {text}
        scenes.append(Scene(at, captions(text)))
    return tuple(scenes)


def _said(slide: Slide, spoken: set[str]) -> str:
    titled = f"{slide.title}: {slide.subtitle}" if slide.subtitle else slide.title
    if slide.layout in (Layout.TITLE, Layout.TABLE, Layout.IMAGE):
        return titled
    if slide.layout is Layout.COLUMNS:
        return slide.title
    if slide.layout is Layout.CLOSING:
        return f"{slide.title}: {slide.points[0]}"
    if slide.layout is Layout.POINTS:
        return f"{slide.title}: {slide.points[0]}"
    return next((point for point in slide.points if point not in spoken), titled)


def _fitting(
    scenes: tuple[Scene, ...], slides: Sequence[Slide], seconds: float | None
) -> tuple[Scene, ...]:
    """The scenes that fit the time that was asked for: those that matter least go first."""
    if seconds is None:
        return scenes
    kept = list(scenes)
    while len(kept) > 2 and sum(scene.seconds for scene in kept) > seconds * 1.35:
        kept.remove(min(kept[1:], key=lambda scene: slides[scene.picture].weight))
    return tuple(kept)


def _photos(
    base: Film,
    files: Sequence[File],
    frame: Frame,
    found: material.Material,
    texts: dict[str, Any],
) -> Film:
    lines = [line.strip() for line in frame.text.splitlines() if line.strip()]
    lines = lines or _QUOTED.findall(frame.said)
    scenes = []
    for place, number in enumerate(found.images[: 4 * _MOST_SCENES]):
        file = files[number]
        words = re.sub(r"[_-]+", " ", Path(file.name).stem).strip()
        camera = re.fullmatch(r"(?:img|dsc|pxl|photo|image|foto)?[\s\d]*", words.casefold())
        text = lines[place] if place < len(lines) else file.label or ("" if camera else words)
        text = text[:1].upper() + text[1:]
        scenes.append(Scene(number, captions(text) if text else (Caption("", 3.5),)))
    title = frame.style.title or texts["photos"]
    remarks = ()
    return _with(
        base, kind=Kind.PHOTOS, title=title, remarks=remarks,
        scenes=lasting(tuple(scenes), frame.style.seconds),
        captioned=base.captioned and any(c.text for s in scenes for c in s.captions),
    )  # fmt: skip


def _is_race(frame: Frame) -> bool:
    """A query by group and time, or by one group alone, was named: its bars move."""
    return bool(frame.queries) and bool(frame.queries[0].groups)


def _raced(files: Sequence[File], frame: Frame, tables: Sequence[Table]) -> Race | None:
    """The race of the first table that has groups and time; None when none has both."""
    from agentpost.agents.offline.data.dataset import opened

    asked, pasted = material.table_files(files, frame)
    with opened(asked, pasted, frame.language) as dataset:
        for table in dataset.tables:
            query = _query(table, frame)
            if query is None:
                continue
            made = _race(shape.grid(dataset.run(query), table, frame.language), query, table, frame)
            if made is not None:
                return made
    return None


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
        runners.append(Runner(line.name, tuple(steps[-_MOST_PERIODS:])))
    if min(value for runner in runners for value in runner.values) < 0:
        return None
    runners.sort(key=lambda runner: -max(runner.values))
    grain = grid.grain or Grain.DAY
    texts = languages.words(TEXTS, code)
    periods = tuple(dates.period(key, grain, code, short=True) for key in grid.keys)
    shown = naming.subtitle(msgspec.structs.replace(query, time=None, grain=None), table, code)
    subtitle = shown
    if summed:
        subtitle = texts["summed"].format(what=shown, first=periods[-_MOST_PERIODS:][0])
    title = frame.style.title or _ahead(runners, code) or shown
    source = _source(table, code)
    return Race(
        title, subtitle, source, periods[-_MOST_PERIODS:], tuple(runners[: 3 * _RUNNERS]),
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


def _source(table: Table, code: str) -> str:
    from agentpost.agents.offline.story.tell import source_line

    return source_line(table, code)
