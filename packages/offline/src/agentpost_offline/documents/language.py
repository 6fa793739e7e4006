"""Words of a text in its language: which one it is, and what its words have in common."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from agentpost_offline.words import listed

_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_CHINESE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")
_PARTICLES = "的了是吗呢吧在有和几谁个"
_SAMPLE = 20_000


@functools.cache
def languages() -> dict[str, dict[str, Any]]:
    """The words of every language, by its ISO 639-1 code."""
    return {
        code: {
            **words, "stop": frozenset(words["stop"]), "stemmer": "".join(words["stemmer"]),
            "same": dict(pair.split() for pair in words["same"]),
        }
        for code, words in listed("documents").items()
    }  # fmt: skip


def words(language: str) -> dict[str, Any]:
    """The words of a language, or the English ones."""
    return languages().get(language) or languages()["en"]


def detect(text: str, fallback: str = "en") -> str:
    """The language of a text, by its most frequent words."""
    sample = text[:_SAMPLE]
    letters = [c for c in sample if c.isalpha()]
    if not letters:
        return fallback
    if sum(map(len, _CHINESE.findall(sample))) > len(letters) * 0.2:
        return "zh"
    if sum("\u0600" <= c <= "\u06ff" for c in letters) > len(letters) * 0.3:
        return "ar"
    counts = Counter(word.lower() for word in _WORD.findall(sample))
    scores = {
        code: sum(n for word, n in counts.items() if word in known["stop"])
        for code, known in languages().items()
    }
    best = max(scores, key=lambda code: (scores[code], code == fallback))
    return best if scores[best] else fallback


@functools.cache
def _stemmer(language: str) -> Any:
    name = words(language)["stemmer"]
    if not name:
        return None
    import snowballstemmer

    return snowballstemmer.stemmer(name)


@functools.lru_cache(maxsize=100_000)
def stem(word: str, language: str) -> str:
    """What a word has in common with its other forms."""
    word = words(language)["same"].get(word, word)
    stemmer = _stemmer(language)
    return word if stemmer is None or len(word) > 40 else str(stemmer.stemWord(word))


def split(text: str) -> list[str]:
    """The words of a text in lower case; Chinese ones as pairs of characters."""
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        runs = _CHINESE.findall(word)
        if not runs:
            found.append(word)
            continue
        for run in runs:
            found += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
        found += _WORD.findall(_CHINESE.sub(" ", word))
    return found


def terms(text: str, language: str) -> list[str]:
    """The stems of a text's words that are not empty ones."""
    stop = words(language)["stop"]
    return [stem(word, language) for word in split(text) if word not in stop and len(word) > 0]


def content(question: str, languages_: Iterable[str]) -> list[str]:
    """The words of a question that mean something, as they were written, in any of these
    languages. Chinese empty words are cut out before its characters are paired."""
    known = [words(code) for code in languages_]
    text = question
    for one in known:
        for empty in sorted(one["stop"], key=len, reverse=True):
            if _CHINESE.fullmatch(empty) and (len(empty) > 1 or empty in _PARTICLES):
                text = text.replace(empty, " ")
    found = [w for w in split(text) if not any(w in one["stop"] for one in known)]
    return list(dict.fromkeys(w for w in found if len(w) > 1 or not w.isascii() or w.isdigit()))
