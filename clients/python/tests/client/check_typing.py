"""mypy takes what pyright takes in test_typing.py; `make typing` runs both."""

from pathlib import Path

from tests.client.test_typing import check, test_pyright_takes_a_strict_project

__all__ = ["test_pyright_takes_a_strict_project"]


def test_mypy_takes_a_strict_project(tmp_path: Path) -> None:
    options = ["--strict", "--no-incremental", "--follow-imports=silent", "--config-file="]
    check(tmp_path, "mypy", *options)
