"""Summaries: the sentences a document itself leans on (TextRank), spread over its sections."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any

from agentpost.agents.base import File
from agentpost.agents.offline import limits
from agentpost.agents.offline.answers import STOP_WORDS, extent
from agentpost.agents.offline.columns import aggregate, default_aggregate, measures, stem
from agentpost.agents.offline.passages import Sentence, sentences
from agentpost.agents.offline.tables import Table, is_table, read_table
from agentpost.agents.offline.texts import amount, day, listed, plural, shortened
from agentpost.extraction import Unreadable
from agentpost.extraction.reading import read_text

_DAMPING, _ROUNDS = 0.85, 30


def summarise_files(files: list[File], count: int) -> dict[str, Any]:
    """Summarise each file in ``count`` sentences; runs in a worker process.

    Returns ``text`` (or None), ``read`` and ``skipped`` like `answers.answer_files`.
    """
    read: list[str] = []
    skipped: list[str] = []
    parts: list[str] = []
    for file in files:
        try:
            if is_table(file.name, file.content_type):
                table = read_table(file.local, file.name)
                body = "\n".join(f"- {line}" for line in facts(table))
                read.append(f"{file.name} ({plural(table.rows, 'row')})")
                skipped.extend(f"{file.name}: {note}" for note in table.notes)
            else:
                text = read_text(file.local, file.name, file.content_type)
                body, note = _summary(text, file.name, count)
                read.append(f"{file.name} ({extent(text)})")
                skipped.extend([note] if note else [])
        except Unreadable as error:
            skipped.append(str(error))
            continue
        parts.append(f"{file.name}\n{body}" if len(files) > 1 else body)
    return {"text": "\n\n".join(parts) or None, "read": read, "skipped": skipped}


def summarise_text(text: str, count: int) -> str:
    """Summarise a text that came in a message; runs in a worker process."""
    chosen = choose(sentences(text, "message")[: limits.SUMMARY_SENTENCES_READ], count)
    return "\n".join(f"- {shortened(s.text, 400)}" for s in chosen) or shortened(text, 400)


def _summary(text: str, name: str, count: int) -> tuple[str, str | None]:
    found = sentences(text, name)
    note = None
    if len(found) > limits.SUMMARY_SENTENCES_READ:
        note = f"{name} after sentence {limits.SUMMARY_SENTENCES_READ} of {len(found):,}"
        found = found[: limits.SUMMARY_SENTENCES_READ]
    chosen = choose(found, count)
    if not chosen:
        raise Unreadable(f"{name} has no sentences to summarise")
    return "\n".join(f"- {shortened(s.text, 400)} {s.citation}" for s in chosen), note


def choose(found: Sequence[Sentence], count: int) -> list[Sentence]:
    """The ``count`` most central sentences, at most a fair share per section, in text order."""
    prose = [s for s in found if s.prose and len(s.text.split()) >= 5] or list(found)
    bags = [_bag(sentence.text) for sentence in prose]
    ranks = _rank(bags)
    sections = Counter(sentence.heading for sentence in prose)
    taken: list[int] = []
    used: Counter[str] = Counter()
    fair = math.ceil(count / max(1, len(sections)))
    while len(taken) < min(count, len(prose)):
        open_ = [i for i in range(len(prose)) if i not in taken]
        fresh = [i for i in open_ if used[prose[i].heading] < fair] or open_
        best = max(fresh, key=lambda i: ranks[i] * (1 - _overlap(i, taken, bags)))
        taken.append(best)
        used[prose[best].heading] += 1
    return [prose[i] for i in sorted(taken)]


def _bag(text: str) -> frozenset[str]:
    found = re.findall(r"[^\W_]{2,}", text.lower())
    return frozenset(stem(word) for word in found if word not in STOP_WORDS)


def _alike(one: frozenset[str], two: frozenset[str]) -> float:
    shared = len(one & two)
    return shared / (math.log(len(one) + 1) + math.log(len(two) + 1)) if shared else 0.0


def _overlap(index: int, taken: Sequence[int], bags: Sequence[frozenset[str]]) -> float:
    return max(
        (len(bags[index] & bags[i]) / (len(bags[index] | bags[i]) or 1) for i in taken), default=0.0
    )


def _rank(bags: Sequence[frozenset[str]]) -> list[float]:
    """PageRank over sentence likeness; earlier sentences get a slight head start."""
    count = len(bags)
    links: list[list[tuple[int, float]]] = [[] for _ in bags]
    for i in range(count):
        for j in range(i):
            weight = _alike(bags[i], bags[j])
            if weight:
                links[i].append((j, weight))
                links[j].append((i, weight))
    totals = [sum(weight for _, weight in row) or 1.0 for row in links]
    start = [1.0 + 0.5 / (1 + position) for position in range(count)]
    ranks = [1.0] * count
    for _ in range(_ROUNDS):
        ranks = [
            (1 - _DAMPING) * start[i]
            + _DAMPING * sum(ranks[j] * weight / totals[j] for j, weight in links[i])
            for i in range(count)
        ]
    return ranks


def facts(table: Table) -> list[str]:
    """What a table holds, in a few lines."""
    columns = listed([column.label for column in table.columns[:12]])
    more = f" and {len(table.columns) - 12} more" if len(table.columns) > 12 else ""
    lines = [
        f"{plural(table.rows, 'row')}; {plural(len(table.columns), 'column')}: {columns}{more}"
    ]
    for column in table.of_kind("date")[:1]:
        days = [value for value in column.values if isinstance(value, date)]
        lines.append(
            f"{column.label}: {day(min(days), column.grain)} to {day(max(days), column.grain)}"
        )
    for column in measures(table)[:4]:
        values = [value for value in column.values if isinstance(value, float)]
        how = default_aggregate(column)
        whole = aggregate(values, how) or 0.0
        low, high = amount(min(values), column.unit), amount(max(values), column.unit)
        word = "total" if how == "sum" else "average"
        lines.append(f"{column.label}: {word} {amount(whole, column.unit)}, from {low} to {high}")
    for column in table.of_kind("text")[:3]:
        common = Counter(value for value in column.values if value is not None).most_common(3)
        kinds = len(column.distinct())
        if kinds < table.rows:
            top = listed([f"{shortened(str(value), 40)} ({n:,})" for value, n in common])
            lines.append(f"{column.label}: {plural(kinds, 'value')}, most often {top}")
    return lines
