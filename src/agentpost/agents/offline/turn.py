"""The turn: read the message, then do each of its clauses, and name those that are not done."""

from __future__ import annotations

import hashlib
import logging
import re
from typing import Any

import msgspec

from agentpost.agents.base import Turn
from agentpost.agents.deaths import WorkerDied
from agentpost.agents.offline import asking, doing, steps
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
_SHORT_ANSWER = 8


async def agent(turn: Turn) -> None:
    """Answer one message (the entry point, ``agentpost.agents.offline:agent``)."""
    said, material = wish_and_material(turn.message.text)
    asked = turn.state.pop("asked", None)
    text = turn.message.text
    if isinstance(asked, dict) and not turn.message.files:
        text = _answered(text, asked)
    files = files_of(turn, said)
    before = turn.state.get("language")
    here = Surroundings(
        turn,
        before if isinstance(before, str) else "en",
        files,
        material=material,
        works=[] if turn.message.files else works_of(turn),
    )
    message = _read(here, text)
    here.language = message.language
    turn.state["language"] = message.language
    if isinstance(asked, dict) and asked.get("kind") == "stop" and turn.running:
        chosen = which_answered(turn, text, here.language)
        if chosen:
            await control(here, "stop", chosen)
            return
    _reach_back(here, message)
    if _concerns_files(message):
        absent = absent_files(turn, said) if here.files else []
        if absent:
            there = listed(here.language, [file.name for file in here.files])
            missing = listed(here.language, absent)
            turn.ask(say(here.language, "absent_file", missing=missing, there=there))
            return
        await _survey(here)
        message = _read(here, text)
    for reading in message.readings:
        await _one(here, reading)
    if message.unread:
        clauses = quoted(here.language, message.unread, "and")
        turn.reply(say(here.language, "unread", clauses=clauses))
    if not message.readings:
        _nothing(here)


def _read(here: Surroundings, text: str) -> Message:
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


def _answered(text: str, asked: dict[str, Any]) -> str:
    """The message, or what it means as the answer to our question."""
    first = text.strip(" .!?。！？")
    options = [str(one) for one in asked.get("options", [])]
    place = _place(first)
    if place is not None and place < len(options):
        first = options[place]
    elif asked.get("kind") == "what" or len(first.split()) > _SHORT_ANSWER:
        return text
    if asked.get("kind") == "what":
        return first
    if asked.get("kind") != "word":
        return text
    if messages.goes_on(first):
        return text
    alone = messages.read(first).readings
    if any(one.frame.act is not Act.ASK or one.intent.question for one in alone):
        return text
    clause, word = str(asked.get("text", "")), str(asked.get("word", ""))
    return clause.replace(word, first, 1) if word and word in clause else f"{clause} {first}"


def _place(text: str) -> int | None:
    """As in "the second", "2": which of the options that we gave."""
    bare = text.casefold()
    if re.fullmatch(r"\d", bare):
        return int(bare) - 1
    for reading in messages.read(text, works=True).readings:
        if reading.intent.ordinal and len(text.split()) <= 3 and reading.frame.thing is None:
            return reading.intent.ordinal - 1 if reading.intent.ordinal > 0 else None
    return None


async def _one(here: Surroundings, reading: Reading) -> None:
    frame, intent = reading.frame, reading.intent
    if frame.act is Act.CONTROL:
        await control(here, intent.control or "status", None, reading)
    elif frame.act is Act.TALK:
        _talk(here, reading)
    elif here.too_much:
        here.turn.reply(say(here.language, "too_much"))
    elif here.files and not any(map(is_usable, here.files)):
        names = listed(here.language, [file.name for file in here.files])
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
    here.turn.state["asked"] = {"kind": "what", "options": [*texts]}
    here.turn.ask(say(language, "ask_what", files=names, offers=listed(language, texts, "or")))
