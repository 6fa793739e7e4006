"""How many names are a bare participle, for `make check`: `python -m tests.house.names`.

A name is a noun for a thing, a verb for a function, `is_` or `has_` for a flag. A variable called
`found` or `given` does not say what it is. Counted are the names that code binds: variables and
parameters. What a library or the API calls so is left out.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator

from tests.house.tree import sources

SHARES = {
    "clients/python/src": 0.01,
    "packages/agents/src": 0.01,
    "packages/offline/src": 0.005,
    "packages/server/src": 0.012,
    "packages/verify/src": 0.01,
}
"""The largest share of participles among the names of each distribution."""
FUNCTIONS_MAX = {"packages/server/src": 11}
"""The most functions that one participle names, by distribution; ten, where none is listed."""

IRREGULAR = frozenset(
    [
        "asked",
        "been",
        "begun",
        "bought",
        "brought",
        "built",
        "chosen",
        "come",
        "cut",
        "done",
        "drawn",
        "driven",
        "eaten",
        "fallen",
        "felt",
        "found",
        "given",
        "gone",
        "got",
        "grown",
        "heard",
        "held",
        "hidden",
        "kept",
        "known",
        "laid",
        "led",
        "left",
        "lent",
        "lost",
        "made",
        "meant",
        "met",
        "paid",
        "put",
        "read",
        "run",
        "said",
        "seen",
        "sent",
        "set",
        "shown",
        "shut",
        "sold",
        "spent",
        "split",
        "spoken",
        "stood",
        "stuck",
        "taken",
        "taught",
        "thought",
        "thrown",
        "told",
        "understood",
        "wanted",
        "won",
        "worn",
        "written",
    ]
) - {"read", "run", "set", "put", "cut", "split", "left", "come"}
"""Participles that do not end in -ed; those that are a verb or a noun as well are left out."""
NOUNS = frozenset(
    [
        "bed",
        "bleed",
        "breed",
        "feed",
        "need",
        "red",
        "reed",
        "seed",
        "shed",
        "sled",
        "speed",
        "weed",
        "embed",
        "exceed",
        "proceed",
        "succeed",
        "hundred",
        "shared",
        "used",
        "limited",
        "allowed",
        "unused",
        "expected",
    ]
)
"""Words in -ed that are no participles, or that the field uses as nouns and flags."""


def is_participle(name: str) -> bool:
    """Whether the whole name is one participle."""
    word = name.strip("_")
    if "_" in word or not word.islower():
        return False
    return word in IRREGULAR or (word.endswith("ed") and len(word) > 4 and word not in NOUNS)


def bound(tree: ast.AST) -> Iterator[str]:
    """The names of variables and parameters that a module binds; fields of classes are left out,
    since the API and the database name those."""
    fields = {
        id(statement.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if id(node) in fields:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def functions(tree: ast.AST) -> Iterator[str]:
    """The names of the functions of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def main() -> int:
    """Print what is wrong; 1 if something is."""
    wrong = False
    for folder, share_max in SHARES.items():
        trees = [source.tree for source in sources(folder)]
        names = Counter(name for tree in trees for name in bound(tree))
        participles = Counter({name: n for name, n in names.items() if is_participle(name)})
        share = participles.total() / names.total()
        called = sorted({name for tree in trees for name in functions(tree) if is_participle(name)})
        if share > share_max:
            worst = ", ".join(f"{name} ({n})" for name, n in participles.most_common(10))
            print(f"{folder}: {share:.1%} of the names are participles: {worst}")
            wrong = True
        if len(called) > FUNCTIONS_MAX.get(folder, 10):
            print(f"{folder}: {len(called)} functions are called by a participle: {called}")
            wrong = True
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
