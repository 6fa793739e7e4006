"""Data typed into a message: "apples 40, pears 25 and plums 12.5" is a table of two columns."""

import re
from typing import Final

from agentpost_offline.grammar.tagging import terms
from agentpost_offline.grammar.text import HAN
from agentpost_offline.grammar.vocabulary import lexicon
from agentpost_offline.replying import say

_MONEY: Final = r"(?:€|\$|£|¥|%|k\b|eur\b|usd\b)"
_WORD: Final = rf"(?:[^\W\d_{HAN}]+(?:[-'’.][^\W\d_{HAN}]+)*\.?|[{HAN}]+)"
_ITEM: Final = re.compile(
    rf"(?P<label>{_WORD}(?: +{_WORD}){{0,3}}) *[:：=–-]? *"
    rf"(?P<value>{_MONEY}? ?-?\d+(?:[.,'’]\d+)*(?: ?{_MONEY})?)(?![a-zA-ZÀ-ɏ0-9])",
    re.IGNORECASE,
)
_JOINTS: Final = re.compile(r"[\s,;，；、،|/+&]*")
_AND: Final = re.compile(r"(?:(?:and|und|y|e|et|و)\s+|[和与]|و(?=\w{2}))", re.IGNORECASE)
_NO_LABEL: Final = (
    "thing", "kind", "format", "title", "op", "extreme", "unit", "ask", "aggregate", "grain",
    "control", "talk", "colour", "period", "month", "ordinal", "number", "by", "edit",
    "option", "not", "only", "sort", "versus",
)  # fmt: skip


def typed_table(text: str, language: str, least: int = 2) -> tuple[str, str]:
    """A text without the longest run of labels with numbers, and these as lines with tabs under a
    header; the text alone where there are fewer than ``least`` of them."""
    best: list[tuple[int, int, str, str]] = []
    run: list[tuple[int, int, str, str]] = []
    for match in _ITEM.finditer(text):
        start, label = match.start(), match["label"]
        if not run or not _JOINTS.fullmatch(text[run[-1][1] : start]):
            run = []
            start, label = _without_request(label, start, language)
        elif joint := _AND.match(label):
            label = label[joint.end() :]
        if run and label and _is_request(label.split()[0], language):
            run = []
            continue
        if label:
            run.append((start, match.end(), label, match["value"].strip()))
        best = max(best, run.copy(), key=len)
    labels = {label.casefold() for _, _, label, _ in best}
    if len(best) < least or len(labels) < len(best):
        return text, ""
    head = say(language, "typed_columns").split("; ")
    rows = [head, *([label, value] for _, _, label, value in best)]
    rest = (
        f"{text[: best[0][0]].rstrip(' :：')} {text[best[-1][1] :].lstrip(' ,;，；、،.')}".strip()
    )
    return rest, "\n".join("\t".join(row) for row in rows)


def extend(data: str, text: str, language: str) -> str:
    """Typed data with the rows that a message adds ("add cherries 9"); "" where it adds none, or
    asks for more than that."""
    rest, more_rows = typed_table(text, language, least=1)
    head, _, rows = more_rows.partition("\n")
    is_all = all(term.has("small") or term.kind == "mark" for term in terms(rest, language))
    return f"{data}\n{rows}" if rows and is_all and data.startswith(f"{head}\n") else ""


def _without_request(label: str, start: int, language: str) -> tuple[int, str]:
    """A label without the words before it that belong to the request: "pie chart of apples"."""
    for term in reversed(terms(label, language)):
        if term.has("month") and term.end == len(label):
            continue
        is_word = term.has(*_NO_LABEL) or (term.has("small") and term.text.islower())
        if is_word and not term.typo_of:
            rest = label[term.end :]
            return start + term.end + len(rest) - len(rest.lstrip()), rest.strip()
    return start, label


def _is_request(word: str, language: str) -> bool:
    words = lexicon(language)
    meanings = words.phrases.get((words.key(word),), ())
    return any(one.partition(".")[0] in ("title", "thing", "kind", "edit") for one in meanings)
