"""How much of bounded room an account may take, and of whom little arrives."""

import pytest

from agentpost.http.arrivals import REMEMBERED, RecentArrivals
from agentpost.limits.fair_share import Room, has_many, room

FREE, SHARE, FULL = Room.FREE, Room.SHARE_TAKEN, Room.FULL


@pytest.mark.parametrize(
    ("most", "taken", "by_account", "found"),
    [
        (1_000, 0, 0, FREE),
        (1_000, 749, 749, FREE),
        (1_000, 750, 750, SHARE),  # alone: three quarters
        (1_000, 856, 427, FREE),
        (1_000, 858, 429, SHARE),  # two of them: three sevenths each
        (1_000, 858, 0, FREE),  # and a third account finds room
        (1_000, 999, 0, FREE),
        (1_000, 999, 3, SHARE),
        (1_000, 1_000, 0, FULL),
        (1, 0, 0, FREE),
        (1, 1, 1, FULL),
        (4, 3, 3, SHARE),
    ],
)
def test_who_finds_room(most: int, taken: int, by_account: int, found: Room) -> None:
    assert room(most, taken, by_account) is found


@pytest.mark.parametrize(
    ("taken", "by_account", "many"),
    [(428, 428, False), (429, 429, True), (1_000, 0, False), (800, 149, False), (800, 150, True)],
)
def test_who_comes_near_its_share(taken: int, by_account: int, many: bool) -> None:
    assert has_many(1_000, taken, by_account) is many


@pytest.mark.parametrize("accounts", [1, 2, 3, 10])
def test_however_many_take_their_share_another_one_finds_room(accounts: int) -> None:
    each = 0
    while room(1_000, accounts * each, each) is FREE:
        each += 1
    assert each > 0
    assert room(1_000, accounts * each, 0) is FREE


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
