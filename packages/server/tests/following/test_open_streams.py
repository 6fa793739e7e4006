"""Places of event streams: as many as there are, however they are given back."""

import pytest

from agentpost.domain.errors import RateLimited
from agentpost.following.open_streams import OpenStreams


def test_no_more_places_are_taken_than_there_are() -> None:
    """Calls at once: each has checked before any of them takes its place."""
    streams = OpenStreams()
    for _ in range(3):
        streams.check("acc_1", 2)
    first, second = streams.take("acc_1", 2), streams.take("acc_1", 2)
    with pytest.raises(RateLimited):
        streams.take("acc_1", 2)
    streams.take("acc_2", 1)
    with first:
        pass
    with second, streams.take("acc_1", 2), pytest.raises(RateLimited):
        streams.take("acc_1", 2)


def test_a_place_that_nobody_has_is_given_back_once() -> None:
    streams = OpenStreams()
    place = streams.take("acc_1", 1)
    with place:
        pass
    del place
    unused = streams.take("acc_1", 1)
    del unused
    streams.take("acc_1", 1)
