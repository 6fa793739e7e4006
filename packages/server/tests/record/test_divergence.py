"""One recorded answer per numbered call (design: The journal); how a re-run's call differs from it,
in words."""

import pytest

from agentpost.agents import values
from agentpost.record.journal_rules import (
    Call,
    CallState,
    Divergence,
    compare,
    find_recorded,
    left_out,
)


def summary(*call: object) -> str:
    name, *parts = call
    return values.identify(str(name), *parts)[1]


@pytest.mark.parametrize(
    ("recorded", "made", "names", "differs", "in_cause"),
    [
        (
            summary("step", "orders:book", [1], 0),
            summary("progress", "Booking"),
            ("step orders:book", "progress"),
            "the call",
            "Booking",
        ),
        (
            summary("step", "orders:book", [1], 0),
            summary("step", "orders:send", [1], 0),
            ("step orders:book", "step orders:send"),
            "the function",
            '"orders:send"',
        ),
        (
            summary("step", "orders:book", ["open"], 0),
            summary("step", "orders:book", ["not open"], 5),
            ("step orders:book", "step orders:book"),
            "the arguments and the cost",
            'arguments: recorded ["open"], made ["not open"]',
        ),
        (
            summary("step", "orders:book", [1], 0),
            summary("step", "orders:book", [1], 0, {"fast": True}),
            ("step orders:book", "step orders:book"),
            "the keyword arguments",
            '{"fast": true}',
        ),
        ("", summary("charge", 5, "x"), ("an unknown call", "charge"), "the call", "unknown"),
        (
            summary("step", "orders:book", ["x" * 1000], 0),
            summary("step", "orders:book", ["y" * 1000], 0),
            ("step orders:book", "step orders:book"),
            "the arguments",
            "xxx",
        ),
    ],
)
def test_it_names_both_calls_and_what_differs(
    recorded: str, made: str, names: tuple[str, str], differs: str, in_cause: str
) -> None:
    found = compare(7, recorded, made)
    assert (found.recorded, found.current) == names
    assert found.differs == differs
    assert "call 7" in found.cause
    assert in_cause in found.cause
    assert len(found.cause) < 600


def test_the_difference_alone_quotes_no_values() -> None:
    secret = summary("progress", "for your eyes only")
    found = compare(1, secret, summary("progress", "another text"))
    assert "eyes" not in f"{found.recorded} {found.current} {found.differs}"


@pytest.mark.parametrize("state", list(CallState))
def test_a_recorded_answer_is_given_again_and_what_was_in_flight_runs_again(
    state: CallState,
) -> None:
    """A completed step never runs again, and a failed one fails the same way again; the cost of one
    in flight is held, its answer unknown. Another call at the same number diverges."""
    recorded = Call(3, "step:draw", state, '"value"')
    given_again = None if state is CallState.HELD else recorded
    assert find_recorded(recorded, "step:draw") == given_again
    assert find_recorded(None, "step:draw") is None
    how = find_recorded(recorded, "step:other")
    assert isinstance(how, Divergence)
    assert "call 3" in how.cause


def call_record(n: int, state: CallState = CallState.DONE) -> Call:
    return Call(n, f"f{n}", state, "null", summary("step", f"orders:part_{n}", [], 0))


@pytest.mark.parametrize(
    ("calls", "made", "cause"),
    [
        ([], 0, None),
        ([call_record(1), call_record(2)], 2, None),
        ([call_record(1), call_record(2)], 5, None),
        ([call_record(1), call_record(2, CallState.HELD)], 1, None),
        ([call_record(1), call_record(-1, CallState.OWED)], 1, None),
        (
            [call_record(3), call_record(1), call_record(2, CallState.ERROR)],
            1,
            "call 2 was step orders:part_2, the re-run ended without it: it made 1 of 3",
        ),
    ],
)
def test_calls_that_a_run_left_out_are_named(
    calls: list[Call], made: int, cause: str | None
) -> None:
    found = left_out(calls, made)
    assert (found and found.cause.removesuffix(" recorded calls")) == cause
