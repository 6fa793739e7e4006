"""The turn: read the message, then do each of its clauses, and name those that are not done."""

from __future__ import annotations

import dataclasses
import hashlib
import logging
from typing import Any, cast

import msgspec

from agentpost.agents.base import Turn
from agentpost.agents.caller_context import BareTurn
from agentpost.agents.deaths import WorkerDied
from agentpost.agents.offline import answering, asking, doing, requested, restarting, steps
from agentpost.agents.offline.answering import About, Completed
from agentpost.agents.offline.controlling import control, which_answered
from agentpost.agents.offline.frame import Act
from agentpost.agents.offline.making import catalogue
from agentpost.agents.offline.offering import help_text, price_list
from agentpost.agents.offline.replying import listed, quoted, say
from agentpost.agents.offline.scope import (
    Surroundings,
    absent_files,
    files_by_id,
    files_of,
    is_usable,
    tables_from,
    works_of,
)
from agentpost.agents.offline.understanding import messages
from agentpost.agents.offline.understanding.clauses import wish_and_material
from agentpost.agents.offline.understanding.conversation import target
from agentpost.agents.offline.understanding.messages import Message
from agentpost.agents.offline.understanding.reading import Reading
from agentpost.extraction import Unreadable

logger = logging.getLogger(__name__)

_REMEMBERED_BYTES = 300_000


async def agent(turn: Turn) -> None:
    """Answer one message (the entry point, ``agentpost.agents.offline:agent``)."""
    # Instructions are for agents with a model; here each word would belong to the request.
    turn = cast("Turn", BareTurn(turn))
    asked = answering.taken(turn)
    before = turn.state.get("language")
    language = before if isinstance(before, str) else "en"
    answered = answering.completed(turn, asked, language) if asked is not None else None
    here = _surroundings(turn, language, answered)
    named = restarting.named(turn)
    if named is not None:
        await restarting.restart(here, named)
        return
    text = answered.text if answered is not None else turn.message.text
    message = _read(here, text)
    failed = requested.failed_message(turn)
    if failed is not None and answered is None:
        if _only_again(here, message):
            answered = failed
        elif not turn.message.files and await _adds(here, text, failed):
            answered = dataclasses.replace(failed, added=text)
    if failed is not None and answered is not None:
        here, text = _surroundings(turn, language, answered), answered.text
        message = _read(here, text)
    here.language = message.language
    turn.state["language"] = message.language
    if asked is not None and asked.kind is About.STOP and turn.running:
        chosen = which_answered(turn, text, here.language)
        if chosen:
            await control(here, "stop", chosen)
            return
    if asked is not None and not turn.running and _declines(message):
        turn.reply(say(here.language, "dropped"))
        return
    await _do(here, message, text, answered)
    if asked is not None and answered is None and _only_talks(message):
        answering.put_back(turn, asked)


def _surroundings(turn: Turn, language: str, answered: Completed | None) -> Surroundings:
    if answered is not None:
        works = works_of(turn) if answered.change else []
        return Surroundings(
            turn, language, answered.files, material=answered.material,
            material_of=answered.message, works=works,
        )  # fmt: skip
    said, material = wish_and_material(turn.message.text)
    return Surroundings(
        turn, language, files_of(turn, said), material=material,
        material_of=turn.message.message_id,
        works=[] if turn.message.files else works_of(turn),
    )  # fmt: skip


async def _do(here: Surroundings, message: Message, text: str, answered: Completed | None) -> None:
    """Do each clause of a message, over the tables of the files that it is about."""
    turn = here.turn
    lost = False
    _reach_back(here, message)
    if _concerns_files(message):
        said, _ = wish_and_material(text)
        absent = absent_files(turn, said) if here.files else []
        if absent:
            _ask_for(here, message, said, absent)
            return
        await _survey(here)
        message = _read(here, text)
        if answered is not None:
            _choose(here, answered.table)
            message, lost = answering.read_with(
                answered, _read(here, text),
                *(_read(here, f"{text}{joint} {answered.added}") for joint in (".", "")),
            )  # fmt: skip
    for reading in message.readings:
        await _one(here, reading)
    if message.unread:
        clauses = quoted(here.language, message.unread, "and")
        turn.reply(say(here.language, "unread", clauses=clauses))
    if lost and answered is not None:
        words = quoted(here.language, [answered.added], "and")
        turn.reply(say(here.language, "words_left", words=words))
    if not message.readings:
        _nothing(here)


def _ask_for(here: Surroundings, message: Message, said: str, absent: list[str]) -> None:
    """Ask which file is meant by a name that no file has."""
    names = [file.name for file in here.files]
    changes = any(one.intent.act is Act.CHANGE for one in message.readings)
    answering.keep(here, About.FILE, text=said, words=absent, options=names, change=changes)
    there, missing = listed(here.language, names), listed(here.language, absent)
    text = say(here.language, "absent_file", missing=missing, there=there)
    answering.one_of(here.turn, text, names)


def _choose(here: Surroundings, name: str) -> None:
    """Keep only the table that was chosen."""
    chosen = [table for table in here.tables if table.name == name]
    if chosen:
        here.tables = chosen
        here.files = here.of_table(chosen[0].id) or here.files


def _declines(message: Message) -> bool:
    """As in "never mind" to a question."""
    return bool(message.readings) and all(
        one.frame.act is Act.CONTROL and one.intent.control == "stop" for one in message.readings
    )


def _only_talks(message: Message) -> bool:
    return all(one.frame.act is Act.TALK for one in message.readings)


def _only_again(here: Surroundings, message: Message) -> bool:
    """Whether "again" is all that was said, and nothing that was started is open."""
    acts = [one.frame.act is Act.CONTROL and one.intent.again for one in message.readings]
    return bool(acts) and all(acts) and not requested.unfinished(here.turn)


async def _adds(here: Surroundings, text: str, failed: Completed) -> bool:
    """Whether a message only changes what the one before wanted, the turn about which failed."""
    wanted = messages.read(failed.text, language=here.language).readings
    if not any(one.frame.act is Act.MAKE for one in wanted):
        return False
    await _survey(here)
    said = messages.read(text, here.tables, works=True, language=here.language).readings
    return bool(said) and all(one.frame.act is Act.CHANGE for one in said)


def _read(here: Surroundings, text: str) -> Message:
    found = _read_over(here, text)
    requests = requested.unfinished(here.turn)
    if not any(one.intent.again for one in found.readings):
        # "as a bar chart, please" after a failure is about what failed.
        requests = [] if here.turn.message.files else requested.failed_last(here.turn)
    if requests:
        opened = requested.as_works(requests)
        here.works = [*opened, *(work for work in here.works if work not in opened)]
        found = _read_over(here, text)
    for reading in found.readings:
        intent = reading.intent
        anew = reading.frame.act is Act.CONTROL and intent.again and intent.named and intent.verb
        if anew and not (restarting.meant(here, reading) or restarting.done(here, reading)):
            reading.frame = msgspec.structs.replace(
                reading.frame, act=Act.MAKE, thing=intent.thing, unused=()
            )
    return found


def _read_over(here: Surroundings, text: str) -> Message:
    return messages.read(
        text,
        here.tables,
        works=bool(here.works) or bool(here.turn.running and not here.turn.message.files),
        running=bool(here.turn.running),
        today=here.turn.message.at[:10],
        language=here.language,
        base=here.works[0].frame if here.works else None,
    )


def _reach_back(here: Surroundings, message: Message) -> None:
    """A change to a work is about the files that the work was made from."""
    for reading in message.readings:
        work = target(here.works, reading)
        if work is not None:
            files = files_by_id(here.turn, work.frame.files)
            here.files = files or here.files
            return


def _concerns_files(message: Message) -> bool:
    return any(reading.frame.act in (Act.MAKE, Act.CHANGE, Act.ASK) for reading in message.readings)


async def _survey(here: Surroundings) -> None:
    """Look at the tables of the files, once for the same files."""
    files = here.usable
    if not files and not here.material:
        return
    names = [f"{file.id} {file.revision}" for file in files]
    key = hashlib.sha256("\n".join([*names, here.material]).encode()).hexdigest()
    known = here.turn.state.get("surveyed")
    found: dict[str, Any]
    if isinstance(known, dict) and known.get("key") == key and "inside" in known:
        found = {name: known[name] for name in ("tables", "skipped", "inside")}
    else:
        try:
            found = await here.turn.step(steps.survey, files, here.material)
        except Unreadable as error:
            found = {"tables": [], "skipped": [str(error)], "inside": {}}
        except (TimeoutError, WorkerDied, MemoryError) as error:
            logger.warning("looking at files took more than a call may use: %s", error)
            here.too_much = True
            return
        if len(msgspec.json.encode(found)) <= _REMEMBERED_BYTES:
            here.turn.state["surveyed"] = {"key": key, **found}
    here.tables = tables_from(found["tables"])
    here.skipped = [str(one) for one in found["skipped"]]
    here.inside = dict(found["inside"])


async def _one(here: Surroundings, reading: Reading) -> None:
    frame, intent = reading.frame, reading.intent
    if (intent.again and frame.act is Act.CONTROL) or restarting.changes(here, reading):
        await restarting.again(here, reading)
    elif frame.act is Act.CONTROL:
        await control(here, intent.control or "status", None, reading)
    elif frame.act is Act.TALK:
        _talk(here, reading)
    elif here.too_much:
        here.turn.reply(say(here.language, "too_much"))
    elif here.files and not any(map(is_usable, here.files)):
        names = listed(here.language, [file.name for file in here.files])
        answering.keep(here, About.FILE, reading, offered=True)
        here.turn.reply(say(here.language, "unusable", files=names))
    elif frame.act is Act.CHANGE:
        await doing.change(here, reading)
    elif frame.act is Act.MAKE:
        await doing.make(here, reading)
    else:
        await asking.ask(here, reading)


def _talk(here: Surroundings, reading: Reading) -> None:
    language, talk = here.language, reading.intent.talk
    if talk == "nothing":
        _nothing(here)
    elif talk == "unable":
        here.turn.reply(say(language, "unable", clause=reading.frame.said))
    elif talk == "thanks":
        here.turn.reply(say(language, "thanks"))
    elif talk == "price":
        here.turn.reply(say(language, "prices", things=price_list(language)))
    elif talk == "hello":
        here.turn.reply(say(language, "hello", help=help_text(language)))
    else:
        here.turn.reply(help_text(language))


def _nothing(here: Surroundings) -> None:
    """Files without a wish, or words without any meaning for us."""
    language = here.language
    if not here.files:
        here.turn.reply(help_text(language))
        return
    names = listed(language, [file.name for file in here.files])
    if not here.usable:
        here.turn.reply(say(language, "unusable", files=names))
        return
    offers = [
        found.thing for found in catalogue.makers()
        if found.needs & (here.kinds or {"document"}) and catalogue.missing_extra(found) is None
    ]  # fmt: skip
    texts = [say(language, f"things.{thing.value}") for thing in offers]
    answering.keep(here, About.THING, options=texts)
    offered = listed(language, texts, "or")
    answering.one_of(here.turn, say(language, "ask_what", files=names, offers=offered), texts)
