"""Which failures of a step are tried again, and after how long (see `Job.step`)."""

from math import inf, nan

import pytest

from agentpost.agents import Backoff, JobFailed, NotAllowedInStep, Unreadable, values
from agentpost.agents.retries import RetryOn
from agentpost.author.retrying import Retry


class Flaky(Exception):
    """Of an author's own making."""

    def __init__(self, code: int, body: str) -> None:
        super().__init__(f"{code}: {body}")


def wanted(error: Exception, on: RetryOn | None = None, *, retries: int = 1) -> bool:
    return Retry.of(retries, on, Backoff()).is_worth(error, 0)


@pytest.mark.parametrize(
    "error", [OSError(), TimeoutError(), ValueError(), KeyError(), Flaky(5, "")]
)
def test_an_error_that_may_pass_is_tried_again(error: Exception) -> None:
    assert wanted(error)
    assert not wanted(error, retries=0)


@pytest.mark.parametrize(
    "error",
    [
        TypeError(),
        NameError(),
        UnboundLocalError(),
        AttributeError(),
        ModuleNotFoundError(),
        NotImplementedError(),
        AssertionError(),
        values.MissingFunction(),
        JobFailed(),
        Unreadable(),
        NotAllowedInStep(),
    ],
)
def test_an_error_that_stays_is_not_tried_again(error: Exception) -> None:
    assert not wanted(error)
    assert wanted(error, type(error)), "unless it is asked for"


def test_only_what_is_named_is_tried_again() -> None:
    assert wanted(ConnectionResetError(), (OSError, Flaky))
    assert wanted(Flaky(503, "busy"), (OSError, Flaky))
    assert not wanted(ValueError(), (OSError, Flaky))


def test_an_error_from_a_worker_counts_by_the_class_it_had_there() -> None:
    there = Flaky(503, "busy")
    here = values.rebuild_error(values.describe_error(there))
    assert type(here) is not Flaky, "it cannot be made of one text"
    values.remember_class_names(here, values.class_names(there))
    assert wanted(here, Flaky)
    assert not wanted(here, OSError)


@pytest.mark.parametrize(
    ("retries", "on", "backoff"),
    [(-1, None, Backoff()), (1.5, None, Backoff()), (1, "OSError", Backoff()), (1, None, 3)],
)
def test_options_that_mean_nothing_are_refused(retries: int, on: RetryOn, backoff: Backoff) -> None:
    with pytest.raises((TypeError, ValueError)):
        Retry.of(retries, on, backoff)


@pytest.mark.parametrize("numbers", [(-1, 2, 3), (1, 0.5, 3), (1, 2, inf), (nan, 2, 3)])
def test_a_backoff_is_made_of_sensible_numbers(numbers: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        Backoff(*numbers)


def test_waits_grow_up_to_the_maximum() -> None:
    assert [Backoff(1, 3, 10).seconds(n) for n in range(4)] == [1, 3, 9, 10]
    assert [Backoff().seconds(n) for n in (0, 1, 50)] == [0.2, 0.4, 10]
    assert [Backoff(0).seconds(n) for n in (0, 1000)] == [0, 0]
    assert Backoff(60, 2, 5).seconds(0) == 5
