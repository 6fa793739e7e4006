"""The check of names sees participles where code binds them, and what docstrings name wrongly."""

import ast

import pytest

from tests.house.names import absent_arguments, absent_names, bound, functions, is_participle


@pytest.mark.parametrize("name", ["found", "given", "_made", "started", "opened"])
def test_a_participle_is_seen(name: str) -> None:
    assert is_participle(name)


@pytest.mark.parametrize("name", ["found_rows", "is_found", "read", "need", "FOUND", "seed"])
def test_nouns_verbs_and_flags_are_none(name: str) -> None:
    assert not is_participle(name)


def test_fields_of_classes_are_named_by_others() -> None:
    tree = ast.parse("class A:\n    queued: int\ndef found(given): made = given\n")
    assert sorted(bound(tree)) == ["given", "made"]
    assert list(functions(tree)) == ["found"]


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ('def f(a, *, b): """See.\n\nArgs:\n    a: one.\n    b: two.\n"""', []),
        ('def f(a): """See.\n\nArgs:\n    b: two.\n"""', ["f: b"]),
        ('class A:\n    """A.\n\n    Args:\n        b: two.\n    """\n    b: int', []),
        ('class A:\n    """A.\n\n    Args:\n        b: two.\n    """', ["A: b"]),
    ],
)
def test_arguments_that_are_none_are_seen(text: str, absent: list[str]) -> None:
    assert list(absent_arguments(ast.parse(text))) == absent


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ('"""See `send` and `Work.send`, ``b``."""', []),
        ('"""See `sned` and `Work.gone`."""', ["sned", "Work.gone"]),
        ('"""As `concurrent.futures.ThreadPoolExecutor` and `assert`."""', []),
    ],
)
def test_names_that_are_nowhere_are_seen(text: str, absent: list[str]) -> None:
    assert list(absent_names(ast.parse(text), {"send", "Work"})) == absent
