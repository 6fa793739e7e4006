"""Words that tables use."""

import functools
import re
from collections.abc import Iterable

from agentpost_offline.words import phrase_lists


def languages() -> dict[str, dict[str, list[str]]]:
    """Every language's words for tables, by its ISO 639-1 code."""
    return phrase_lists("tables")


@functools.cache
def every(key: str) -> frozenset[str]:
    """The words under a key, of all languages together."""
    return frozenset(word for words in languages().values() for word in words.get(key, ()))


@functools.cache
def months() -> dict[str, int]:
    """The number of the month by each of its names."""
    results: dict[str, int] = {}
    for words in languages().values():
        for names in (words["months"], words["short_months"]):
            for number, name in enumerate(names, 1):
                results.setdefault(name, number)
    return results


@functools.cache
def weekdays() -> dict[str, int]:
    """The number of the day of the week, Monday 1, by each of its names."""
    results: dict[str, int] = {}
    for words in languages().values():
        for number, name in enumerate(words["weekdays"], 1):
            for form in (name, name[:3], name[:2]):
                results.setdefault(form, number)
    return results


@functools.cache
def quarters() -> dict[str, int]:
    """The number of the quarter by each of its names."""
    forms = ("q{}", "q {}", "quarter {}", "quartal {}", "trimestre {}", "{}. quartal")
    return {form.format(number): number for form in forms for number in range(1, 5)}


def calendar(labels: Iterable[str]) -> dict[str, int]:
    """The place of each label in the year or week when all are months, quarters or days of the
    week; else nothing. A place is found by the label in lower case without a final full stop."""
    entries = {label.lower().rstrip(".") for label in labels}
    for places in (months(), weekdays(), quarters()):
        if len(entries) > 1 and entries <= places.keys():
            return places
    return {}


def tokens(name: str) -> list[str]:
    """The words of a column's name in lower case; ``camelCase`` and ``snake_case`` are cut."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", " ", name).replace("_", " ").lower()
    return re.findall(r"[^\W_]+|[%€$£¥°]", text)


def names(name: str, key: str) -> bool:
    """Whether a column's name has one of the words under a key. Chinese is written without blanks,
    so its words may stand anywhere in the name."""
    results = set(tokens(name))
    lower = name.lower()
    return any(
        word in results or ("\u3400" <= word[0] <= "\u9fff" and word in lower)
        for word in every(key)
    )
