"""Starting a request again, with the same files: one that was stopped or has failed, else the one
that was finished last."""

from __future__ import annotations

import msgspec

from agentpost.agents.base import Turn
from agentpost.agents.offline import answering, asking, doing
from agentpost.agents.offline.controlling import control
from agentpost.agents.offline.frame import Act
from agentpost.agents.offline.offering import help_text
from agentpost.agents.offline.replying import quoted, say, shortened
from agentpost.agents.offline.requested import (
    Request,
    answered,
    finished,
    forget_refused,
    has_ended,
    latest,
    unfinished,
)
from agentpost.agents.offline.scope import Surroundings, files_by_id
from agentpost.agents.offline.understanding.clauses import wish_and_material
from agentpost.agents.offline.understanding.conversation import Work, changed, target
from agentpost.agents.offline.understanding.reading import Reading

_AGAIN = "Try again"
"""What the button of the web app says, which names a request of several by its title."""


def meant(here: Surroundings, reading: Reading) -> list[Request]:
    """The unfinished requests that "again" is about, all of one message."""
    return _of_thing(unfinished(here.turn), reading)


def done(here: Surroundings, reading: Reading) -> list[Request]:
    """The finished requests that "again" is about, all of one message; [] for "continue"."""
    return [] if reading.intent.resume else _of_thing(finished(here.turn), reading)


def _of_thing(requests: list[Request], reading: Reading) -> list[Request]:
    thing = reading.frame.thing if reading.intent.named else None
    found = [one for one in requests if thing in (None, one.wanted.thing)]
    return latest(found) if found else []


def named(turn: Turn) -> Request | None:
    """The unfinished request whose title stands behind "Try again:", the latest of that title."""
    begin, colon, title = turn.message.text.strip().partition(":")
    if not colon or begin.casefold() != _AGAIN.casefold():
        return None
    found = [one for one in unfinished(turn) if one.title == title.strip()]
    return found[-1] if found else None


def changes(here: Surroundings, reading: Reading) -> list[Request]:
    """The unfinished requests that a change is about: those of one message and of one thing."""
    work = target(here.works, reading)
    known = unfinished(here.turn)
    one = next((one for one in known if work is not None and one.id == work.id), None)
    if one is None:
        return []
    same = [each for each in known if each.wanted.thing is one.wanted.thing]
    return [each for each in same if each.message == one.message]


async def again(here: Surroundings, reading: Reading) -> None:
    """Start once more what was stopped or has failed, else what was finished last; or say that
    there is nothing of the kind."""
    turn, language = here.turn, here.language
    requests = changes(here, reading) or meant(here, reading)
    question = answered(here.works)
    if requests:
        for request in requests:
            await restart(here, request, reading)
    elif turn.running:
        await control(here, "status", None, reading)
    elif question is not None:
        reading.frame = question
        here.files = files_by_id(turn, question.files) or here.files
        here.material = question.text
        await asking.from_tables(here, reading)
    elif made := done(here, reading):
        for request in made:
            again = msgspec.structs.replace(request, version=request.version + 1, waits=False)
            await restart(here, again, reading)
    else:
        last = next((work.title for work in turn.works if work.text), None)
        if last is None:
            turn.reply(say(language, "nothing_again", help=help_text(language)))
        else:
            turn.reply(say(language, "finished_already", title=last))


async def restart(here: Surroundings, request: Request, reading: Reading | None = None) -> None:
    """Start a request once more, with the change that the clause makes, if any."""
    turn, language = here.turn, here.language
    frame = request.wanted
    assert frame.thing is not None, "only things are made in jobs"
    maker = doing.maker_of(here, frame.thing)
    if maker is None:
        return
    left: tuple[str, ...] = ()
    if reading is not None and reading.frame.act is Act.CHANGE:
        after = changed(Work(request.id, frame), reading, formats=maker.usual)
        left = reading.frame.unused
        if after is None or reading.ambiguous or (left and doing.same(frame, after)):
            clause = shortened(reading.frame.said)
            turn.reply(say(language, "not_changed", title=request.title, clause=clause))
            return
        frame = msgspec.structs.replace(after, act=Act.MAKE, unused=())
    if request.waits and not has_ended(turn, request):
        clause = shortened(frame.said)
        turn.reply(say(language, "still_waits", title=request.title, clause=clause))
        return
    if request.long:
        frame = msgspec.structs.replace(frame, text=_material(turn, request))
    frame, files = doing.found(here, frame)
    if len(files) < len(frame.files) or not (files or frame.text or frame.said):
        answering.keep(here, answering.About.FILE, reading, text="" if reading else _AGAIN)
        turn.ask(say(language, "lost_files", title=request.title))
        return
    forget_refused(turn, request)
    await doing.start(here, maker, frame, files, request.work or None, request.version)
    if left:
        turn.reply(say(language, "words_left", words=quoted(language, left, "and")))


def _material(turn: Turn, request: Request) -> str:
    said = (one.text for one in turn.history if one.message_id == request.message)
    return next((found for text in said if (found := wish_and_material(text)[1])), "")
