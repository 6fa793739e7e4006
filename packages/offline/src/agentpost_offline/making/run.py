"""The job: one function for every thing, from the frame to the finished work.

Progress tells the plan; the maker reads, builds and checks; follow-up messages that arrive
meanwhile change the frame, and what could not be followed is said in the result.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, cast

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
from agentpost_offline.making.maker import Inputs, Maker, Product
from agentpost_offline.replying import details, listed, say, shortened, sources

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
    wanted = from_json(frame)
    assert wanted.thing is not None, "only things are made in jobs"
    maker = catalogue.maker(wanted.thing)
    if maker is None:
        name = say(wanted.language, f"things.{wanted.thing.value}")
        raise JobFailed(say(wanted.language, "not_made", thing=name))
    paid = cast("Job", _Free(job)) if is_free else job
    ignored: list[str] = []
    earlier = _earlier(job, version)
    before = wanted
    wanted = await _followed(job, maker, wanted, files, await _follow_ups(job), ignored)
    for left in range(ROUNDS - 1, -1, -1):
        await job.progress(_plan(wanted, maker, files))
        try:
            made = await maker.make(paid, Inputs(wanted, tuple(files), version))
        except Unreadable as error:
            raise JobFailed(f"{str(error).rstrip('.')}.") from error
        except (WorkerDied, TimeoutError, MemoryError) as error:
            logger.warning("a job took more than a call may use: %s", error)
            raise JobFailed(say(wanted.language, "too_much")) from error
        said = await _follow_ups(job)
        if not said:
            break
        if left == 0:
            ignored += [say(wanted.language, "late", text=shortened(one.text)) for one in said]
            break
        before, wanted = wanted, await _followed(job, maker, wanted, files, said, ignored)
        if wanted == before:
            break
        earlier.append(to_json(before))
        version += 1
    job.state.update(
        frame=to_json(wanted), earlier=earlier[-_EARLIER:], version=version,
        thing=str(wanted.thing),
    )  # fmt: skip
    return _text(made, wanted.language, ignored)


async def _follow_ups(job: Job) -> list[Said]:
    return [bare(said) for said in await job.inbox()]


def _earlier(job: Job, version: int) -> list[Any]:
    """The frames of this work so far, its last one included."""
    known = job.state.get("earlier")
    earlier: list[Any] = list(known) if isinstance(known, list) else []
    last = job.state.get("frame")
    if version > 1 and last is not None:
        earlier.append(last)
    return earlier


def _plan(frame: Frame, maker: Maker, files: Sequence[File]) -> str:
    language = frame.language
    formats = frame.formats or maker.usual
    steps_of = [
        say(language, "plan_read", files=sources(language, [file.name for file in files])),
        say(
            language, "plan_make",
            thing=say(language, f"things.{maker.thing.value}"), formats=listed(language, formats),
        ),
        say(language, "plan_check"),
    ]  # fmt: skip
    return say(language, "plan", steps="; ".join(steps_of))


async def _followed(
    job: Job,
    maker: Maker,
    frame: Frame,
    files: Sequence[File],
    said: Sequence[Said],
    ignored: list[str],
) -> Frame:
    """The frame after follow-up messages; those that cannot be followed go to ``ignored``."""
    if not said:
        return frame
    surveyed = await job.step(steps.survey, list(files), frame.text, timeout=steps.SECONDS)
    tables = msgspec.convert(surveyed["tables"], list[Table])
    for one in said:
        work = Work(job.work_id, frame, formats=maker.usual)
        around = requests.Surrounding(
            tables, works=(work,), today=one.at[:10], language=frame.language
        )
        readings = requests.read(one.text, around)
        if readings and all(read.is_edit and read.is_sure and read.target for read in readings):
            frame = readings[-1].frame or frame
        else:
            ignored.append(say(frame.language, "not_followed", text=shortened(one.text)))
    return frame


class _Free:
    """A job whose files cost nothing: what it makes was paid for, and is only drawn anew."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def __getattr__(self, name: str) -> Any:
        return getattr(self._job, name)

    def write(self, *args: Any, cost: float = 0, **options: Any) -> Any:
        """As `Job.write`, without the cost."""
        return self._job.write(*args, **options)


def _text(product: Product, language: str, ignored: Sequence[str]) -> str:
    reported = details(language, product.used, product.skipped, [*product.notes, *ignored])
    return f"{product.text.rstrip()}\n\n{reported}".strip()
