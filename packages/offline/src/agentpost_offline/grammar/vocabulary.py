"""The words of requests: one table for each language, from phrases to meanings."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Final

from agentpost_offline.data import words as calendar_words
from agentpost_offline.grammar.text import (
    HAN,
    WISH_CHARACTERS,
    folded,
    name_tokens,
    normal,
    tokens,
)

LANGUAGES: Final = ("en", "de", "es", "fr", "zh", "ar")
_ARABIC_BEFORE: Final = re.compile(r"^(?:وال|بال|كال|فال|لل|ال)(?=..)")
_ARABIC_AFTER: Final = re.compile(r"(?<=...)(?:ات|ان|ين|ون|يه|ه|ي)$")
_STEMMERS: Final = {"en": "english", "de": "german", "es": "spanish", "fr": "french"}
_LISTS: Final = {
    "number": ("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "12", "15", "20", "30", "60"),
    "scale": ("1000", "1000000", "1000000000"),
    "ordinal": ("1", "2", "3", "-1"),
    "language": LANGUAGES,
    "colour": (
        "#1f5fa8", "#c0392b", "#2e8b57", "#e07b39", "#7d5ba6", "#128277", "#c74a85", "#22272e",
        "#6b7580", "#d9a400", "#8a5a3c", "#1b2f5b", "#2a9d9d", "#7fb2e5", "#1d5c3a",
    ),
}  # fmt: skip
"""What the phrases of a list mean, in their order."""
DECIMALS: Final = {"de": ",", "es": ",", "fr": ","}
"""The decimal mark of a language where it is no point."""


@dataclass(frozen=True)
class Lexicon:
    """The phrases of one language: ``section.key`` by the keys of the words."""

    language: str
    phrases: dict[tuple[str, ...], tuple[str, ...]]
    longest: int
    key: Callable[[str], str]
    exact: frozenset[tuple[str, ...]]
    """The phrases of several words as they are written, folded."""
    spellings: dict[str, str]
    """The single words of five and more letters, folded, for typos."""

    @property
    def decimal(self) -> str:
        """The decimal mark."""
        return DECIMALS.get(self.language, ".")

    def keys(self, word: str) -> tuple[str, ...]:
        """Forms under which a word may stand in the table, the likeliest first."""
        own = self.key(word)
        if self.language == "ar" and len(word) > 3 and word[0] in "وفبلك":
            return own, self.key(word[1:])
        return (own,)


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    if language not in _STEMMERS:
        return _arabic_key if language == "ar" else folded
    import snowballstemmer

    stem = snowballstemmer.stemmer(_STEMMERS[language]).stemWord

    @lru_cache(20_000)
    def key(word: str) -> str:
        return folded(stem(word.casefold()))

    return key


@lru_cache(20_000)
def _arabic_key(word: str) -> str:
    return _ARABIC_AFTER.sub("", _ARABIC_BEFORE.sub("", folded(word)))


@cache
def word_list(language: str) -> dict[str, dict[str, str]]:
    """A language's table as it stands: sections of keys with phrases between semicolons."""
    path = resources.files("agentpost_offline.grammar") / "words" / f"{language}.toml"
    read = tomllib.loads(path.read_text("utf-8"))
    for section, listed in read.pop("lists").items():
        phrases = (phrase.replace(",", ";") for phrase in listed.split(";"))
        read[section] = dict(zip(_LISTS[section], phrases, strict=True))
    names = calendar_words.languages()[language]
    short = names["short_months"]
    read["month"] = {
        str(at): f"{name}; {short[at - 1]}" for at, name in enumerate(names["months"], 1)
    }
    read.setdefault("weekday", {}).update(
        {str(at): name for at, name in enumerate(names["weekdays"], 1)}
    )
    return read


@cache
def lexicon(language: str) -> Lexicon:
    """The phrases of a language."""
    key = _stemmer(language)
    phrases: dict[tuple[str, ...], tuple[str, ...]] = {}
    exact: set[tuple[str, ...]] = set()
    spellings: dict[str, str] = {}
    for section, entries in word_list(language).items():
        for name, listed in entries.items():
            meaning = f"{section}.{name}"
            for phrase in listed.split(";"):
                words = [token.text for token in tokens(normal(phrase.strip()))]
                spelt = tuple(map(key, words))
                if spelt and meaning not in phrases.get(spelt, ()):
                    phrases[spelt] = (*phrases.get(spelt, ()), meaning)
                exact.add(tuple(map(folded, words)))
                if len(words) == 1 and len(words[0]) > 4:
                    spellings.setdefault(folded(words[0]), words[0])
    return Lexicon(language, phrases, max(map(len, phrases)), key, frozenset(exact), spellings)


@cache
def concepts() -> dict[tuple[str, ...], str]:
    """What columns are usually called, in all languages, by the keys of each language's words."""
    found: dict[tuple[str, ...], str] = {}
    for language in LANGUAGES:
        for spelt, meanings in lexicon(language).phrases.items():
            for meaning in meanings:
                if meaning.startswith("concept."):
                    found.setdefault(spelt, meaning.removeprefix("concept."))
    return found


def concept_of(name: str) -> str | None:
    """What a column is about by its name, in any language: the whole name, or its last words."""
    said = name_tokens(name)
    known = concepts()
    for start in range(len(said)):
        for language in LANGUAGES:
            keys = tuple(map(lexicon(language).key, said[start:]))
            if keys in known:
                return known[keys]
    return known.get(tuple(map(folded, said[:1]))) if said else None


@cache
def _evidence(language: str) -> tuple[frozenset[str], frozenset[str]]:
    read = word_list(language)

    def words(sections: set[str]) -> frozenset[str]:
        return frozenset(
            folded(token.text)
            for section in sections
            for listed in read.get(section, {}).values()
            for token in tokens(normal(listed))
            if token.kind == "word"
        )

    return words({"small"}), words(set(read) - {"format", "colour"})


@cache
def _steering(language: str) -> frozenset[str]:
    """The single words that talk, or steer what runs."""
    return frozenset(
        folded(phrase.strip())
        for section in ("talk", "control", "edit")
        for listed in word_list(language)[section].values()
        for phrase in listed.split(";")
    )


def language_of(text: str, before: str | None = None) -> str:
    """The language of a message; ``before``, else English, where its words do not tell. One word
    does not change the language of a conversation."""
    text = normal(text[:WISH_CHARACTERS])
    han = len(re.findall(f"[{HAN}]", text))
    arabic = len(re.findall("[\u0600-\u06ff]", text))
    latin = len(re.findall(r"[a-zA-ZÀ-ɏ]", text))
    if han and han * 3 >= latin:
        return "zh"
    if arabic and arabic * 2 >= latin:
        return "ar"
    said = {
        folded(token.text) for token in tokens(text) if token.kind == "word" and len(token.text) > 1
    }
    if before is not None and len(said) < 2:
        steering = (code for code in ("en", "de", "es", "fr") if said & _steering(code))
        return before if said & _steering(before) else next(steering, before)
    before = before or "en"
    scores: dict[str, float] = {}
    for language in ("en", "de", "es", "fr"):
        small, others = _evidence(language)
        scores[language] = 2 * len(said & small) + len(said & (others - small))
    best = max(scores, key=lambda language: scores[language])
    own = scores.get(before, 0)
    # One word more is no proof where both languages have some: it may be the name of a column.
    is_proof = own == 0 or scores[best] - own > 1 or bool(said & _evidence(best)[0])
    return best if scores[best] > own and is_proof else before
