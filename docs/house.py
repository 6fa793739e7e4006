"""Draws the map of the rooms into ARCHITECTURE.md: `make house`.

Rows are rooms, folders of `agentpost`; columns are floors, by the names of files
(`tests/house/floors.py`). What a room is, its docstring says. tests/house/test_generated.py fails
when the map is not up to date.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.house.floors import declared, floor_of  # noqa: E402

TREES = [ROOT / "packages" / name / "src" / "agentpost" for name in ("agents", "server")]
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- rooms: made by make house -->", "<!-- end of rooms -->"
COLUMNS = {
    "rules": ("rules", "shapes"),
    "rows": ("rows",),
    "use cases": ("state", "actions", "loops", "runtime"),
    "routes and pages": ("entries",),
    "commands": ("commands",),
}


def floors_of(room: Path) -> dict[str, list[Path]]:
    """The files of a room by the column that they stand in."""
    floors: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(room.glob("*.py")):
        if path.stem == "__init__":
            continue
        floor = floor_of(f"{room.name}.{path.stem}", declared())
        column = next((name for name, names in COLUMNS.items() if floor in names), "")
        floors[column].append(path)
    return floors


def is_subject(room: Path) -> bool:
    """Whether a room is about one subject: it has files on several floors."""
    return floor_of(f"{room.name}.__init__", declared()) == "actions"


def what(room: Path) -> str:
    """The first line of a room's docstring."""
    text = ast.get_docstring(ast.parse((room / "__init__.py").read_text("utf-8"))) or ""
    return text.partition("\n")[0]


def drawn() -> Iterator[str]:
    """The lines of the map."""
    rooms = sorted(
        (path.parent for tree in TREES for path in tree.glob("*/__init__.py")),
        key=lambda room: room.name,
    )
    yield f"| Room | {' | '.join(COLUMNS)} |"
    yield "|---" * (len(COLUMNS) + 1) + "|"
    for room in filter(is_subject, rooms):
        floors = floors_of(room)
        cells = (", ".join(map(_link, floors.get(column, []))) for column in COLUMNS)
        yield f"| [{room.name}]({_path(room)}) | {' | '.join(cells)} |"
    yield ""
    yield "Beside them stands what belongs to no subject:"
    yield ""
    yield "| Room | What it is | Floor |"
    yield "|---|---|---|"
    for room in rooms:
        if not is_subject(room):
            floor = floor_of(f"{room.name}.__init__", declared())
            yield f"| [{room.name}]({_path(room)}) | {what(room)} | {floor} |"


def page(text: str) -> str:
    """ARCHITECTURE.md with the map as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "".join((before, BEGIN, "\n\n", "\n".join(drawn()), "\n\n", END, after))


def _link(path: Path) -> str:
    return f"[{path.stem}]({_path(path)})"


def _path(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
