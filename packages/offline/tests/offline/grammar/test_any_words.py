"""Any words in any order are read as something, or asked about: reading never fails."""

from __future__ import annotations

import random

import msgspec
import pytest

from agentpost.agents import File
from agentpost_offline.data.dataset import open_tables
from agentpost_offline.grammar.describing import frame_text
from agentpost_offline.grammar.edits import Work
from agentpost_offline.grammar.requests import Surrounding, read
from agentpost_offline.grammar.suggesting import suggest
from agentpost_offline.grammar.vocabulary import word_list
from agentpost_offline.words import LANGUAGES
from tests.agents.fakes import localised


@pytest.mark.parametrize("language", LANGUAGES)
def test_reading_never_fails(csv: File, language: str) -> None:
    chance = random.Random(7)
    phrases = [
        phrase.strip() for keys in word_list(language).values() for listed in keys.values()
        for phrase in listed.split(";")
    ]  # fmt: skip
    own = ["month", "region", "revenue", "unit_price", "North", "Online", "2025", "3", "maximum"]
    works: list[Work] = []
    with open_tables(localised([csv])) as data:
        for _ in range(50):
            parts = [chance.choice(own if chance.random() < 0.5 else phrases) for _ in range(5)]
            around = Surrounding(data.tables, frozenset({"table"}), works, "2026-01-01", language)
            for reading in read(" ".join(parts), around):
                for choice in suggest(reading, around):
                    assert choice.label
                if reading.frame is not None:
                    assert frame_text(reading.frame, reading.table)
                if reading.is_sure and reading.frame is not None:
                    works = [Work("", msgspec.structs.replace(reading.frame, files=("f",)))]
