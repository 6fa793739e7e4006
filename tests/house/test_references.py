"""What code and tests refer to is there: `spec: …` and `design: …` lead to docs/.

A reference is made of names between commas or semicolons and ends with a full stop, a colon or a
bracket. `spec` names sections and rules of docs/contract.md, where a number or a name alone goes on
in the section before it: `spec: Webhook events 6, 7`. `design` names headings of docs/design.md.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.house.contract import sections, tool
from tests.house.tree import DOCS, Source, document, parse, sources

BEGINS = re.compile(r"\b(?:[Ss]pec|[Dd]esign): ")
ENDS = re.compile(r"[)(\":]|\.(?:\s|$)")
NAMES = re.compile(r"[;,] (?:(spec|design)= )?")
RULES = {rule.name for rule in tool().rules(document(DOCS / "contract.md"))}
HEADINGS = re.findall(r"^#+ (.+)$", document(DOCS / "design.md"), re.M)


def texts(source: Source) -> Iterator[str]:
    """Docstrings, and comments with those on the lines above and below."""
    for node in source.nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)
    comments: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != last + 1:
                yield " ".join(comments)
                comments = []
            comments.append(token.string.lstrip("# "))
            last = token.start[0]
    yield " ".join(comments)


def references(text: str) -> Iterator[tuple[str, str]]:
    """("spec" or "design", name) for everything a text refers to."""
    text = " ".join(text.split())
    begin = BEGINS.search(text)
    while begin:
        kind = begin[0][:-2].lower()
        at = begin.end()
        # A colon ends a reference, but for the one in `; design: `.
        rest = re.sub("([;,] )(spec|design): ", r"\1\2= ", text[at:])
        end = ENDS.search(rest)
        said = rest[: end.start()] if end else rest
        named = NAMES.split(said)
        for turn, name in zip([None, *named[1::2]], named[::2], strict=True):
            kind = turn or kind
            yield kind, name
        begin = BEGINS.search(text, at + len(said))


def unresolved(text: str) -> list[str]:
    """The references of a text that lead nowhere."""
    section, lost = "", []
    for kind, name in references(text):
        if kind == "design":
            found = name in HEADINGS
        else:
            section = next((s for s in sections() if re.match(rf"{s}\b", name)), section)
            found = name in sections() or all(rule in RULES for rule in expanded(section, name))
        if not found:
            lost.append(f"{kind}: {name}")
    return lost


def expanded(section: str, name: str) -> list[str]:
    """The rules that `name` stands for: itself, one of the section, or a range of numbers."""
    own = name.removeprefix(section).lstrip(" .")
    numbers = re.fullmatch(r"(\d+)-(\d+)", own)
    if numbers:
        return [f"{section} {n}" for n in range(int(numbers[1]), int(numbers[2]) + 1)]
    return [f"{section}.{own}" if f"{section}.{own}" in RULES else f"{section} {own}"]


def test_every_reference_leads_somewhere() -> None:
    lost = [
        f"{source.path}: {name}"
        for source in sources("packages", "clients", "tests")
        if BEGINS.search(source.text) and not source.path.endswith("test_references.py")
        for text in texts(source)
        for name in unresolved(text)
    ]
    assert lost == [], "docs/contract.md and docs/design.md have no such place"


def test_each_heading_of_the_design_is_its_own() -> None:
    assert [name for name, count in Counter(HEADINGS).items() if count > 1] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Much (spec: createMessage 2; design: Credits).", ["createMessage 2", "Credits"]),
        ("spec: Webhook events 6, 7: twice.", ["Webhook events 6", "7"]),
        ("spec: Message.reason. And more.", ["Message.reason"]),
        ("design: The journal", ["The journal"]),
        ("Its own (`bad_url`; design: Input).", ["Input"]),
        ("spec: Limits. Much; design: Credits; spec: Errors.", ["Limits", "Credits", "Errors"]),
        ("Specification: none.", []),
    ],
)
def test_references_are_read_as_written(text: str, found: list[str]) -> None:
    assert [name for _, name in references(text)] == found


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("spec: Webhook events 6, 7; Limits; Message status 1-10; Message, final.", []),
        ("spec: Webhook events 10.", ["spec: Webhook events 10"]),
        ("spec: Messages.", ["spec: Messages"]),
        ("design: 4.2", ["design: 4.2"]),
        ("# design: Credits, Nothing", ["design: Nothing"]),
    ],
)
def test_a_reference_that_leads_nowhere_is_named(text: str, lost: list[str]) -> None:
    assert unresolved(text) == lost


def test_comments_and_docstrings_are_read() -> None:
    source = parse('"""spec: One."""\nx = 1  # design: Two\ndef f(spec: str): ...\n')
    assert [name for text in texts(source) for _, name in references(text)] == ["One", "Two"]
