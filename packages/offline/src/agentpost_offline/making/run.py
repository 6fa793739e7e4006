"""The job: one function for every thing, from the frame to the finished work. Follow-up messages
that arrive meanwhile change the frame; what could not be followed is said in the result."""

import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from agentpost.agents.base import File, Job, JobFailed, Said
from agentpost.agents.caller_context import bare
from agentpost.agents.deaths import WorkerDied
from agentpost.extraction import Unreadable
from agentpost_offline import steps
from agentpost_offline.data.model import Table
from agentpost_offline.frame import Frame, from_json, to_json
from agentpost_offline.grammar import requests
from agentpost_offline.grammar.edits import Work
from agentpost_offline.making import catalogue
from agentpost_offline.making.maker import Maker
from agentpost_offline.replying import details, list_text, say, shorten, sources

logger = logging.getLogger(__name__)

ROUNDS = 4
"""How often one job makes its result: follow-ups after that come too late."""
_EARLIER = 10
"""How many earlier frames of a work are kept, for "back to the first one"."""


async def make(
    job: Job, frame: dict[str, Any], files: list[File], version: int, is_free: bool = False
) -> str:
    """Make the thing of a frame from files. ``version`` counts the results of this work;
    ``is_free``: it only draws anew what was paid for."""
    current = from_json(frame)
    assert current.thing is not None, "only things are made in jobs"
    maker = catalogue.MAKERS[current.thing]
    late: list[str] = []
    history = _history(job, version)
    current = await _edit(job, maker, current, files, await _follow_ups(job), late)
    for left in range(ROUNDS - 1, -1, -1):
        await job.progress(_plan(current, maker, files))
        try:
            product = await maker.make(job, current, files, version, is_free=is_free)
        except Unreadable as error:
            raise JobFailed(f"{str(error).rstrip('.')}.") from error
        except (WorkerDied, TimeoutError, MemoryError) as error:
            logger.warning("a job took more than a call may use: %s", error)
            raise JobFailed(say(current.language, "too_much")) from error
        messages = await _follow_ups(job)
        if left == 0:
            late += [say(current.language, "late", text=shorten(one.text)) for one in messages]
        before, current = current, current if left == 0 else (
            await _edit(job, maker, current, files, messages, late)
        )  # fmt: skip
        if current == before:
            break
        history.append(to_json(before))
        version += 1
    job.state.update(
        frame=to_json(current), earlier=history[-_EARLIER:], version=version,
        thing=str(current.thing),
    )  # fmt: skip
    notes = [*product.notes, *late]
    about = details(current.language, product.used, product.skipped, notes)
    return f"{product.text.rstrip()}\n\n{about}".strip()


async def _follow_ups(job: Job) -> list[Said]:
    return [bare(message) for message in await job.inbox()]


def _history(job: Job, version: int) -> list[Any]:
    """The frames of this work so far, its last one included."""
    frames, last = job.state.get("earlier"), job.state.get("frame")
    history: list[Any] = list(frames) if isinstance(frames, list) else []
    return [*history, last] if version > 1 and last is not None else history


def _plan(frame: Frame, maker: Maker, files: Sequence[File]) -> str:
    language = frame.language
    thing = say(language, f"things.{maker.thing.value}")
    forms = list_text(language, frame.formats or maker.usual)
    names = sources(language, [file.name for file in files])
    parts = [say(language, "plan_read", files=names),
             say(language, "plan_make", thing=thing, formats=forms),
             say(language, "plan_check")]  # fmt: skip
    return say(language, "plan", steps="; ".join(parts))


async def _edit(
    job: Job, maker: Maker, frame: Frame, files: Sequence[File], messages: Sequence[Said],
    late: list[str],
) -> Frame:  # fmt: skip
    """The frame after follow-up messages; those that cannot be followed go to ``late``."""
    if not messages:
        return frame
    survey = await job.step(steps.survey, list(files), frame.text, timeout=steps.SECONDS)
    tables = msgspec.convert(survey["tables"], list[Table])
    for message in messages:
        work = Work(job.work_id, frame, formats=maker.usual)
        around = requests.Surrounding(
            tables, works=(work,), today=message.at[:10], language=frame.language
        )
        readings = requests.read(message.text, around)
        if readings and all(one.is_edit and one.is_sure and one.target for one in readings):
            frame = readings[-1].frame or frame
        else:
            late.append(say(frame.language, "not_followed", text=shorten(message.text)))
    return frame
