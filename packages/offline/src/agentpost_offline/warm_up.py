"""What turns read into memory once: the word lists of all languages, and what can be made."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial

from agentpost_offline.grammar import vocabulary
from agentpost_offline.making import catalogue
from agentpost_offline.words import LANGUAGES


async def load() -> None:
    """Load it in a thread, since a part takes up to a second, and turns that come must not wait."""
    for part in _parts():
        await asyncio.to_thread(part)


def _parts() -> Iterator[Callable[[], object]]:
    # A text with letters: it is compared with the word lists.
    yield partial(vocabulary.language_of, "a message")
    yield from (partial(vocabulary.lexicon, language) for language in LANGUAGES)
    yield vocabulary.concepts
    yield from (maker.load for maker in catalogue.MAKERS.values())
