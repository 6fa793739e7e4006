"""Doing what a reading surely asks for: an answer, a job, or the change of one."""

from collections.abc import Sequence

from msgspec.structs import replace

from agentpost.agents.base import File, Started
from agentpost_offline import asking, offering, questions, requested
from agentpost_offline.data.wording import upper
from agentpost_offline.frame import TELLING, Act, Frame, Query, Thing, to_json
from agentpost_offline.grammar.reading import Choice, Reading
from agentpost_offline.making import catalogue, run
from agentpost_offline.making.maker import Maker
from agentpost_offline.making.queries import usual
from agentpost_offline.replying import details, knows, list_text, say, shorten, sources
from agentpost_offline.scope import Surroundings, files_by_id, files_by_word, is_table

_TITLE = 160


async def carry_out(here: Surroundings, reading: Reading) -> None:
    """Do what a reading asks for; what is not sure is asked about first."""
    frame, draft = reading.frame, reading.draft
    if reading.is_edit and here.turn.running and not draft.unknown:
        await _pass_on(here)
        return
    if "passage" in draft.asks or (
        frame is None and draft.text and _is_for_documents(here, reading)
    ):
        await _search(here, draft.text)
    elif not (here.files or here.material or (frame is not None and (frame.files or frame.text))):
        _need_files(here, reading)
    elif here.skipped and not here.tables and not here.images and not reading.is_sure:
        asking.unread(here, draft.text)
    elif frame is None or not reading.is_sure:
        if _is_for_documents(here, reading):
            await _search(here, draft.text)
        else:
            asking.unclear(here, reading)
    elif frame.thing is Thing.ANSWER:
        await asking.from_tables(here, reading)
    elif reading.is_edit and reading.target is not None:
        await _remake(here, reading, frame)
    else:
        await _make(here, reading, frame)


def _is_for_documents(here: Surroundings, reading: Reading) -> bool:
    """Whether a message that is no sure request may be a question about documents."""
    makes = bool(reading.draft.things or reading.draft.formats)
    readable = bool(here.prose) or bool(here.material and not here.tables)
    draft = reading.draft
    of_table = bool(here.tables) and not draft.unknown and (draft.has_query or draft.dateless_words)
    is_look = draft.has_look and not draft.asks  # "y si no viene, ¿qué pasa?" converts nothing
    return readable and not (makes or of_table or is_look)


async def _search(here: Surroundings, text: str) -> None:
    if here.documents or (here.material and not here.tables):
        await asking.from_documents(here, text)
    else:
        questions.ask(
            here, say(here.language, "unclear.no_documents"), offering.sentences(here), text=text
        )


def _need_files(here: Surroundings, reading: Reading) -> None:
    """Nothing to work from: ask for it."""
    language, turn = here.language, here.turn
    thing = reading.frame.thing if reading.frame is not None else None
    if thing is None and reading.draft.things:
        thing = reading.draft.things[0]
    notes = f" ({'; '.join(turn.notes)})" if turn.notes else ""
    if thing not in (None, Thing.ANSWER) and (maker := maker_of(here, thing)) is not None:
        needs = [say(language, f"needs.{kind}") for kind in sorted(maker.needs)]
        text = say(language, "need", thing=say(language, f"things.{thing}"),
                   needs=list_text(language, needs, "or"))  # fmt: skip
    elif thing not in (None, Thing.ANSWER):
        return
    elif reading.draft.unknown and not (reading.draft.asks or reading.draft.has_query):
        offering.explain(here, reading.draft.unknown)
        return
    else:
        text = say(language, "need_files")
    questions.ask(here, text + notes, text=reading.draft.text)


def maker_of(here: Surroundings, thing: Thing | None) -> Maker | None:
    """What makes a thing; says why when nothing can."""
    language = here.language
    maker = catalogue.MAKERS.get(thing) if thing is not None else None
    if maker is None:
        here.turn.reply(upper(say(language, "not_made", thing="")))
        return None
    name = say(language, f"things.{thing}")
    extra = catalogue.missing_extra(maker)
    if extra is not None:
        here.turn.reply(upper(say(language, "install", thing=name, extra=extra)))
        return None
    return maker


async def _make(here: Surroundings, reading: Reading, frame: Frame) -> None:
    """Start a new thing."""
    maker = maker_of(here, frame.thing)
    if maker is None or not _can_write(here, reading, frame, maker):
        return
    files = _files(here, frame, maker)
    if not files and not here.material:
        _need_files(here, reading)
        return
    frame = replace(
        frame, act=Act.MAKE, text=here.material or frame.text,
        queries=_by_time_and_group(here, frame), files=tuple(file.id for file in files),
    )  # fmt: skip
    await start(here, maker, frame, files, None, 1)
    _tell(here, reading, files)


def _by_time_and_group(here: Surroundings, frame: Frame) -> tuple[Query, ...]:
    """The queries of a report, deck or page about one figure: over time and by each group."""
    query = frame.queries[0] if len(frame.queries) == 1 else None
    table = next((one for one in here.tables if query and one.id == query.table), None)
    if frame.thing not in TELLING or query is None or table is None:
        return frame.queries
    if not query.measures or query.groups or query.time:
        return frame.queries
    fixed = {one.column for one in query.filters if len(one.values) == 1}
    return (
        tuple(
            replace(one, measures=query.measures, filters=query.filters)
            for one in usual([table])
            if (one.groups or one.time) and not fixed & set(one.groups)
        )
        or frame.queries
    )


def _can_write(here: Surroundings, reading: Reading, frame: Frame, maker: Maker) -> bool:
    """Whether a maker writes all formats that were named; else asks which it should be."""
    unknown = [one for one in frame.formats if one not in maker.formats]
    if not unknown:
        return True
    language = here.language
    text = say(
        language, "no_format", thing=say(language, f"things.{maker.thing}"),
        formats=list_text(language, [one.upper() for one in unknown], "or"),
        known=list_text(language, [one.upper() for one in maker.formats], "or"),
    )  # fmt: skip
    choices = [Choice(one.upper(), (replace(frame, formats=(one,)),)) for one in maker.formats]
    questions.ask(here, text, choices)
    return False


def _files(here: Surroundings, frame: Frame, maker: Maker) -> list[File]:
    """The files that a frame's thing is made from."""
    if frame.files:
        return files_by_id(here.turn, frame.files)
    if frame.queries and frame.queries[0].measures:
        return list(dict.fromkeys(
            file for query in frame.queries for file in here.of_table(query.table)
        ))  # fmt: skip
    with_tables = {file.id for file in here.table_files}
    targets: list[File] = []
    for file in here.usable:
        table = file.id in with_tables or is_table(file)
        kinds = {"image"} if file in here.images else {"table"} if table else {"document"}
        if table and not is_table(file):
            kinds.add("document")
        kinds |= set(here.inside.get(file.id, ())) - {"data"}
        if kinds & maker.needs:
            targets.append(file)
    if frame.thing is Thing.IMAGE and "collage" in frame.style.options:
        return targets
    nth = frame.style.options.get("nth")
    if isinstance(nth, int):  # "the second picture"
        return targets[nth - 1 : nth]
    without_caption = frame.said.replace(str(frame.style.options.get("text", "")), " ", 1)
    return files_by_word(targets, without_caption, here.language) or targets


async def _pass_on(here: Surroundings) -> None:
    """Hand a change to the job that runs."""
    job = here.turn.running[-1]
    key = "passed_on" if await here.turn.join(job.job_id) else "just_ended"
    here.turn.reply(say(here.language, key, title=job.title))


async def _remake(here: Surroundings, reading: Reading, frame: Frame) -> None:
    """Make a work again, changed. What only renders again costs nothing."""
    turn, language = here.turn, here.language
    maker = maker_of(here, frame.thing)
    if maker is None or not _can_write(here, reading, frame, maker):
        return
    work = next((one for one in turn.works if one.work_id == reading.target), None)
    frame, files = with_files(here, frame)
    if work is None or len(files) < len(frame.files) or not (files or frame.text):
        title = work.title if work is not None else ""
        questions.ask(here, say(language, "lost_files", title=title), text=reading.draft.text)
        return
    version = work.state.get("version")
    number = (version if isinstance(version, int) else 1) + 1
    await start(here, maker, frame, files, work.work_id, number, is_free=reading.is_free)
    _tell(here, reading, files)


def with_files(here: Surroundings, frame: Frame) -> tuple[Frame, list[File]]:
    """The files of a frame; those that were attached again take the place of those that are
    gone."""
    files = files_by_id(here.turn, frame.files)
    again = here.turn.message.files
    if len(files) == len(frame.files) or len(again) != len(frame.files):
        return frame, files
    queries = frame.queries
    for old, new in zip(frame.files, again, strict=True):
        queries = tuple(replace(query, table=query.table.replace(old, new.id)) for query in queries)
    ids = tuple(file.id for file in again)
    return replace(frame, files=ids, queries=queries), list(again)


async def start(
    here: Surroundings,
    maker: Maker,
    frame: Frame,
    files: Sequence[File],
    work: str | None,
    version: int,
    *,
    is_free: bool = False,
) -> None:
    """Start a job, and say what became of it. ``work``: the work that it continues."""
    turn, language = here.turn, here.language
    source = sources(language, [file.name for file in files])
    title = shorten(say(language, f"title.{maker.thing}", source=source), _TITLE)
    started = await turn.start(
        run.make, title, work=work, frame=to_json(frame), files=list(files), version=version,
        **({"is_free": True} if is_free else {}),
    )  # fmt: skip
    requested.forget_answers(turn)
    requested.remember(turn, started, to_json(frame), title, version)
    turn.reply(_start_text(language, title, started))


def _start_text(language: str, title: str, started: Started) -> str:
    if started.state == "running":
        return say(language, "on_it", title=title)
    key = f"reason.{started.reason}"
    reason = (started.reason or "").replace("_", " ")
    if knows(language, key):
        reason = say(language, key)
    return say(language, started.state, title=title, reason=reason)


def _tell(here: Surroundings, reading: Reading, files: Sequence[File]) -> None:
    """What of the files is not used, and how the request was understood."""
    used = {file.id for file in files}
    left = [file.name for file in here.files if file.id not in used]
    lines = asking.notes(here.language, reading)
    if left and here.turn.message.files:
        lines.append(details(here.language, (), left, ()))
    if lines:
        here.turn.reply("\n".join(lines))
