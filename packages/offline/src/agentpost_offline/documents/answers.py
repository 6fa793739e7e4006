"""Questions about documents: the closest passages, quoted in their paragraphs and cited, those with
every content word of the question first. None is claimed to be the answer."""

import functools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from agentpost.agents import File, Unreadable
from agentpost_offline.answer import Answer, Outcome
from agentpost_offline.content.blocks import BlockKind
from agentpost_offline.documents import language as tongues
from agentpost_offline.documents.reading import read, read_text
from agentpost_offline.documents.sources import Document
from agentpost_offline.style.languages import language as language_of

_K1, _B = 1.4, 0.6
_MOST = 3
_FAR_BELOW = 0.5
"""A passage with less than this part of the first one's score is not shown beside it."""
_CHARACTERS = 4_000_000
_QUOTE = 700
_PARAGRAPH = 400
"""A paragraph of so many characters is quoted whole."""
_END = re.compile(
    r"(?<=[.!?…])[\"'”“’»)\]]*\s+(?=[\"'“‘«(\[¿¡„]*[A-Z0-9À-ÖØ-ÞА-ЯΑ-Ω\u0600-\u06ff])"
    r"|(?<=[。！？])|(?<=؟)\s+"
)
_WORD_BEFORE = re.compile(r"(\S{1,12})\.$")
_DAY_BEFORE = re.compile(r"(?:^|\s)\d{1,2}\.$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, list item or table row of a document, with the stems of its words.

    Args:
        text: verbatim; a table row as ``Header: cell · …``.
        citation: ``report.pdf, page 3, Costs``.
        stems: of its words.
        above: the stems of its heading and the document's title.
        block: the document and the number of the block in it.
        stands_alone: whether it is an item or a row, and no sentence of a paragraph.
    """

    text: str
    citation: str
    stems: Counter[str]
    above: frozenset[str]
    block: tuple[str, int]
    stands_alone: bool


def answer(
    files: Sequence[File], question: str, language: str = "en", message_text: str = ""
) -> Any:
    """The passages of documents that are closest to a question, verbatim and cited (a step).

    Returns an `Answer` as JSON: ``passages`` for up to three that share words with the question,
    ``absent`` when none does. ``message_text``: a text that came with the message.
    """
    documents = [read_text(message_text, "")] if message_text else []
    names: list[str] = []
    omissions: list[str] = []
    sentences: list[Sentence] = []
    codes = [language]
    room = _CHARACTERS
    for file in files:
        try:
            documents.append(read(file))
        except Unreadable as error:
            omissions.append(str(error))
    for document in documents:
        room -= sum(len(block.text) for block in document.blocks)
        if room < 0:
            omissions.append(f"{document.name}: too much text together with the other files")
            continue
        code = tongues.detect(" ".join(block.text for block in document.blocks[:400]), language)
        sentences += _sentences(document, code)
        codes.append(code)
        omissions += [f"{document.name}: {note}" for note in document.notes]
        names.append(document.name)
    codes = list(dict.fromkeys(codes))[:3]
    vocabulary = {stem for one in sentences for stem in (*one.stems, *one.above)}
    forms = {word: _forms(word, codes, vocabulary) for word in tongues.content(question, codes)}
    passages = _search(sentences, forms, codes)
    text = _quoted(_with_context(passages, sentences), language)
    outcome = Outcome.PASSAGES if passages else Outcome.ABSENT
    missing = tuple(
        word for word, one in forms.items() if passages and not one and not _is_empty(word, codes)
    )
    result = Answer(outcome, text, tuple(names), tuple(omissions), missing=missing)
    return msgspec.to_builtins(result)


def _with_context(
    passages: Sequence[Sentence], sentences: Sequence[Sentence]
) -> list[tuple[str, str]]:
    """The texts and citations of passages: a sentence stands in its paragraph, or before the next
    one where that is long, since an answer may begin with "it"."""
    results: dict[tuple[str, str], None] = {}
    for passage in passages:
        text = passage.text
        if not passage.stands_alone:
            paragraph = [one.text for one in sentences if one.block == passage.block]
            at = paragraph.index(text)
            if sum(map(len, paragraph)) > _PARAGRAPH:
                paragraph = paragraph[at : at + 2]
            text = " ".join(paragraph)
        results[text, passage.citation] = None
    return list(results)


def _quoted(passages: Sequence[tuple[str, str]], language: str) -> str:
    opening, closing = language_of(language).quotes
    lines = [
        f"{opening}{text if len(text) <= _QUOTE else text[:_QUOTE].rstrip() + ' …'}"
        f"{closing}{f' — {citation}' if citation else ''}"
        for text, citation in passages
    ]  # fmt: skip
    return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)


def _search(
    sentences: Sequence[Sentence], forms: Mapping[str, frozenset[str]], codes: Sequence[str]
) -> list[Sentence]:
    """The closest sentences, the best first; none where no content word stands in any."""
    keywords = list(filter(None, forms.values()))
    if not keywords:
        return []
    is_whole = all(one or _is_empty(word, codes) for word, one in forms.items())
    scores = _scores(sentences, keywords)
    order = sorted(scores, key=lambda at: (-scores[at], len(sentences[at].text)))
    whole = [at for at in order if is_whole and _covers(sentences, at, keywords)]
    first = whole or order
    return [sentences[at] for at in first[:_MOST] if scores[at] >= _FAR_BELOW * scores[first[0]]]


def _forms(word: str, codes: Sequence[str], vocabulary: set[str]) -> frozenset[str]:
    """The stems in the documents that a word of the question means."""
    stems = {tongues.stem(word, code) for code in codes} | {word}
    forms = stems & vocabulary
    if not forms and len(word) >= 4 and word.isalpha():
        from rapidfuzz import process

        forms = {
            text for one in stems if one == word or len(one) > 4
            for text, _, _ in process.extract(one, vocabulary, limit=3, score_cutoff=86)
            if abs(len(text) - len(one)) <= 2
        }  # fmt: skip
        # German writes compounds: the word may be the end or the beginning of a longer one.
        begins = word if "de" in codes else "\n"
        forms |= {text for text in vocabulary if len(text) > len(word) + 2 and (
            text.endswith(word) or text.startswith(begins)
        )}  # fmt: skip
    return frozenset(forms)


def _is_empty(word: str, codes: Sequence[str]) -> bool:
    """Whether a word is an empty one with two letters changed about: ``dose``, ``waht``."""
    stops = (stop for code in codes for stop in tongues.words(code)["stop"])
    return len(word) > 3 and any(sorted(stop) == sorted(word) for stop in stops)


def _scores(sentences: Sequence[Sentence], keywords: Sequence[frozenset[str]]) -> dict[int, float]:
    """BM25 of the sentences that have any of the words; a word in the heading or beside the
    sentence counts for less."""
    count = len(sentences)
    lengths = [one.stems.total() or 1 for one in sentences]
    average = sum(lengths) / count
    scores: Counter[int] = Counter()
    own: set[int] = set()
    for forms in keywords:
        times = {
            at: n for at, one in enumerate(sentences) if (n := sum(one.stems[f] for f in forms))
        }
        weight = math.log(1 + (count - len(times) + 0.5) / (len(times) + 0.5))
        for at, n in times.items():
            norm = _K1 * (1 - _B + _B * lengths[at] / average)
            scores[at] += weight * n * (_K1 + 1) / (n + norm)  # type: ignore[assignment]
        heads = {at for at, one in enumerate(sentences) if forms & one.above} - times.keys()
        beside = {near for at in times for near in (at - 1, at + 1) if 0 <= near < count
                  and sentences[near].block[0] == sentences[at].block[0]
                  and sentences[near].above == sentences[at].above}  # fmt: skip
        for at in heads | (beside - times.keys()):
            scores[at] += weight * (0.5 if at in heads else 0.25)  # type: ignore[assignment]
        own |= times.keys()
    return {at: score for at, score in scores.items() if at in own or score > 0.8}


def _covers(sentences: Sequence[Sentence], at: int, keywords: Sequence[frozenset[str]]) -> bool:
    """Whether every word of the question stands in a sentence, its heading, or the sentence before
    it in its paragraph; and most of them in the sentence itself or its heading."""
    one, before = sentences[at], sentences[at - 1]
    near = before.stems if at and before.block == one.block else Counter[str]()
    places = [
        2 if forms & one.stems.keys() else 1 if forms & one.above else 0 for forms in keywords
    ]
    is_near = all(
        place or forms & near.keys() for place, forms in zip(places, keywords, strict=True)
    )
    return is_near and sum(places) >= len(keywords)


def _sentences(document: Document, code: str) -> Iterator[Sentence]:
    """The sentences of a document, in its order."""
    heading = ""
    for number, block in enumerate(document.blocks):
        if block.kind is BlockKind.HEADING:
            heading = block.text
            continue
        above = frozenset(tongues.terms(f"{heading} {document.title}", code))
        citation = ", ".join(filter(None, (document.name, block.place)))
        is_code = block.kind is BlockKind.CODE
        for text in _rows(block.rows) if block.rows else (
            [block.text] if is_code else cut(block.text, code)
        ):  # fmt: skip
            stems = Counter(tongues.terms(text, code))
            place, stands_alone = (document.name, number), bool(block.rows) or is_code
            yield Sentence(text, citation, stems, above, place, stands_alone)


def _rows(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    header, *body = rows
    for row in body or rows:
        is_named = bool(body) and len(row) == len(header)
        names = header if is_named else [""] * len(row)
        cells = [f"{name}: {cell}" if name else cell
                 for name, cell in zip(names, row, strict=True) if cell]  # fmt: skip
        if cells:
            yield " · ".join(cells)


def cut(text: str, language: str = "en") -> list[str]:
    """The sentences of a paragraph."""
    short = {*tongues.words(language)["abbreviations"], *tongues.words("en")["abbreviations"]}
    pieces: list[str] = []
    begin = 0
    for match in _END.finditer(text):
        before, after = text[max(begin, match.start() - 14) : match.start()], text[match.end() :]
        if not (_is_abbreviation(before, short) or _is_day(before, after[:20])):
            closing = len(match[0].rstrip())  # a quotation mark after the full stop
            pieces.append(text[begin : match.start() + closing].strip())
            begin = match.end()
    return [piece for piece in (*pieces, text[begin:].strip()) if piece]


def _is_abbreviation(before: str, short: set[str]) -> bool:
    match = _WORD_BEFORE.search(before)
    word = match[1].lower().strip("(\"'„“«") if match else ""
    return word in short or (len(word) == 1 and word.isalpha())


def _is_day(before: str, after: str) -> bool:
    """Whether a full stop belongs to the day of a date: ``31. März``."""
    word = re.match(r"[^\W\d_]+", after)
    return bool(_DAY_BEFORE.search(before)) and word is not None and word[0].lower() in _months()


@functools.cache
def _months() -> frozenset[str]:
    return frozenset(
        name.lower().rstrip(".")
        for code in tongues.languages()
        for name in (*language_of(code).months, *language_of(code).months_short)
    )
