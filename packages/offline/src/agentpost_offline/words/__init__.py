"""The words of each language, one table for each: of requests, of documents and of tables."""

import functools
import tomllib
from importlib import resources
from typing import Any, Final

LANGUAGES: Final = ("en", "de", "es", "fr", "zh", "ar")


@functools.cache
def table(language: str) -> dict[str, dict[str, str]]:
    """A language's table: sections of keys with phrases between semicolons."""
    text = (resources.files(__name__) / f"{language}.toml").read_text("utf-8")
    read: dict[str, Any] = tomllib.loads(text)
    return read


@functools.cache
def nouns() -> dict[str, list[str]]:
    """The names of things, a thing an item, with semicolons between what it is called: of
    ``people`` and other ``rows``, of ``figures``, and of ``others``."""
    return tomllib.loads((resources.files(__name__) / "nouns.toml").read_text("utf-8"))


@functools.cache
def phrase_lists(section: str) -> dict[str, dict[str, list[str]]]:
    """The lists of words of a section, by language and key."""
    return {
        code: {
            key: [phrase.strip() for phrase in phrases.split(";") if phrase.strip()]
            for key, phrases in table(code)[section].items()
        }
        for code in LANGUAGES
    }


def stem(word: str, algorithm: str) -> str:
    """What a word has in common with its other forms, by a Snowball ``algorithm``.

    Each call has a stemmer of its own, since one holds the word that it works on, and turns read
    while a thread still loads the word lists. Making one takes a seventieth of the time of a word.
    """
    import snowballstemmer

    return str(snowballstemmer.stemmer(algorithm).stemWord(word))
