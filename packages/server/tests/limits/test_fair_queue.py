"""Who gets the next place of a shared pool."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, strategies as st

from agentpost.limits.fair_share import FairQueue

EACH_SLOTS = st.integers(1, 5)
ACCOUNTS = "abcd"


def queue_of(slots: int, waiting: str) -> FairQueue[int]:
    """A queue in which the accounts, each a letter, wait in that order."""
    queue: FairQueue[int] = FairQueue(slots)
    for number, account in enumerate(waiting):
        queue.add(account, number)
    return queue


def admitted(queue: FairQueue[int]) -> str:
    """The accounts that get a place now, in the order in which they get it."""
    given_to = ""
    while (given := queue.grant_next()) is not None:
        given_to += given[0]
    return given_to


@pytest.mark.parametrize(
    ("slots", "waiting", "begin"),
    [
        (1, "a", "a"),
        (1, "aab", "a"),
        (2, "aaaa", "a"),  # the other place is kept for another account
        (2, "aaab", "ab"),
        (3, "aaaa", "aa"),
        (3, "aaab", "ab"),
        (3, "abcd", "abc"),
        (4, "aaaab", "aba"),
        (5, "aaaabb", "abab"),
        (5, "aaaaaa", "aaaa"),
    ],
)
def test_who_begins(slots: int, waiting: str, begin: str) -> None:
    assert admitted(queue_of(slots, waiting)) == begin


@pytest.mark.parametrize(
    ("slots", "waiting", "ends", "next_ones"),
    [
        (1, "aaab", "a", "b"),  # turns are taken, though a came first
        (1, "aabbaa", "abab", "baba"),
        (1, "aabbcc", "abcab", "bcabc"),
        (2, "aaaab", "ab", "a"),  # when b is done, its place is kept again
        (2, "aab", "b", ""),
        (3, "aaaabb", "a", "a"),
        (3, "aabbccd", "a", "d"),  # an account that holds none comes first
        (2, "aac", "c", ""),
        (2, "aaabbc", "ab", "ca"),  # c waits for one call, not for a's queue
    ],
)
def test_who_comes_next(slots: int, waiting: str, ends: str, next_ones: str) -> None:
    queue = queue_of(slots, waiting)
    admitted(queue)
    came = ""
    for account in ends:
        queue.give_back(account)
        came += admitted(queue)
    assert came == next_ones


def test_a_waiter_that_goes_is_passed_over() -> None:
    queue = queue_of(1, "aba")
    queue.remove("a", 0)
    queue.remove("b", 1)
    queue.remove("b", 1)  # it does not wait any more
    queue.remove("c", 7)  # it never did
    assert queue.grant_next() == ("a", 2)
    assert queue.grant_next() is None


Moves = st.lists(
    st.one_of(
        st.tuples(st.just("come"), st.sampled_from(ACCOUNTS)),
        st.tuples(st.just("leave"), st.sampled_from(ACCOUNTS)),
        st.tuples(st.just("end"), st.sampled_from(ACCOUNTS)),
    ),
    max_size=60,
)


class Model:
    """The same queue beside plain lists of who waits and who holds a place."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.queue: FairQueue[int] = FairQueue(slots)
        self.held: Counter[str] = Counter()
        self.waiting: dict[str, list[int]] = {account: [] for account in ACCOUNTS}
        self.made = 0

    @property
    def free(self) -> int:
        return self.slots - self.held.total()

    def move(self, what: str, account: str) -> None:
        if what == "come":
            self.made += 1
            self.waiting[account].append(self.made)
            self.queue.add(account, self.made)
        elif what == "leave" and self.waiting[account]:
            self.queue.remove(account, self.waiting[account].pop())
        elif what == "end" and self.held[account]:
            self.held[account] -= 1
            self.queue.give_back(account)

    def admit(self) -> None:
        while (taken := self.queue.grant_next()) is not None:
            account, waiter = taken
            assert waiter == self.waiting[account].pop(0), "within an account, in order"
            fewest = min(self.held[a] for a in ACCOUNTS if self.waiting[a] or a == account)
            assert self.held[account] == fewest
            self.held[account] += 1


@given(EACH_SLOTS, Moves)
def test_whatever_happens_no_account_has_it_all(slots: int, moves: list[tuple[str, str]]) -> None:
    model = Model(slots)
    for what, account in moves:
        model.move(what, account)
        model.admit()
        assert model.free >= 0
        if slots > 1:
            assert max(model.held.values(), default=0) < slots
        assert all(model.queue.held_count(account) == model.held[account] for account in ACCOUNTS)
        for waiting in (account for account in ACCOUNTS if model.waiting[account]):
            # Nothing is left lying: the only free place is one that is kept for others.
            assert model.free <= (1 if model.held[waiting] else 0)


@given(EACH_SLOTS, st.lists(st.sampled_from(ACCOUNTS), min_size=1, max_size=40))
def test_everybody_is_served_in_the_end(slots: int, waiting: list[str]) -> None:
    queue = queue_of(slots, "".join(waiting))
    holding = list(admitted(queue))
    served = list(holding)
    while holding:
        queue.give_back(holding.pop(0))
        more = admitted(queue)
        holding.extend(more)
        served.extend(more)
    assert Counter(served) == Counter(waiting)


@given(st.integers(0, 30), st.integers(1, 4))
def test_a_flood_of_one_account_is_passed_by_a_newcomer(flood: int, slots: int) -> None:
    queue = queue_of(slots, "a" * flood)
    holding = admitted(queue)
    queue.add("b", -1)
    came = admitted(queue)
    if not came:  # a single place, and it is taken: the newcomer has the next turn
        assert slots == 1
        queue.give_back(holding[0])
        came = admitted(queue)
    assert came == "b"
