"""How many connections there may be at once, which of them makes room, and when new ones are turned
away (design: More than can be served)."""

import socket
from collections.abc import Callable

import pytest
from starlette.responses import Response
from structlog.testing import capture_logs

from agentpost.clock import ManualClock
from agentpost.http import arrivals
from agentpost.http.arrivals import BURST_SECONDS, Arrivals
from agentpost.http.connections import LOG_SECONDS, Connections
from agentpost.limits.intake import Intake
from agentpost.serving.process import _connections_max


class Line:
    """A connection; whether it was closed."""

    def __init__(self) -> None:
        self.is_closed = False

    def make_room(self) -> None:
        self.is_closed = True


def open_lines(connections: Connections, *addresses: str) -> list[Line]:
    lines = [Line() for _ in addresses]
    for line, address in zip(lines, addresses, strict=True):
        connections.add(line, address)
    return lines


def test_the_one_idle_longest_makes_room() -> None:
    connections = Connections(3, ManualClock())
    first, second, third = open_lines(connections, "a", "a", "a")
    connections.busy(first)
    connections.busy(second)
    connections.idle(second)
    connections.idle(first)
    for closed in (third, second, first):
        open_lines(connections, "a")
        assert [line.is_closed for line in (third, second, first)].count(True) == 1
        assert closed.is_closed
        closed.is_closed = False


def test_the_busy_stay() -> None:
    connections = Connections(2, ManualClock())
    busy = open_lines(connections, "a", "a")
    for line in busy:
        assert not connections.are_busy, "an idle one could make room"
        connections.busy(line)
    assert connections.are_busy
    [new] = open_lines(connections, "b")
    assert [line.is_closed for line in (*busy, new)] == [False, False, True]


def test_who_has_most_loses_one_first() -> None:
    connections = Connections(4, ManualClock())
    lines = open_lines(connections, "honest", "greedy", "greedy", "greedy", "other")
    assert [line.is_closed for line in lines] == [False, True, False, False, False]


def test_a_place_is_free_once_its_connection_is_gone() -> None:
    connections = Connections(2, ManualClock())
    lines = open_lines(connections, "a", "a")
    for _ in range(2):
        connections.remove(lines[0])
        connections.idle(lines[0])
    lines += open_lines(connections, "a")
    assert not any(line.is_closed for line in lines)


def test_a_flood_is_one_line_in_the_log() -> None:
    clock = ManualClock()
    connections = Connections(1, clock)
    with capture_logs() as logs:
        open_lines(connections, *["a"] * 10)
        clock.advance(LOG_SECONDS)
        open_lines(connections, "a")
    assert [(line["event"], line["closed_idle"]) for line in logs] == [
        ("connections_full", 1),
        ("connections_full", 9),
    ]


@pytest.mark.parametrize(
    ("wanted", "files", "most"),
    [
        (0, 1_024, 768),
        (0, 256, 128),
        (0, 1_048_576, 1_046_576),
        (0, 64, 32),
        (50, 1_024, 50),
        (5_000, 1_024, 768),
    ],
)
def test_connections_leave_files_for_all_else(wanted: int, files: int, most: int) -> None:
    assert _connections_max(wanted, files) == most


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
