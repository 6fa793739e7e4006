"""Of whom little arrives."""

import pytest

from agentpost.http.arrivals import REMEMBERED, RecentArrivals


def after(arrivals: str) -> RecentArrivals:
    """When these came, each letter an account and a point somebody unknown."""
    recent = RecentArrivals()
    for letter in arrivals:
        recent.add(None if letter == "." else letter)
    return recent


@pytest.mark.parametrize(
    ("arrivals", "few"),
    [
        ("a", ""),
        ("aaaaaaab", "b"),
        ("aaab", "b"),
        ("aab", ""),
        ("abab", ""),  # none has less than the other
        ("abcabcabc", ""),
        ("aaaaaaaaaabc", "bc"),
        ("........a", "a"),
        ("aaaaaaaa.", "."),
        ("abbbbbbccccccc", "a"),
    ],
)
def test_of_whom_little_arrives(arrivals: str, few: str) -> None:
    recent = after(arrivals)
    found = {letter for letter in arrivals if recent.are_few(None if letter == "." else letter)}
    assert found == set(few)


def test_a_part_of_what_arrives_is_let_in_however_many_send_it() -> None:
    letters = [chr(ord("a") + number) for number in range(20)]
    recent = after("".join(letters) * 10 + "a" * 300)
    assert [letter for letter in letters if recent.are_few(letter)] == letters[1:]
    assert 19 * 10 <= 500 / 2


def test_what_came_long_ago_is_forgotten() -> None:
    recent = after("a" * REMEMBERED)
    assert not recent.are_few("a")
    for _ in range(REMEMBERED):
        recent.add("b")
    assert recent.are_few("a")
