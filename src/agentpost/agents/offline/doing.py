"""Making and changing things: what has to be clear before a job starts, and the start."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agentpost.agents.base import File, Started
from agentpost.agents.offline import answering, asking, requested
from agentpost.agents.offline.answering import About
from agentpost.agents.offline.frame import Act, Frame, Thing, to_json
from agentpost.agents.offline.making import catalogue, run
from agentpost.agents.offline.making.maker import Maker
from agentpost.agents.offline.replying import (
    details,
    knows,
    listed,
    quoted,
    say,
    shortened,
    sources,
)
from agentpost.agents.offline.scope import (
    ANSWERED,
    Surroundings,
    files_by_id,
    is_table,
    running_things,
)
from agentpost.agents.offline.understanding import followups
from agentpost.agents.offline.understanding.conversation import Work, changed, target
from agentpost.agents.offline.understanding.reading import Reading

_CHARTS_AT_ONCE = 5
_FROM_TABLES = (Thing.CHART, Thing.TABLE)
_FREE = (Thing.IMAGE, Thing.VIDEO, Thing.SITE, Thing.DECK, Thing.REPORT)
_TITLE = 160


async def make(here: Surroundings, reading: Reading) -> None:
    """Start what a clause asks for, or say why not."""
    thing = reading.frame.thing
    assert thing is not None, "the act is making only when there is a thing"
    maker = maker_of(here, thing)
    if maker is None:
        return
    frame = reading.frame
    base = here.works[0] if here.works else None
    if base is not None and not here.turn.message.files and _refers(base, reading):
        frame = followups.another(base.frame, reading)
    formats = _formats(here, maker, reading, frame.formats)
    if formats is None:
        return
    if not _has_input(here, maker, reading, frame):
        return
    if _unclear(here, reading, thing):
        return
    files = _files(here, frame, maker)
    frame = msgspec.structs.replace(
        frame, act=Act.MAKE, formats=formats, text=here.material or frame.text,
        files=tuple(file.id for file in files),
    )  # fmt: skip
    if thing is Thing.CHART and not frame.queries and len(files) > 1:
        for file in files[:_CHARTS_AT_ONCE]:
            own = msgspec.structs.replace(frame, files=(file.id,))
            await start(here, maker, own, [file], None, 1)
    else:
        await start(here, maker, frame, files, None, 1)
    _tell(here, reading, frame, files)


def maker_of(here: Surroundings, thing: Thing) -> Maker | None:
    """What makes a thing; says why when nothing can."""
    language = here.language
    name = (
        say(language, f"things.{thing.value}") if knows(language, f"things.{thing.value}") else ""
    )
    found = catalogue.maker(thing)
    if found is None:
        here.turn.reply(_upper(say(language, "not_made", thing=name)))
        return None
    extra = catalogue.missing_extra(found)
    if extra is not None:
        here.turn.reply(_upper(say(language, "install", thing=name, extra=extra)))
        return None
    return found


def _refers(base: Work, reading: Reading) -> bool:
    """Whether a new thing is made of what came before: "a report about it", "chart the top 3"."""
    ranked = reading.named == {"order"} and any(query.groups for query in base.frame.queries)
    return reading.intent.back or ranked


def _formats(
    here: Surroundings, maker: Maker, reading: Reading, wanted: Sequence[str]
) -> tuple[str, ...] | None:
    """The formats that can be written; None, and a reply, when none of the wanted ones can."""
    implied = {Thing.SITE: ("html",), Thing.DECK: ("ppt",)}
    asked = [one for one in wanted if one not in implied.get(maker.thing, ())]
    known = [one for one in asked if one in maker.formats]
    unknown = [one for one in asked if one not in maker.formats]
    if unknown:
        language = here.language
        here.turn.reply(
            say(
                language, "no_format", thing=say(language, f"things.{maker.thing.value}"),
                formats=listed(language, [one.upper() for one in unknown], "or"),
                known=listed(language, [one.upper() for one in maker.formats], "or"),
            )
        )  # fmt: skip
    if unknown and not known:
        options = [one.upper() for one in maker.formats]
        answering.keep(here, About.FORMAT, reading, words=unknown, options=options)
        answering.one_of(here.turn, say(here.language, "which_format"), options)
        return None
    return tuple(known)


def _has_input(here: Surroundings, maker: Maker, reading: Reading, frame: Frame) -> bool:
    """Whether there is what the thing is made from; asks for it, or declines to invent it."""
    if here.kinds & maker.needs or (frame.files and files_by_id(here.turn, frame.files)):
        return True
    language = here.language
    thing = say(language, f"things.{maker.thing.value}")
    needs = [say(language, f"needs.{kind}") for kind in sorted(maker.needs)]
    needed = listed(language, needs, "or")
    invents = not here.files and maker.thing in _FREE
    subject = bool(reading.frame.style.sections or reading.frame.unused)
    if invents and subject:
        answering.keep(here, About.FILE, reading, offered=True)
        here.turn.reply(say(language, "invent", thing=thing, needs=needed))
        return False
    text = say(language, "need", thing=thing, needs=needed)
    if here.turn.notes:
        text = f"{text} ({'; '.join(here.turn.notes)})"
    unread = details(language, (), here.skipped, ())
    answering.keep(here, About.FILE, reading)
    here.turn.ask("\n\n".join(filter(None, [text, unread])))
    return False


def _unclear(here: Surroundings, reading: Reading, thing: Thing) -> bool:
    """Whether something has to be asked before it is charged for."""
    if reading.ambiguous or (reading.tables and thing in _FROM_TABLES):
        asking.which(here, reading)
        return True
    only_tables = here.only_tables
    if only_tables and not here.material and not reading.intent.add:
        # What a text is about cannot be reported from its words; what a table is about can.
        about = reading.frame.style.sections
        reading.frame = msgspec.structs.replace(
            reading.frame, unused=(*reading.frame.unused, *about)
        )
        if about:
            asking.lacks(here, reading)
            return True
    unused = reading.frame.unused
    if not unused or not only_tables or here.material:
        return False
    if thing in _FROM_TABLES or reading.named & {"measure", "group"}:
        asking.lacks(here, reading)
        return True
    return False


def _files(here: Surroundings, frame: Frame, maker: Maker) -> list[File]:
    """The files that the frame's thing is made from."""
    if frame.files:
        return files_by_id(here.turn, frame.files)
    if frame.queries and maker.thing is Thing.CHART:
        return here.of_table(frame.queries[0].table)
    wanted: list[File] = []
    with_tables = {file.id for file in here.table_files}
    for file in here.usable:
        table = file.id in with_tables or is_table(file)
        image = file in here.images
        kinds = {"image"} if image else {"table"} if table else {"document"}
        if table and not is_table(file):
            kinds.add("document")
        kinds |= set(here.inside.get(file.id, ())) - {"data"}
        if kinds & maker.needs:
            wanted.append(file)
    return wanted


async def change(here: Surroundings, reading: Reading) -> None:
    """Change what was made before, or hand the wish to what is being made."""
    turn, language = here.turn, here.language
    running = _running(here, reading)
    if running is not None:
        job_id, title = running
        if await turn.join(job_id):
            turn.reply(say(language, "passed_on", title=title))
        else:
            turn.reply(say(language, "just_ended", title=title))
        return
    work = target(here.works, reading)
    thing = reading.frame.thing
    if work is None:
        if thing in catalogue.MAKERS and thing is not None:
            turn.reply(say(language, "no_such_work", thing=say(language, f"things.{thing.value}")))
        else:
            turn.reply(say(language, "nothing_to_change"))
        return
    if work.id == ANSWERED:
        await _ask_again(here, reading, work)
        return
    await _remake(here, reading, work)


def _running(here: Surroundings, reading: Reading) -> tuple[str, str] | None:
    jobs = here.turn.running
    if not jobs:
        return None
    thing = reading.frame.thing
    things = running_things(here.turn)
    if thing is not None:
        found = [job for job in jobs if things.get(job.job_id, thing) is thing]
        return (found[-1].job_id, found[-1].title) if found else None
    return jobs[-1].job_id, jobs[-1].title


async def _ask_again(here: Surroundings, reading: Reading, work: Work) -> None:
    """A follow-up to a question: "and for 2024?", "as a pie chart"."""
    thing = reading.frame.thing if reading.intent.named else None
    if reading.frame.style.chart is not None and (reading.intent.back or len(here.works) == 1):
        thing = thing or Thing.CHART
    if thing not in (None, Thing.ANSWER):
        reading.frame = msgspec.structs.replace(reading.frame, thing=thing)
        reading.intent.back = True
        await make(here, reading)
        return
    if not reading.look.empty and len(here.works) > 1:
        await _remake(here, reading, here.works[1])
        return
    frame = changed(work, reading)
    if frame is None or reading.frame.unused:
        await asking.ask(here, reading)
        return
    reading.frame = msgspec.structs.replace(frame, unused=())
    await asking.ask(here, reading)


async def _remake(here: Surroundings, reading: Reading, work: Work) -> None:
    turn, language = here.turn, here.language
    assert work.frame.thing is not None, "works have things"
    maker = maker_of(here, work.frame.thing)
    if maker is None:
        return
    title = next((one.title for one in turn.works if one.work_id == work.id), "")
    if reading.ambiguous:
        asking.which(here, reading)
        return
    frame = changed(work, reading, formats=maker.usual)
    if frame is None:
        if reading.frame.unused and here.tables and (reading.data or not reading.intent.it):
            asking.lacks(here, reading)
            return
        clause = shortened(reading.frame.said)
        turn.reply(say(language, "not_changed", title=title, clause=clause))
        return
    if reading.frame.unused and same(work.frame, frame):
        clause = shortened(reading.frame.said)
        turn.reply(say(language, "not_changed", title=title, clause=clause))
        return
    formats = _formats(here, maker, reading, frame.formats)
    if formats is None:
        return
    if reading.frame.unused and reading.named and here.tables:
        asking.lacks(here, reading)
        return
    frame, files = found(here, frame)
    if len(files) < len(frame.files) or not (files or frame.text):
        answering.keep(here, About.FILE, reading)
        turn.ask(say(language, "lost_files", title=title))
        return
    state = next((one.state for one in turn.works if one.work_id == work.id), {})
    version = state.get("version")
    number = (version if isinstance(version, int) else 1) + 1
    left = frame.unused
    frame = msgspec.structs.replace(frame, act=Act.MAKE, formats=formats, unused=())
    await start(here, maker, frame, files, work.id, number)
    if left:
        turn.reply(say(language, "words_left", words=quoted(language, left, "and")))


def found(here: Surroundings, frame: Frame) -> tuple[Frame, list[File]]:
    """The files of a frame; those that were attached again take the place of those that are
    gone."""
    files = files_by_id(here.turn, frame.files)
    again = here.turn.message.files
    if len(files) == len(frame.files) or len(again) != len(frame.files):
        return frame, files
    queries = frame.queries
    for old, new in zip(frame.files, again, strict=True):
        queries = tuple(
            msgspec.structs.replace(query, table=query.table.replace(old, new.id))
            for query in queries
        )
    ids = tuple(file.id for file in again)
    return msgspec.structs.replace(frame, files=ids, queries=queries), list(again)


def same(before: Frame, after: Frame) -> bool:
    """Whether a change changes nothing but the words that asked for it."""
    wordless = {"said": "", "unused": (), "target": None, "act": Act.MAKE, "formats": ()}
    one, other = (msgspec.structs.replace(frame, **wordless) for frame in (before, after))
    return one == other and set(after.formats) <= set(before.formats)


async def start(
    here: Surroundings,
    maker: Maker,
    frame: Frame,
    files: Sequence[File],
    work: str | None,
    version: int,
) -> None:
    """Start a job, and say what became of it. ``work``: the work that it continues."""
    turn, language = here.turn, here.language
    source = sources(language, [file.name for file in files])
    title = shortened(say(language, f"title.{maker.thing.value}", source=source), _TITLE)
    started = await turn.start(
        run.make, title, work=work, frame=to_json(frame), files=list(files), version=version
    )
    turn.state.pop("answered", None)
    requested.remember(turn, started, to_json(frame), title, version)
    known = turn.state.get("started")
    kept = dict(list(known.items())[-20:]) if isinstance(known, dict) else {}
    turn.state["started"] = {**kept, started.job_id: maker.thing.value}
    turn.reply(_started(language, title, started))


def _started(language: str, title: str, started: Started) -> str:
    if started.state == "running":
        return say(language, "on_it", title=title)
    key = f"reason.{started.reason}"
    reason = (started.reason or "").replace("_", " ")
    if knows(language, key):
        reason = say(language, key)
    return say(language, started.state, title=title, reason=reason)


def _tell(here: Surroundings, reading: Reading, frame: Frame, files: Sequence[File]) -> None:
    """What of the files and of the clause is not used, and which typos were read as what."""
    language = here.language
    used = {file.id for file in files}
    left = [file.name for file in here.files if file.id not in used]
    lines = []
    if left and here.turn.message.files:
        lines.append(f"{say(language, 'skipped')}: {listed(language, left)}.")
    for typed, meant in reading.corrected:
        lines.append(say(language, "read_as", typed=typed, meant=meant))
    if frame.unused and here.only_tables:
        words = quoted(language, frame.unused, "and")
        lines.append(say(language, "words_left", words=words))
    if lines:
        here.turn.reply("\n".join(lines))


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
