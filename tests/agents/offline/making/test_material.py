"""What results are made from: tables by their content, texts of the message, each read once."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentpost.agents.base import CannotSucceed
from agentpost_offline.frame import Thing
from agentpost_offline.making import material
from tests.agents.fakes import file
from tests.agents.offline.making import stories

TABLE = "month,region,revenue\n2025-01,East,100\n2025-02,East,120\n2025-01,West,80\n"
TEXT = "Our plan for the shop in Kiel\n\nThe rent is 70,000 euros a year. We open in June.\n"


@pytest.mark.parametrize("name", ["sales.csv", "sales.txt", "sales", "sales.dat"])
def test_a_table_is_known_by_its_content(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(TABLE)
    files = stories.local([file(tmp_path / name)])
    found = material.gathered(files, stories.frame(Thing.DECK, files))
    assert [table.rows for table in found.tables] == [3]


@pytest.mark.parametrize("name", ["plan.txt", "plan.md", "plan"])
def test_a_text_is_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(TEXT)
    files = stories.local([file(tmp_path / name)])
    with pytest.raises(CannotSucceed, match=f"{name} has no table"):
        material.gathered(files, stories.frame(Thing.DECK, files))


def test_a_pasted_table_is_material() -> None:
    assert len(material.gathered([], stories.frame(Thing.DECK, text=TABLE)).tables) == 1
