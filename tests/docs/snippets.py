"""The programs in the documents: Python blocks whose first line names a file."""

import re
from pathlib import Path

from tests.house.tree import document

BLOCK = re.compile(r"^```python\n# ([a-z_]+\.py)\n(.*?)^```$", re.M | re.S)


def programs(page: Path) -> dict[str, str]:
    """File name -> text of each program on the page."""
    return dict(BLOCK.findall(document(page)))


def write_programs(page: Path, folder: Path) -> None:
    """Put them into a folder, as a reader would."""
    found = programs(page)
    assert found, f"{page.name} shows no program"
    for name, text in found.items():
        (folder / name).write_text(text, "utf-8")
