"""Every event that the server logs is documented in docs/logs.md, and nothing else is."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house.tree import DOCS, Source, document, dotted, package, parse

LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
OUTPUT = "packages/agents/src/agentpost/author/output.py"
PASSING_ON = {
    OUTPUT: {"_log"},
    "packages/server/src/agentpost/record/lifecycle.py": {"log_after", "_log"},
}
"""Functions that log an event which they are given."""
ROW = re.compile(r"^\| `([a-z_]+)` \|", re.M)


def events(source: Source) -> Iterator[tuple[int, str]]:
    """Line and name of each event that is logged; an empty name when it is no literal."""
    passing_on = {
        id(node)
        for function in source.nodes
        if isinstance(function, ast.FunctionDef)
        and function.name in PASSING_ON.get(source.path, ())
        for node in ast.walk(function)
    }
    for node in source.nodes:
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "event" and is_name(value):
                    yield node.lineno, name_of(value)
        elif isinstance(node, ast.Call) and id(node) not in passing_on:
            called = dotted(node.func)
            owner, _, method = called.rpartition(".")
            is_log = method in LEVELS and owner.rpartition(".")[2] in ("log", "_log")
            second = method == "log_after" or (called, source.path) == ("self._log", OUTPUT)
            if is_log and node.args:
                yield node.lineno, name_of(node.args[0])
            elif second or called == "log.log":
                yield node.lineno, name_of(node.args[1])


def is_name(value: ast.expr) -> bool:
    """Whether this is an event that is made as a dict: one of the log itself."""
    return name_of(value).startswith("log_")


def name_of(value: ast.expr) -> str:
    return str(value.value) if isinstance(value, ast.Constant) else ""


def events_by_name() -> dict[str, str]:
    """Events by name, with a place where each is logged."""
    found = {name: f"{s.path}:{line}" for s in package() for line, name in events(s)}
    assert "" not in found, f"{found.get('')}: an event's name is written where it is logged"
    return found


def test_every_event_is_documented_once_and_in_words() -> None:
    rows, events = ROW.findall(document(DOCS / "logs.md")), events_by_name()
    assert {n: place for n, place in events.items() if n not in rows} == {}, "not documented"
    assert sorted(rows) == sorted(events), "documented, but not logged, or twice"
    assert [name for name in rows if not re.fullmatch("[a-z]+(_[a-z]+)+", name)] == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("log.info('a_thing', n=1)", "a_thing"),
        ("self.log.exception('a_thing')", "a_thing"),
        ("log_after(tx, 'a_thing', n=1)", "a_thing"),
        ("lifecycle.log_after(tx, 'a_thing')", "a_thing"),
        ("log.warning(name)", ""),
    ],
)
def test_the_check_sees_events(text: str, name: str) -> None:
    assert [found for _, found in events(parse(text))] == [name]
