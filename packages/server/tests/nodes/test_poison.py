"""When work is suspected of ending its process, and when it is given up (design: Work that ends its
process)."""

from types import SimpleNamespace
from typing import cast

import pytest

from agentpost.nodes import poison_rules
from agentpost.nodes.poison_rules import Suspect
from agentpost.nodes.quarantine import Quarantine
from agentpost.runtime.runs import Run, Runs


@pytest.mark.parametrize(
    ("deaths", "suspect", "given_up"),
    [(0, False, False), (1, False, False), (2, True, False), (5, True, False), (6, True, True)],
)
def test_what_so_many_deaths_in_a_row_mean(deaths: int, suspect: bool, given_up: bool) -> None:
    assert (poison_rules.is_suspect(deaths), poison_rules.is_poison(deaths)) == (suspect, given_up)


@pytest.mark.parametrize(
    ("before", "further", "after"), [(0, False, 1), (5, False, 6), (5, True, 1)]
)
def test_a_recorded_call_begins_the_count_again(before: int, further: bool, after: int) -> None:
    assert poison_rules.deaths_in_a_row(before, has_got_further=further) == after


@pytest.mark.parametrize(
    ("deaths", "running", "begins"),
    [
        (2, [], True),
        (2, [Suspect(2, 0)], False),  # one at a time
        (2, [Suspect(2, 60)], True),  # that one has run for long enough
        (2, [Suspect(2, 90), Suspect(2, 30)], False),
        (2, [Suspect(3, 60)], False),  # after more deaths it takes longer
        (2, [Suspect(3, 600)], True),
        (2, [Suspect(5, 1e9)], False),  # the last chance is alone to its end
        (5, [Suspect(2, 1e9)], False),
        (5, [], True),
    ],
)
def test_suspected_work_begins_apart(deaths: int, running: list[Suspect], begins: bool) -> None:
    assert poison_rules.may_begin(deaths, running) is begins


def history(culprit_seconds: float, innocent_seconds: float, innocents: int) -> dict[int, int]:
    """Play processes that die of work 0: how many deaths each had at its end, by the rules alone.

    Innocent work needs so many seconds without a death; the culprit ends its process after its own.
    """
    deaths = dict.fromkeys(range(innocents + 1), 0)
    done: dict[int, int] = {}
    while deaths:
        begun: dict[int, float] = {}
        now, died = 0.0, False
        while deaths and not died:
            for each in sorted(deaths, key=lambda one: (deaths[one], -one)):
                if each in begun:
                    continue
                running = [
                    Suspect(deaths[other], now - at)
                    for other, at in begun.items()
                    if other in deaths and poison_rules.is_suspect(deaths[other])
                ]
                if not poison_rules.is_suspect(deaths[each]) or poison_rules.may_begin(
                    deaths[each], running
                ):
                    begun[each] = now
            now += 1
            for each in [one for one in begun if one in deaths]:
                if each and now - begun[each] >= innocent_seconds:
                    done[each] = deaths.pop(each)
            died = 0 in begun and now - begun[0] >= culprit_seconds
        for each in [one for one in begun if died and one in deaths]:
            deaths[each] = poison_rules.deaths_in_a_row(deaths[each], has_got_further=False)
            if poison_rules.is_poison(deaths[each]):
                done[each] = deaths.pop(each)
    return done


@pytest.mark.parametrize("culprit_seconds", [1, 30, 90, 900])
@pytest.mark.parametrize("innocent_seconds", [10, 100, 1000])
def test_only_the_culprit_is_given_up(culprit_seconds: int, innocent_seconds: int) -> None:
    ends = history(culprit_seconds, innocent_seconds, innocents=5)
    assert ends.pop(0) == poison_rules.DEATHS_MAX
    assert len(ends) == 5
    assert max(ends.values()) < poison_rules.DEATHS_MAX


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
            getattr(self, kind).runs[name] = Run(name, 1, lambda: None)
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
