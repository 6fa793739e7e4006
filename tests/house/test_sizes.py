"""A function is seen on one screen (CONTRIBUTING: Sizes); a file has one subject, at any length."""

import ast
from collections.abc import Iterator

import pytest

from tests.house.tree import Source, parse, sources

FUNCTION_LINES_MAX = 70

# What may be longer, and why: "path::function".
EXCEPTIONS: dict[str, str] = {}


def long_functions(source: Source) -> Iterator[str]:
    """Names of what is over the limit, each as it would stand in EXCEPTIONS, with its lines."""
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield f"{source.path}::{node.name} has {lines} lines"


def test_functions_are_short() -> None:
    reports = [
        report for one in sources("packages", "clients", "tests") for report in long_functions(one)
    ]
    report_by_name = {report.split()[0]: report for report in reports}
    assert sorted(report_by_name[name] for name in report_by_name.keys() - EXCEPTIONS.keys()) == []
    assert sorted(EXCEPTIONS.keys() - report_by_name.keys()) == [], "exceptions without a need"


@pytest.mark.parametrize(
    ("lines", "reports"),
    [(FUNCTION_LINES_MAX, []), (FUNCTION_LINES_MAX + 1, ["sample.py::work has 71 lines"])],
)
def test_the_check_sees_long_functions(lines: int, reports: list[str]) -> None:
    text = "async def work():\n" + "    pass\n" * (lines - 1)
    assert list(long_functions(parse(text, "sample.py"))) == reports
