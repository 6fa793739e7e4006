"""Keeps docs/contract.md true to the code: its Tests column and the places that moved.

    python docs/contract.py

The column is made from the marks of the tests, `@pytest.mark.rule("Webhook events 7")`. A place
`file.py::symbol` whose file is gone gets the one other file that has the symbol now. Every place
that is not certain is printed, with a guess, and the script ends with 1.
tests/house/test_generated.py fails when the page is not up to date.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "contract.md"
TREES = [ROOT / "packages" / name / "src" / "agentpost" for name in ("server", "agents")]
HEAD = "| Rule | What holds | Code | Tests |"
TESTS = ("tests", "packages/*/tests", "clients/*/tests")
UNTESTED = "not tested yet"
NOTHING_TO_KEEP = "nothing to keep"
ROW = re.compile(r"\| (?P<rule>[^|`]+?) \| (?P<text>[^|]+?) \| (?P<code>[^|]+?) \| [^|]* \|")


@dataclass(frozen=True)
class Rule:
    """A row: `places` as `file.py::symbol` below the package (or the repository)."""

    name: str
    text: str
    places: tuple[str, ...]

    @property
    def keeps_nothing(self) -> bool:
        """The specification says of something that it is left open."""
        return self.places == ()

    def line(self, tests: Sequence[str]) -> str:
        """The row as it stands on the page."""
        named = "<br>".join(f"`{test}`" for test in tests) or UNTESTED
        code = "<br>".join(f"`{place}`" for place in self.places)
        if self.keeps_nothing:
            code = named = NOTHING_TO_KEEP
        return f"| {self.name} | {self.text} | {code} | {named} |"


def parse(line: str) -> Rule | None:
    """The rule of a row, None for every other line of the page."""
    found = ROW.fullmatch(line)
    if found is None or line == HEAD or set(line) <= set("|- "):
        return None
    return Rule(found["rule"], found["text"], tuple(re.findall("`([^`]+)`", found["code"])))


def rules(page: str) -> list[Rule]:
    """Every rule of the page, in its order."""
    return [rule for rule in map(parse, page.splitlines()) if rule is not None]


# --- the code -------------------------------------------------------------------------------------
def file_of(place: str) -> Path | None:
    """The file that a place names, if it is there."""
    name = place.partition("::")[0]
    return next((path for tree in (*TREES, ROOT) if (path := tree / name).is_file()), None)


@cache
def symbols(path: Path) -> frozenset[str]:
    """Functions, classes, their members and the names a module assigns: `A`, `A.b`."""
    return frozenset(_symbols(ast.parse(path.read_text("utf-8")).body))


def _symbols(body: list[ast.stmt], owner: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield owner + node.name
        elif isinstance(node, ast.ClassDef):
            yield owner + node.name
            yield from _symbols(node.body, f"{owner}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (owner + target.id for target in targets if isinstance(target, ast.Name))


def is_there(place: str) -> bool:
    """The file is there and has the symbol."""
    path, symbol = file_of(place), place.partition("::")[2]
    return path is not None and symbol in symbols(path)


def moved_to(place: str) -> str | None:
    """The place again with the one file that has its symbol now; None without such a file."""
    name, _, symbol = place.partition("::")
    paths = (path for tree in TREES for path in tree.rglob("*.py"))
    having = [path for path in paths if symbol in symbols(path)]
    having = [path for path in having if path.name == Path(name).name] or having
    if len(having) != 1:
        return None
    return f"{having[0].as_posix().rpartition('/src/agentpost/')[2]}::{symbol}"


# --- the tests ------------------------------------------------------------------------------------
def marks() -> dict[str, list[str]]:
    """Rule -> the tests that are marked with it, as pytest takes them."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(p for f in TESTS for p in ROOT.glob(f"{f}/**/test_*.py")):
        text = path.read_text("utf-8")
        if "mark.rule" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for name in _marked(node):
                    found[name].append(f"{path.relative_to(ROOT).as_posix()}::{node.name}")
    return found


def _marked(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.rule":
            for argument in mark.args:
                assert isinstance(argument, ast.Constant), f"{node.name}: write the rule out"
                yield str(argument.value)


# --- the page -------------------------------------------------------------------------------------
def updated(page: str) -> str:
    """The page with today's tests, and with the places that are certain."""
    tests = marks()
    lines = []
    for line in page.splitlines():
        rule = parse(line)
        if rule is not None:
            places = (p if file_of(p) else moved_to(p) or p for p in rule.places)
            line = replace(rule, places=tuple(places)).line(tests.get(rule.name, ()))
        lines.append(line)
    return "\n".join(lines) + "\n"


def stale(page: str) -> list[str]:
    """One line for each place that is not there."""
    gone = [(r.name, place) for r in rules(page) for place in r.places if not is_there(place)]
    return [f"{name}: {place} is not there ({_guess(place)})" for name, place in gone]


def _guess(place: str) -> str:
    found = moved_to(place)
    return f"perhaps {found}" if found else "no other file, or more than one, has that name"


if __name__ == "__main__":
    new = updated(PAGE.read_text("utf-8"))
    PAGE.write_text(new, "utf-8")
    print(*stale(new), sep="\n", end="")
    sys.exit(1 if stale(new) else 0)
