"""How long a node may go on without asking whether its work is still its own."""

from agentpost.nodes.lease import LEASE_SECONDS, Lease


class Time:
    """Seconds in the test's hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def beating(time: Time, lease: Lease, seconds: float) -> None:
    """Beat once a second for so long, each taking a tenth."""
    for _ in range(int(seconds)):
        sent = time.now
        time.now += 0.1
        lease.renew(sent)
        time.now += 0.9


def leased() -> tuple[Time, Lease]:
    time = Time()
    lease = Lease(LEASE_SECONDS, time)
    beating(time, lease, 3)
    return time, lease


def test_confirmed_ownership_stays_while_beats_come() -> None:
    time, lease = leased()
    confirmed = time.now
    beating(time, lease, 1000)
    assert lease.holds(confirmed)


def test_without_a_beat_nothing_is_certain() -> None:
    time, lease = leased()
    confirmed = time.now
    time.now += LEASE_SECONDS - 0.5
    assert not lease.holds(confirmed), "the beat was sent a second earlier"


def test_a_beat_after_a_gap_does_not_bring_back_what_was_confirmed_before() -> None:
    time, lease = leased()
    confirmed = time.now
    time.now += 8
    beating(time, lease, 2)
    assert not lease.holds(confirmed)
    assert lease.holds(time.now), "what is confirmed from now on is certain again"


def test_a_process_that_stood_still_while_it_beat_notices() -> None:
    time, lease = leased()
    confirmed = sent = time.now
    time.now += 8  # between the commit and what follows it
    lease.renew(sent)
    assert not lease.holds(confirmed)
    assert not lease.holds(time.now), "that beat is old"
    beating(time, lease, 1)
    assert not lease.holds(confirmed)


def test_it_is_unbroken_since_the_last_gap() -> None:
    time, lease = leased()
    since = lease.unbroken_since
    beating(time, lease, 10)
    assert lease.unbroken_since == since
    time.now += LEASE_SECONDS
    woken = time.now
    beating(time, lease, 10)
    assert lease.unbroken_since == woken


def test_ownership_confirmed_before_a_second_gap_is_asked_about_again() -> None:
    time, lease = leased()
    time.now += 8
    confirmed = time.now
    lease.renew(confirmed)
    assert lease.holds(confirmed)
    time.now += 8  # stopped between the answer and the body
    beating(time, lease, 1)
    assert not lease.holds(confirmed)


def test_alone_it_never_ends() -> None:
    time = Time()
    lease = Lease(now=time)
    confirmed = time.now
    time.now += 1e6
    assert lease.holds(confirmed)
