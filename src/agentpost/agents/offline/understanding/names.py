"""The columns and values of a table, as people may name them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentpost.agents.offline.data.computed import Columns
from agentpost.agents.offline.data.model import Column, Kind, Role, Table
from agentpost.agents.offline.understanding.words import (
    LANGUAGES,
    Lexicon,
    concepts,
    folded,
    keys_of,
    lexicon,
    meaning_of_value,
    word_tokens,
)

_OF_TIME = ("date", "start")
_TINY = 3
"""Values up to this length are found only in their own capitals: "IT" is no "it"."""


@dataclass
class Names:
    """What the words of a table's header and cells stand for, in one language's keys."""

    table: Table
    language: str = "en"
    columns: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    values: dict[tuple[str, ...], list[tuple[str, str]]] = field(default_factory=dict)
    value_parts: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Values by single words of them: "Acme" of "Acme Ltd"."""
    meant: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Values by what they mean: ``female``."""
    parts: dict[str, set[str]] = field(default_factory=dict)
    """Columns by single words of their names."""
    concepts: dict[str, list[str]] = field(default_factory=dict)
    """Columns by what they are usually about."""
    longest: int = 1
    words: frozenset[str] = frozenset()
    """Words of the table's own name."""

    def column(self, name: str) -> Column:
        """The column with a name."""
        return self._columns[name]

    def __post_init__(self) -> None:
        self._columns = Columns(self.table)


def names_of(table: Table, words: Lexicon) -> Names:
    """Index a table's names for a language."""
    found = Names(table, words.language)
    for column in table.columns:
        for name in dict.fromkeys((column.name, column.label)):
            _add_column(found, column, word_tokens(name), words)
        for concept in column_concepts(column):
            listed = found.concepts.setdefault(concept, [])
            if column.name not in listed:
                listed.append(column.name)
        if column.kind in (Kind.TEXT, Kind.BOOLEAN) or column.role is Role.CATEGORY:
            _add_values(found, column, words)
    for listed in found.concepts.values():
        named = [name for name in listed if found.column(name).role is not Role.IDENTIFIER]
        listed[:] = named or listed
    for part in found.parts.values():
        timeless = {name for name in part if found.column(name).kind is not Kind.DATE}
        part &= timeless or part
    stem = table.name.rpartition(".")[0] or table.name
    found.words = frozenset(keys_of(word_tokens(stem), words)) | {
        folded(word) for word in word_tokens(table.name)
    }
    return found


def _add_column(found: Names, column: Column, said: Sequence[str], words: Lexicon) -> None:
    for keys in {keys_of(said, words), tuple(folded(word) for word in said)}:
        if not keys:
            continue
        listed = found.columns.setdefault(keys, [])
        if column.name not in listed:
            listed.append(column.name)
        found.longest = max(found.longest, len(keys))
        for key in keys:
            if len(key) > 2:
                found.parts.setdefault(key, set()).add(column.name)


def _add_values(found: Names, column: Column, words: Lexicon) -> None:
    for value in column.values:
        said = word_tokens(value)
        if not said or len(said) > 8:
            continue
        for meaning in meaning_of_value(tuple(said)):
            found.meant.setdefault(meaning, []).append((column.name, value))
        if len(said) > 1 and column.role is Role.CATEGORY:
            for word in {words.key(word) for word in said if len(word) > 3 and word.isalpha()}:
                found.value_parts.setdefault(word, []).append((column.name, value))
        for keys in {keys_of(said, words), tuple(folded(word) for word in said)}:
            listed = found.values.setdefault(keys, [])
            if (column.name, value) not in listed:
                listed.append((column.name, value))
            found.longest = max(found.longest, len(keys))


def is_tiny(value: str) -> bool:
    """Whether a value is too short to be found in other capitals than its own."""
    return len(value) <= _TINY and value.isascii()


def column_concepts(column: Column) -> list[str]:
    """What a column is about, by its name in any language: the whole name, else its parts. A date
    is about nothing but time: an "order date" is no order."""
    if column.kind is Kind.DATE:
        return [one for one in _concepts_of(column) if one in _OF_TIME]
    return _concepts_of(column)


def _concepts_of(column: Column) -> list[str]:
    said = word_tokens(column.name)
    known = concepts()
    whole: list[str] = []
    for language in LANGUAGES:
        keys = keys_of(said, lexicon(language))
        if keys in known and known[keys] not in whole:
            whole.append(known[keys])
    if whole:
        return whole
    parts: list[str] = []
    for language in LANGUAGES:
        keys = keys_of(said, lexicon(language))
        for size in (3, 2, 1):
            for start in range(len(keys) - size + 1):
                concept = known.get(keys[start : start + size])
                if concept is not None and concept not in parts:
                    parts.append(concept)
    return parts
