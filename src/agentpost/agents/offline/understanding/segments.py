"""Segments: the words of a clause with everything that they can mean.

The longest phrase wins, whether it stands in a word list or names a column or value. A word that
is known nowhere is compared with those that are, so that a typo is understood; short words and
numbers are never corrected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from agentpost.agents.offline.data.model import Kind
from agentpost.agents.offline.understanding.names import Names, is_tiny
from agentpost.agents.offline.understanding.words import (
    Lexicon,
    Tag,
    Token,
    folded,
    lexicon,
    meanings_of_values,
    normal,
    number,
    tokens,
)

_NOT_CORRECTED_TO = frozenset(
    ("filler", "month", "number", "hint", "concept", "unable", "talk", "again", "agree", "input")
)
_COMPOUND_TAIL = frozenset(("thing", "concept", "grain"))


@dataclass(slots=True)
class Segment:
    """A phrase of a clause."""

    text: str
    kind: str
    start: int
    end: int
    tags: frozenset[Tag] = frozenset()
    columns: tuple[str, ...] = ()
    """Columns that it names; several when the words fit several."""
    literal: bool = False
    """Whether a column's whole name was said, not a part or a synonym."""
    values: tuple[tuple[str, str], ...] = ()
    number: float | None = None
    corrected: str = ""
    """The word that a typo was read as."""
    joined: bool = False
    """Whether an "and" is part of the word, as in Arabic."""
    used: bool = field(default=False, compare=False)

    def has(self, section: str, *keys: str) -> bool:
        """Whether it can stand for one of the keys of a section, or for any of them."""
        return any(tag.section == section and (not keys or tag.key in keys) for tag in self.tags)

    def key(self, section: str) -> str | None:
        """The key of a section that it stands for."""
        found = [tag.key for tag in self.tags if tag.section == section]
        return min(found) if found else None


def segments(text: str, language: str, names: Names | None = None) -> list[Segment]:
    """The segments of a clause. ``text`` is `normal`; places are those in it."""
    words = lexicon(language)
    said = tokens(text)
    found: list[Segment] = []
    at = 0
    while at < len(said):
        segment, taken = _longest(text, said, at, words, names)
        found.extend(segment)
        at += taken
    return found


def _longest(
    text: str, said: Sequence[Token], at: int, words: Lexicon, names: Names | None
) -> tuple[list[Segment], int]:
    first = said[at]
    if first.kind in ("file", "date", "hex", "size") or (
        first.kind == "part" and not _begins_name(said[at:], words, names)
    ):
        return [_plain(first)], 1
    limit = max(words.longest, names.longest if names else 1)
    for size in range(min(limit, len(said) - at), 0, -1):
        span = said[at : at + size]
        if any(token.kind in ("file", "date", "hex", "size") for token in span):
            continue
        for joined, keys in _spellings(span, words):
            segment = _meant(text, span, keys, words, names)
            if segment is not None:
                segment.joined = joined
                return [segment], size
    if first.kind == "number":
        segment = _plain(first)
        segment.number = number(first.text, words.decimal)
        return [segment], 1
    if first.kind == "han":
        return _unknown_han(text, said, at, words, names)
    if first.kind == "word":
        return _unknown_word(first, words, names), 1
    return [_plain(first)], 1


def _begins_name(said: Sequence[Token], words: Lexicon, names: Names | None) -> bool:
    """Whether a part of a year begins the name of a column: "Q1 Actual"."""
    if names is None:
        return False
    keys = tuple(words.key(token.text) for token in said[: names.longest])
    plain = tuple(folded(token.text) for token in said[: names.longest])
    return any(
        keys[:size] in names.columns or plain[:size] in names.columns
        for size in range(2, len(keys) + 1)
    )


def _spellings(span: Sequence[Token], words: Lexicon) -> Iterable[tuple[bool, tuple[str, ...]]]:
    yield False, tuple(words.key(token.text) for token in span)
    options = words.keys(span[0].text)
    if len(options) > 1:
        rest = tuple(words.key(token.text) for token in span[1:])
        yield span[0].text[0] == "و", (options[1], *rest)


def _plain(token: Token) -> Segment:
    return Segment(token.text, token.kind, token.start, token.end)


def _meant(
    text: str,
    span: Sequence[Token],
    keys: tuple[str, ...],
    words: Lexicon,
    names: Names | None,
) -> Segment | None:
    start, end = span[0].start, span[-1].end
    if "mark" in (span[0].kind, span[-1].kind) and len(span) > 1:
        return None
    tags = frozenset(words.phrases.get(keys, ()))
    if not tags and words.language != "en" and span[0].text.isascii():
        english = lexicon("en")
        tags = frozenset(english.phrases.get(tuple(english.key(t.text) for t in span), ()))
        if all(tag.section in ("filler", "question", "for", "by", "of", "not") for tag in tags):
            tags = frozenset()
    if tags and all(tag.section == "sort" for tag in tags) and span[-1].text.lower() == "orders":
        return None  # as in "growth in orders": not "in order"
    columns, literal, values = _named(text[start:end], keys, tags, names) if names else ((), 0, ())
    if not tags and not columns and not values:
        return None
    kind = span[0].kind if len(span) == 1 else "word"
    number_of = number(span[0].text, words.decimal) if kind == "number" else None
    return Segment(
        text[start:end], kind, start, end, tags, tuple(columns), bool(literal), tuple(values),
        number=number_of,
    )  # fmt: skip


def _named(
    said: str, keys: tuple[str, ...], tags: frozenset[Tag], names: Names
) -> tuple[tuple[str, ...], bool, tuple[tuple[str, str], ...]]:
    plain = tuple(folded(token.text) for token in tokens(said) if token.kind != "mark")
    columns = names.columns.get(keys) or names.columns.get(plain) or []
    literal = bool(columns)
    if not columns and not _common(tags):
        for tag in tags:
            if tag.section == "concept":
                columns = names.concepts.get(tag.key, [])
                if columns:
                    break
    weak = all(tag.section in _WEAK for tag in tags)
    if not columns and len(keys) == 1 and weak:
        columns = sorted(
            names.parts.get(keys[0]) or names.parts.get("".join(plain[:1])) or set[str]()
        )
    values = names.values.get(keys) or names.values.get(plain) or []
    common = _common(tags)
    kept = tuple(
        (column, value)
        for column, value in values
        if (said == value and (not common or said != said.casefold()))
        or not (common or (is_tiny(value) and (tags or not value.istitle())))
    )
    if not kept and not common:
        kept = _values_meant(keys, names, known=bool(tags or columns))
    return tuple(columns), literal, kept


_WEAK = ("documents", "source", "counted", "rows", "unit", "hint", "again", "agree", "input")
"""Sections whose words may as well be part of a column's name."""


def _values_meant(
    keys: tuple[str, ...], names: Names, *, known: bool
) -> tuple[tuple[str, str], ...]:
    """The value that a word means ("women"), or of which it is the only known part ("Acme")."""
    for meaning in meanings_of_values(names.language).get(keys, ()):
        found = names.meant.get(meaning, ())
        if found:
            return tuple(found)
    if known or len(keys) > 1:
        return ()
    parts = names.value_parts.get(keys[0], ())
    return tuple(parts) if len(parts) == 1 else ()


def _common(tags: frozenset[Tag]) -> bool:
    """Whether a word has a use in most sentences, whatever a table calls its columns."""
    return any(
        tag.section in ("filler", "by", "and", "question", "pronoun") and tag.key != "soft"
        for tag in tags
    )


def _unknown_han(
    text: str, said: Sequence[Token], at: int, words: Lexicon, names: Names | None
) -> tuple[list[Segment], int]:
    end = at + 1
    limit = max(words.longest, names.longest if names else 1)
    while end < len(said) and said[end].kind == "han":
        known = any(
            _meant(
                text,
                said[end : end + size],
                tuple(words.key(token.text) for token in said[end : end + size]),
                words,
                names,
            )
            for size in range(min(limit, len(said) - end), 0, -1)
        )
        if known:
            break
        end += 1
    start, stop = said[at].start, said[end - 1].end
    return [Segment(text[start:stop], "word", start, stop)], end - at


def _unknown_word(token: Token, words: Lexicon, names: Names | None) -> list[Segment]:
    if words.meta.get("compounds"):
        parts = _compound(token, words, names)
        if parts:
            return parts
    corrected = _corrected(token.text, words, names)
    if corrected is None:
        return [_plain(token)]
    segment = _meant(corrected, tokens(normal(corrected)), (words.key(corrected),), words, names)
    if segment is None:
        return [_plain(token)]
    segment.text, segment.start, segment.end = token.text, token.start, token.end
    segment.corrected = corrected
    return [segment]


def _compound(token: Token, words: Lexicon, names: Names | None) -> list[Segment]:
    """As in "Umsatzdiagramm" as two segments, when both parts are known."""
    word = token.text
    for cut in range(len(word) - 3, 2, -1):
        tail = Token(word[cut:], "word", token.start + cut, token.end)
        end = _meant(_padded(tail), [tail], (words.key(tail.text),), words, names)
        if end is None or not (end.columns or any(t.section in _COMPOUND_TAIL for t in end.tags)):
            continue
        for link in ("", "s", "es", "n", "en"):
            if link and not word[:cut].endswith(link):
                continue
            head = Token(word[: cut - len(link)], "word", token.start, token.start + cut)
            begin = _meant(_padded(head), [head], (words.key(head.text),), words, names)
            if begin is not None and len(head.text) > 2:
                begin.text, end.text = head.text, tail.text
                return [begin, end]
    return []


def _padded(token: Token) -> str:
    return " " * token.start + token.text


def _corrected(word: str, words: Lexicon, names: Names | None) -> str | None:
    """The known word of which this one is a typo."""
    if len(word) < 4 or not word.isalpha():
        return None
    from rapidfuzz.distance import OSA

    typed = folded(word)
    most = 1 if len(typed) < 8 else 2
    for known in (_spelled(names) if names else {}, _list_words(words.language)):
        best: tuple[int, str] | None = None
        for spelled, written in known.items():
            if len(spelled) < 5 or abs(len(spelled) - len(typed)) > most or spelled[0] != typed[0]:
                continue
            distance = OSA.distance(typed, spelled, score_cutoff=most)
            if len(typed) < 5 and len(typed) >= len(spelled):
                continue
            if distance > most or (_swapped_letter(typed, spelled) and len(typed) < 7):
                continue
            if best is None or distance < best[0]:
                best = (distance, written)
        if best is not None:
            return best[1]
    return None


def _swapped_letter(typed: str, known: str) -> bool:
    """Whether one letter stands for another: "store" for "score" is another word, no typo."""
    if len(typed) != len(known):
        return False
    return sum(a != b for a, b in zip(typed, known, strict=True)) == 1


def _spelled(names: Names) -> dict[str, str]:
    found: dict[str, str] = {}
    for column in names.table.columns:
        for word in re.findall(r"[^\W\d_]+", normal(f"{column.name} {column.label}")):
            found.setdefault(folded(word), word)
        if column.kind is Kind.TEXT:
            for value in column.values:
                if value.isalpha():
                    found.setdefault(folded(value), value)
    return found


@cache
def _list_words(language: str) -> dict[str, str]:
    from agentpost.agents.offline.understanding.words import word_list

    found: dict[str, str] = {}
    for section, entries in word_list(language).items():
        if section in ("meta", "value") or section in _NOT_CORRECTED_TO:
            continue
        for listed in entries.values():
            for phrase in listed.split(";"):
                word = phrase.strip()
                if word.isalpha():
                    found.setdefault(folded(word), word)
    return found
