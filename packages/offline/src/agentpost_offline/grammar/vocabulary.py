"""The words of requests: one table for each language, from phrases to meanings."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from agentpost_offline.data import words as calendar_words
from agentpost_offline.grammar.text import (
    HAN,
    WISH_CHARACTERS,
    common_start,
    fold,
    name_tokens,
    normal,
    tokens,
)
from agentpost_offline.words import LANGUAGES, nouns, stem, table

_ARABIC_BEFORE: Final = re.compile(r"^(?:وال|بال|كال|فال|لل|ال)(?=..)")
_ARABIC_AFTER: Final = re.compile(r"(?<=...)(?:ات|ان|ين|ون|يه|ه|ي)$")
_ARABIC_PRONOUN: Final = re.compile("(?<=...)(?:هم|ها|هن|هما)$")
_SPANISH_PRONOUN: Final = re.compile("(.{3,}?)(?:(?:me|nos|se)?(?:lo|la|los|las)|me|nos)")
"""What is joined to a verb: "pásalo", "ponmelo"."""
_LETTERS: Final = {
    "en": re.compile(r"(?i)n't\b|'(?:m|ve|re|ll)\b"), "de": re.compile("(?i)[äöüß]"),
    "es": re.compile(r"(?i)[ñ¿¡]|\by\b"), "fr": re.compile(r"(?i)[çèêœ]|\b(?:d|l|n|j|qu|s)'"),
}  # fmt: skip
"""Letters and short forms of one language."""
_ENDING: Final = 4
"""The longest ending of a form: "visualise" and "visualising"."""
_IN_BRACKETS: Final = re.compile(r"\s*\([^()]*\)\s*$")
_NOT_OF_REQUESTS: Final = ("lists", "documents", "tables")
_STEMMERS: Final = {"en": "english", "de": "german", "es": "spanish", "fr": "french"}
_LISTS: Final = {
    "number": ("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "12", "15", "20", "30", "60"),
    "scale": ("1000", "1000000", "1000000000"),
    "ordinal": ("1", "2", "3", "-1"),
    "language": LANGUAGES,
    "value": ("female", "male", "north", "south", "east", "west", "usd", "eur", "gbp", "chf",
              "unpaid", "unsold", "income", "expense", "undone"),
    "colour": (
        "#1f5fa8", "#c0392b", "#2e8b57", "#e07b39", "#7d5ba6", "#128277", "#c74a85", "#22272e",
        "#6b7580", "#d9a400", "#8a5a3c", "#1b2f5b", "#2a9d9d", "#7fb2e5", "#1d5c3a",
        "#ffffff",
    ),
}  # fmt: skip
"""What the phrases of a list mean, in their order."""
_FORMATS: Final = {
    "png": "png", "svg": "svg", "webp": "webp", "gif": "gif", "pptx": "powerpoint file",
    "csv": "as csv; csv format", "html": "html", "md": "markdown", "mp4": "mp4",
}  # fmt: skip
"""Formats that are called alike in every language."""
DECIMALS: Final = {"de": ",", "es": ",", "fr": ","}
"""The decimal mark of a language where it is no point."""


@dataclass(frozen=True)
class Lexicon:
    """The phrases of one language: ``section.key`` by the keys of the words."""

    language: str
    phrases: dict[tuple[str, ...], tuple[str, ...]]
    longest: int
    key: Callable[[str], str]
    exact: dict[tuple[str, ...], tuple[str, ...]]
    """The same by the words as they are written, folded: "rapporte" is a verb and no report."""
    spellings: dict[str, str]
    """The single words of five and more letters, folded, for typos."""

    @property
    def decimal(self) -> str:
        """The decimal mark."""
        return DECIMALS.get(self.language, ".")

    def keys(self, word: str) -> tuple[str, ...]:
        """Forms under which a word may stand in the table, the likeliest first."""
        own = self.key(word)
        if self.language == "ar" and len(word) > 2:
            rest = word[1:] if word[0] in "وفبلك" and (len(word) > 3 or word[0] == "و") else word
            bare = _ARABIC_PRONOUN.sub("", rest)
            bare = f"{bare[:-1]}ة" if bare != rest and bare.endswith("ت") else bare  # "تكلفتها"
            return own, self.key(rest), self.key(bare)
        if self.language == "es" and (match := _SPANISH_PRONOUN.fullmatch(fold(word))):
            return own, self.key(match[1])
        return (own,)

    def meanings_of(self, word: str) -> tuple[str, ...]:
        """What a word means as it is written."""
        return self.exact.get((fold(word),), ())

    def inflects(self, word: str) -> bool:
        """Whether a word is a form of a single word that stands in the table, and not only has its
        stem: "animals" are no "animation"."""
        own = fold(word)
        forms = _single_words(self.language).get(self.key(word), ())
        rests = [sorted(len(one) - common_start(own, form) for one in (own, form))
                 for form in forms]  # fmt: skip
        return self.language not in _STEMMERS or any(
            shorter <= 1 and longer <= _ENDING for shorter, longer in rests
        )

    def pronoun(self, word: str) -> set[str]:
        """What a pronoun means that is joined to a word's end, as in "pásalo" and "ponlos"."""
        pattern = {"es": _SPANISH_PRONOUN, "ar": _ARABIC_PRONOUN}.get(self.language)
        if pattern is None or pattern.search(fold(word)) is None:
            return set()
        is_plural = fold(word).endswith(("los", "las", "هم", "هن", "هما"))
        return {"small.it", "them.0"} if is_plural else {"small.it"}


@cache
def _single_words(language: str) -> dict[str, list[str]]:
    """The phrases of one word by their stems."""
    words = lexicon(language)
    results: dict[str, list[str]] = {}
    for form, *rest in words.exact:
        if not rest:
            results.setdefault(words.key(form), []).append(form)
    return results


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    if language not in _STEMMERS:
        return _arabic_key if language == "ar" else fold
    algorithm = _STEMMERS[language]

    @lru_cache(20_000)
    def key(word: str) -> str:
        return fold(stem(word.casefold(), algorithm))

    return key


@lru_cache(20_000)
def _arabic_key(word: str) -> str:
    return _ARABIC_AFTER.sub("", _ARABIC_BEFORE.sub("", fold(word)))


_LONGER_SHORT: Final = {"sep": "; sept"}


@cache
def word_list(language: str) -> dict[str, dict[str, str]]:
    """A language's table as it stands: sections of keys with phrases between semicolons."""
    read = {name: keys for name, keys in table(language).items() if name not in _NOT_OF_REQUESTS}
    for section, entries in table(language)["lists"].items():
        phrases = (phrase.replace(",", ";") for phrase in entries.split(";"))
        read[section] = dict(zip(_LISTS[section], phrases, strict=True))
    read["format"] = {**_FORMATS, **read["format"]}
    names = calendar_words.languages()[language]
    short = names["short_months"]
    read["month"] = {
        str(at): f"{name}; {short[at - 1]}{_LONGER_SHORT.get(short[at - 1], '')}"
        for at, name in enumerate(names["months"], 1)
    }
    days = {str(at): name for at, name in enumerate(names["weekdays"], 1)}
    read["weekday"] = {**read.get("weekday", {}), **days}
    return read


@cache
def lexicon(language: str) -> Lexicon:
    """The phrases of a language."""
    key = _stemmer(language)
    phrases: dict[tuple[str, ...], tuple[str, ...]] = {}
    exact: dict[tuple[str, ...], tuple[str, ...]] = {}
    spellings: dict[str, str] = {}
    for section, entries in word_list(language).items():
        for name, line in entries.items():
            meaning = f"{section}.{name}"
            for phrase in line.split(";"):
                words = [token.text for token in tokens(normal(phrase.strip()))]
                for index, spelt in ((phrases, map(key, words)), (exact, map(fold, words))):
                    keys = tuple(spelt)
                    if keys and meaning not in index.get(keys, ()):
                        index[keys] = (*index.get(keys, ()), meaning)
                if len(words) == 1 and len(words[0]) > 4:
                    spellings.setdefault(fold(words[0]), words[0])
    return Lexicon(language, phrases, max(map(len, phrases)), key, exact, spellings)


@cache
def english_things() -> dict[str, str]:
    """English words for things and charts, folded: they are used in every language."""
    english = lexicon("en")
    return {
        spelt: word for spelt, word in english.spellings.items()
        if any(one.startswith(("thing.", "kind.")) for one in english.phrases[(english.key(word),)])
    }  # fmt: skip


@cache
def concepts() -> dict[tuple[str, ...], str]:
    """What columns are usually called, in all languages, by the keys of each language's words."""
    results: dict[tuple[str, ...], str] = {}
    for language in LANGUAGES:
        for spelt, meanings in lexicon(language).phrases.items():
            for meaning in meanings:
                if meaning.startswith("concept."):
                    results.setdefault(spelt, meaning.removeprefix("concept."))
    return results


@cache
def _things() -> dict[str, frozenset[str]]:
    """The things that a word may name, by their places in the list of nouns."""
    results: dict[str, frozenset[str]] = {}
    for kind, lines in nouns().items():
        for place, line in enumerate(lines):
            for phrase in line.split(";"):
                key = _noun_key(phrase.strip())
                results[key] = results.get(key, frozenset()) | {f"{kind} {place}"}
    return results


_NAMES: Final = ("people", "rows", "figures", "others")
"""The kinds of nouns that columns and rows are called by."""


@lru_cache(20_000)
def things_called(word: str, *kinds: str) -> frozenset[str]:
    """Which things of the list of nouns a word names, in any language; only those of some kinds,
    where any is given: people, rows, figures, others, values."""
    key = _noun_key(word)
    names = _things().get(key) or _things().get(key.removesuffix("s"), frozenset())
    return frozenset(one for one in names if one.startswith(kinds or _NAMES))


def synonyms(value: str) -> tuple[str, ...]:
    """What a value is called in other languages: "storniert" for "cancelled"."""
    lines = nouns()["values"]
    places = (int(one.partition(" ")[2]) for one in things_called(value, "values"))
    return tuple(word.strip() for place in places for word in lines[place].split(";"))


def _noun_key(word: str) -> str:
    """A word without the article that Arabic joins to it."""
    return _ARABIC_BEFORE.sub("", fold(normal(word)))


def without_brackets(name: str) -> str:
    """A column's name without what stands in brackets behind it, as a unit does."""
    return _IN_BRACKETS.sub("", normal(name)) or name


_BY: Final = ("by", "von", "par", "por")


def concept_of(name: str) -> str | None:
    """What a column is about by its name, in any language: the whole name, or its last words."""
    parts = name_tokens(without_brackets(name))
    by_name = concepts()
    if len(parts) > 1 and fold(parts[-1]) in _BY and carry_of(name) != "spent":
        return "person"  # "Sold by", but what is "Paid by" card
    for start in range(len(parts)):
        for language in LANGUAGES:
            keys = tuple(map(lexicon(language).key, parts[start:]))
            if keys in by_name:
                return by_name[keys]
    return by_name.get(tuple(map(fold, parts[:1]))) if parts else None


def carry_of(name: str) -> str | None:
    """What a verb in a column's name carries, in any language: of "verkauft (Stk)" what was
    ``sold``."""
    for word in name_tokens(name):
        for language in LANGUAGES:
            for meaning in lexicon(language).meanings_of(word):
                if meaning.startswith("carry."):
                    return meaning.removeprefix("carry.")
    return None


@cache
def _evidence(language: str) -> tuple[frozenset[str], frozenset[str]]:
    read = word_list(language)

    def words(sections: set[str]) -> frozenset[str]:
        return frozenset(
            fold(token.text)
            for section in sections
            for line in read.get(section, {}).values()
            for token in tokens(normal(line))
            if token.kind == "word"
        )

    return words({"small"}), words(set(read) - {"format", "colour"})


@cache
def _shared_words() -> frozenset[str]:
    """Words of several languages: the French "je" is "per" in German."""
    counts = Counter(
        word for language in _STEMMERS for words in (frozenset[str]().union(*_evidence(language)),)
        for word in words
    )  # fmt: skip
    return frozenset(word for word, count in counts.items() if count > 1)


@cache
def _steering(language: str) -> frozenset[str]:
    """The single words that talk, or steer what runs."""
    return frozenset(
        fold(phrase.strip())
        for section in ("talk", "control", "edit")
        for line in word_list(language)[section].values()
        for phrase in line.split(";")
    )


def language_of(text: str, before: str | None = None, names: str = "") -> str:
    """The language of a message, told by its words but the names of its table's columns; where
    those do not tell, the one before, else that of the names, else English."""
    return _evident(text, before, names) or _evident(names, None) or "en"


def _evident(text: str, before: str | None, names: str = "") -> str | None:
    """The language that words tell, but for those of ``names``; ``before`` where they do not. One
    word does not change the language of a conversation."""
    text = normal(text[:WISH_CHARACTERS])
    of_names = {fold(token.text) for token in tokens(normal(names))}
    text = " ".join(token.text for token in tokens(text) if fold(token.text) not in of_names)
    han = len(re.findall(f"[{HAN}]", text))
    arabic = len(re.findall("[\u0600-\u06ff]", text))
    latin = len(re.findall(r"[a-zA-ZÀ-ɏ]", text))
    if han and han * 3 >= latin:
        return "zh"
    if arabic and arabic * 2 >= latin:
        return "ar"
    own_words = {
        fold(token.text) for token in tokens(text) if token.kind == "word" and len(token.text) > 1
    }
    if before is not None and len(own_words) < 2:
        steering = (code for code in ("en", "de", "es", "fr") if own_words & _steering(code))
        return before if own_words & _steering(before) else next(steering, before)
    scores: dict[str, float] = {}
    for language in ("en", "de", "es", "fr"):
        small, others = _evidence(language)
        sure = (own_words & small) - _shared_words()
        scores[language] = 2 * len(sure) + len(own_words & (small | others) - sure)
        scores[language] += bool(_LETTERS[language].search(text))
    best = max(scores, key=lambda language: scores[language])
    own = scores.get(before or "en", 0)
    # One word more is no proof where both languages have some: it may be the name of a column.
    is_proof = own == 0 or scores[best] - own > 1 or bool(own_words & _evidence(best)[0])
    is_first = sum(score == scores[best] for score in scores.values()) == 1
    is_shared = len(own_words) == 1 and sum(map(bool, scores.values())) > 1  # "Kosten je Fahrer"
    if before is None and (is_shared or not is_first):
        return None
    if before is None and best == "en":
        return "en"
    return best if scores[best] > own and is_proof else before
