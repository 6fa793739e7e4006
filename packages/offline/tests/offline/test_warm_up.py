"""What the built-in agent loads before the first message."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

from agentpost_offline.grammar import vocabulary
from agentpost_offline.grammar.requests import Surrounding, read
from agentpost_offline.offering import help_text
from agentpost_offline.warm_up import load
from agentpost_offline.words import stem

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


def test_a_turn_reads_words_while_a_thread_loads_them() -> None:
    """A stemmer that two threads share mixes their words, or fails."""
    words = [f"{word}{at}" for at in range(500) for word in ("nationalisation", "Umsätze", "ly")]
    expected = [[stem(word, algorithm) for word in words] for algorithm in ("english", "german")]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            algorithms = ("english", "german") * 2
            results = list(threads.map(lambda one: [stem(word, one) for word in words], algorithms))
    finally:
        sys.setswitchinterval(interval)
    assert results == expected * 2
