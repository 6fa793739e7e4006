"""When new connections are turned away (design: More than can be served)."""

import socket
from collections.abc import Callable

import pytest
from starlette.responses import Response

from agentpost.clock import ManualClock
from agentpost.http import arrivals
from agentpost.http.arrivals import BURST_SECONDS, Arrivals
from agentpost.limits.intake import Intake

MOST = 10


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def refuses(monkeypatch: pytest.MonkeyPatch, clock: ManualClock) -> Callable[[int], bool]:
    """Whether a connection is turned away while so many others wait."""
    queue = 0
    monkeypatch.setattr(arrivals, "waiting", lambda _: (queue, 4_096))
    made = Arrivals(
        socket.socket(),
        MOST,
        1,
        intake=Intake(clock, 1_000),
        are_busy=lambda: False,
        account_of=lambda _: None,
        no_room=lambda _seconds, _id: Response(),
        count=lambda: None,
        clock=clock,
    )

    def ask(waiting: int) -> bool:
        nonlocal queue
        queue = waiting
        return made.looks()

    return ask


def over(refuses: Callable[[int], bool], clock: ManualClock, waiting: int) -> list[bool]:
    """The answers of a little more than a burst's time, four in a second."""
    answers = []
    for _ in range(int(BURST_SECONDS * 4) + 1):
        answers.append(refuses(waiting))
        clock.advance(0.25)
    return answers


def test_a_burst_is_let_in_and_what_stays_is_not(
    refuses: Callable[[int], bool], clock: ManualClock
) -> None:
    assert not any(over(refuses, clock, MOST))
    assert over(refuses, clock, MOST + 1) == [False] * int(BURST_SECONDS * 4) + [True]
    assert (refuses(MOST), refuses(MOST + 1)) == (False, True), "it goes on"
    assert not any(over(refuses, clock, MOST))
    assert not refuses(MOST + 1), "the next burst"


def test_a_burst_after_an_interruption_is_a_new_one(
    refuses: Callable[[int], bool], clock: ManualClock
) -> None:
    over(refuses, clock, MOST + 1)
    assert refuses(MOST + 1)
    clock.advance(BURST_SECONDS + 1)
    assert not refuses(MOST + 1)
