"""Meanings in one line: how the tables of requests write down what a frame must say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from agentpost.agents.offline.frame import Filter, Frame, Query
from agentpost.agents.offline.understanding.words import lexicon

HERE = Path(__file__).parent
COLOURS = {"green": "#2e8b57", "red": "#c0392b", "darkblue": "#1b2f5b"}
_QUERY = ("m", "g", "t", "f", "h", "top", "bottom", "desc", "asc")


class Row(NamedTuple):
    """A line of a table of requests."""

    language: str
    on: str
    text: str
    meaning: str


def rows(name: str) -> list[Row]:
    """The lines of a file."""
    language = "en"
    found: list[Row] = []
    for line in (HERE / name).read_text("utf-8").splitlines():
        if line.startswith("== "):
            language = line[3:].strip()
        elif line.strip() and not line.startswith("#"):
            on, text, meaning = (part.strip() for part in line.split(" | "))
            found.append(Row(language, on, text, meaning))
    return found


def terms(meaning: str) -> dict[str, str]:
    """``make:chart m=x g=y`` as a dictionary; a title may contain blanks."""
    found: dict[str, str] = {}
    last = ""
    for word in meaning.split():
        key, mark, value = word.partition("=")
        if mark and re.fullmatch("[a-z]+", key):
            found[key], last = value, key
        elif last == "title":
            found[last] += f" {word}"
        elif found:
            found[last or "act"] += f" {word}"
        else:
            found["act"] = word
    return found


def query_terms(query: Query) -> dict[str, str]:
    """A query in the same words."""
    found: dict[str, str] = {}
    if query.measures:
        found["m"] = ",".join(
            ".".join(
                [m.column or "#", m.aggregate.value, *([m.derived.value] if m.derived else [])]
            )
            for m in query.measures
        )
    if query.groups:
        found["g"] = ",".join(query.groups)
    if query.time:
        length = "ends" if query.ends else ""
        found["t"] = f"{query.time}.{query.grain.value if query.grain else length}"
    if query.filters:
        found["f"] = ";".join(sorted(map(_filter, query.filters)))
    if query.having:
        found["h"] = ";".join(sorted(map(_filter, query.having)))
    if query.order is not None:
        word = "top" if query.order.descending else "bottom"
        if query.order.count:
            found[word] = str(query.order.count)
        else:
            found["desc" if query.order.descending else "asc"] = ""
    return found


def _filter(one: Filter) -> str:
    name = f"{one.column}@{one.grain.value}" if one.grain else one.column
    values = ",".join(f"{v:g}" if isinstance(v, float) else v for v in one.values)
    return f"{name}:{one.op.value}:{values}"


def differences(frame: Frame, meaning: str, act: str) -> list[str]:
    """What of a frame is not as its meaning says."""
    wanted = terms(meaning)
    query = query_terms(frame.queries[0]) if frame.queries else {}
    style = frame.style
    had = {
        **query,
        "act": act,
        "kind": style.chart or "",
        "colour": style.colour or "",
        "title": style.title or "",
        "pages": str(style.pages or ""),
        "secs": f"{style.seconds:g}" if style.seconds else "",
        "len": style.length or "",
        "fmt": ",".join(frame.formats),
        "size": "{}x{}".format(*style.size) if style.size else "",
        "sect": ",".join(style.sections),
        "lang": frame.language,
        "unused": ",".join(word.casefold() for word in frame.unused),
    }
    if "f" in wanted:
        wanted["f"] = ";".join(sorted(wanted["f"].split(";")))
    if "colour" in wanted:
        wanted["colour"] = COLOURS[wanted["colour"]]
    wrong = [
        f"{key}: {had.get(key, '')!r}, not {value!r}"
        for key, value in wanted.items()
        if had.get(key, "") != value
    ]
    if any(key in wanted for key in _QUERY) or (act in ("ask",) and query):
        extra = [key for key in _QUERY if key in query and key not in wanted]
        if "unused" not in wanted:
            wrong += [f"{key}: {query[key]!r}, but nothing was said" for key in extra]
    if query and "unused" not in wanted and frame.unused:
        wrong.append(f"unused: {frame.unused}")
    return wrong


def known_languages() -> list[str]:
    """Languages whose words there are."""
    return [code for code in ("en", "de", "es", "fr", "zh", "ar") if lexicon(code)]
