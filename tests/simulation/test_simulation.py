"""The histories that every run of the tests plays, and mistakes made on purpose that they find."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from tests.servers import empty_sqlite
from tests.simulation.history import History
from tests.simulation.mistakes import MISTAKES, Mistake, tell_nobody_of_jobs
from tests.simulation.running import first_broken, report, schema_of, silent

HISTORIES = 60
"""Each mistake that one of 120 finds, one of 44 does. More take minutes: `make simulate` plays
2,000, or as many as it is asked to."""
MISTAKES_MEET = 2_000
"""Histories within which each mistake is found."""
RARELY_MET = {"forget_the_epoch": 1_280}
"""A mistake that no history meets before that one."""


@cache
def schema() -> bytes:
    """Of a database without rows."""
    return schema_of(empty_sqlite())


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with silent():
        yield


def test_histories_hold() -> None:
    found = first_broken(schema(), range(HISTORIES))
    if found is not None:
        pytest.fail(report(schema(), found[0]), pytrace=False)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_a_mistake_is_found(mistake: Mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    first = RARELY_MET.get(mistake.__name__, 0)
    assert first_broken(schema(), range(first, MISTAKES_MEET)) is not None


def test_a_history_is_the_same_each_time() -> None:
    first, second = (History(schema(), 11, tracing=True).play() for _ in range(2))
    assert first.trace == second.trace
    assert first.commits > 10


def test_a_history_that_fails_says_how_to_see_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tell_nobody_of_jobs(monkeypatch)
    found = first_broken(schema(), range(MISTAKES_MEET))
    assert found is not None
    said = report(schema(), found[0])
    assert f"--seed {found[0]} --histories 1 --trace --only " in said
    assert said.count("send {") == 1, "the shortest has one message"
