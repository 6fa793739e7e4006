"""A file is read in one sitting and a function seen on one screen (CONTRIBUTING: Sizes)."""

import ast
from collections.abc import Iterator

import pytest

from tests.house.tree import Source, parse, sources

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70

# What may be longer, and why: "path" or "path::function".
EXCEPTIONS: dict[str, str] = {
    "src/agentpost/db/migrations/versions/0001_the_first_schema.py": "generated from the list",
    "src/agentpost/db/migrations/versions/0001_the_first_schema.py::upgrade": "the same",
    "clients/python/src/agentpost_client/models.py": "generated: a record for each of the API's",
}


def too_long(source: Source) -> Iterator[str]:
    """Names of what is over a limit, each as it would stand in EXCEPTIONS, with its lines."""
    lines = len(source.text.splitlines())
    if lines > FILE_LINES_MAX:
        yield f"{source.path} has {lines} lines"
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield f"{source.path}::{node.name} has {lines} lines"


def test_files_and_functions_are_short() -> None:
    read = sources("src", "clients", "tests")
    found = {line.split()[0]: line for source in read for line in too_long(source)}
    assert sorted(line for name, line in found.items() if name not in EXCEPTIONS) == []
    assert sorted(EXCEPTIONS.keys() - found.keys()) == [], "exceptions nobody needs any more"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (FUNCTION_LINES_MAX, []),
        (FUNCTION_LINES_MAX + 1, ["sample.py::work has 71 lines"]),
        (FILE_LINES_MAX + 1, ["sample.py has 401 lines", "sample.py::work has 401 lines"]),
    ],
)
def test_the_check_sees_long_code(lines: int, found: list[str]) -> None:
    text = "async def work():\n" + "    pass\n" * (lines - 1)
    assert list(too_long(parse(text, "sample.py"))) == found
