"""Answers with citations from the files at hand: full-text search, then the best sentences.

The index is an SQLite FTS5 table in memory, which brings the stemming. A sentence counts by how
much of the question it explains, rare words weighing most; its heading and its neighbours help a
little. When the best one explains too little, the honest answer is that it is not in the files.
"""

from __future__ import annotations

import math
import re
import sqlite3
from dataclasses import dataclass
from typing import Any

from agentpost.agents.base import File
from agentpost.agents.offline import limits, query
from agentpost.agents.offline.passages import Sentence, sentences
from agentpost.agents.offline.tables import is_table, read_table
from agentpost.agents.offline.texts import listed, plural, shortened, words
from agentpost.extraction import Unreadable
from agentpost.extraction.limits import MAX_PAGES
from agentpost.extraction.reading import read_text

STOP_WORDS = words(
    "a about above after again all also am an and any are as at be because been before being "
    "below between both but by can could did do does doing down during each few for from "
    "further get had has have having he her here hers him his how i if in into is it its just "
    "let like me more most my no nor not now of off on once only or other our out over own "
    "please same she should so some such than that the their them then there these they this "
    "those through to too under until up us very was we were what when where which while who "
    "whom why will with would you your tell show give find list explain describe say says "
    "said according attached attachment document documents file files report text happen "
    "happened much many change changed make made become "
    "became go went come came use used need mean think work affect"
)
_ENOUGH = 0.55
_CLOSE = 0.8
_MOST = 3


@dataclass(slots=True)
class _Found:
    score: float
    index: int


def answer_files(files: list[File], question: str) -> dict[str, Any]:
    """Answer a question over files; runs in a worker process.

    Returns ``text`` (the answer or None), ``read`` (what was read, one phrase per file) and
    ``skipped`` (file and reason). Tables are asked first: they answer exactly or not at all.
    """
    read: list[str] = []
    skipped: list[str] = []
    answers: list[str] = []
    found: list[Sentence] = []
    budget = limits.ANSWER_CHARACTERS
    for file in files:
        try:
            if is_table(file.name, file.content_type):
                table = read_table(file.local, file.name)
                answer = query.answer(table, question)
                read.append(f"{file.name} ({_with(plural(table.rows, 'row'), table.notes)})")
                if answer is not None:
                    answers.append(f"{answer} [{file.name}]")
                continue
            text = read_text(file.local, file.name, file.content_type)
        except Unreadable as error:
            skipped.append(str(error))
            continue
        if len(text) > budget:
            skipped.append(f"{file.name} after the first {budget:,} characters")
            text = text[:budget]
        budget -= len(text)
        found.extend(sentences(text, file.name))
        read.append(f"{file.name} ({extent(text)})")
    text_answer = _quote(search(found, question)) if not answers and found else None
    return {
        "text": "\n".join(answers) or text_answer,
        "read": read,
        "skipped": skipped,
    }


def extent(text: str) -> str:
    """How much text there is: pages when it has some, else words; says when pages were cut."""
    pages = text.count("\f") + 1
    if pages > 1:
        cut = " (the most I read)" if pages >= MAX_PAGES else ""
        return f"{plural(pages, 'page')}{cut}"
    return plural(len(text.split()), "word")


def _with(phrase: str, notes: list[str]) -> str:
    return f"{phrase}; {listed(notes)}" if notes else phrase


def _spaced(text: str) -> str:
    """Chinese and Japanese characters set apart, since the index splits words at spaces."""
    return re.sub(r"([\u3040-\u30ff\u3400-\u9fff])", r" \1 ", text)


def terms(question: str) -> list[str]:
    """The words of a question worth searching for."""
    found = re.findall(r"[^\W_]+", _spaced(question).lower())
    return list(dict.fromkeys(w for w in found if w not in STOP_WORDS and len(w) > (w < "z")))


def search(all_sentences: list[Sentence], question: str) -> list[Sentence]:
    """The sentences that answer a question best, or none; at most three, in reading order."""
    wanted = terms(question)
    if not wanted or not all_sentences:
        return []
    hits = _hits(all_sentences, wanted)
    count = len(all_sentences)
    weights = {
        term: math.log(1 + count / (1 + len(inside) + len(heads) / 10))
        for term, (inside, heads) in hits.items()
    }
    # A word that stands nowhere is as telling as the rarest one.
    whole = sum(weights.values())
    scored = []
    for index in {i for inside, heads in hits.values() for i in inside | heads}:
        score = sum(_share(index, *hits[term], all_sentences) * weights[term] for term in wanted)
        scored.append(_Found(score / whole, index))
    scored.sort(key=lambda f: (-round(f.score, 3), len(all_sentences[f.index].text) > 400, f.index))
    if not scored or scored[0].score < _ENOUGH:
        return []
    best = [f for f in scored if f.score >= max(_ENOUGH, scored[0].score * _CLOSE)][:_MOST]
    return [all_sentences[f.index] for f in best]


def _share(index: int, inside: set[int], heads: set[int], all_sentences: list[Sentence]) -> float:
    if index in inside:
        return 1.0
    if index in heads:
        return 0.6
    here = all_sentences[index]
    for near in (index - 1, index + 1):
        if near in inside and all_sentences[near].heading == here.heading:
            return 0.3
    return 0.0


def _hits(all_sentences: list[Sentence], wanted: list[str]) -> dict[str, tuple[set[int], set[int]]]:
    """Per term: the sentences that contain it, and those whose heading does."""
    index = sqlite3.connect(":memory:")
    try:
        index.execute(
            "create virtual table s using fts5(body, heading,"
            " tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        index.executemany(
            "insert into s(rowid, body, heading) values (?, ?, ?)",
            ((i, _spaced(s.text), _spaced(s.heading)) for i, s in enumerate(all_sentences)),
        )
        result = {}
        for term in wanted:
            quoted = '"' + term.replace('"', "") + '"'
            rows = {
                column: {
                    int(row[0])
                    for row in index.execute(
                        "select rowid from s where s match ?", (f"{column}:{quoted}",)
                    )
                }
                for column in ("body", "heading")
            }
            result[term] = (rows["body"], rows["heading"])
        return result
    finally:
        index.close()


def _quote(found: list[Sentence]) -> str | None:
    lines = [f"{shortened(s.text, 600)} {s.citation}" for s in found]
    if len(lines) > 1:
        return "\n".join(f"- {line}" for line in lines)
    return lines[0] if lines else None
