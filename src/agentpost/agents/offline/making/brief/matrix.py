"""Criteria against documents: the passage of each document about each criterion (pure)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from agentpost.agents.offline.documents import language as tongues
from agentpost.agents.offline.documents.model import BlockKind, Document
from agentpost.agents.offline.documents.passages import Sentence, sentences
from agentpost.agents.offline.documents.summary import central

_FIGURE = re.compile(
    r"(?P<before>[€$£¥]\s?)?(?P<number>\d[\d.,]*\d|\d)"
    r"(?P<after>\s?(?:%|€|\$|£|[^\W\d_]{2,12}))?"
)
_MOST = 12
_QUOTED = 2


class Quote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A passage, verbatim, and where it stands."""

    text: str
    citation: str


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """A criterion: for each document what it says, most telling first; nothing for a gap."""

    criterion: str
    cells: tuple[tuple[Quote, ...], ...]
    figures: tuple[str, ...] = ()
    """Where the documents differ in a figure of the same unit: what each says, or nothing."""


def criteria(documents: Sequence[Document], codes: Sequence[str]) -> list[str]:
    """What the documents have in common: headings that stand in more than one of them."""
    seen: dict[frozenset[str], list[tuple[int, str]]] = {}
    for number, (document, code) in enumerate(zip(documents, codes, strict=True)):
        for block in document.blocks:
            if block.kind is BlockKind.HEADING:
                stems = frozenset(tongues.terms(re.sub(r"^[\d.\s]+", "", block.text), code))
                if stems:
                    seen.setdefault(stems, []).append((number, block.text))
    shared = [found for found in seen.values() if len({number for number, _ in found}) > 1]
    shared.sort(key=lambda found: -len({number for number, _ in found}))
    return [re.sub(r"^[\d.\s]+", "", found[0][1]) for found in shared][:_MOST]


def rows(documents: Sequence[Document], codes: Sequence[str], wanted: Sequence[str]) -> list[Row]:
    """What each document says about each criterion."""
    cut = [sentences(document, code) for document, code in zip(documents, codes, strict=True)]
    made = []
    for criterion in wanted[:_MOST]:
        saying = [_telling(found, criterion, code) for found, code in zip(cut, codes, strict=True)]
        cells = tuple(tuple(Quote(s.text, s.citation) for s in found) for found in saying)
        figures = _differing([
            " ".join(one.text for one in found if _is_about(one, criterion, code))
            for found, code in zip(saying, codes, strict=True)
        ])  # fmt: skip
        made.append(Row(criterion, cells, tuple(figures)))
    return made


def _is_about(sentence: Sentence, criterion: str, code: str) -> bool:
    """Whether a sentence begins with the criterion or stands below it: "valid until delivery" says
    nothing of the delivery."""
    stems = set(tongues.terms(criterion, code))
    begins = set(list(tongues.terms(sentence.text, code))[: len(stems) + 1])
    return stems <= begins or stems <= set(tongues.terms(sentence.heading, code))


def _telling(found: Sequence[Sentence], criterion: str, code: str) -> tuple[Sentence, ...]:
    """What a document says of a criterion: sentences about it first, of them those with figures."""
    stems = set(tongues.terms(criterion, code))
    if not stems:
        return ()

    def rank(one: Sentence) -> tuple[bool, bool]:
        about = _is_about(one, criterion, code)
        return not about, not any(c.isdigit() for c in one.text)

    inside = [s for s in found if stems <= set(tongues.terms(s.text, code))]
    below = [s for s in found if stems <= set(tongues.terms(s.heading, code))]
    chosen = sorted(inside, key=rank)
    if chosen and _is_about(chosen[0], criterion, code):
        chosen = [one for one in chosen if _is_about(one, criterion, code)]
    if not chosen and below:
        chosen = [s for s in below if any(c.isdigit() for c in s.text)] or central(below, 1, code)
    return tuple(chosen[:_QUOTED])


def _differing(texts: Sequence[str]) -> list[str]:
    """The first figure of each text in a unit that several texts have, when they are not the same
    number; empty texts where there is none."""
    found: list[dict[str, str]] = []
    for text in texts:
        figures: dict[str, str] = {}
        for match in _FIGURE.finditer(text):
            unit = (match["after"] or match["before"] or "").strip().lower().rstrip("s")
            figures.setdefault(unit, match[0].strip())
        found.append(figures)
    units = [unit for figures in found for unit in figures if unit]
    for unit in dict.fromkeys(units):
        said = [figures.get(unit, "") for figures in found]
        numbers = {re.sub(r"[^\d]", "", one) for one in said if one}
        if sum(map(bool, said)) > 1 and len(numbers) > 1:
            return said
    return []
