"""The check of names sees participles, and only where code binds a name."""

import ast

import pytest

from tests.house.names import bound, functions, is_participle


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
