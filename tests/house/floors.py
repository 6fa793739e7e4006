"""The import contract of the server's rooms: floors, and no circle between rooms on one floor.

A room is a folder of `agentpost` about one subject; a floor is what the name of a file in it says
(`messages/rows.py`, `messages/list_rows.py`). The contract in `pyproject.toml` lists the floors
from the top, each with the modules that stand on it. A module imports from its own floor and from
those below. On one floor rooms may use each other as long as there is no circle: messages may use
jobs, or jobs messages, but not both.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from itertools import pairwise
from pathlib import Path
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
    (`record.transitions`), all that a room has (`db.*`), a file's name in any room (`*.rows`), or
    any module of a room (`*.*`); the first of these kinds that fits decides. ``reserved`` has a
    floor or another package, a colon and the floors that may import from it.
    """

    package = fields.StringField()
    floors = fields.ListField(subfield=fields.StringField())
    reserved = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Look at every import between two modules of the package."""
        floors = _texts(self.floors)
        order = [floor for floor, _, _ in _split(floors)]
        reserved = {name: importers.split() for name, _, importers in _split(_texts(self.reserved))}
        places = {
            module: floor_of(
                module.removeprefix(f"{self.package}.")
                + (".__init__" if graph.find_children(module) else ""),
                floors,
            )
            for module in self._modules(graph)
        }
        lost = sorted(module for module, floor in places.items() if floor is None)
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


def floor_of(name: str, floors: Sequence[str]) -> str | None:
    """The floor of a module.

    Args:
        name: its name below the package; that of a folder ends with `.__init__`.
        floors: as in `FloorsContract`.
    """
    for kind in ("module", "room", "file", "any"):
        for floor, _, patterns in _split(floors):
            if any(_kind(p) == kind and fnmatchcase(name, p) for p in patterns.split()):
                return floor
    return None


@cache
def declared() -> tuple[str, ...]:
    """The floors of agentpost, from `pyproject.toml`."""
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    return tuple(next(c["floors"] for c in contracts if c["id"] == "floors"))


def _texts(field: object) -> list[str]:
    return [str(line) for line in cast("list[object]", field)]


def _split(lines: Sequence[str]) -> list[tuple[str, str, str]]:
    return [line.partition(":") for line in lines]


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

    def follow(room: Room) -> list[str]:
        if room in path:
            ring = [*path[path.index(room) :], room]
            return [between[a][b] for a, b in pairwise(ring)]
        if room in done:
            return []
        path.append(room)
        for other in between.get(room, {}):
            if circle := follow(other):
                return circle
        path.pop()
        done.add(room)
        return []

    for room in list(between):
        if circle := follow(room):
            yield from circle
            return
