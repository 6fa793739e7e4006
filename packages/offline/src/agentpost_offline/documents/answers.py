"""Questions about documents: the passage that answers one, quoted and cited, or the closest ones.

A passage answers a question when every content word of the question stands in it, in its heading
or right beside it, and when it holds what is asked for: a date for "when", a number for "how
many". Everything else is only close, and is called so.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from agentpost.agents import File, Unreadable
from agentpost_offline.answer import Answer, Outcome
from agentpost_offline.documents import language as tongues
from agentpost_offline.documents.model import Document
from agentpost_offline.documents.passages import Sentence, sentences
from agentpost_offline.documents.reading import read, read_text
from agentpost_offline.style.languages import language as style_language

_K1, _B = 1.4, 0.6
_CLOSEST = 3
_SAME_AGAIN = 0.85
_CHARACTERS = 4_000_000
_QUOTE = 700
_MONEY = re.compile(r"[€$£¥]\s?\d|\d\s?(?:[€$£¥]|euros?\b|dollars?\b|pounds?\b|EUR|USD|元)")
_DIGIT = re.compile(r"\d|[一二三四五六七八九十百千万]|[٠-٩]")
# fmt: off
_NUMBER_WORDS = frozenset((
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "dozen", "hundred", "thousand", "million", "none", "half", "twice", "eins",
    "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "hundert",
    "tausend", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez",
    "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix",
))
# fmt: on
_DATED = re.compile(
    r"\d{4}|\d{1,2}[./:]\d{1,2}|\d{1,2}(?:st|nd|rd|th)\b"
    r"|\b\d+ (?:days?|weeks?|months?|years?|hours?|Tage?n?|Wochen?|Monate?n?|Jahre?n?"
    r"|días?|semanas?|meses|años?|jours?|semaines?|mois|ans?)\b"
    r"|[年月日]",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Index:
    """The sentences of all documents, with the stems that each has."""

    sentences: list[Sentence] = field(default_factory=list)
    stems: list[Counter[str]] = field(default_factory=list)
    headings: list[frozenset[str]] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)

    def add(self, document: Document, language: str) -> None:
        """Add a document's sentences."""
        for sentence in sentences(document, language):
            self.sentences.append(sentence)
            self.stems.append(Counter(tongues.terms(sentence.text, language)))
            above = f"{sentence.heading} {document.title}"
            self.headings.append(frozenset(tongues.terms(above, language)))
            self.languages.append(language)


def answer(files: Sequence[File], question: str, language: str = "en", pasted: str = "") -> Any:
    """Answer a question from documents (a step).

    Args:
        files: the documents.
        question: in the user's words.
        language: the user's language.
        pasted: a text that came with the message.

    Returns an `Answer` as JSON: ``answered`` when a passage really covers the question,
    ``passages`` for up to three that share words with it, ``absent`` when none does. The text is
    the passages,
    verbatim and cited.
    """
    found = find(files, question, language, pasted)
    outcome = {"answer": Outcome.ANSWERED, "closest": Outcome.PASSAGES}.get(
        found["kind"], Outcome.ABSENT
    )
    tongue = style_language(language)
    lines = []
    for passage in found["passages"]:
        quote = f"{tongue.quotes[0]}{passage['text']}{tongue.quotes[1]}"
        cited = f" — {passage['citation']}" if passage["citation"] else ""
        lines.append(quote + cited)
    text = lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)
    made = Answer(
        outcome,
        text,
        used=tuple(found["read"]),
        skipped=tuple(found["skipped"]),
        notes=(),
    )
    return msgspec.to_builtins(made)


def find(
    files: Sequence[File], question: str, language: str = "en", text: str = ""
) -> dict[str, Any]:
    """The passages that answer a question, or the closest ones.

    Args:
        files: the documents.
        question: in the user's words.
        language: the user's language.
        text: a text that came with the message.

    Returns ``kind``: ``answer`` (a passage really covers the question), ``closest`` (up to three
    passages that share words with it) or ``none``; ``passages``: ``text`` (verbatim), ``file``,
    ``place`` and ``citation`` of each; ``unknown``: words of the question that stand nowhere;
    ``read``: what was read; ``skipped``: what was not, with the reason.
    """
    index = _Index()
    read_: list[str] = []
    skipped: list[str] = []
    left = _CHARACTERS
    documents: list[Document] = []
    if text:
        documents.append(read_text(text, ""))
    for file in files:
        try:
            documents.append(read(file))
        except Unreadable as error:
            skipped.append(str(error))
    for document in documents:
        size = sum(len(block.text) for block in document.blocks)
        if size > left:
            skipped.append(f"{document.name}: too much text together with the other files")
            continue
        left -= size
        whole = " ".join(block.text for block in document.blocks[:400])
        index.add(document, tongues.detect(whole, language))
        skipped += [f"{document.name}: {note}" for note in document.notes]
        read_.append(document.name)
    kind, found, unknown = search(index, question, language)
    return {
        "kind": kind,
        "passages": [
            {
                "text": one.text if len(one.text) <= _QUOTE else f"{one.text[:_QUOTE].rstrip()} …",
                "file": one.file,
                "place": one.place,
                "citation": one.citation,
            }
            for one in found
        ],
        "unknown": unknown,
        "read": read_,
        "skipped": skipped,
    }


def search(index: _Index, question: str, language: str) -> tuple[str, list[Sentence], list[str]]:
    """The kind of answer, its passages, and the words that stand nowhere."""
    codes = list(dict.fromkeys([language, *index.languages]))[:3]
    asked = tongues.content(question, codes)
    if not asked or not index.sentences:
        return "none", [], asked
    vocabulary = {stem for stems in index.stems for stem in stems}
    vocabulary |= {stem for stems in index.headings for stem in stems}
    known: dict[str, frozenset[str]] = {}
    unknown: list[str] = []
    for word in asked:
        forms = _forms(word, codes, vocabulary)
        if forms:
            known[word] = forms
        elif not _misspelt(word, codes):
            unknown.append(word)
    if not known:
        return "none", [], unknown
    scores = _scores(index, list(known.values()))
    order = sorted(scores, key=lambda i: (-scores[i], len(index.sentences[i].text)))
    if not order:
        return "none", [], unknown
    wants = _wants(question, language)
    if not unknown:
        covering = [i for i in order if _covers(index, i, list(known.values()))]
        fitting = [i for i in covering if _fits(index.sentences[i].text, wants)]
        if "number" in wants and not re.search(r"%|percent|prozent|many", question.lower()):
            # "How much is the rent" asks for its price before its rise.
            fitting.sort(key=lambda i: not _MONEY.search(index.sentences[i].text))
        if fitting:
            best = scores[fitting[0]]
            kept = [i for i in fitting if scores[i] >= _SAME_AGAIN * best][:2]
            return "answer", [index.sentences[i] for i in kept], []
    return "closest", [index.sentences[i] for i in order[:_CLOSEST]], unknown


def _forms(word: str, codes: Sequence[str], vocabulary: set[str]) -> frozenset[str]:
    """The stems in the documents that a word of the question means."""
    stems = {tongues.stem(word, code) for code in codes} | {word}
    found = stems & vocabulary
    if not found and len(word) >= 4 and word.isalpha():
        from rapidfuzz import process

        close = process.extract(word, vocabulary, limit=3, score_cutoff=86)
        found = {text for text, _, _ in close if abs(len(text) - len(word)) <= 2}
        # German writes compounds: the word may be the end of a longer one.
        found |= {text for text in vocabulary if len(text) > len(word) + 2 and text.endswith(word)}
    return frozenset(found)


def _misspelt(word: str, codes: Sequence[str]) -> bool:
    """Whether a word is an empty one with two letters changed about: ``dose``, ``waht``."""
    letters = sorted(word)
    return len(word) > 3 and any(
        len(empty) == len(word) and sorted(empty) == letters
        for code in codes
        for empty in tongues.words(code)["stop"]
    )


def _scores(index: _Index, wanted: Sequence[frozenset[str]]) -> dict[int, float]:
    """BM25 of the sentences that have any of the words; a word in the heading or beside the
    sentence counts for less."""
    count = len(index.sentences)
    lengths = [sum(stems.values()) or 1 for stems in index.stems]
    average = sum(lengths) / count
    scores: dict[int, float] = {}
    for forms in wanted:
        inside = {i: sum(index.stems[i][f] for f in forms) for i in range(count)}
        inside = {i: n for i, n in inside.items() if n}
        heads = {i for i in range(count) if forms & index.headings[i]}
        weight = math.log(1 + (count - len(inside) + 0.5) / (len(inside) + 0.5))
        for i, times in inside.items():
            norm = _K1 * (1 - _B + _B * lengths[i] / average)
            scores[i] = scores.get(i, 0) + weight * times * (_K1 + 1) / (times + norm)
        for i in heads - inside.keys():
            scores[i] = scores.get(i, 0) + 0.5 * weight
        for i in _beside(index, inside) - inside.keys() - heads:
            scores[i] = scores.get(i, 0) + 0.25 * weight
    own = {i for forms in wanted for i in range(count) if any(index.stems[i][f] for f in forms)}
    return {i: score for i, score in scores.items() if i in own or score > 0.8}


def _beside(index: _Index, inside: dict[int, int]) -> set[int]:
    found: set[int] = set()
    for i in inside:
        for near in (i - 1, i + 1):
            if 0 <= near < len(index.sentences):
                here, there = index.sentences[i], index.sentences[near]
                if (here.file, here.heading) == (there.file, there.heading):
                    found.add(near)
    return found


def _covers(index: _Index, at: int, wanted: Sequence[frozenset[str]]) -> bool:
    """Whether every word of the question stands in a sentence, its heading, or the sentence before
    it in its paragraph; and most of them in the sentence itself or its heading."""
    before = index.stems[at - 1] if at and _same_block(index, at) else Counter()
    own = 0
    for forms in wanted:
        if any(index.stems[at][f] for f in forms):
            own += 2
        elif forms & index.headings[at]:
            own += 1
        elif not any(before[f] for f in forms):
            return False
    return own >= len(wanted)


def _same_block(index: _Index, at: int) -> bool:
    one, other = index.sentences[at - 1], index.sentences[at]
    return one.file == other.file and one.block == other.block


def _wants(question: str, language: str) -> set[str]:
    """What kind of thing a question asks for: ``when``, ``who``, ``number``."""
    low = " ".join(question.lower().split())
    found: set[str] = set()
    for code in {language, "en"}:
        known = tongues.words(code)
        for kind in ("when", "who", "number"):
            for phrase in known[kind]:
                edge = "" if "\u3400" <= phrase[0] <= "\u9fff" else r"\b"
                if re.search(rf"{edge}{re.escape(phrase)}{edge}", low):
                    found.add(kind)
    return found


def _fits(text: str, wants: set[str]) -> bool:
    """Whether a passage holds what a question asks for."""
    if "number" in wants and not _DIGIT.search(text):
        return bool(_NUMBER_WORDS.intersection(tongues.split(text)))
    if "when" in wants and not (_DATED.search(text) or _is_named_day(text)):
        return False
    if "who" in wants:
        return bool(re.search(r"(?:^|[^.!?]\s)[A-ZÀ-ÖØ-Þ]\w+|[\u0600-\u06ff\u3400-\u9fff]", text))
    return True


def _is_named_day(text: str) -> bool:
    low = text.lower()
    return any(
        name.lower() in low
        for code in tongues.languages()
        for name in (*style_language(code).months, *style_language(code).weekdays)
        if len(name) > 2
    )
