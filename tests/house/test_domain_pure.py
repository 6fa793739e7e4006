"""Rules decide from their arguments alone: no I/O, no clock, no randomness, no framework.

The import contract says which of our own modules they may import; here is what else is allowed.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.house.tree import Source, dotted, imports, on_floor, parse

ALLOWED = {
    "__future__", "abc", "base64", "binascii", "bisect", "collections", "dataclasses", "datetime",
    "decimal", "enum", "fractions", "functools", "hashlib", "hmac", "ipaddress", "itertools",
    "json", "math", "operator", "re", "string", "struct", "textwrap", "types", "typing",
    "unicodedata",
}  # fmt: skip
ALLOWED_PARTS = ("agentpost.", "urllib.parse.")  # which of ours, the import contract says

# Built-ins that reach out of the arguments, and the clock hidden in the allowed `datetime`.
CALLS = {"breakpoint", "eval", "exec", "input", "open", "print"}
CLOCKS = {"now", "today", "utcnow"}


def impurities(source: Source) -> Iterator[str]:
    for line, name in imports(source):
        if name.partition(".")[0] not in ALLOWED and not name.startswith(ALLOWED_PARTS):
            yield f"{source.path}:{line}: imports {name}"
    for node in source.nodes:
        if isinstance(node, ast.AsyncFunctionDef | ast.Await):
            yield f"{source.path}:{node.lineno}: is async"
        if isinstance(node, ast.Global):
            yield f"{source.path}:{node.lineno}: keeps state"
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            owner, _, method = name.rpartition(".")
            if name in CALLS or (method in CLOCKS and owner.split(".")[-1] in {"date", "datetime"}):
                yield f"{source.path}:{node.lineno}: calls {name}"


def test_rules_are_pure() -> None:
    rules = on_floor("rules")
    assert len(rules) > 40
    assert [impurity for source in rules for impurity in impurities(source)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import time", "imports time"),
        ("def f():\n    from random import random", "imports random.random"),
        ("import psycopg as pg", "imports psycopg"),
        ("from urllib.request import urlopen", "imports urllib.request.urlopen"),
        ("import datetime\ndatetime.datetime.now()", "calls datetime.datetime.now"),
        ("from datetime import date\ndate.today()", "calls date.today"),
        ("open('file')", "calls open"),
        ("async def f(): ...", "is async"),
        ("n = 0\ndef f():\n    global n", "keeps state"),
    ],
)
def test_the_check_sees_impurity(text: str, found: str) -> None:
    assert [line.split(": ", 1)[1] for line in impurities(parse(text))] == [found]


def test_the_check_lets_pure_code_be() -> None:
    text = "from datetime import datetime\nfrom agentpost.domain import ids\ndef f(now): return now"
    assert list(impurities(parse(text))) == []
