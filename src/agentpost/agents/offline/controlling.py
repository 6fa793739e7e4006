"""Stopping, and telling how far things are."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentpost.agents.base import Turn
from agentpost.agents.offline import answering
from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.replying import listed, say
from agentpost.agents.offline.scope import Surroundings, running_things
from agentpost.agents.offline.understanding.reading import Reading, wish

_WORD = re.compile(r"[\w.-]{3,}")


async def control(
    here: Surroundings, what: str, chosen: Sequence[int] | None, reading: Reading | None = None
) -> None:
    """Stop or report what runs. ``chosen``: which running jobs, when that is known already."""
    turn, language = here.turn, here.language
    if what == "status":
        turn.reply(_status(here))
        return
    if not turn.running:
        turn.reply(say(language, "nothing_runs"))
        return
    if chosen is None and reading is not None:
        chosen = _meant(turn, reading)
    if not chosen:
        answering.keep(here, answering.About.STOP)
        titles = [job.title for job in turn.running]
        text = say(language, "which_stop", titles=listed(language, titles, "or"))
        answering.one_of(turn, text, titles)
        return
    stopped: list[str] = []
    said: list[str] = []
    for index in chosen:
        job = turn.running[index]
        if await turn.stop(job.job_id):
            stopped.append(job.title)
        else:
            said.append(say(language, "had_ended", title=job.title))
    if stopped:
        said.insert(0, say(language, "stopped", titles=listed(language, stopped)))
    turn.reply(" ".join(said))


def which_answered(turn: Turn, text: str, language: str) -> list[int]:
    """Which running jobs the answer to "which should I stop?" names."""
    if len(text.split()) > 8:
        return []
    return _meant(turn, wish(text, language, works=True), alone=False)


def _meant(turn: Turn, reading: Reading, *, alone: bool = True) -> list[int]:
    """Which running jobs are meant: all, by place, by thing or by a word of their title; the only
    one when ``alone``."""
    intent = reading.intent
    if intent.all:
        return list(range(len(turn.running)))
    ordinal = intent.ordinal
    if ordinal is not None and 0 < ordinal <= len(turn.running):
        return [ordinal - 1]
    things = running_things(turn)
    named = intent.thing if intent.thing is not Thing.ANSWER else None
    found = [
        at for at, job in enumerate(turn.running)
        if named is not None and things.get(job.job_id) is named
    ]  # fmt: skip
    if not found:
        said = {word.casefold() for word in _WORD.findall(reading.frame.said)}
        found = [
            at for at, job in enumerate(turn.running)
            if said & ({word.casefold() for word in _WORD.findall(job.title)} - {"the", "from"})
        ]  # fmt: skip
    if not found and alone and len(turn.running) == 1:
        found = [0]
    return found


def _status(here: Surroundings) -> str:
    turn, language = here.turn, here.language
    if turn.running:
        started = say(language, "just_started")
        return "\n".join(
            f"{job.title}: {(job.step or started).rstrip('.')}." for job in turn.running
        )
    last = next((work for work in turn.works if work.text), None)
    if last is None:
        return say(language, "idle")
    files = f" ({listed(language, [file.name for file in last.files])})" if last.files else ""
    return say(language, "last_finished", title=f"{last.title}{files}")
