"""Questions about the files: an answer with its source, passages, or what was not understood."""

import logging
import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from agentpost.agents.base import JobFailed
from agentpost.agents.deaths import WorkerDied
from agentpost.extraction import Unreadable
from agentpost_offline import offering, questions, requested, steps
from agentpost_offline.answer import Answer, Outcome
from agentpost_offline.frame import Frame, Thing, to_json
from agentpost_offline.grammar import requests
from agentpost_offline.grammar.describing import frame_text
from agentpost_offline.grammar.explaining import explanations
from agentpost_offline.grammar.reading import MOST_CHOICES, Choice, Question, Reading
from agentpost_offline.grammar.suggesting import suggest
from agentpost_offline.replying import details, list_text, quote_words, say
from agentpost_offline.scope import Surroundings, files_by_id

_FEW = 3
"""With fewer choices, sentences over the file are offered too."""
logger = logging.getLogger(__name__)


async def from_tables(here: Surroundings, reading: Reading) -> None:
    """Answer a question that the query of a frame stands for."""
    turn, language, frame = here.turn, here.language, reading.frame
    assert frame is not None, "there is a query"
    files = [file for query in frame.queries for file in here.of_table(query.table)]
    files = list(dict.fromkeys(files)) or files_by_id(turn, frame.files)
    frame = replace(frame, text=here.material or frame.text, files=tuple(file.id for file in files))
    result = await _run_step(here, steps.ask_tables, files, to_json(frame))
    if result is None:
        return
    lines = [*notes(language, reading), result.text or say(language, "absent_answer")]
    omissions = list(dict.fromkeys((*result.skipped, *here.skipped)))
    report = details(language, result.used, omissions, result.notes)
    requested.remember_answer(turn, to_json(frame))
    turn.reply("\n\n".join(filter(None, ["\n".join(lines), report])))


async def _run_step(here: Surroundings, step: object, *args: object) -> Answer | None:
    """The answer of a step; None where it failed, which is said."""
    turn = here.turn
    try:
        return msgspec.convert(await turn.step(step, *args), Answer)  # type: ignore[arg-type]
    except (Unreadable, JobFailed) as error:
        turn.reply(str(error))
    except (TimeoutError, WorkerDied, MemoryError) as error:
        logger.warning("a question took more than a call may use: %s", error)
        turn.reply(say(here.language, "too_much"))
    return None


async def from_documents(here: Surroundings, question: str) -> None:
    """Show the passages of the documents that are closest to a question."""
    turn, language = here.turn, here.language
    result = await _run_step(
        here, steps.ask_documents, here.documents, question, language, here.material
    )
    if result is None:
        return
    omissions = list(dict.fromkeys((*result.skipped, *here.skipped)))
    names = [file.name for file in here.documents]
    if result.outcome is Outcome.ABSENT and result.skipped and not result.used:
        text = say(language, "unread_files", files=list_text(language, names))
    elif result.outcome is Outcome.ABSENT:
        text = say(language, "absent_answer")
    else:
        text = f"{say(language, 'passages')}\n{result.text}"
        if result.missing:
            words = quote_words(language, result.missing, "or")
            text = f"{say(language, 'missing_words', words=words)} {text}"
    turn.reply("\n\n".join(filter(None, [
        text, details(language, result.used, omissions, result.notes)
    ])))  # fmt: skip


def notes(language: str, reading: Reading) -> list[str]:
    """What the reader must know of how a request was understood."""
    phrases = [say(language, f"notes.{key}", **values) for key, values in reading.notes]
    typos = dict.fromkeys(reading.draft.typos)
    return phrases + [say(language, "read_as", typed=a, meant=b) for a, b in typos]


def unclear(here: Surroundings, reading: Reading) -> None:
    """Say what was not understood, and offer what would be done, and sure sentences."""
    language, draft, frame = here.language, reading.draft, reading.frame
    question = reading.question or Question("not_clear")
    is_free = not (draft.things or draft.formats or draft.style.chart)
    told_words = draft.unknown if is_free else ()
    choices = [_without_words(one, told_words) for one in question.choices]
    if "unable" in draft.marks:  # what is made would lack what was asked for
        choices = [one for one in choices if not any(map(_is_made, one.frames))]
    parts = [say(language, f"unclear.{question.key}", **question.values)]
    if draft.unknown:
        parts = [_said_unknown(here, reading)]
        if here.images and not (here.tables or here.prose):
            parts.append(say(language, "pictures_only"))
        # Without a number another thing would be made: "o 90 stopni".
        drops = "unable" in draft.marks or any(map(str.isdigit, "".join(draft.unknown)))
        if frame is not None and reading.question is None and not drops:
            parts.insert(0, say(language, "would_do", what=frame_text(frame, reading.table)))
            target = reading.target if reading.is_edit else None
            choices.append(
                Choice(say(language, "do_this"), (frame,), target=target, is_free=reading.is_free)
            )
    if frame is not None and question.key == "ask_anew":  # a change of what was made earlier
        label, target = frame_text(frame, reading.table), reading.target
        choices.append(Choice(label, (frame,), target=target, is_free=reading.is_free))
    is_told = question.key == "ambiguous" and bool(draft.unknown)
    choices = [each for one in choices for each in _settled(here, one, is_told=is_told)]
    choices += explanations(reading, draft.text, here.around)
    most = max(MOST_CHOICES, len(choices) + _FEW)
    choices = _with_suggestions(here, choices, reading)[:most]
    if draft.model:
        words = quote_words(language, [word for _, word in draft.model], "and")
        parts.insert(0, say(language, "needs_model", words=words))
    _ask(here, parts, choices, draft.text)


def _ask(here: Surroundings, parts: Sequence[str], choices: list[Choice], text: str) -> None:
    """Ask with choices, whose frames remember nothing but their own request, or to leave it."""
    offers = [
        replace(one, frames=tuple(replace(frame, text="") for frame in one.frames))
        for one in choices
    ]
    offers += [Choice(say(here.language, "leave_it"))] if offers else []
    questions.ask(here, " ".join(filter(None, dict.fromkeys(parts))), offers, text=text)


def _settled(here: Surroundings, choice: Choice, *, is_told: bool) -> list[Choice]:
    """A choice whose message would be asked about again, as what may then be chosen; ``is_told``:
    words of the message were not understood, so that the choice has to say all of it."""
    if choice.frames or not choice.text:
        return [choice]
    around = here.around
    if choice.table:
        around.tables = [one for one in around.tables if one.id == choice.table]
    readings = requests.read(choice.text, around)
    if len(readings) != 1 or readings[0].draft.is_talk:
        return [choice]
    (reading,) = readings
    if reading.question is not None:
        with_frames = [one for one in reading.question.choices if one.frames]
        return with_frames or suggest(reading, around)[:_FEW] or [choice]
    if reading.frame is None or reading.is_edit or (reading.is_sure and not is_told):
        return [choice]
    return [Choice(frame_text(reading.frame, reading.table), (reading.frame,))]


def _with_suggestions(
    here: Surroundings, choices: Sequence[Choice], reading: Reading
) -> list[Choice]:
    """The choices, then what a request over a table probably means; sentences over the files where
    there is little to choose."""
    draft = reading.draft
    if reading.question is not None and reading.question.key == "which_table":
        return list(choices)  # a request would not say of which of them it is
    results = _each_once([*choices, *suggest(reading, here.around)])
    is_little = len(results) < _FEW and (draft.unknown or not results) and not draft.measures
    return [*results, *offering.sentences(here, draft)] if is_little else results


def _each_once(choices: Sequence[Choice]) -> list[Choice]:
    """The choices, but of those that do the same only the first."""
    results: list[Choice] = []
    acts: list[object] = []
    for one in choices:
        act = [(frame.thing, frame.queries) for frame in one.frames] or (one.text, one.table)
        if act not in acts:
            acts.append(act)
            results.append(one)
    return results


def _is_made(frame: Frame) -> bool:
    return frame.thing is not Thing.ANSWER


def _said_unknown(here: Surroundings, reading: Reading) -> str:
    """What was not understood; a missing column is named where a column must stand."""
    language, draft = here.language, reading.draft
    for_model = [word for _, word in draft.model]
    words = [one for one in dict.fromkeys(draft.unknown) if one not in (*draft.lacking, *for_model)]
    sentences = []
    if draft.lacking and reading.table is not None:
        missing = quote_words(language, draft.lacking)
        sentences.append(say(language, "no_columns", table=reading.table.name, words=missing))
    elif draft.lacking:
        words += draft.lacking
    if words:
        sentences.append(say(language, "not_understood", words=quote_words(language, words, "and")))
    # A column may be missing because it could not be read.
    notes = dict.fromkeys(note for table in here.tables for note in table.notes)
    word_notes = [
        note for note in notes if any(word.casefold() in note.casefold() for word in words)
    ]
    return " ".join(sentences) + "".join(f"\n\n{note}" for note in word_notes)


def unclear_parts(here: Surroundings, readings: Sequence[Reading]) -> None:
    """Of several demands not all are clear: nothing is begun before the user says so."""
    language = here.language
    sure = [one for one in readings if one.is_sure and one.frame is not None]
    others = [one for one in readings if one not in sure and not one.draft.is_talk]
    for_model = [word for one in others for _, word in one.draft.model]
    words = list(dict.fromkeys(
        word for one in others if not one.draft.model
        for word in (one.draft.unknown or ([] if one.question else [one.draft.text]))
    ))  # fmt: skip
    parts = []
    choices = []
    doable = [one for one in readings if one.question is None and not one.draft.model]
    frames = tuple(one.frame for one in doable if one.frame is not None)
    if frames:
        descriptions = [frame_text(one.frame, one.table) for one in doable if one.frame is not None]
        parts.append(say(language, "would_do", what=" + ".join(descriptions)))
        choices.append(Choice(say(language, "do_this"), frames))
    elif len(others) == 1 and not for_model:
        unclear(here, others[0])
        return
    whole_text = here.turn.message.text
    for one in others:
        for choice in one.question.choices if one.question is not None else ():
            whole_choice = _in_whole(choice, one.draft.text, whole_text)
            # What a choice of rows starts is answered at once with what is sure.
            is_rows = one.question is not None and one.question.key == "which_data"
            choices.append(_beside(sure, whole_choice) if sure and is_rows else whole_choice)
    if words:
        parts.append(say(language, "not_understood", words=quote_words(language, words, "and")))
    parts += [
        say(language, f"unclear.{one.question.key}", **one.question.values)
        for one in others if one.question is not None and not one.draft.unknown
    ]  # fmt: skip
    if for_model:
        parts.append(say(language, "needs_model", words=quote_words(language, for_model, "and")))
    table = next((one.table for one in readings if one.table is not None), None)
    whole = requests.read_whole(whole_text, here.around, table) if table else None
    first, rest = choices[: bool(frames)], choices[bool(frames) :]
    rest = [each for one in rest for each in _settled(here, one, is_told=False)]
    rest += explanations(whole or readings[0], whole_text, here.around)
    suggestions = _with_suggestions(here, rest, whole or readings[0])
    if len(others) == 1 and sure:
        suggestions = [_beside(sure, one) for one in suggestions[:_FEW]] + suggestions
    _ask(here, parts, _each_once([*first, *suggestions])[:MOST_CHOICES], whole_text)


def _in_whole(choice: Choice, text: str, whole: str) -> Choice:
    """A choice that stands for the message of one demand, as that of the whole message."""
    if choice.frames or not choice.text or text not in whole:
        return choice
    return replace(choice, text=whole.replace(text, choice.text, 1))


def _beside(sure: Sequence[Reading], choice: Choice) -> Choice:
    """A choice for what is open together with what is sure, where both are answers."""
    frames = tuple(one.frame for one in sure if one.frame is not None)
    is_part = any(query in one.queries for one in choice.frames for query in frames[0].queries)
    if not choice.frames or is_part or any(map(_is_made, (*frames, *choice.frames))):
        return choice
    label = " + ".join([*(frame_text(one.frame, one.table) for one in sure if one.frame),
                        choice.label])  # fmt: skip
    return replace(choice, label=label, frames=(*frames, *choice.frames))


def _without_words(choice: Choice, words: Sequence[str]) -> Choice:
    """A choice without the words that were said to be not understood: who takes it has read that,
    and is not told again. What something follows stays, since it may say what is meant with that:
    "sans Bonn"; and what has a number."""
    text = choice.text
    for word in reversed(words):
        if not any(map(str.isdigit, word)) and len(word) < len(text):
            end = r"(?=\s*(?:$|[,.;!?·(。，；！？؟،]))"
            text = re.sub(rf"\s*(?<!\w){re.escape(word)}{end}", "", text, count=1)
    return replace(choice, text=text)


def unread(here: Surroundings, text: str) -> None:
    """Say that the files could not be read, and why; the request waits for others."""
    language = here.language
    names = list_text(language, [file.name for file in here.files])
    reasons = details(language, (), here.skipped, ())
    question = f"{say(language, 'unread_files', files=names)}\n\n{reasons}"
    questions.ask(here, question, text=text)
