"""What ordinary requests mean, in six languages: each line of `requests.txt`."""

from __future__ import annotations

import pytest

from agentpost.agents.offline.understanding import messages
from agentpost.agents.offline.understanding.reading import Reading
from tests.agents.offline.understanding.meanings import Row, differences, rows
from tests.agents.offline.understanding.tables import TABLES


def read(row: Row) -> list[Reading]:
    """The frames of a request, as the turn reads it."""
    on = [name for name in row.on.split(",") if name]
    tables = [TABLES[name] for name in on if name in TABLES]
    return messages.read(row.text, tables, today="2025-12-31").readings


def act_of(reading: Reading, on: str) -> str:
    """The first word of a meaning."""
    frame, intent = reading.frame, reading.intent
    if intent.talk:
        return "unable" if intent.talk == "unable" else f"talk:{intent.talk}"
    if intent.control:
        return f"control:{intent.control}"
    if frame.act == "make":
        thing = frame.thing or ""
        return "unable" if not on and thing in ("image", "video") else f"make:{thing}"
    return frame.act.value


@pytest.mark.parametrize("row", rows("requests.txt"), ids=lambda row: row.text)
def test_a_request_means_what_people_mean(row: Row) -> None:
    found = read(row)
    meanings = [part.strip() for part in row.meaning.split(" & ")]
    wrong = [
        problem
        for reading, meaning in zip(found, meanings, strict=False)
        for problem in differences(reading.frame, meaning, act_of(reading, row.on))
    ]
    assert not wrong
    assert [act_of(reading, row.on) for reading in found] == [m.split()[0] for m in meanings]
