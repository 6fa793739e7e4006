"""What a word may be that was not understood: the message with a column's name in its place."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice

from msgspec.structs import replace

from agentpost_offline.data.model import Kind, Table
from agentpost_offline.frame import Thing
from agentpost_offline.grammar import requests
from agentpost_offline.grammar.captions import QUOTATION
from agentpost_offline.grammar.describing import frame_text
from agentpost_offline.grammar.reading import MOST_CHOICES, Choice, Reading
from agentpost_offline.grammar.requests import Surrounding
from agentpost_offline.grammar.text import HAN, common_start, fold, name_tokens
from agentpost_offline.grammar.vocabulary import lexicon

_MOST_WORDS = 3
"""With more words that are not understood, one of them explains too little."""
_MOST_READ = 20
"""The message is read with so many names at most: each takes some milliseconds."""
_OF_FIGURES = frozenset((
    "which_measure", "count_what", "share_what", "rank_what", "average_of_what",
    "difference_of_what", "growth_of_what",
))  # fmt: skip
"""The questions of a request that lacks a figure."""
_LIKE = 4
"""Letters that a word shares with a name that it may be another word for."""


def explanations(reading: Reading, text: str, around: Surrounding) -> list[Choice]:
    """What the first word that stands for a column or value may be, the likeliest first; none where
    no word stands for one.

    Args:
        reading: what was understood over a table.
        text: the message, which has the unknown words.
        around: what the message was read over.
    """
    draft, table = reading.draft, reading.table
    words = [word for word in dict.fromkeys(draft.unknown) if word in text]
    if table is None or not 0 < len(words) <= _MOST_WORDS or draft.model:
        return []
    names_by_word = {word: _names(word, table) for word in words}
    words.sort(key=lambda word: (
        not any(names_by_word[word].values()), word not in draft.lacking, -len(word)
    ))  # fmt: skip
    for word in filter(str.isalpha, words):
        is_short = len(word) < _LIKE and word.isascii()
        if is_short or lexicon(around.language).meanings_of(word):
            continue  # "go" and "not" are no names
        names = names_by_word[word]
        if not (word in draft.lacking or _lacks_figure(reading)):
            names = {name: likeness for name, likeness in names.items() if likeness}
        ranked = sorted(names, key=lambda one: -names[one])[:_MOST_READ]
        of_figure = word not in draft.lacking
        readable = (
            choice for name in ranked
            if (choice := _choice(word, name, text, words, around, of_figure=of_figure))
        )  # fmt: skip
        if choices := list(islice(readable, MOST_CHOICES)):  # each is read: no more than are shown
            return choices
    return []


def _lacks_figure(reading: Reading) -> bool:
    """Whether a figure is asked for that none of the words names."""
    if reading.question is not None:
        return reading.question.key in _OF_FIGURES
    draft = reading.draft
    is_chart = reading.frame is not None and reading.frame.thing is Thing.CHART
    return is_chart and not (reading.is_edit or draft.measures or draft.counts)


def substitute_names(
    text: str, readings: Sequence[Reading], meanings: Mapping[str, str], tables: Sequence[Table]
) -> str:
    """A message with the names that its user chose for words that it was not understood for, where
    a table has the name; a word of its title is understood."""
    if not meanings:
        return text
    names = {name for table in tables for column in table.columns
             for name in (column.label, *column.values)}  # fmt: skip
    unknown = {word.casefold() for one in readings for phrase in (*one.draft.unknown,
               *one.draft.lacking) for word in phrase.split()}  # fmt: skip
    for word, name in meanings.items():
        if name in names and word.casefold() in unknown:
            text = _substitute(text, word, name)
    return text


def _choice(
    word: str, name: str, text: str, words: Sequence[str], around: Surrounding, *, of_figure: bool
) -> Choice | None:
    """The choice that a word is a name; None where the message cannot be read so, or with
    ``of_figure`` has no figure and no condition then."""
    message = _substitute(text, word, name)
    readings = requests.read(message, around)
    unknown = {each for one in readings for each in one.draft.unknown}
    if not unknown < {*words}:
        return None
    if len(readings) == 1 and readings[0].question is not None and not unknown:
        # What else is open is chosen at the same time: of each game, or of the totals.
        likely = next((one for one in readings[0].question.choices if one.frames), None)
        return replace(likely, meaning=(word, name)) if likely is not None else None
    if any(one.frame is None or one.question for one in readings):
        return None
    if of_figure and not any(one.draft.measures or one.draft.values for one in readings):
        return None
    label = f"{word} = {name}"
    if not unknown:
        label = " + ".join(frame_text(one.frame, one.table) for one in readings if one.frame)
    return Choice(label, text=message, meaning=(word, name))


def _substitute(text: str, word: str, name: str) -> str:
    """A message with a name for a word, except between quotation marks. Chinese is written without
    blanks, so a word of it has no edges."""
    edges = ("", "") if re.search(f"[{HAN}]", word) else (r"(?<!\w)", r"(?!\w)")
    pattern = rf"({QUOTATION})|{edges[0]}{re.escape(word)}{edges[1]}"
    return re.sub(pattern, lambda match: match[1] or name, text, flags=re.IGNORECASE)


def _names(word: str, table: Table) -> dict[str, int]:
    """The columns, and the values that are like a word, with how many letters it shares with them
    at their beginning or end: "Heizkosten" and "Heizung"."""
    names = {}
    for one in table.columns:
        is_figure = one.kind is Kind.NUMBER  # of "Krankheitstage" rather the days than the sick
        likeness = _likeness(word, one.label)
        names[one.label] = likeness + 2 * is_figure if likeness else 0
    values = {value: _likeness(word, value) for column in table.columns
              if column.kind is Kind.TEXT for value in column.values}  # fmt: skip
    return {**{value: likeness for value, likeness in values.items() if likeness}, **names}


def _likeness(word: str, name: str) -> int:
    from rapidfuzz.distance.OSA import distance

    letters, parts = fold(word), [fold(part) for part in name_tokens(name)]
    best = max((max(common_start(letters, part), common_start(letters[::-1], part[::-1]))
                for part in parts), default=0)  # fmt: skip
    is_near = len(letters) >= _LIKE and any(
        distance(letters, part, score_cutoff=1) < 2 for part in parts
    )
    return best if best >= _LIKE or is_near else 0
