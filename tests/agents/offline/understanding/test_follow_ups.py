"""Follow-ups change only what they name, in any work of the conversation: `follow_ups.txt`."""

from __future__ import annotations

import pytest

from agentpost.agents.offline.frame import Frame, Thing
from agentpost.agents.offline.understanding import conversation, messages
from agentpost.agents.offline.understanding.conversation import Work
from tests.agents.offline.understanding.meanings import Row, differences, rows
from tests.agents.offline.understanding.tables import TABLES

TABLE = {
    "en": "sales",
    "de": "umsatz",
    "es": "ventas",
    "fr": "magasins",
    "zh": "xiaoshou",
    "ar": "mabiat",
}


def made_before(row: Row) -> list[Work]:
    """The works of the conversation, oldest first."""
    table = TABLES[TABLE[row.language]]
    works = []
    for number, said in enumerate(row.on.split(";"), 1):
        [reading] = messages.read(said, [table], today="2025-12-31").readings
        works.append(Work(f"work_{number}", reading.frame))
    return works


@pytest.mark.parametrize("row", rows("follow_ups.txt"), ids=lambda row: f"{row.on}: {row.text}")
def test_a_follow_up_changes_only_what_it_names(row: Row) -> None:
    works = made_before(row)
    table = TABLES[TABLE[row.language]]
    found = messages.read(
        row.text, [table], works=True, today="2025-12-31", language=row.language,
        base=works[-1].frame,
    )  # fmt: skip
    [reading] = found.readings
    target = conversation.target(works[::-1], reading)
    frame: Frame | None
    if target is None:
        number, frame = "0", reading.frame
    else:
        number = target.id.removeprefix("work_")
        frame = conversation.changed(target, reading)
    wanted, _, meaning = row.meaning.partition(" ")
    assert frame is not None
    assert isinstance(frame.thing, Thing)
    assert not differences(frame, meaning, f"make:{frame.thing.value}")
    assert number == wanted
