"""The turn: read the message, and do what it surely asks for; else ask, with choices."""

import hashlib
import logging
from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from agentpost.agents.base import File, Turn
from agentpost.agents.caller_context import BareTurn
from agentpost.agents.deaths import WorkerDied
from agentpost.extraction import Unreadable
from agentpost_offline import (
    asking,
    controlling,
    doing,
    offering,
    questions,
    requested,
    steps,
)
from agentpost_offline.data.model import Table
from agentpost_offline.frame import Frame, Thing
from agentpost_offline.grammar import requests
from agentpost_offline.grammar.draft import Draft
from agentpost_offline.grammar.explaining import substitute_names
from agentpost_offline.grammar.reading import Choice, Question, Reading
from agentpost_offline.grammar.requests import Surrounding
from agentpost_offline.grammar.text import wish_and_material
from agentpost_offline.grammar.typed_data import extend, typed_table
from agentpost_offline.grammar.vocabulary import language_of
from agentpost_offline.questions import Pending
from agentpost_offline.replying import list_text, say
from agentpost_offline.scope import (
    Surroundings,
    absent_files,
    earlier_material,
    files_by_id,
    files_by_word,
    files_of,
)

logger = logging.getLogger(__name__)

_REMEMBERED_BYTES = 300_000
_MEANINGS = "meanings"
_MOST_MEANINGS = 50
_OF_FIGURES = frozenset(("share_what", "average_of_what", "rank_what", "best_or_each"))
"""Questions about how a figure is computed, which its form does not answer."""
_FEW = 12
"""Values of a column that tell nothing of the language of a message."""


async def agent(turn: Turn) -> None:
    """Answer one message (the entry point, ``agentpost_offline:agent``)."""
    # Instructions are for agents with a model; here each word would belong to the request.
    turn = cast("Turn", BareTurn(turn))
    pending = questions.take(turn)
    before = turn.state.get("language")
    wish, material = wish_and_material(turn.message.text)
    language = language_of(wish, before if isinstance(before, str) else None)
    turn.state["language"] = language
    works = requested.works_of(turn)
    if works and (rows := extend(works[0].frame.text, wish, language)):
        frame = replace(works[0].frame, text=rows, said=wish)
        reading = Reading(Draft(wish), frame, is_edit=True, target=works[0].id)
        await doing.carry_out(_surroundings(turn, language, wish, rows), reading)
        return
    if not material and not files_of(turn, wish):
        wish, material = typed_table(wish, language)
    request = requested.request_to_repeat(turn)
    if request is not None:
        await controlling.restart(_surroundings(turn, language, wish, material), request)
        return
    choice = pending.choice_of(wish) if pending is not None and not turn.message.files else None
    if pending is not None and choice is not None:
        await _choose(turn, pending, choice, before if isinstance(before, str) else language)
        return
    brings = bool(turn.message.files or material)
    if pending is not None and pending.text and brings and _only_hands_over(wish, language):
        wish = pending.text
    await _answer(_surroundings(turn, language, wish, material), wish, pending)


def _only_hands_over(wish: str, language: str) -> bool:
    """As in "here it is": nothing beside the file that was missing."""
    return all(
        one.draft.talk in ("help", "hello", "thanks", "yes") and one.draft.is_talk
        for one in requests.read(wish, Surrounding(language=language))
    )


def _surroundings(turn: Turn, language: str, wish: str, material: str) -> Surroundings:
    files = files_of(turn, wish)
    works = [] if turn.message.files or material else requested.works_of(turn)
    material_of = turn.message.message_id
    if works and not files and not material:  # what was made of a pasted table
        material, material_of = works[0].frame.text, ""
    is_new = not any(one.role == "user" for one in turn.history)
    return Surroundings(
        turn, language, files, material=material, material_of=material_of, works=works,
        is_new=is_new,
    )  # fmt: skip


async def _choose(turn: Turn, pending: Pending, choice: Choice, language: str) -> None:
    """Go on with the request that a choice stands for."""
    turn.state["language"] = language
    material = earlier_material(turn, pending.message, language) if pending.message else ""
    works = requested.works_of(turn)
    if not (pending.files or material) and works:
        material = works[0].frame.text
    here = Surroundings(
        turn, language, files_by_id(turn, pending.files), material=material,
        material_of=pending.message, works=works,
    )  # fmt: skip
    if choice.meaning is not None:
        meanings = [*_meanings(turn), choice.meaning][-_MOST_MEANINGS:]
        turn.state[_MEANINGS] = [[word, name] for word, name in meanings]
    if choice.text:
        await _answer(here, choice.text, table=choice.table)
        return
    if not choice.frames:
        turn.reply(say(language, "dropped"))
        return
    await survey(here)
    for frame in _as_one(choice.frames):
        is_edit = choice.target is not None
        reading = Reading(
            Draft(frame.said), frame, is_edit=is_edit, is_free=choice.is_free, target=choice.target
        )
        await doing.carry_out(here, reading)


def _meanings(turn: Turn) -> list[tuple[str, str]]:
    """The words that the user explained, and the names that they stand for."""
    data = turn.state.get(_MEANINGS, [])
    try:
        return msgspec.convert(data, list[tuple[str, str]])
    except msgspec.ValidationError:
        return []  # written by another version


def _as_one(frames: Sequence[Frame]) -> Sequence[Frame]:
    """Several answers of the same file as one, so that what is asked next is of all of them."""
    is_answer = all(one.thing is Thing.ANSWER and not one.files for one in frames)
    if not (frames[1:] and is_answer):
        return frames
    queries = tuple(query for one in frames for query in one.queries)
    return (replace(frames[0], queries=queries),)


async def _answer(
    here: Surroundings, text: str, pending: Pending | None = None, table: str = ""
) -> None:
    """Do what a text asks for; ``table``: the id of the only table that it is about."""
    absent = absent_files(here.turn, text)
    if absent and here.files:
        _ask_for(here, text, absent)
        return
    await survey(here)
    if here.too_much:
        here.turn.reply(say(here.language, "too_much"))
        return
    if here.is_new:
        columns = [column for one in here.tables for column in one.columns]
        names = " ".join(name for one in columns for name in (one.label, *one.values[:_FEW]))
        here.language = language_of(text, names=names)
        here.turn.state["language"] = here.language
    if table:
        here.tables = [one for one in here.tables if one.id == table]
    here.is_unanswered = requested.has_failed_last(here.turn) or (
        pending is not None and bool(pending.text)
    )
    if here.works and here.works[0].frame.thing is Thing.IMAGE:
        pictures = {one.id for one in files_by_word(here.images, text, here.language)}
        if pictures and pictures != {*here.works[0].frame.files}:
            here.works = []  # another picture than what was made last
    readings = requests.read(text, here.around)
    new_text = substitute_names(text, readings, dict(_meanings(here.turn)), here.tables)
    if new_text != text:
        text, readings = new_text, requests.read(new_text, here.around)
    is_change = any(one.is_edit and one.draft.ordinal is None for one in readings)
    if is_change and _is_after_new_request(here, pending):
        readings[0].question = Question("ask_anew")
    if pending is not None and pending.text and not here.turn.message.files:
        readings = _complete(here, pending.text, text, readings)
    if not readings:
        offering.offer(here)
        return
    only_asks = not any(one.draft.things or one.draft.formats for one in readings)
    asks_passage = any("passage" in one.draft.asks for one in readings)
    is_open = not here.tables or (here.prose and all(one.draft.unknown for one in readings))
    if len(readings) > 1 and here.documents and is_open and only_asks and (
        asks_passage or not any(
            one.draft.control or one.draft.model or one.is_edit for one in readings
        )
    ):  # fmt: skip
        await asking.from_documents(here, text)  # "where does it say so? and how much is it?"
        return
    if len(readings) > 1 and not all(map(_is_clear, readings)):
        asking.unclear_parts(here, readings)
        return
    for reading in readings:
        await _one(here, reading)


def _is_after_new_request(here: Surroundings, pending: Pending | None) -> bool:
    """Whether the message before asked for something new and was asked about, or left no result:
    then a change is hardly one of what was made earlier."""
    if requested.has_failed_last(here.turn):
        return requested.unfinished_requests(here.turn)[-1].version == 1
    if pending is None or not set(here.works[0].frame.files) <= set(pending.files):
        return pending is not None
    return any(
        not one.is_edit and bool(one.draft.things or one.draft.has_query or one.draft.asks)
        for one in requests.read(pending.text, here.around)
    )


def _complete(
    here: Surroundings, first_text: str, text: str, readings: list[Reading]
) -> list[Reading]:
    """A short message as the answer to the question before it: "revenue", "the average"."""
    goes_on = all(
        one.draft.is_fragment and not (one.is_edit or one.draft.has_look) for one in readings
    )
    is_form = all(_is_form(one) for one in readings)  # "as an Excel file"
    first = requests.read(first_text, here.around) if readings and (goes_on or is_form) else []
    keys = {one.question.key for one in first if one.question is not None}
    if not first or "ask_anew" in keys or any(one.is_edit for one in first):
        return readings  # a change is not completed
    if not is_form and any(
        "it" in one.draft.marks and not one.draft.has_query for one in first
    ):  # fmt: skip
        return readings  # nor what is about something that was not made: "list who they are"
    is_bare = is_form and not any("as" in one.draft.marks for one in readings)
    if is_bare and any(one.draft.model for one in first):
        return readings  # a report, in place of the letter that needs a model
    together = requests.read(f"{first_text.rstrip(' .!?。！？؟')} · {text}", here.around)
    if is_bare and _unknown_count(together) > _unknown_count(first):
        return readings  # another kind of chart than was named before
    if is_form and keys & _OF_FIGURES:
        return readings  # which figure it is of has not been said
    if is_form or any("about" in one.draft.marks for one in readings):  # "and net?"
        return together or readings
    is_better = all(one.is_sure for one in together) or not all(
        one.is_sure and one.draft.measures for one in readings
    )  # "by month" is of what was asked about, and of nothing else
    return together if together and is_better else readings


def _unknown_count(readings: Sequence[Reading]) -> int:
    return sum(len(one.draft.unknown) for one in readings)


def _is_form(reading: Reading) -> bool:
    draft = reading.draft
    names_form = draft.things or draft.formats or draft.style.chart
    return bool(names_form) and not (draft.has_query or draft.unknown or reading.is_edit)


def _is_clear(reading: Reading) -> bool:
    draft = reading.draft
    return reading.is_sure or draft.is_talk or bool(draft.control) or "passage" in draft.asks


def _ask_for(here: Surroundings, text: str, absent: Sequence[str]) -> None:
    """Ask which file is meant by a name that no file has."""
    names = [file.name for file in here.files]
    choices = [Choice(name, text=text.replace(absent[0], name)) for name in names]
    there, missing = list_text(here.language, names), list_text(here.language, absent)
    question = say(here.language, "absent_file", missing=missing, there=there)
    questions.ask(here, question, choices, text=text)


async def _one(here: Surroundings, reading: Reading) -> None:
    draft = reading.draft
    if here.files and not here.usable and draft.control is None:
        offering.unusable(here)
    elif draft.steers and reading.frame is None and (
        not draft.unknown or (draft.control == "stop" and here.turn.running)
    ):  # fmt: skip
        await controlling.control(here, reading)
    elif draft.is_talk and draft.talk is not None and reading.frame is None:
        offering.talk(here, draft.talk)
    elif draft.model and reading.frame is None and reading.question is None:
        offering.needs_model(here, reading)
    else:
        await doing.carry_out(here, reading)


async def survey(here: Surroundings) -> None:
    """Look at the tables of the files, once for the same files."""
    files: list[File] = here.usable
    if not files and not here.material:
        return
    names = [f"{file.id} {file.revision}" for file in files]
    key = hashlib.sha256("\n".join([*names, here.material]).encode()).hexdigest()
    memory = here.turn.state.get("surveyed")
    survey_json: dict[str, Any]
    if isinstance(memory, dict) and memory.get("key") == key and "inside" in memory:
        survey_json = {name: memory[name] for name in ("tables", "skipped", "inside")}
    else:
        try:
            survey_json = await here.turn.step(steps.survey, files, here.material)
        except Unreadable as error:
            survey_json = {"tables": [], "skipped": [str(error)], "inside": {}}
        except (TimeoutError, WorkerDied, MemoryError) as error:
            logger.warning("looking at files took more than a call may use: %s", error)
            here.too_much = True
            return
        if len(msgspec.json.encode(survey_json)) <= _REMEMBERED_BYTES:
            here.turn.state["surveyed"] = {"key": key, **survey_json}
    here.tables = msgspec.convert(survey_json["tables"], list[Table])
    here.skipped = [str(one) for one in survey_json["skipped"]]
    here.inside = dict(survey_json["inside"])
