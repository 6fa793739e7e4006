"""What the agent offers it understands: each sentence, in each language, runs when it is sent."""

from __future__ import annotations

import pytest

from agentpost.agents import File
from agentpost_offline import offering
from agentpost_offline.data.dataset import open_tables
from agentpost_offline.grammar.requests import Surrounding, read
from agentpost_offline.replying import say
from agentpost_offline.words import LANGUAGES
from tests.agents.fakes import localised

DOCUMENTS, PICTURES = ("document_pdf", "document_deck"), ("square", "half", "gray")


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_offer_is_understood(csv: File, language: str) -> None:
    with open_tables(localised([csv])) as data:
        sentences = offering.table_sentences(data.tables[0], language)
        assert len(sentences) == 6
        for text in sentences:
            around = Surrounding(data.tables, frozenset({"table"}), language=language)
            assert [one.is_sure for one in read(text, around)] == [True], text
    for kind, keys in (("document", DOCUMENTS), ("image", PICTURES)):
        for key in keys:
            text = say(language, f"offers.{key}")
            around = Surrounding(kinds=frozenset({kind}), language=language)
            readings = read(text, around)
            assert [one.is_sure for one in readings] == [True], (text, readings[0].draft.unknown)
            assert readings[0].frame is not None
            assert readings[0].frame.thing == ("image" if kind == "image" else "document")
