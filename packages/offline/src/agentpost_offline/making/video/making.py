"""The steps of a film: plan, then draw, encode and check; subtitles beside it.

A film is a race of the bars of a table, or a caller's sections, one after the other.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents.base import CannotSucceed, File, Job, JobFailed
from agentpost.extraction import Unreadable
from agentpost_offline.archives import unpacking
from agentpost_offline.data.model import Role, Table
from agentpost_offline.frame import Aggregate, Frame, Grain, Query, Thing, from_json, to_json
from agentpost_offline.making import catalogue, papers, queries
from agentpost_offline.making.content import Paper, Section
from agentpost_offline.making.deck.slides import of_paper
from agentpost_offline.making.maker import Inputs, Product, file_name
from agentpost_offline.making.video import encoding, narrating, racing
from agentpost_offline.making.video.film import (
    Film,
    Race,
    Runner,
    Scene,
    captions,
    lasting,
    subtitles,
)
from agentpost_offline.story import naming, shape
from agentpost_offline.story.tell import source_line
from agentpost_offline.style import dates, languages

SECONDS = 600.0
TEXTS = Path(__file__).with_name("texts")
LONGEST = 180.0
"""Seconds of a film."""
_RUNNERS = 24
_PERIODS = 120
_LEVEL = 3
"""How many are named that finish level."""


async def make(job: Job, inputs: Inputs) -> Product:
    """Make the film; raises `JobFailed` with a text for the user."""
    frame, files = inputs.frame, list(inputs.files)
    await job.progress("Reading the files")
    request = (files, to_json(frame), msgspec.to_builtins(inputs.sections))
    film_json = await job.step(plan, *request, timeout=SECONDS)
    film = msgspec.convert(film_json, Film)
    scenes = f"{len(film.scenes)} scenes, " if film.scenes else ""
    await job.progress(f"Plan: {scenes}{film.duration:.0f} seconds")
    stem = frame.style.title or (files[0].name if files else film.title)
    name = file_name(stem, "video", inputs.version, "mp4")
    await job.progress(f"Drawing {name}")
    products = [await job.write(
        name, write, film_json, *request, cost=catalogue.MAKERS[Thing.VIDEO].credits,
        label=film.title, timeout=SECONDS,
    )]  # fmt: skip
    if subtitles(film):
        beside = file_name(stem, "video", inputs.version, "srt")
        products.append(await job.write(beside, subtitles(film).encode()))
    wide, tall = film.size
    text = languages.words(TEXTS, frame.language)["made"].format(
        title=film.title, name=name, seconds=round(film.duration), wide=wide, tall=tall
    )
    return Product(text, products, list(film.used), list(film.skipped), list(film.remarks))


@unpacking
def plan(files: Sequence[File], frame: dict[str, Any], sections: Any) -> dict[str, Any]:
    """A step: what the film shows, a `Film` as JSON.

    Raises `CannotSucceed` for tables without a column of dates, and without any table.
    """
    film: dict[str, Any] = msgspec.to_builtins(_planned(files, from_json(frame), sections)[0])
    return film


@unpacking
def write(
    film_json: dict[str, Any], files: Sequence[File], frame: dict[str, Any], sections: Any
) -> bytes:
    """A write: the mp4; frames are drawn and encoded one by one, and some decoded again."""
    film = msgspec.convert(film_json, Film)
    with tempfile.TemporaryDirectory(prefix="film-") as folder:
        path = Path(folder) / "film.mp4"
        try:
            if film.race is not None:
                frames = racing.frames(film)
            else:
                _, paper, images = _planned(files, from_json(frame), sections)
                assert paper is not None, "a film of scenes has slides"
                frames = narrating.frames(film, paper, images)
            encoding.encode(frames, path, film.size, still=film.race is None)
        except Unreadable as error:
            raise CannotSucceed(f"{error}.") from error
        encoding.check(path, film.size, film.duration)
        return path.read_bytes()


def _planned(
    files: Sequence[File], frame: Frame, sections: Any
) -> tuple[Film, Paper | None, list[bytes]]:
    """The film of these files, the paper whose slides it shows, and the pictures on them."""
    texts = languages.words(TEXTS, frame.language)
    too_long = texts["long"].format(most=int(LONGEST))
    if frame.style.seconds is not None and frame.style.seconds > LONGEST:
        raise JobFailed(too_long)
    parts = msgspec.convert(sections, tuple[Section, ...])
    if parts:
        paper, images = papers.written(files, parts, frame)
        film = Film(
            paper.title, scenes=lasting(_scenes(paper), frame.style.seconds),
            language=frame.language, accent=paper.accent, used=paper.used, remarks=paper.notes,
        )  # fmt: skip
        if film.duration > LONGEST:
            raise JobFailed(too_long)
        return film, paper, images
    race, used, skipped = _raced(files, frame)
    if race is None:
        raise CannotSucceed("; ".join([*skipped, texts["race"]]))
    seconds = frame.style.seconds or min(30.0, max(8.0, 0.8 * len(race.periods)))
    film = Film(race.title, _size(frame), race=race, seconds=seconds, language=frame.language,
                accent=frame.style.colour, used=used, skipped=skipped)  # fmt: skip
    return film, None, []


def _scenes(paper: Paper) -> tuple[Scene, ...]:
    """A scene for each slide, with its notes as captions, else with its title."""
    spoken: set[str] = set()
    scenes = []
    for at, slide in enumerate(of_paper(paper)):
        text = slide.notes.partition("\n")[0] or slide.title
        scenes.append(Scene(at, captions("" if text in spoken else text)))
        spoken.add(text)
    return tuple(scenes)


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


def _raced(
    files: Sequence[File], frame: Frame
) -> tuple[Race | None, tuple[str, ...], tuple[str, ...]]:
    """The race of the first table that has groups and time, what was used, what was skipped."""
    from agentpost_offline.data.dataset import opened

    asked, pasted = queries.table_files(files, frame.text)
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
    groups = [c for c in table.columns if c.role is Role.CATEGORY and 2 <= c.distinct <= 200]
    if not times or not (groups or (named and named.groups)):
        return None
    usual = next((one for one in queries.usual([table]) if one.time), None)
    group = named.groups[:1] if named and named.groups else (groups[0].name,)
    measures = named.measures[:1] if named and named.measures else ()
    return Query(
        table.id,
        measures or (queries.main_measure(table),),
        group,
        (named.time if named else None) or times[0].name,
        (named.grain if named else None) or (usual.grain if usual else None),
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
        title, subtitle, source, periods[-_PERIODS:], tuple(runners[:_RUNNERS]),
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
