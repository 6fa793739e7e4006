"""Questions that wait for an answer: what was asked for, and the request with the answer in it.

Whoever asks keeps the request (`keep`); the next message is an answer (`completed`) unless it is
plainly a request of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from agentpost.agents.base import File, Turn
from agentpost.agents.offline.frame import Act, Thing
from agentpost.agents.offline.scope import Surroundings, files_by_id, files_of
from agentpost.agents.offline.understanding import messages
from agentpost.agents.offline.understanding.clauses import wish_and_material
from agentpost.agents.offline.understanding.messages import Message
from agentpost.agents.offline.understanding.reading import Reading
from agentpost.agents.offline.understanding.segments import segments
from agentpost.agents.offline.understanding.words import normal

_SHORT_ANSWER = 8
_KEPT = "asked"
_FILE = re.compile(r"[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{1,4}\b")
_LISTED = re.compile(r"\s*(?:,|;|&|、|，)\s*")


_CHOICES = 50
_CHOICE_CHARACTERS = 200


class About(StrEnum):
    """What a question asks for."""

    FILE = "file"
    """Which file, or a file that is not there yet."""
    THING = "what"
    """What to do with files that came without a wish."""
    WORD = "word"
    """Which column, value or table is meant."""
    FORMAT = "format"
    STOP = "stop"
    """Which running work to stop."""


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question that was asked, with the request that waits for its answer.

    Args:
        kind: what it asks for.
        text: the clause that waits.
        words: words of the clause that the answer replaces.
        options: what can be chosen, as it was named in the question.
        files: ids of the files that the request is about.
        message: the message that the request's pasted text or table is in.
        change: whether the request changes something made before.
        offered: whether it was no question, only a hint that a file would help.
    """

    kind: About
    text: str = ""
    words: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    message: str = ""
    change: bool = False
    offered: bool = False


@dataclass(frozen=True)
class Completed:
    """A request with its answer: what is done instead of the message alone."""

    text: str
    files: list[File]
    material: str = ""
    message: str = ""
    """The message that the material is in."""
    added: str = ""
    """What else the answer says: it belongs to the request if it can be read so."""
    table: str = ""
    """The name of the table that was chosen."""
    change: bool = False


def keep(
    here: Surroundings,
    kind: About,
    reading: Reading | None = None,
    *,
    words: Sequence[str] = (),
    options: Sequence[str] = (),
    text: str = "",
    change: bool = False,
    offered: bool = False,
) -> None:
    """Remember the request that waits for an answer: a clause, or a ``text``. Several clauses that
    lack a file wait together."""
    if reading is not None:
        text, change = reading.frame.said, reading.intent.act is Act.CHANGE
    before = here.turn.state.get(_KEPT)
    if kind is About.FILE and isinstance(before, dict) and before.get("kind") == kind:
        text = f"{str(before.get('text', '')).rstrip(' .')}. {text}"
    asked = Question(
        kind, text, tuple(words), tuple(options), tuple(file.id for file in here.files),
        here.material_of, change, offered,
    )  # fmt: skip
    here.turn.state[_KEPT] = msgspec.to_builtins(asked)


def one_of(turn: Turn, question: str, options: Sequence[str]) -> None:
    """Ask for one of several things, which are offered as choices where a question may have them:
    a name may be too long, and two may differ in nothing but case."""
    short = all(0 < len(one.strip()) <= _CHOICE_CHARACTERS for one in options)
    different = len({one.strip().casefold() for one in options}) == len(options)
    offered = short and different and 2 <= len(options) <= _CHOICES
    turn.ask(question, choices=list(options) if offered else None)


def taken(turn: Turn) -> Question | None:
    """The question that the last message ended with; it is answered now or never."""
    data = turn.state.pop(_KEPT, None)
    try:
        return msgspec.convert(data, Question) if data is not None else None
    except msgspec.ValidationError:
        return None  # written by another version


def put_back(turn: Turn, asked: Question) -> None:
    """The message only talked ("thanks"): the question still waits."""
    turn.state.setdefault(_KEPT, msgspec.to_builtins(asked))


def completed(turn: Turn, asked: Question, language: str) -> Completed | None:
    """The request with the answer in it; None when the message is a request of its own."""
    said, material = wish_and_material(turn.message.text)
    given = bool(turn.message.files or material)
    if asked.kind is About.STOP or (asked.offered and not given):
        return None
    if asked.kind is About.THING:
        return _thing(turn, asked, said, language)
    option = _option(asked.options, said, language)
    bare = _without_names(turn, said)
    if option is None and _is_request(bare, asked, language, given=given):
        return None
    if asked.kind is About.FILE:
        return _with_file(turn, asked, option, bare, language)
    if given and _says_nothing(bare, language):
        return _made(turn, asked, asked.text)
    if option is None and (not said or len(said.split()) > _SHORT_ANSWER or messages.goes_on(said)):
        return None
    if asked.kind is About.FORMAT:
        return _with_format(turn, asked, option, said, language)
    answer = option or said.strip(" .!?。！？")
    if not asked.words and option is not None:
        return _made(turn, asked, asked.text, table=option)
    return _made(turn, asked, _replaced(asked, answer, language))


def read_with(
    answered: Completed, read: Message, again: Message, *others: Message
) -> tuple[Message, bool]:
    """The reading to act on, and whether what else the answer said is lost with it.

    Args:
        answered: the completed request.
        read: the request alone.
        again: the request and the rest of the answer, as two sentences.
        others: the same as one sentence.
    """
    if not answered.added:
        return read, False
    count = len(read.readings)
    left = sum(len(one.frame.unused) for one in read.readings)
    for message in (again, *others):
        unused = sum(len(one.frame.unused) for one in message.readings)
        if len(message.readings) == count and unused <= left:
            return message, False
    return read, any(one.named or one.data for one in again.readings[count:])


def _made(turn: Turn, asked: Question, text: str, *, table: str = "", added: str = "") -> Completed:
    files = list(turn.message.files) or _named(turn, text) or files_by_id(turn, asked.files)
    _, material = wish_and_material(turn.message.text)
    message = turn.message.message_id
    if not material and not turn.message.files:
        message = asked.message
        said = [one.text for one in turn.history if one.message_id == asked.message]
        material = next((m for one in said if (m := wish_and_material(one)[1])), "")
    return Completed(text, files, material, message, added, table, asked.change)


def _named(turn: Turn, text: str) -> list[File]:
    """Files of earlier messages that the text names."""
    said = text.casefold()
    named = any(file.name.casefold() in said for one in turn.history for file in one.files)
    return files_of(turn, text) if named else []


def _thing(turn: Turn, asked: Question, said: str, language: str) -> Completed | None:
    if turn.message.files:
        return None
    option = _option(asked.options, said, language)
    readings = messages.read(said, language=language).readings
    if option is None and any(one.frame.act in (Act.TALK, Act.CONTROL) for one in readings):
        return None
    return _made(turn, asked, option or said)


def _with_file(
    turn: Turn, asked: Question, option: str | None, bare: str, language: str
) -> Completed | None:
    text = asked.text
    named = [file.name for file in turn.message.files] or ([option] if option else [])
    named = named or [file.name for file in _named(turn, turn.message.text)]
    if not named and len(asked.options) == 1 and _agrees(bare, language):
        named = list(asked.options)
    if named:
        for word in asked.words:
            text = text.replace(word, " ".join(named))
    elif asked.words:
        return None
    nothing = option is not None or _says_nothing(bare, language)
    found = _made(turn, asked, text, added="" if nothing else bare)
    if named and not turn.message.files:
        files = [file for file in found.files if file.name in named] or _named(turn, named[0])
        found = Completed(text, files, found.material, found.message, found.added, "", asked.change)
    return found


def _with_format(
    turn: Turn, asked: Question, option: str | None, said: str, language: str
) -> Completed | None:
    found = segments(normal(said), language)
    wanted = option or next((s.text for s in found if s.has("format")), None)
    if wanted is None:
        return None
    text = normal(asked.text)
    unknown = [s for s in segments(text, language) if s.has("format")]
    formats = {s.key("format") for s in unknown} & set(asked.words)
    for segment in reversed([s for s in unknown if s.key("format") in formats]):
        text = text[: segment.start] + wanted + text[segment.end :]
    return _made(turn, asked, text)


def _replaced(asked: Question, answer: str, language: str) -> str:
    """The clause with the words that were not understood replaced by the answer, each by its own
    when the answer lists as many."""
    text = asked.text
    found = segments(normal(answer), language)
    joints = [s for s in found if s.has("and") or s.has("compare")]
    cut = normal(answer)
    for segment in reversed(joints):
        cut = cut[: segment.start] + "," + cut[segment.end :]
    parts = [part for part in _LISTED.split(cut) if part.strip()]
    if len(asked.words) > 1 and len(parts) == len(asked.words):
        for word, part in zip(asked.words, parts, strict=True):
            text = text.replace(word, part, 1)
        return text
    word = asked.words[0] if asked.words else ""
    return text.replace(word, answer, 1) if word and word in text else f"{text} {answer}"


def _option(options: Sequence[str], said: str, language: str) -> str | None:
    """The option that an answer chooses: by its place, its name, or a word that only it has."""
    answer = said.strip(" .!?¿¡。！？").casefold()
    place = _place(answer, language)
    if place is not None:
        return options[place] if place < len(options) else None
    for option in options:
        if answer == option.casefold():
            return option
    words = set(re.findall(r"[^\W_]{3,}", answer))
    if not words or len(words) > 4:
        return None
    fitting = [
        option for option in options
        if words & set(re.findall(r"[^\W_]{3,}", option.casefold()))
    ]  # fmt: skip
    return fitting[0] if len(fitting) == 1 and len(options) > 1 else None


def _place(answer: str, language: str) -> int | None:
    """As in "the second", "2": which of the options that we gave."""
    if re.fullmatch(r"[1-9]", answer):
        return int(answer) - 1
    for reading in messages.read(answer, works=True, language=language).readings:
        if reading.intent.ordinal and len(answer.split()) <= 3 and reading.frame.thing is None:
            return reading.intent.ordinal - 1 if reading.intent.ordinal > 0 else None
    return None


def _without_names(turn: Turn, said: str) -> str:
    """What a message says besides the names of files."""
    bare = _FILE.sub(" ", said)
    for file in turn.message.files:
        bare = re.sub(re.escape(file.name), " ", bare, flags=re.IGNORECASE)
    return " ".join(bare.split())


def _says_nothing(bare: str, language: str) -> bool:
    """As in "here it is", "from this one", "the attached table"."""
    if not re.search(r"\w", bare):
        return True
    return all(
        one.frame.act is Act.TALK or one.intent.again or _points(one)
        for one in messages.read(bare, works=True, language=language).readings
    )


def _points(reading: Reading) -> bool:
    """Whether a clause only points at a file: "from this table", "use that"."""
    frame = reading.frame
    plain = not (frame.unused or reading.data or frame.formats or reading.intent.instead)
    return plain and reading.look.empty and (reading.intent.definite or frame.thing is None
                                             or frame.thing is Thing.ANSWER)  # fmt: skip


def _agrees(bare: str, language: str) -> bool:
    found = segments(normal(bare), language)
    return bool(found) and all(s.has("agree") or s.kind == "mark" for s in found)


def _is_request(bare: str, asked: Question, language: str, *, given: bool) -> bool:
    """Whether a message asks for something of its own, or only talks."""
    if not bare:
        return False
    wanted = {one.frame.thing for one in messages.read(asked.text, language=language).readings}
    for one in messages.read(bare, works=True, language=language).readings:
        act, intent = one.frame.act, one.intent
        about_file = asked.kind is About.FILE
        if act is Act.CONTROL and not (intent.control == "again" and (about_file or given)):
            return True
        if act is Act.TALK and not (
            intent.talk == "nothing" or (given and intent.talk in ("thanks", "hello"))
        ):
            return True
        same = about_file and one.frame.thing in wanted
        if act is Act.MAKE and intent.named and not same and not _points(one):
            return True
        if act is Act.ASK and intent.question and _asks(one.frame.said, language):
            return True
    return False


def _asks(said: str, language: str) -> bool:
    """Whether a question has a word that asks: "can you use this?" has none."""
    found = segments(normal(said), language)
    return any(s.has("question") and not s.has("question", "yes") for s in found)
