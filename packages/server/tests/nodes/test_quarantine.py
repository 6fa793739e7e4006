"""Suspected work of a process begins one at a time (design: Work that ends its process)."""

from types import SimpleNamespace
from typing import cast

import pytest

from agentpost.nodes import poison_rules
from agentpost.nodes.quarantine import Quarantine
from agentpost.runtime.runs import Run, Runs


class Running:
    """Stands for `Runs`: what a test lets run."""

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}

    def of(self, owner: str) -> list[Run]:
        """See `Runs.of`."""
        return [self.runs[owner]] if owner in self.runs else []


class Place:
    """A process with a clock that the test sets."""

    def __init__(self) -> None:
        self.turns, self.jobs, self.clock = Running(), Running(), SimpleNamespace(now=0.0)
        self.quarantine = Quarantine(
            cast("Runs", self.turns), cast("Runs", self.jobs), lambda: float(self.clock.now)
        )

    def begins(self, kind: str, name: str, deaths: int = 2) -> bool:
        """Whether it may begin; then it runs."""
        admitted = self.quarantine.admit(name, deaths)
        if admitted:
            getattr(self, kind).runs[name] = Run(name, 1)
        return admitted


@pytest.mark.parametrize(
    ("kind", "end", "next_begins"),
    [
        ("jobs", "nothing", False),
        ("jobs", "ends", True),
        ("turns", "ends", True),
        ("jobs", "records a call", True),
        ("turns", "records a call", False),  # its deaths are counted all the same
        ("jobs", "holds out", True),
    ],
)
def test_the_next_suspect_begins_when_the_first(kind: str, end: str, next_begins: bool) -> None:
    place = Place()
    assert place.begins(kind, "first")
    match end:
        case "ends":
            getattr(place, kind).runs.clear()
        case "records a call":
            getattr(place, kind).runs["first"].has_got_further = True
        case "holds out":
            place.clock.now += poison_rules.ALONE_SECONDS
    assert place.begins("jobs", "second") is next_begins
    assert place.begins("jobs", "unsuspected", deaths=1)
    assert place.begins("jobs", "given up", deaths=poison_rules.DEATHS_MAX), "its claim ends it"


def test_a_suspect_that_was_lost_here_waits_again() -> None:
    place = Place()
    assert place.begins("jobs", "first")
    place.clock.now += poison_rules.ALONE_SECONDS - 1
    assert place.begins("jobs", "first"), "it is asked for again before it is claimed"
    place.clock.now += 1
    assert place.begins("jobs", "beside"), "that was no new beginning"
    place.jobs.runs.clear()
    assert place.begins("jobs", "second")
    assert not place.quarantine.admit_again("first")
    assert place.quarantine.admit_again("never suspected")
    place.jobs.runs.clear()
    assert place.quarantine.admit_again("first")
