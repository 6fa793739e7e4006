"""One recorded answer per numbered call (design: The journal)."""

import pytest

from agentpost.record.journal_rules import Call, CallState, Divergence, find_recorded


def call(state: CallState) -> Call:
    return Call(3, "step:draw", state, '"value"')


def test_a_call_that_was_never_made_has_to_run() -> None:
    assert find_recorded(None, "step:draw") is None


@pytest.mark.parametrize("state", [CallState.DONE, CallState.ERROR])
def test_a_recorded_answer_is_given_again(state: CallState) -> None:
    """A completed step never runs again, and a failed one fails the same way again."""
    assert find_recorded(call(state), "step:draw") == call(state)


def test_a_call_that_was_in_flight_runs_again() -> None:
    """At least once: its cost is held, its answer unknown."""
    assert find_recorded(call(CallState.HELD), "step:draw") is None


@pytest.mark.parametrize("state", list(CallState))
def test_another_call_at_the_same_number_diverges(state: CallState) -> None:
    how = find_recorded(call(state), "step:other")
    assert isinstance(how, Divergence)
    assert "call 3" in how.cause
