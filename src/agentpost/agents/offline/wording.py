"""The details of a request: kind of chart, colour, formats, length (pure)."""

from __future__ import annotations

import re
from typing import Any

from agentpost.agents.offline import limits

COLORS = {
    "blue": "#1f5fa8", "red": "#c0392b", "green": "#2e8b57", "orange": "#e07b39",
    "purple": "#7d5ba6", "teal": "#128277", "pink": "#c74a85", "black": "#22272e",
    "grey": "#6b7580", "gray": "#6b7580", "yellow": "#d9a400", "brown": "#8a5a3c",
    "navy": "#1b2f5b", "gold": "#b8860b", "turquoise": "#2a9d9d",
}  # fmt: skip
_KINDS = (
    ("histogram", r"histograms?|distribution"),
    ("scatter", r"scatter ?(?:plot|chart|graph)?s?|correlation"),
    ("pie", r"pies?|donuts?|doughnuts?"),
    ("line", r"lines?|time ?series|trend ?(?:line|chart)?s?"),
    ("bar", r"bars?|columns? (?:chart|graph|plot)s?"),
)
_NUMBERS = {
    w: n
    for n, w in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 1
    )
}
_GRAINS = {"day": "daily", "month": "monthly", "quarter": "quarterly", "year": "yearly"}
_QUOTED = re.compile(r"[\"“„«']([^\"”“»']{1,120})[\"”“»']")
_TITLED = re.compile(
    r"\b(?:titled|entitled|called|named|(?:with|set|change) the title(?: to| of)?|title it|call it"
    r"|title:?)\s+[\"“„«']?([^\"”“»'\n]{1,120}?)[\"”“»']?\s*$",
    re.IGNORECASE,
)


def chart_options(text: str) -> dict[str, Any]:
    """What a text asks of a chart: any of ``kind color horizontal top grain how title``."""
    text = _bounded(text)
    title = _title(text)
    low = _QUOTED.sub(" ", text).lower()
    if title:
        low = low.replace(title.lower(), " ")
    found: dict[str, Any] = {"title": title} if title else {}
    for kind, pattern in _KINDS:
        if re.search(rf"(?<!not a )(?<!no )\b(?:{pattern})\b", low):
            found["kind"] = kind
            break
    color = re.search(rf"(#[0-9a-f]{{6}})\b|\b(?:{'|'.join(COLORS)})\b", low)
    if color:
        found["color"] = color[1] or COLORS[color[0]]
    if re.search(r"\bhorizontal(ly)?\b|\bsideways\b", low):
        found.update(horizontal=True)
    elif re.search(r"\bvertical(ly)?\b", low):
        found.update(horizontal=False)
    top = re.search(r"\b(?:top|largest|biggest|first)\s+(\d{1,3})\b", low)
    if top and int(top[1]):
        found["top"] = int(top[1])
    for grain, adverb in _GRAINS.items():
        if re.search(rf"\b{adverb}\b|\b(?:by|per|each|every)\s+{grain}\b", low):
            found["grain"] = grain
    if re.search(r"\b(?:average|mean|avg)\b", low):
        found["how"] = "mean"
    elif re.search(r"\b(?:count|number of rows|how many)\b", low):
        found["how"] = "count"
    elif re.search(r"\b(?:total|sum)\b", low):
        found["how"] = "sum"
    if "horizontal" in found:
        found.setdefault("kind", "bar")
    return found


def report_options(text: str) -> dict[str, Any]:
    """What a text asks of a report: any of ``formats`` (``docx``, ``pdf``) and ``title``."""
    text = _bounded(text)
    found: dict[str, Any] = {}
    low = text.lower()
    pdf = bool(re.search(r"\bpdfs?\b(?! and)|\bpdf and (?:word|docx)", _unsourced(low)))
    word = bool(
        re.search(
            r"\bword(?: (?:file|document|doc|report|version))?\b(?! count)|\bdocx\b",
            _unsourced(low),
        )
    )
    if pdf != word:
        found["formats"] = ["pdf"] if pdf else ["docx"]
    title = _title(text)
    return found | ({"title": title} if title else {})


def summary_options(text: str, before: int = 5) -> dict[str, Any]:
    """What a text asks of a summary: ``count`` of sentences (1 to 20), seen from ``before``."""
    low = _bounded(text).lower()
    number = re.search(
        rf"\b(\d{{1,2}}|{'|'.join(_NUMBERS)})\s+(?:\w+\s+)?(?:sentences?|points?|bullets?|lines?)\b",
        low,
    )
    if number:
        count = int(number[1]) if number[1].isdigit() else _NUMBERS[number[1]]
        return {"count": max(1, min(20, count))}
    if re.search(r"\b(?:short(?:er)?|brief(?:er|ly)?|tl;?dr|less)\b", low):
        return {"count": max(1, min(3, before - 2))}
    if re.search(r"\b(?:long(?:er)?|detailed|more)\b", low):
        return {"count": min(20, max(9, before + 4))}
    return {}


def _unsourced(text: str) -> str:
    """Without what says where it comes from: "the attached pdf", "notes.pdf", "from the PDF"."""
    text = re.sub(r"\S+\.(?:pdf|docx|md|txt|csv|xlsx)\b", " ", text)
    return re.sub(
        r"\b(?:(?:from|of|about|in|using) (?:the|this|that|my|these) (?:attached )?"
        r"|(?:the|this|my) attached )(?:word|docx|pdf)s?(?: files?| documents?)?\b", " ", text
    )  # fmt: skip


def unquoted(text: str) -> str:
    """The text without quotations and without the title it asks for."""
    text = _bounded(text)
    title = _title(text)
    plain = _QUOTED.sub(" ", text)
    return _TITLED.sub(" ", plain.strip().rstrip(".")) if title else plain


def _bounded(text: str) -> str:
    """As much as a wish may be long, blanks made one: the patterns here are not made for more."""
    return re.sub(r"[^\S\n]+", " ", text[: limits.WISH_CHARACTERS])


def _title(text: str) -> str | None:
    match = _TITLED.search(text.strip().rstrip("."))
    return match[1].strip() if match else None
