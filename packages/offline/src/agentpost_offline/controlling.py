"""Stopping, telling how far things are, and starting again."""

import re

from msgspec.structs import replace

from agentpost_offline import asking, doing, offering, questions, requested
from agentpost_offline.frame import Thing
from agentpost_offline.grammar.edits import ANSWERED
from agentpost_offline.grammar.reading import Choice, Reading
from agentpost_offline.replying import list_text, say, shorten
from agentpost_offline.requested import Request
from agentpost_offline.scope import Surroundings, earlier_material, files_by_id

_WORD = re.compile(r"[\w.-]{3,}")


async def control(here: Surroundings, reading: Reading) -> None:
    """Stop, report, or start again what is meant."""
    what = reading.draft.control
    if what == "status":
        here.turn.reply(_status(here))
    elif what == "again":
        await _again(here, reading)
    else:
        await _stop(here, reading)


async def _stop(here: Surroundings, reading: Reading) -> None:
    turn, language = here.turn, here.language
    if not turn.running:
        turn.reply(say(language, "nothing_runs"))
        return
    places = _find_jobs(here, reading)
    if not places:
        titles = [job.title for job in turn.running]
        text = say(language, "which_stop", titles=list_text(language, titles, "or"))
        stop = say(language, "stop_it")
        choices = [Choice(title, text=f"{stop} {title}") for title in titles]
        questions.ask(here, text, [*choices, Choice(say(language, "all_of_them"),
                                                    text=say(language, "stop_all"))])  # fmt: skip
        return
    stopped: list[str] = []
    texts: list[str] = []
    for at in places:
        job = turn.running[at]
        if await turn.stop(job.job_id):
            stopped.append(job.title)
        else:
            texts.append(say(language, "had_ended", title=job.title))
    if stopped:
        texts.insert(0, say(language, "stopped", titles=list_text(language, stopped)))
    turn.reply(" ".join(texts))


def _find_jobs(here: Surroundings, reading: Reading) -> list[int]:
    """Which running jobs are meant: all, by place, by thing, by a word of their title, or the only
    one."""
    turn, draft = here.turn, reading.draft
    if "all" in draft.marks:
        return list(range(len(turn.running)))
    if draft.ordinal is not None and 0 < draft.ordinal <= len(turn.running):
        return [draft.ordinal - 1]
    words = {word.casefold() for word in _WORD.findall(draft.text)}
    titles = [{word.casefold() for word in _WORD.findall(job.title)} for job in turn.running]
    common = set.intersection(*titles) if len(titles) > 1 else set()
    places = [at for at, title in enumerate(titles) if words & (title - common)]
    things = {one.job: one.read_frame.thing for one in requested.every(turn)}
    if not places:
        places = [
            at for at, job in enumerate(turn.running) if things.get(job.job_id) in draft.things
        ]
    return places or ([0] if len(turn.running) == 1 else [])


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
    files = f" ({list_text(language, [file.name for file in last.files])})" if last.files else ""
    return say(language, "last_finished", title=f"{last.title}{files}")


async def _again(here: Surroundings, reading: Reading) -> None:
    """Start once more what was stopped or has failed, else what was finished last."""
    turn, language = here.turn, here.language
    things = reading.draft.things
    unfinished_requests = _of_things(requested.unfinished_requests(turn), things)
    finished_requests = _of_things(requested.finished(turn), things)
    if unfinished_requests:
        for request in requested.latest(unfinished_requests):
            await restart(here, request)
    elif turn.running:
        turn.reply(_status(here))
    elif here.works and here.works[0].id == ANSWERED:
        reading.frame = answer = here.works[0].frame
        here.files = files_by_id(turn, answer.files) or here.files
        here.material = answer.text
        await asking.from_tables(here, reading)
    elif finished_requests:
        for request in requested.latest(finished_requests):
            await restart(here, replace(request, version=request.version + 1, waits=False))
    else:
        turn.reply(say(language, "nothing_again", help=offering.help_text(language)))


def _of_things(requests: list[Request], things: list[Thing]) -> list[Request]:
    return [one for one in requests if not things or one.read_frame.thing in things]


async def restart(here: Surroundings, request: Request) -> None:
    """Start a request once more."""
    turn, language = here.turn, here.language
    frame = request.read_frame
    maker = doing.maker_of(here, frame.thing)
    if maker is None:
        return
    if request.waits and not requested.has_ended(turn, request):
        clause = shorten(frame.said)
        turn.reply(say(language, "still_waits", title=request.title, clause=clause))
        return
    if request.long:
        frame = replace(frame, text=earlier_material(turn, request.message, language))
    frame, files = doing.with_files(here, frame)
    if len(files) < len(frame.files) or not (files or frame.text):
        questions.ask(here, say(language, "lost_files", title=request.title))
        return
    requested.forget_refused(turn, request)
    await doing.start(here, maker, frame, files, request.work or None, request.version)
