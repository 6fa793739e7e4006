"""Words of a text in its language: which one it is, and what its words have in common."""

import functools
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from agentpost_offline.words import phrase_lists, stem as snowball_stem

_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_CHINESE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")
_ARABIC = re.compile(r"[\u0600-\u06ff]")
_PARTICLES = "的了是吗呢吧在有和几谁个"
_SAMPLE = 20_000


@functools.cache
def languages() -> dict[str, dict[str, Any]]:
    """The words of every language, by its ISO 639-1 code."""
    return {
        code: {**lists, "stop": frozenset(lists["stop"]), "stemmer": "".join(lists["stemmer"]),
               "same": dict(pair.split() for pair in lists["same"])}
        for code, lists in phrase_lists("documents").items()
    }  # fmt: skip


def words(language: str) -> dict[str, Any]:
    """The words of a language, or the English ones."""
    return languages().get(language) or languages()["en"]


def detect(text: str, fallback: str = "en") -> str:
    """The language of a text, by its script and its most frequent words."""
    sample = text[:_SAMPLE]
    letters = sum(map(str.isalpha, sample))
    if sum(map(len, _CHINESE.findall(sample))) > letters * 0.2:
        return "zh"
    if len(_ARABIC.findall(sample)) > letters * 0.3:
        return "ar"
    counts = Counter(word.lower() for word in _WORD.findall(sample))
    scores = {code: sum(n for word, n in counts.items() if word in one["stop"])
              for code, one in languages().items()}  # fmt: skip
    best = max(scores, key=lambda code: (scores[code], code == fallback))
    return best if scores[best] else fallback


@functools.lru_cache(maxsize=100_000)
def stem(word: str, language: str) -> str:
    """What a word has in common with its other forms."""
    word, name = words(language)["same"].get(word, word), words(language)["stemmer"]
    if not name or len(word) > 40:
        return word
    return snowball_stem(word, name)


def split(text: str) -> list[str]:
    """The words of a text in lower case; Chinese ones as pairs of characters."""
    pieces: list[str] = []
    for word in _WORD.findall(text.lower()):
        for run in _CHINESE.findall(word):
            pieces += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
        pieces += _WORD.findall(_CHINESE.sub(" ", word))
    return pieces


def terms(text: str, language: str) -> list[str]:
    """The stems of a text's words that are not empty ones."""
    stop = words(language)["stop"]
    return [stem(word, language) for word in split(text) if word not in stop]


def content(question: str, codes: Iterable[str]) -> list[str]:
    """The words of a question that mean something, as they were written, in any of these
    languages. Chinese empty words are cut out before its characters are paired."""
    stops = [words(code)["stop"] for code in codes]
    text = question
    for empty in sorted({word for stop in stops for word in stop}, key=len, reverse=True):
        if _CHINESE.fullmatch(empty) and (len(empty) > 1 or empty in _PARTICLES):
            text = text.replace(empty, " ")
    pieces = [word for word in split(text) if not any(word in stop for stop in stops)]
    return list(dict.fromkeys(w for w in pieces if len(w) > 1 or not w.isascii() or w.isdigit()))
