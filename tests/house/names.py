"""Names, for `make check`: how many are a bare participle, and which of a docstring are nowhere.

`python -m tests.house.names` prints what is wrong. A name is a noun for a thing, a verb for a
function, `is_` or `has_` for a flag. A variable called `found` or `given` does not say what it is.
Counted are the names that code binds: variables and parameters. What a library or the API calls so
is left out.

A name between single back quotes exists in the code, as a file of the repository or in a library;
what stands below "Args:" is a parameter or a field.
"""

from __future__ import annotations

import ast
import keyword
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import PurePosixPath

from tests.house.tree import ROOT, Source, sources

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

_IRREGULAR = """
asked been begun bought brought built chosen done drawn driven eaten fallen felt found given gone
got grown heard held hidden kept known laid led lent lost made meant met paid said seen sent shown
shut sold spent spoken stood stuck taken taught thought thrown told understood wanted won worn
written
"""
IRREGULAR = frozenset(_IRREGULAR.split())
"""Participles that do not end in -ed; those that are a verb or a noun as well are left out."""
_NOUNS = """
bed bleed breed feed need red reed seed shed sled speed weed embed exceed proceed succeed hundred
shared used limited allowed unused expected
"""
NOUNS = frozenset(_NOUNS.split())
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


Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
BACK_QUOTED = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)(?:\(\))?`(?!`)")
ARGUMENTS = re.compile(r"^Args:\n((?:    .*\n?|\n)*)", re.M)
ARGUMENT = re.compile(r"^    (\w+):", re.M)


def documented(tree: ast.AST) -> Iterator[tuple[Documented, str]]:
    """What has a docstring, with it."""
    for node in ast.walk(tree):
        if isinstance(node, Documented) and (text := ast.get_docstring(node)):
            yield node, text


def parameters(node: Documented) -> set[str]:
    """The parameters of a function, or the fields of a class with those of its constructor."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    names: set[str] = set()
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            names.add(statement.target.id)
        elif isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            names |= parameters(statement)
    return names


def absent_arguments(tree: ast.AST) -> Iterator[str]:
    """What docstrings say of parameters that are none."""
    for node, text in documented(tree):
        for block in ARGUMENTS.findall(text):
            for name in ARGUMENT.findall(block):
                if name not in parameters(node):
                    yield f"{getattr(node, 'name', 'module')}: {name}"


def words_of(tree: ast.AST) -> Iterator[str]:
    """Every name that a module has, and its short texts."""
    for node in ast.walk(tree):
        match node:
            case ast.Name():
                yield node.id
            case ast.Attribute():
                yield node.attr
            case ast.arg() | ast.keyword():
                yield node.arg or ""
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.alias():
                yield from node.name.split(".")
            case ast.Constant(value=str(text)):
                if len(text) < 80:
                    yield from (text, *text.split("."))


def files() -> set[str]:
    """The names of the repository's files and folders, and of its modules."""
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [PurePosixPath(name) for name in tracked.stdout.split("\0") if name]
    return {part for path in paths for part in (*path.parts, path.stem)}


def absent_names(tree: ast.AST, words: set[str]) -> Iterator[str]:
    """The names in the docstrings of a module that are neither words of the code nor files, nor in
    a library."""
    for _, text in documented(tree):
        for name in BACK_QUOTED.findall(text):
            root, *rest = name.split(".")
            is_ours = name in words or all(part in words for part in (root, *rest))
            is_library = root not in ("agentpost", "tests") and bool(rest) and is_module(root)
            if not (is_ours or is_library or keyword.iskeyword(name)):
                yield name


def is_module(name: str) -> bool:
    """Whether a library has this name."""
    try:
        return find_spec(name) is not None
    except ValueError:
        return False


def stale(code: Sequence[Source]) -> Iterator[str]:
    """What docstrings name that is not there."""
    words = files().union(*(words_of(source.tree) for source in code))
    for source in code:
        for name in (*absent_arguments(source.tree), *absent_names(source.tree, words)):
            yield f"{source.path}: a docstring names what is not there: {name}"


def main() -> int:
    """Print what is wrong; 1 if something is."""
    wrong = False
    for line in stale(sources(*SHARES)):
        print(line)
        wrong = True
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
