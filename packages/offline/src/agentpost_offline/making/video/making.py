"""The steps of a film: plan, draw and encode, open again and check; subtitles beside it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents.base import CannotSucceed, File, Job
from agentpost.extraction import Unreadable
from agentpost_offline.archives import unpacking
from agentpost_offline.frame import Thing, from_json, to_json
from agentpost_offline.making import catalogue
from agentpost_offline.making.maker import Inputs, Made
from agentpost_offline.making.names import file_name
from agentpost_offline.making.video import encoding, film, planning, racing, shown
from agentpost_offline.making.video.film import Film, Kind
from agentpost_offline.style import languages

SECONDS = 600.0


async def make(job: Job, inputs: Inputs) -> Made:
    """Make the film; raises `JobFailed` with a text for the user."""
    price = catalogue.MAKERS[Thing.VIDEO].credits
    frame, files = inputs.frame, list(inputs.files)
    await job.progress("Reading the files")
    request = (files, to_json(frame), msgspec.to_builtins(inputs.sections))
    plan = await job.step(planning.plan, *request, timeout=SECONDS)
    planned = msgspec.convert(plan["film"], Film)
    scenes = f"{len(planned.scenes)} scenes, " if planned.scenes else ""
    await job.progress(f"Plan: {scenes}{planned.duration:.0f} seconds")
    stem = frame.style.title or (files[0].name if files else planned.title)
    name = file_name(stem, "video", inputs.version, "mp4")
    await job.progress(f"Drawing {name}")
    video = await job.write(
        name,
        write,
        plan,
        *request,
        cost=price,
        label=planned.title,
        timeout=SECONDS,
    )
    await job.progress(f"Checking {name}")
    seconds = await job.step(check, video, plan, timeout=SECONDS)
    written = [video]
    if film.subtitles(planned):
        captions = file_name(stem, "video", inputs.version, "srt")
        written.append(await job.write(captions, film.subtitles(planned).encode()))
    texts = languages.words(planning.TEXTS, frame.language)
    text = texts["made"].format(
        title=planned.title, name=name, seconds=round(seconds), wide=planned.size[0],
        tall=planned.size[1],
    )  # fmt: skip
    remarks = list(planned.remarks)
    return Made(f"{text} {planned.finding}".rstrip(), written, list(planned.used),
                list(planned.skipped), remarks)  # fmt: skip


@unpacking
def write(
    plan: dict[str, Any], files: Sequence[File], frame: dict[str, Any], sections: Any
) -> bytes:
    """A write: the mp4; frames are drawn and encoded one by one."""
    planned = msgspec.convert(plan["film"], Film)
    with tempfile.TemporaryDirectory(prefix="film-") as folder:
        path = Path(folder) / "film.mp4"
        try:
            if planned.kind is Kind.RACE:
                frames = racing.frames(planned)
            else:
                _, outline, images = planning.planned(files, from_json(frame), sections)
                assert outline is not None, "a film of slides has them"
                frames = shown.frames(planned, outline, images)
            encoding.encode(frames, path, planned.size, still=planned.kind is Kind.SLIDES)
        except Unreadable as error:
            raise CannotSucceed(f"{error}.") from error
        # Before it is stored, and with that charged for.
        encoding.checked(path, planned.size, planned.duration)
        return path.read_bytes()


def check(file: File, plan: dict[str, Any]) -> float:
    """A step: open the film again; returns its seconds, raises `JobFailed`."""
    planned = msgspec.convert(plan["film"], Film)
    return encoding.checked(file.local, planned.size, planned.duration)
