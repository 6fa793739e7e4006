"""Words that the code must not contain: grab bags, unfinished work, direct use of time."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

import pytest

from tests.house.banned_turns import banned
from tests.house.old_words import OLD_NAMES
from tests.house.texts import texts
from tests.house.tree import DOCS, Source, client, document, dotted, package, parse, sources

GRAB_BAGS = {"common", "helper", "helpers", "misc", "util", "utils"}
UNDONE = re.compile(r"\b(TODO|FIXME|XXX|HACK|(raise|return) NotImplementedError)\b")

OTHER_PAGES = {
    # Made from other texts.
    *("contract.md", "state-machine.md", "command-reference.md", "gallery/README.md"),
    # For people who work on the code.
    *("design.md", "faults.md"),
}

# Time and ids come in through `clock`, so that a test can move days at once and repeat a history.
CHANCE_AND_TIME = {
    *("datetime.date.today", "datetime.datetime.now"),
    *("datetime.datetime.today", "datetime.datetime.utcnow"),
    *("random", "time.time", "time.time_ns", "uuid.uuid1", "uuid.uuid4"),
}
FREE = (
    "packages/server/src/agentpost/clock.py",  # is the clock
    "packages/server/src/agentpost/bootstrap",  # hands it out
)


def names(source: Source) -> Iterator[tuple[int, str]]:
    """Line and full name of everything the file refers to, whatever it calls it."""
    known: dict[str, str] = {}
    for node in source.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                known[alias.asname or alias.name] = alias.name
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield node.lineno, f"{node.module}.{alias.name}"
    for node in source.nodes:
        if isinstance(node, ast.Attribute):
            first, dot, rest = dotted(node).partition(".")
            if first in known:
                yield node.lineno, f"{known[first]}{dot}{rest}"


def chance_and_time(source: Source) -> Iterator[str]:
    for line, name in names(source):
        if name in CHANCE_AND_TIME or name.startswith("random."):
            yield f"{source.path}:{line}: {name}"


def defined(source: Source) -> Iterator[tuple[int, str]]:
    """Line and name of everything a file defines or binds: functions, classes, arguments, names."""
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def old_names(source: Source) -> Iterator[str]:
    for line, name in defined(source):
        if (new := OLD_NAMES.get(name.lstrip("_"))) is not None:
            yield f"{source.path}:{line}: {name} is called {new} (ARCHITECTURE.md)"


def undone(source: Source) -> Iterator[str]:
    for number, line in enumerate(source.text.splitlines(), start=1):
        if UNDONE.search(line):
            yield f"{source.path}:{number}: {line.strip()}"


def test_no_module_is_a_grab_bag() -> None:
    paths = [source.path for source in (*package(), *client())]
    parts = {path: PurePosixPath(path).with_suffix("").parts for path in paths}
    assert [path for path, names in parts.items() if GRAB_BAGS & set(names)] == []


def test_no_old_name_comes_back() -> None:
    """A reader should know the words from elsewhere, or find them in the glossary."""
    files = [*sources("packages", "clients", "tests", "benchmarks", "docs")]
    assert [line for source in files for line in old_names(source)] == []


def test_texts_for_users_have_the_words_of_the_trade() -> None:
    """Create, edit, delete, retry, pending, permissions: no words that we made up for them.
    Subject, verb, object; the fact, not the aphorism."""
    shown = sorted(set(texts()))
    assert len(shown) > 1_500
    assert [f"{each} ({turn})" for each in shown for turn in banned(each.partition(": ")[2])] == []


@pytest.mark.parametrize(
    "text",
    [
        *("Make a key", "Nothing fits", "It has a name of its own.", "A body that is no JSON."),
        *("Ask whoever runs it.", "It goes on.", "What fails is left.", "The rest goes by itself."),
        "Who has it already is answered with 304.",
    ],
)
def test_the_check_sees_banned_turns(text: str) -> None:
    assert banned(text)
    assert list(banned_turns(text))
    assert not list(banned_turns(f"```text\n{text}\n```\nWhat should I do?"))


@pytest.mark.parametrize("text", ["Create key", "No results", "What should I summarise?"])
def test_the_check_lets_plain_texts_be(text: str) -> None:
    assert not banned(text)


def banned_turns(page: str) -> Iterator[str]:
    """Line and turn of the page's text, without its blocks of code."""
    for number, line in enumerate(without_code(page).splitlines(), start=1):
        for turn in banned(line):
            yield f"{number}: {turn}"


def without_code(page: str) -> str:
    """The page with an empty line for each line of its blocks."""
    return re.sub(r"(?ms)^ *```.*?^ *```", lambda block: "\n" * block[0].count("\n"), page)


def test_pages_of_docs_have_the_words_of_the_trade() -> None:
    pages = [
        page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).as_posix() not in OTHER_PAGES
    ]
    root = DOCS.parent
    others = [root / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md")]
    read = [*others, *root.glob("clients/*/README.md"), *root.glob("packages/*/README.md"), *pages]
    assert len(read) > 35
    assert [f"{p.name}:{turn}" for p in read for turn in banned_turns(document(p))] == []


def test_the_glossary_is_linked() -> None:
    """Where a newcomer begins to read."""
    assert (DOCS / "glossary.md").is_file()
    for page in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        assert "docs/glossary.md" in document(DOCS.parent / page), page


def test_nothing_is_left_undone() -> None:
    assert [line for source in (*package(), *client()) for line in undone(source)] == []


def test_time_and_chance_come_from_the_clock() -> None:
    found = [
        line
        for source in package()
        if not source.path.startswith(FREE)
        for line in chance_and_time(source)
    ]
    assert found == []


def test_the_check_lets_durations_be() -> None:
    text = "import time\nfrom datetime import datetime\ntime.monotonic(), datetime.fromtimestamp(1)"
    assert list(chance_and_time(parse(text))) == []


SEEN: dict[Callable[[Source], Iterator[str]], tuple[str, ...]] = {
    old_names: (
        *("def retake(): ...", "def f(house): ...", "class Lookout: ..."),
        *("told = 1", "self._desk = 1"),
    ),
    chance_and_time: (
        *("import time as t\nt.time()", "from time import time_ns"),
        *("import datetime\nx = datetime.datetime.now", "from uuid import uuid4"),
        *("from datetime import datetime as dt\ndt.utcnow()", "import uuid\nuuid.uuid4().hex"),
        *("def f():\n    import random", "from random import choice"),
    ),
    undone: ("# TODO later", "raise NotImplementedError", "x = 1  # FIXME"),
}


@pytest.mark.parametrize(
    ("check", "text"), [(check, text) for check, texts in SEEN.items() for text in texts]
)
def test_the_check_sees_it(check: Callable[[Source], Iterator[str]], text: str) -> None:
    assert list(check(parse(text)))


def test_no_group_of_a_pattern_is_repeated_possessively() -> None:
    """Python before 3.11.5 finds too short a match then: large bodies were refused on Debian 12."""
    found = [
        f"{source.path}:{node.lineno}"
        for source in sources("packages", "clients")
        for node in source.nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str | bytes)
        and repeats_possessively(node.value)
    ]
    assert not found


def repeats_possessively(pattern: str | bytes) -> bool:
    text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    return bool(re.search(r"[^(]\)(?:[*+?]|\{\d*,?\d*\})\+", text))


@pytest.mark.parametrize(
    ("text", "is_seen"),
    [
        *((text, True) for text in (r"(?:ab?c)*+", r"(a)++", r"(a|b){2,3}+", rb"(?:\\.)*+")),
        *((text, False) for text in (r"(?:a*+b)*", r"[^a]*+", r"[()*+]", r"f(x) + 1")),
    ],
)
def test_the_check_sees_possessive_groups(text: str | bytes, is_seen: bool) -> None:
    assert repeats_possessively(text) is is_seen
