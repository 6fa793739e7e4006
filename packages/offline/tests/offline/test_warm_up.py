"""What the built-in agent loads before the first message."""

import asyncio

from agentpost_offline.grammar import vocabulary
from agentpost_offline.grammar.requests import Surrounding, read
from agentpost_offline.offering import help_text
from agentpost_offline.warm_up import load

CACHES = (
    vocabulary.word_list, vocabulary.lexicon, vocabulary._evidence, vocabulary.concepts,
)  # fmt: skip


def test_the_first_message_finds_everything_loaded() -> None:
    for cache in CACHES:
        cache.cache_clear()
    asyncio.run(load())
    loaded = [cache.cache_info().misses for cache in CACHES]
    assert all(loaded)
    for text in ("Chart revenue by month", "Erstelle einen Bericht über die Umsätze", "做一个图表"):
        read(text, Surrounding(language=vocabulary.language_of(text)))
    vocabulary.concepts()
    help_text("en")
    assert [cache.cache_info().misses for cache in CACHES] == loaded
