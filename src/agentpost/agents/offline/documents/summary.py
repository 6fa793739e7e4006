"""The sentences that a document leans on: central, different from each other, spread over its
sections (pure)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from agentpost.agents.offline.documents.language import split, terms, words
from agentpost.agents.offline.documents.passages import Sentence

_SHORT, _LONG = 5, 45
_ALIKE = 0.6
_FRESH_SECTION = 1.35


def central(sentences: Sequence[Sentence], count: int, language: str) -> list[Sentence]:
    """The ``count`` sentences that say most of a document, in its order."""
    fit = [s for s in sentences if s.prose and _SHORT <= _length(s.text) <= _LONG]
    fit = fit or [s for s in sentences if s.prose] or list(sentences)
    if len(fit) <= count:
        return fit
    bags = [Counter(terms(sentence.text, language)) for sentence in fit]
    weights = _weights(bags)
    vectors = [_vector(bag, weights) for bag in bags]
    whole = _sum(vectors)
    scores = [
        _cosine(vector, whole) * _bonus(sentence, at, len(fit), language, vector, weights)
        for at, (sentence, vector) in enumerate(zip(fit, vectors, strict=True))
    ]
    return [fit[at] for at in sorted(_chosen(fit, vectors, scores, count))]


def _length(text: str) -> int:
    found = split(text)
    chinese = sum("\u3400" <= word[0] <= "\u9fff" for word in found)
    return len(found) - chinese // 2


def _weights(bags: Sequence[Counter[str]]) -> dict[str, float]:
    """What a word says: those that come again weigh most, those in every sentence little."""
    spread = Counter(term for bag in bags for term in bag)
    count = len(bags)
    return {
        term: math.log(1 + times) * math.log(1 + count / times) for term, times in spread.items()
    }


def _vector(bag: Counter[str], weights: dict[str, float]) -> dict[str, float]:
    found = {term: (1 + math.log(times)) * weights[term] for term, times in bag.items()}
    norm = math.sqrt(sum(value * value for value in found.values())) or 1.0
    return {term: value / norm for term, value in found.items()}


def _sum(vectors: Sequence[dict[str, float]]) -> dict[str, float]:
    total: Counter[str] = Counter()
    for vector in vectors:
        total.update(vector)
    norm = math.sqrt(sum(value * value for value in total.values())) or 1.0
    return {term: value / norm for term, value in total.items()}


def _cosine(one: dict[str, float], other: dict[str, float]) -> float:
    if len(one) > len(other):
        one, other = other, one
    return sum(value * other.get(term, 0.0) for term, value in one.items())


def _bonus(
    sentence: Sentence,
    at: int,
    count: int,
    language: str,
    vector: dict[str, float],
    weights: dict[str, float],
) -> float:
    """What speaks for a sentence apart from its words: its place, its figures, its independence."""
    first = at == 0 or at < 0.03 * count
    factor = 1.25 if first else 1.0
    if any(c.isdigit() for c in sentence.text):
        factor *= 1.12
    known = words(language)
    opening = split(sentence.text)[:1]
    hanging = opening and opening[0] in known["hanging"]
    if hanging or (sentence.text.lower().startswith(tuple(known["hanging"])) and language == "zh"):
        factor *= 0.7
    if sentence.text.rstrip("\"'”’)»").endswith(("?", "？", "؟", ":")):
        factor *= 0.5
    headed = [term for term in terms(sentence.heading, language) if term in vector]
    return factor * (1.1 if headed else 1.0)


def _chosen(
    fit: Sequence[Sentence],
    vectors: Sequence[dict[str, float]],
    scores: Sequence[float],
    count: int,
) -> list[int]:
    """The best ones, each weighed against what was chosen before it."""
    taken: list[int] = []
    sections: set[tuple[str, str]] = set()
    likeness = [0.0] * len(fit)
    while len(taken) < min(count, len(fit)):
        best, best_score = -1, -1.0
        for at, score in enumerate(scores):
            if at in taken or (likeness[at] > _ALIKE and len(taken) < len(fit) // 2):
                continue
            fresh = (fit[at].file, fit[at].heading) not in sections
            value = score * (1 - likeness[at]) * (_FRESH_SECTION if fresh else 1.0)
            if value > best_score:
                best, best_score = at, value
        if best < 0:
            break
        taken.append(best)
        sections.add((fit[best].file, fit[best].heading))
        likeness = [
            max(old, _cosine(vector, vectors[best]))
            for old, vector in zip(likeness, vectors, strict=True)
        ]
    return taken
