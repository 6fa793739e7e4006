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
)
"""Files whose constants are all texts for people; their SQL is left out."""

TEMPLATES = [path for path in SRC.rglob("*.html") if "api" not in path.parts]
"""The pages' templates: all that is neither a tag nor an expression is a text."""
MARKUP = re.compile(r"{#.*?#}|{%.*?%}|{{.*?}}|<[^>]*>", re.DOTALL)
COMMENT = re.compile(r"{#.*?#}", re.DOTALL)
QUOTED = re.compile(r'"([^"<>{}]{6,})"')
MAILS = (
    "packages/server/src/agentpost/mail/actions.py",
    "packages/server/src/agentpost/sessions/mail.py",
)
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
    if source.path in PAGES:
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
    """``path: text`` of the pages."""
    for path in sorted(TEMPLATES):
        for text in MARKUP.sub("\n", path.read_text("utf-8")).split("\n"):
            if is_sentence(text):
                yield f"{path.name}: {' '.join(text.split())}"


def is_page(source: Source) -> bool:
    """Whether its texts stand on pages."""
    return source.path.startswith("packages/server/src/agentpost/web/") or source.path.endswith(
        "pages.py"
    )


def page_texts() -> Iterator[str]:
    """``path: text`` of everything the pages and mails show: in templates, also in what is handed
    to macros, and in their modules."""
    for path in sorted(TEMPLATES):
        template = COMMENT.sub("", path.read_text("utf-8"))
        parts = [*MARKUP.sub("\n", template).split("\n"), *QUOTED.findall(template)]
        for text in parts:
            if re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", text):
                yield f"{path.name}: {' '.join(text.split())}"
    for source in package():
        if is_page(source) or source.path in MAILS:
            own = docstrings(source.tree)
            for node in source.nodes:
                if not isinstance(node, ast.Constant) or node in own:
                    continue
                if isinstance(node.value, str) and is_sentence(node.value):
                    yield f"{source.path}:{node.lineno}: {' '.join(node.value.split())}"


def texts() -> Iterator[str]:
    """``path:line: text``, each once."""
    yield from in_templates()
    for source in package():
        for line, text in sorted(set(of(source))):
            if is_sentence(text):
                yield f"{source.path}:{line}: {' '.join(text.split())}"
