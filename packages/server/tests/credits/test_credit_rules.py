"""Credits as pure arithmetic (design: Credits)."""

import math

import pytest
from hypothesis import given, strategies as st

from agentpost.credits import rules as credit_rules
from agentpost.credits.rules import Wallet, admission
from agentpost.domain.credits import to_credits, to_millionths
from agentpost.jobs.rules import Reason


@pytest.mark.parametrize(
    ("amount", "millionths"),
    [
        (0, 0),
        (1, 1_000_000),
        (0.1, 100_000),
        (0.1 + 0.2, 300_000),
        (0.000_001, 1),
        (0.000_000_5, 1),
        (0.000_000_4, 0),
        (1e12, 10**18),
    ],
)
def test_amounts_are_millionths_rounded_half_up(amount: float, millionths: int) -> None:
    assert to_millionths(amount) == millionths


@pytest.mark.parametrize(
    "amount", [-1, -0.000_001, math.nan, math.inf, -math.inf, 1e13, True, "5", None]
)
def test_a_number_that_is_no_amount_is_refused(amount: float) -> None:
    """Negative, NaN and infinite costs raise `ValueError` (design: Credits)."""
    with pytest.raises(ValueError, match="credits must be"):
        to_millionths(amount)


@given(st.integers(0, 10**15))
def test_millionths_survive_the_way_to_the_client_and_back(millionths: int) -> None:
    assert to_millionths(to_credits(millionths)) == millionths


@pytest.mark.parametrize(
    ("fees", "executing", "available", "reason"),
    [
        (False, 0, 1, None),
        (False, 4, 1, None),
        (False, 5, 1, Reason.TOO_MANY_RUNNING),
        (False, 6, 1, Reason.TOO_MANY_RUNNING),
        (False, 0, 0, Reason.OUT_OF_CREDITS),
        (False, 4, 0, Reason.OUT_OF_CREDITS),
        (True, 0, 1, Reason.HOSTING_FEES),
        # several at once: hosting_fees, then too_many_running, then out_of_credits
        (False, 5, 0, Reason.TOO_MANY_RUNNING),
        (True, 0, 0, Reason.HOSTING_FEES),
        (True, 5, 0, Reason.HOSTING_FEES),
    ],
)
def test_admission(fees: bool, executing: int, available: int, reason: Reason | None) -> None:
    """The order of refusals (design: Credits)."""
    decided = admission(hosting_fees_due=fees, executing=executing, slots=5, available=available)
    assert decided is reason


def test_a_hold_is_promised_and_stays_in_the_balance() -> None:
    held = credit_rules.hold(Wallet(10, 3), 7)
    assert held == Wallet(10, 10)
    assert held is not None
    assert held.available == 0


def test_a_hold_never_takes_what_is_promised_already() -> None:
    assert credit_rules.hold(Wallet(10, 4), 7) is None


def test_a_held_step_ends_in_a_charge_or_in_nothing() -> None:
    assert credit_rules.charge_held(Wallet(10, 7), 7) == Wallet(3, 0)
    assert credit_rules.release(Wallet(10, 7), 7) == Wallet(10, 0)


@pytest.mark.parametrize(
    ("wallet", "amount", "outcome"),
    [
        (Wallet(10, 0), 4, (Wallet(6, 0), 4)),
        (Wallet(10, 0), 10, (Wallet(0, 0), 10)),
        (Wallet(10, 0), 25, (Wallet(0, 0), 10)),  # done already: as much as there is
        (Wallet(10, 8), 5, (Wallet(8, 8), 2)),  # never what others hold
        (Wallet(10, 10), 5, None),
        (Wallet(0, 0), 1, None),
        (Wallet(0, 0), 0, (Wallet(0, 0), 0)),
    ],
)
def test_charging_for_work_done(
    wallet: Wallet, amount: int, outcome: tuple[Wallet, int] | None
) -> None:
    """A charge may take the balance to zero; with nothing left the job parks (design: Credits)."""
    assert credit_rules.charge_done(wallet, amount) == outcome


@given(
    st.lists(st.tuples(st.sampled_from(["hold", "release", "settle", "charge"]), st.integers(0, 9)))
)
def test_no_order_of_moves_goes_below_zero(moves: list[tuple[str, int]]) -> None:
    wallet, holds, charged = Wallet(20, 0), list[int](), 0
    for move, amount in moves:
        if move == "hold" and (after := credit_rules.hold(wallet, amount)) is not None:
            wallet = after
            holds.append(amount)
        elif move == "charge" and (outcome := credit_rules.charge_done(wallet, amount)) is not None:
            wallet = outcome[0]
            charged += outcome[1]
        elif move == "release" and holds:
            wallet = credit_rules.release(wallet, holds.pop())
        elif move == "settle" and holds:
            charged += holds[-1]
            wallet = credit_rules.charge_held(wallet, holds.pop())
        assert wallet.held == sum(holds)
        assert wallet.balance == 20 - charged
        assert 0 <= wallet.held <= wallet.balance
