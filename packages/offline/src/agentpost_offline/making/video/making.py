"""The steps of a film, a race of the bars of a table or a caller's sections one after the other:
plan, then draw, encode and check."""

import itertools
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from agentpost.agents.base import CannotSucceed, File, JobFailed
from agentpost.extraction import Unreadable
from agentpost_offline.content.blocks import Paper
from agentpost_offline.data import roles
from agentpost_offline.data.archives import unpacking
from agentpost_offline.data.dataset import open_tables
from agentpost_offline.data.formulas import by_name
from agentpost_offline.data.model import Table
from agentpost_offline.frame import Aggregate, Frame, Query, from_json
from agentpost_offline.making import papers, queries
from agentpost_offline.making.content import Section
from agentpost_offline.making.deck.slides import of_paper
from agentpost_offline.making.maker import Output, Plan, file_name
from agentpost_offline.making.video.film import (
    MOST_BARS,
    Film,
    Race,
    Runner,
    Scene,
    scenes_of,
    with_duration,
)
from agentpost_offline.story import naming, shape
from agentpost_offline.style import dates
from agentpost_offline.style.languages import language, texts

SECONDS = 600.0
LONGEST = 180.0
"""Seconds of a film."""
_RUNNERS = 24
_PERIODS = 120
_GROUPS = 200
_LEVEL = 3
"""How many are named that finish level."""
_LEAST_SECONDS = 2.0
"""So long is at least a film that is to be faster."""


@unpacking
def plan(files: Sequence[File], frame_json: Any, sections: Any, version: int) -> Any:
    """A step: what the film will show. Raises `CannotSucceed` without a table that has a column of
    dates."""
    frame = from_json(frame_json)
    film = film_of(files, frame, sections)
    stem = frame.style.title or (files[0].name if files else film.title)
    name, (wide, tall) = file_name(stem, "video", version, "mp4"), film.size
    text = texts("film", frame.language)["made"].format(
        title=film.title, name=name, seconds=round(film.duration), wide=wide, tall=tall
    )
    outputs = (Output(name, film.title),)
    return msgspec.to_builtins(Plan(text, outputs, film.used, film.skipped, film.notes))


@unpacking
def write(files: Sequence[File], frame: Any, sections: Any) -> bytes:
    """A write: the mp4; frames are drawn and encoded one by one, and some decoded again."""
    from agentpost_offline.making.video import encoding, racing, scenes

    film = film_of(files, from_json(frame), sections)
    with tempfile.TemporaryDirectory(prefix="film-") as folder:
        path = Path(folder) / "film.mp4"
        try:
            frames = racing.Drawing(film, film.race).frames() if film.race else scenes.frames(film)
            encoding.encode(frames, path, film.size, still=film.race is None)
        except Unreadable as error:
            raise CannotSucceed(f"{error}.") from error
        encoding.check(path, film.size, film.duration)
        return path.read_bytes()


def film_of(files: Sequence[File], frame: Frame, sections: Any) -> Film:
    """The film of these files."""
    style, phrases = frame.style, texts("film", frame.language)
    parts = msgspec.convert(sections, tuple[Section, ...])
    too_long = JobFailed(phrases["long"].format(most=int(LONGEST)))
    if style.seconds is not None and style.seconds > LONGEST:
        raise too_long
    if parts:
        paper, images = papers.of_sections(files, parts, frame)
        scenes = _scenes(paper)
        usual = sum(one.seconds for one in scenes)
        film = Film(
            paper.title, scenes=with_duration(scenes, _seconds(frame, usual)),
            language=frame.language, accent=paper.accent, used=paper.used, notes=paper.notes,
            paper=paper, images=images,
        )  # fmt: skip
        if film.duration > LONGEST:
            raise too_long
        return film
    sheets, message_text = queries.table_files(files, frame.text)
    with open_tables(sheets, message_text, frame.language) as dataset:
        for table in dataset.tables:
            query = _query(table, frame)
            if query is None:
                continue
            rows = dataset.run(replace(query, order=None))  # all of them race
            laid_out = shape.grid(rows, table, frame.language)
            race = _race(laid_out, query, table, frame)
            if race is not None:
                usual = min(30.0, max(8.0, 0.8 * len(race.periods)))
                seconds = _seconds(frame, usual)
                used, count = (naming.with_rows(table, frame.language),), len(laid_out.lines)
                few = phrases["few"].format(count=count, most=race.bars)
                return Film(race.title, _size(frame), (), race, seconds, frame.language,
                            style.colour, used, dataset.skipped,
                            (few,) if count > race.bars else ())  # fmt: skip
        raise CannotSucceed("; ".join([*dataset.skipped, phrases["race"]]))


def _seconds(frame: Frame, usual: float) -> float:
    """How long a film lasts: as is asked, or as usual and so much slower or faster."""
    pace = frame.style.options.get("pace")
    paced = usual if pace is None else min(LONGEST, max(_LEAST_SECONDS, usual * pace))
    return frame.style.seconds or paced


def _scenes(paper: Paper) -> list[Scene]:
    """Scenes for each slide, with its notes as captions, else with its title."""
    used_sentences: set[str] = set()
    results: list[Scene] = []
    for at, slide in enumerate(of_paper(paper)):
        text = slide.notes.partition("\n")[0] or slide.title
        results += scenes_of(at, "" if text in used_sentences else text)
        used_sentences.add(text)
    return results


def _size(frame: Frame) -> tuple[int, int]:
    """Even pixels, at most 1080 of them on the shorter side."""
    wide, tall = frame.style.size or (16, 9)
    if min(wide, tall) < 100:
        return (1080, 1080) if wide == tall else (720, 1280) if wide < tall else (1280, 720)
    scale = min(1.0, 1080 / min(wide, tall), 1920 / max(wide, tall))
    return max(160, round(wide * scale / 2) * 2), max(160, round(tall * scale / 2) * 2)


def _query(table: Table, frame: Frame) -> Query | None:
    """A measure by a group over time: what the frame names, else what is usual."""
    own = next((one for one in frame.queries if one.table == table.id), Query(table.id))
    times = queries.time_of(table)
    time = own.time or (times.name if times is not None else None)
    groups = own.groups or tuple(one.name for one in queries.groups_of(table, _GROUPS))
    if len(own.measures) > 1 and not own.groups and time is not None:
        return replace(own, time=time)
    if time is None or not groups:
        return None
    usual = next((one for one in queries.usual([table]) if one.time), own)
    return Query(
        table.id, own.measures[:1] or (queries.main_measure(table),), groups[:1], time,
        own.grain or (None if own.time else usual.grain), own.filters, order=own.order,
    )  # fmt: skip


def _race(grid: shape.Grid, query: Query, table: Table, frame: Frame) -> Race | None:
    if len(grid.keys) < 3 or len(grid.lines) < 2 or not grid.is_timed:
        return None
    code, phrases = frame.language, texts("film", frame.language)
    is_sum = grid.additive and query.measures[0].aggregate in (Aggregate.SUM, Aggregate.COUNT)
    columns = by_name(table)  # a column for each runner may hold stocks: members of clubs
    is_sum = is_sum and (
        len(query.measures) == 1
        or all(roles.is_additive(columns[str(one.column)]) for one in query.measures)
    )
    runners = []
    for line in grid.lines:
        values = [value or 0.0 for value in line.values]
        steps = list(itertools.accumulate(values)) if is_sum else values
        runners.append(Runner(line.name, tuple(steps[-_PERIODS:])))
    if min(value for runner in runners for value in runner.values) < 0:
        return None
    runners.sort(key=lambda runner: -max(runner.values))
    periods = [dates.period(key, grid.grain, code, short=True) for key in grid.keys[-_PERIODS:]]
    what = naming.subtitle(replace(query, time=None, grain=None), table, code)
    most = query.order.count if query.order is not None and query.order.descending else None
    return Race(
        frame.style.title or _leader(runners, code) or what,
        phrases["summed"].format(what=what, first=periods[0]) if is_sum else what,
        naming.source_line([table], code), tuple(periods), tuple(runners[:_RUNNERS]),
        grid.lines[0].unit, min(most or MOST_BARS, MOST_BARS),
    )  # fmt: skip


def _leader(runners: Sequence[Runner], code: str) -> str:
    """Who is ahead in the last period; empty where many are."""
    phrases = texts("film", code)
    most = max(runner.values[-1] for runner in runners)
    names = [r.name for r in runners if math.isclose(r.values[-1], most, rel_tol=1e-9)]
    if len(names) == 1:
        return str(phrases["ahead"]).format(name=names[0])
    level = str(phrases["level"]).format(names=language(code).join(names))
    return level if len(names) <= _LEVEL else ""
