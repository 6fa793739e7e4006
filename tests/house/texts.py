"""Every text that a user sees, collected from the source: errors, the doctor, commands, pages."""

import ast
import re
from collections.abc import Iterator

from tests.house.tree import SRC, Source, package

_SHOWN_BY = """
Difference Group FileRefused InvalidRequest skip Option Argument OSError Overloaded PostRefused
Problem RateLimited Refusal StoreUnavailable Header Query Operation Success TooSlow Unreadable
ValueError complain fail print say
"""
SHOWN_BY = frozenset(_SHOWN_BY.split())
"""Functions and classes whose texts reach a person."""

PAGES = (
    "packages/server/src/agentpost/serving/welcome.py",
    "packages/server/src/agentpost/contract/errors.py",
    "packages/server/src/agentpost/contract/reasons.py",
    "packages/server/src/agentpost/operations/doctor_rows.py",
    "packages/server/src/agentpost/operations/doctor.py",
    "packages/server/src/agentpost/mail/actions.py",
    "packages/server/src/agentpost/sessions/mail.py",
)
"""Files whose constants are all texts for people, as those of the pages' modules; their SQL is left
out."""

TEMPLATES = [path for path in SRC.rglob("*.html") if "api" not in path.parts]
"""The pages' templates: all that is neither a tag nor an expression is a text."""
MARKUP = re.compile(r"{#.*?#}|{%.*?%}|{{.*?}}|<[^>]*>", re.DOTALL)
COMMENT = re.compile(r"{#.*?#}", re.DOTALL)
QUOTED = re.compile(r'"([^"<>{}]{6,})"')
PAGE_MODULES = r"packages/server/src/agentpost/(web/|.*pages\.py$)"
SQL = re.compile(r"\b(SELECT|DELETE|UPDATE|INSERT|FROM|WHERE|ORDER BY)\b")


def constants(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of every string inside; the parts of an f-string stand for themselves."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.lineno, inner.value


def docstrings(tree: ast.AST) -> set[ast.AST]:
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found.add(node.value)
    return found


def is_sentence(text: str) -> bool:
    """Two words at least: ids, keys and formats are no texts."""
    return len(re.findall(r"[A-Za-z]{2,}", text)) > 1 and " " in text and not SQL.search(text)


def of(source: Source) -> Iterator[tuple[int, str]]:
    """Line and text of what this file shows to people."""
    if source.path in PAGES or re.match(PAGE_MODULES, source.path):
        own = docstrings(source.tree)
        for node in source.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in own:
                yield node.lineno, node.value
        return
    for node in source.nodes:
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else None
            if isinstance(node.func, ast.Name):
                name = node.func.id
            if name in SHOWN_BY:
                yield from constants(node)
        elif (isinstance(node, ast.ClassDef) and source.floor == "shapes") or (
            isinstance(node, ast.FunctionDef)
            and source.floor == "commands"
            and any("command" in ast.dump(each) for each in node.decorator_list)
        ):
            yield node.lineno, ast.get_docstring(node) or ""


def in_templates() -> Iterator[str]:
    """``path: text`` of the pages' templates, also of what is handed to macros."""
    for path in sorted(TEMPLATES):
        template = COMMENT.sub("", path.read_text("utf-8"))
        for text in (*MARKUP.sub("\n", template).split("\n"), *QUOTED.findall(template)):
            if is_sentence(text):
                yield f"{path.name}: {' '.join(text.split())}"


def texts() -> Iterator[str]:
    """``path:line: text``, each once."""
    yield from in_templates()
    for source in package():
        for line, text in sorted(set(of(source))):
            if is_sentence(text):
                yield f"{source.path}:{line}: {' '.join(text.split())}"
