"""The words of a message: tokens, the forms under which they are compared, and word lists.

A word list is a file ``languages/<code>.toml``; adding a language needs no code. Han characters
are tokens of their own, so that phrases of all languages are found in the same way.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Final, NamedTuple

LANGUAGES: Final = ("en", "de", "es", "fr", "zh", "ar")
WISH_CHARACTERS: Final = 1_500
"""As much of a message as is read as a wish; material that it brings along is kept whole."""

_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff"
_TOKEN: Final = re.compile(
    rf"(?P<file>[\w-][\w.-]{{0,80}}\.(?:csv|tsv|tab|xlsx?|xlsm|md|txt|pdf|docx?|html?|json|pptx|png"
    rf"|jpe?g|webp|avif|gif|zip)\b)"
    rf"|(?P<date>\b\d{{4}}-\d{{1,2}}(?:-\d{{1,2}})?\b|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}\b)"
    rf"|(?P<hex>#[0-9a-fA-F]{{6}}\b)"
    rf"|(?P<size>\b\d{{2,7}} ?[x×*] ?\d{{2,7}}\b)"
    rf"|(?P<part>\b[qQtThHsS][1-4]\b)"
    rf"|(?P<number>\d+(?:[.,'\u00a0\u202f]\d+)*)"
    rf"|(?P<han>[{_HAN}])"
    rf"|(?P<word>[^\W\d_{_HAN}]+)"
    rf"|(?P<mark><=|>=|[^\w\s])",
)
_INSIDE: Final = re.compile(r"[^\W\d_](?:-(?=[^\W\d_A-Z])|'(?=[^\W_]))")
_ARABIC_MARKS: Final = re.compile("[\u064b-\u0652\u0640\u0670]")
_ARABIC_FORMS: Final = str.maketrans("أإآٱىةؤئ", "اااايهوي")
_ARABIC_BEFORE: Final = re.compile(r"^(?:وال|بال|كال|فال|لل|ال)(?=..)")
_ARABIC_AFTER: Final = re.compile(r"(?<=...)(?:ات|ان|ين|ون|يه|ه|ي)$")


class Token(NamedTuple):
    """A word, number, mark or Han character, with its place in the text."""

    text: str
    kind: str
    start: int
    end: int


class Tag(NamedTuple):
    """What a phrase can mean: a section of the word list and a key in it."""

    section: str
    key: str


@dataclass(frozen=True)
class Lexicon:
    """The phrases of one language, by the keys of their tokens."""

    language: str
    phrases: dict[tuple[str, ...], tuple[Tag, ...]]
    longest: int
    key: Callable[[str], str]
    decimal: str
    meta: dict[str, Any] = field(default_factory=dict)

    def keys(self, word: str) -> tuple[str, ...]:
        """Forms under which a word may stand in a list, the likeliest first."""
        own = self.key(word)
        if self.language == "ar" and len(word) > 3 and word[0] in "وفبلك":
            return own, self.key(word[1:])
        return (own,)


def normal(text: str) -> str:
    """One form for what is written in several: width, quotes, digits, Arabic letters."""
    text = unicodedata.normalize("NFKC", text)
    text = text.translate({0x2019: "'", 0x2018: "'", 0x2BC: "'"})
    text = _ARABIC_MARKS.sub("", text)
    text = re.sub(r"(?i)\btl[;:]dr\b", "tldr", text)
    return "".join(
        str(unicodedata.digit(char)) if char.isdigit() and not char.isascii() else char
        for char in text
    )


def folded(word: str) -> str:
    """Lower case, without accents."""
    word = word.casefold().translate(_ARABIC_FORMS)
    parts = unicodedata.normalize("NFD", word)
    return "".join(char for char in parts if not unicodedata.combining(char))


def tokens(text: str) -> list[Token]:
    """The tokens of a text that is already `normal`; a hyphen or apostrophe inside a word parts it
    and is none."""
    return [
        Token(match[0], match.lastgroup or "mark", match.start(), match.end())
        for match in _TOKEN.finditer(text)
        if not (match[0] in "-'" and _INSIDE.match(text, max(0, match.start() - 1)))
    ]


def word_tokens(text: str) -> list[str]:
    """The words and numbers of a name or value, ``unit_price`` as two."""
    return [
        token.text for token in tokens(normal(text)) if token.kind != "mark" or token.text in "%&"
    ]


@cache
def _stemmer(name: str) -> Callable[[str], str]:
    if not name:
        return folded
    import snowballstemmer

    stem = snowballstemmer.stemmer(name).stemWord

    @lru_cache(20_000)
    def key(word: str) -> str:
        return folded(stem(word.casefold()))

    return key


@lru_cache(20_000)
def _arabic_key(word: str) -> str:
    bare = _ARABIC_BEFORE.sub("", folded(word))
    return _ARABIC_AFTER.sub("", bare)


@cache
def word_list(language: str) -> dict[str, Any]:
    """A language's file as it stands, with the sections that makers add."""
    return _toml(f"languages/{language}.toml")


def _toml(name: str) -> dict[str, Any]:
    package = resources.files("agentpost.agents.offline.understanding")
    return tomllib.loads((package / name).read_text("utf-8"))


@cache
def lexicon(language: str) -> Lexicon:
    """The phrases of a language; those of English are known in all."""
    read = word_list(language)
    meta = read["meta"]
    key = _arabic_key if language == "ar" else _stemmer(meta.get("stemmer", ""))
    found: dict[tuple[str, ...], list[Tag]] = {}
    for section, entries in read.items():
        if section in ("meta", "value"):
            continue
        for name, listed in entries.items():
            for phrase in listed.split(";"):
                spelled = tuple(key(token.text) for token in tokens(normal(phrase.strip())))
                if spelled and Tag(section, name) not in found.setdefault(spelled, []):
                    found[spelled].append(Tag(section, name))
    phrases = {spelled: tuple(tags) for spelled, tags in found.items()}
    longest = max(map(len, phrases))
    return Lexicon(language, phrases, longest, key, meta.get("decimal", "."), meta)


@cache
def concepts() -> dict[tuple[str, ...], str]:
    """What columns are usually called, in all languages, by the keys of each language's words."""
    found: dict[tuple[str, ...], str] = {}
    for language in LANGUAGES:
        words = lexicon(language)
        for spelled, tags in words.phrases.items():
            for tag in tags:
                if tag.section == "concept":
                    found.setdefault(spelled, tag.key)
    return found


@cache
def meanings_of_values(language: str) -> dict[tuple[str, ...], tuple[str, ...]]:
    """What cells are usually called, by the keys of a language's words: "women" is ``female``."""
    words = lexicon(language)
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name, listed in word_list(language).get("value", {}).items():
        for phrase in listed.split(";"):
            spelled = tuple(words.key(token.text) for token in tokens(normal(phrase.strip())))
            found[spelled] = (*found.get(spelled, ()), name)
    return found


@cache
def meaning_of_value(said: tuple[str, ...]) -> frozenset[str]:
    """What a cell's words mean, in any language."""
    return frozenset(
        name
        for language in LANGUAGES
        for name in meanings_of_values(language).get(keys_of(said, lexicon(language)), ())
    )


@cache
def _evidence(language: str) -> tuple[frozenset[str], frozenset[str]]:
    read = word_list(language)
    marks = {folded(word.strip()) for word in read["meta"]["marks"].split(";")}
    others = {
        folded(token.text)
        for section, entries in read.items()
        if section not in ("meta", "format", "colour", "value")
        for listed in entries.values()
        for token in tokens(normal(listed))
        if token.kind == "word"
    }
    return frozenset(marks), frozenset(others)


def language_of(text: str, before: str = "en") -> str:
    """The language of a message; ``before`` where its words do not tell."""
    text = normal(text[:WISH_CHARACTERS])
    han = len(re.findall(f"[{_HAN}]", text))
    arabic = len(re.findall("[\u0600-\u06ff]", text))
    latin = len(re.findall(r"[a-zA-ZÀ-ɏ]", text))
    if han and han * 3 >= latin:
        return "zh"
    if arabic and arabic * 2 >= latin:
        return "ar"
    said = {folded(token.text) for token in tokens(text) if token.kind == "word"}
    scores: dict[str, float] = {}
    for language in (code for code in LANGUAGES if code not in ("zh", "ar")):
        marks, others = _evidence(language)
        scores[language] = 2 * len(said & marks) + len(said & (others - marks))
    best = max(scores.values())
    if best == 0 or scores.get(before, 0) == best:
        return before
    return next(language for language, score in scores.items() if score == best)


_LARGEST = 1e100


def number(text: str, decimal: str) -> float | None:
    """A number as people write it; a mark before three digits is read as the language has it.

    None for a number that nobody counts with: its sums and squares would be infinite.
    """
    value = _value(text, decimal)
    return value if value <= _LARGEST else None


def _value(text: str, decimal: str) -> float:
    bare = re.sub("['\u00a0\u202f]", "", text)
    marks = [char for char in bare if char in ".,"]
    if not marks:
        return float(bare)
    last = marks[-1]
    whole, _, fraction = bare.rpartition(last)
    both = len(set(marks)) == 2
    grouped = marks.count(last) > 1 or (len(fraction) == 3 and last != decimal and not both)
    if grouped:
        return float(re.sub("[.,]", "", bare))
    return float(f"{re.sub('[.,]', '', whole)}.{fraction}")


def keys_of(words: Sequence[str], lexicon: Lexicon) -> tuple[str, ...]:
    """The keys of a name's words in a language."""
    return tuple(lexicon.key(word) for word in words)


def spans(length: int, longest: int) -> Iterable[tuple[int, int]]:
    """Starts and ends of all spans, the longest first at each start."""
    for start in range(length):
        for size in range(min(longest, length - start), 0, -1):
            yield start, start + size
