"""Which run an agent process has died of (design: Agent processes)."""

import pytest

from agentpost.runtime.isolated.pool import Suspects


@pytest.mark.parametrize(
    ("running", "seen", "blamed", "suspects"),
    [
        (["a"], None, "a", ["a"]),  # it was alone
        (["a", "b"], None, None, ["a", "b"]),  # each may have been it
        (["a", "b"], "b", "b", ["b"]),  # it was seen
        ([], None, None, []),
    ],
)
def test_a_death(
    running: list[str], seen: str | None, blamed: str | None, suspects: list[str]
) -> None:
    found = Suspects()
    assert found.died(running, seen) == blamed
    assert [owner for owner in ("a", "b") if found.is_suspect(owner)] == suspects
    assert [found.times(owner) for owner in ("a", "b")] == [
        int(owner == blamed) for owner in ("a", "b")
    ]


def test_only_deaths_of_its_own_count() -> None:
    found = Suspects()
    found.died(["a", "b"])
    found.died(["a"])
    found.died(["a"])
    found.acquit("b")
    assert (found.times("a"), found.times("b")) == (2, 0)
    assert not found.is_suspect("b")
    found.forget("a")
    assert (found.times("a"), found.is_suspect("a")) == (0, False)
