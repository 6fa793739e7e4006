"""Writing from given material: minutes, questions and answers, changelogs, letters. Nothing is
invented: every sentence of the material stays as it is, in the order and under the headings that
the kind of text has."""

from __future__ import annotations

from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.making.maker import Maker
from agentpost.agents.offline.making.writing.making import CREDITS, make

MAKER = Maker(
    thing=Thing.WRITING,
    title="Text",
    credits=CREDITS,
    formats=("docx", "md"),
    needs=frozenset({"document", "text"}),
    make=make,
)

__all__ = ["MAKER"]
