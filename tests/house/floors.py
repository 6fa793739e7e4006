"""The import contract of the server's rooms: floors, and no circle between rooms on one floor.

A room is a folder of `agentpost` about one subject; a floor is what the name of a file in it says
(`messages/rows.py`, `messages/list_rows.py`). The contract in `pyproject.toml` lists the floors from
the top down, each with the modules that stand on it. A module imports from its own floor and from
those below. On one floor rooms may use each other as long as there is no circle: messages may use
jobs, or jobs messages, but not both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

Room = tuple[str, str]
"""A room and one floor of it; or a module and nothing."""

Imports = dict[Room, dict[Room, str]]
"""What a room imports from others, each with an import that does so."""


class FloorsContract(Contract):
    """Modules import downwards, and no rooms of one floor import each other in a circle.

    ``floors`` is a list from the top down. Each entry is a name, a colon and patterns: a module
    (`record.transitions`), all that a room has (`db.*`), a file's name in any room (`*.rows`), or any
    module of a room (`*.*`); the first of these kinds that fits decides. ``reserved`` has
    a floor or another package, a colon and the floors that may import from it.
    """

    package = fields.StringField()
    floors = fields.ListField(subfield=fields.StringField())
    reserved = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Look at every import between two modules of the package."""
        places = {
            module: self._floor_of(module, is_package=bool(graph.find_children(module)))
            for module in self._modules(graph)
        }
        order = [floor for floor, _, _ in _split(self.floors)]
        lost = sorted(module for module, floor in places.items() if floor is None)
        reserved = {name: floors.split() for name, _, floors in _split(self.reserved)}
        upward: list[str] = []
        direct: list[str] = []
        between: Imports = defaultdict(dict)
        modules: Imports = defaultdict(dict)
        for importer, floor in places.items():
            for imported in graph.find_modules_directly_imported_by(importer):
                below = places.get(imported) or imported.partition(".")[0]
                line = f"{importer} -> {imported}"
                if floor is None:
                    continue
                if floor not in reserved.get(below, [floor]):
                    direct.append(line)
                if imported not in places:
                    continue
                modules[importer, ""][imported, ""] = line
                if order.index(below) < order.index(floor):
                    upward.append(f"{line} ({floor} -> {below})")
                here, there = (_room(importer), floor), (_room(imported), below)
                if here != there:
                    between[here].setdefault(there, line)
        circle = [*find_circle(between), *find_circle(modules)]
        return ContractCheck(
            kept=not (lost or upward or direct or circle),
            metadata={
                "lost": lost,
                "upward": sorted(upward),
                "direct": sorted(direct),
                "circle": circle,
            },
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print what is wrong, a line for each module or import."""
        for title, key in (
            ("On no floor:", "lost"),
            ("Imports upward:", "upward"),
            ("Not for this floor:", "direct"),
            ("A circle:", "circle"),
        ):
            if check.metadata[key]:
                output.print_error(title)
                for line in check.metadata[key]:
                    output.print_error(f"  {line}")

    def _modules(self, graph: ImportGraph) -> Iterator[str]:
        return (m for m in graph.modules if m.startswith(f"{self.package}."))

    def _floor_of(self, module: str, *, is_package: bool) -> str | None:
        name = module.removeprefix(f"{self.package}.") + (".__init__" if is_package else "")
        for kind in ("module", "room", "file", "any"):
            for floor, _, patterns in _split(self.floors):
                if any(_kind(p) == kind and fnmatchcase(name, p) for p in patterns.split()):
                    return floor
        return None


def _split(lines: object) -> list[tuple[str, str, str]]:
    return [str(line).partition(":") for line in cast("list[object]", lines)]


def _room(module: str) -> str:
    return module.split(".")[1]


def _kind(pattern: str) -> str:
    if "*" not in pattern:
        return "module"
    if pattern == "*.*":
        return "any"
    return "file" if pattern.startswith("*.") else "room"


def find_circle(between: Imports) -> Iterator[str]:
    """The imports of one circle, if there is one."""
    done: set[Room] = set()
    path: list[Room] = []

    def visit(room: Room) -> list[str]:
        if room in path:
            ring = [*path[path.index(room) :], room]
            return [between[a][b] for a, b in zip(ring, ring[1:], strict=False)]
        if room in done:
            return []
        path.append(room)
        for other in between.get(room, {}):
            if circle := visit(other):
                return circle
        path.pop()
        done.add(room)
        return []

    for room in list(between):
        if circle := visit(room):
            yield from circle
            return
