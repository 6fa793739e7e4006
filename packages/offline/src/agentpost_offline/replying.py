"""What the agent says, in the user's language: texts are data, one file for each language."""

import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import Any

from agentpost_offline.style.languages import language as written

_SOURCES = 3
_SHORT = 80
_ITEMS = 12


@cache
def _texts(language: str) -> dict[str, Any]:
    folder = resources.files("agentpost_offline") / "replies"
    path = folder / f"{language}.toml"
    if not path.is_file():
        path = folder / "en.toml"
    return tomllib.loads(path.read_text("utf-8"))


def say(language: str, key: str, **values: object) -> str:
    """A text by its key (``title.chart`` is in a section), with its places filled in."""
    result: Any = _texts(language)
    for part in key.split("."):
        result = result[part]
    return str(result).format(**values)


def knows(language: str, key: str) -> bool:
    """Whether there is such a text."""
    result: Any = _texts(language)
    for part in key.split("."):
        if not isinstance(result, dict) or part not in result:
            return False
        result = result[part]
    return True


def list_text(language: str, items: Sequence[str], word: str = "and") -> str:
    """As in "a, b and c"."""
    if word == "and":
        return written(language).join(items)
    joint = say(language, word)
    return written(language).join(items, joint if language == "zh" else f" {joint} ")


def quote_words(language: str, words: Iterable[str], word: str = "or") -> str:
    """Words in quotation marks of the language."""
    marks = {"de": "„{}“", "es": "«{}»", "fr": "« {} »", "ar": "«{}»"}.get(language, "“{}”")
    return list_text(language, [marks.format(shorten(one)) for one in words], word)


def sources(language: str, names: Sequence[str]) -> str:
    """The files something is made from, the first few by name."""
    if not names:
        return say(language, "your_text")
    visible = [shorten(name) for name in names[:_SOURCES]]
    more = len(names) - len(visible)
    return list_text(language, [*visible, f"+{more}"] if more else visible)


def details(
    language: str, used: Sequence[str], omissions: Sequence[str], notes: Sequence[str]
) -> str:
    """``Used: …``, ``Not used: …`` and notes, one a line; nothing for an empty list, and only the
    number of what is beyond the first dozen."""
    colon = written(language).colon
    semicolon, stop = ("；", "。") if language == "zh" else ("; ", ".")
    lines = []
    for key, items in (("used", used), ("skipped", omissions), ("note", notes)):
        first = [item.rstrip(".") for item in items[:_ITEMS]]
        first += [f"+{len(items) - _ITEMS}"] if len(items) > _ITEMS else []
        if first:
            lines.append(f"{say(language, key)}{colon}{semicolon.join(first)}{stop}")
    return "\n".join(lines)


def shorten(text: str, most: int = _SHORT) -> str:
    """At most so many characters."""
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
