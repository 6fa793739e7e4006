"""The source files that the checks of `tests/house` read, parsed once."""

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from tests.house.floors import declared, floor_of

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "packages" / "server"
SRC = SERVER / "src" / "agentpost"
AGENTS = ROOT / "packages" / "agents" / "src" / "agentpost"
"""The library of agents' authors: the server and it share the name `agentpost`."""
CLIENT = ROOT / "clients" / "python" / "src" / "agentpost_client"
OFFLINE = ROOT / "packages" / "offline" / "src" / "agentpost_offline"
VERIFY = ROOT / "packages" / "verify" / "src" / "agentpost_verify"
DOCS = ROOT / "docs"
AGENTPOST = ("packages/agents/src/agentpost", "packages/server/src/agentpost")


def uv() -> str:
    """The command of uv: the project's own installation, else the one on PATH."""
    own = ROOT / ".tools/uv/bin/uv"
    return str(own) if own.exists() else "uv"


@dataclass(frozen=True, eq=False)
class Source:
    """One Python file; `path` is relative to the repository, with slashes."""

    path: str
    text: str
    tree: ast.Module

    @property
    def module(self) -> str:
        """The dotted name it is imported by."""
        name = self.path.removesuffix(".py").removesuffix("/__init__")
        return name.rpartition("src/")[2].replace("/", ".")

    @cached_property
    def floor(self) -> str | None:
        """The floor of `agentpost` that it stands on; None outside of that."""
        _, is_ours, name = self.path.partition("/src/agentpost/")
        name = name.removesuffix(".py").replace("/", ".")
        return floor_of(name, declared()) if is_ours else None

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree, in the order of `ast.walk`."""
        return tuple(ast.walk(self.tree))


def parse(text: str, path: str = "packages/server/src/agentpost/sample.py") -> Source:
    return Source(path, text, ast.parse(text, path))


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """Every Python file below these folders of the repository, which must hold some."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    assert paths, f"no Python file below {folders}"
    gc.disable()  # millions of nodes are kept: each collection would visit all of them
    try:
        return tuple(_read(path) for path in paths)
    finally:
        gc.freeze()
        gc.enable()


@cache
def _read(path: Path) -> Source:
    source = parse(path.read_text("utf-8"), path.relative_to(ROOT).as_posix())
    _ = source.nodes
    return source


def package() -> tuple[Source, ...]:
    """The server, the commands, the library of agents, the built-in agent, the checks of verify."""
    return sources(*(f"packages/{name}/src" for name in ("agents", "offline", "server", "verify")))


def on_floor(floor: str) -> tuple[Source, ...]:
    """The modules of `agentpost` on a floor (`tests/house/floors.py`)."""
    return tuple(source for source in sources(*AGENTPOST) if source.floor == floor)


def client() -> tuple[Source, ...]:
    """The client, a distribution of its own."""
    return sources("clients/python/src")


def document(path: Path) -> str:
    """A document's text; a missing one fails the test that needs it."""
    assert path.is_file(), f"{path.relative_to(ROOT).as_posix()} is missing"
    return path.read_text("utf-8")


def imports(source: Source) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything imported, inside functions too.

    `from a import b` gives `a.b`: whether b is a module or a name in one is not told apart.
    """
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source.path}:{node.lineno}: a relative import"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def dotted(node: ast.expr) -> str:
    """`a.b.c` as written, or an empty string for anything but names and attributes."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def strings(source: Source) -> Iterator[tuple[int, str]]:
    """Line and text of every string; what an f-string fills in is written `{}`."""
    parts = {
        id(part) for node in source.nodes if isinstance(node, ast.JoinedStr) for part in node.values
    }
    for node in source.nodes:
        if isinstance(node, ast.JoinedStr):
            texts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, "".join(str(text) for text in texts)
        elif isinstance(node, ast.Constant) and id(node) not in parts:
            yield node.lineno, node.value if isinstance(node.value, str) else ""
