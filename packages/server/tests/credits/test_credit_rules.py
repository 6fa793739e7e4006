"""Credits as pure arithmetic (design: Credits)."""

import math

import pytest
from hypothesis import given, strategies as st

from agentpost.credits.rules import LedgerKind, Wallet, admission, chargeable
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


@pytest.mark.parametrize(
    ("wallet", "kind", "amount", "after"),
    [
        (Wallet(10, 3), LedgerKind.HOLD, 7, Wallet(10, 10)),  # promised, and still in the balance
        (Wallet(10, 7), LedgerKind.RELEASE, 7, Wallet(10, 0)),
        (Wallet(10, 0), LedgerKind.CHARGE, 7, Wallet(3, 0)),
        (Wallet(10, 7), LedgerKind.GRANT, 5, Wallet(15, 7)),
        (Wallet(10, 7), LedgerKind.GRANT, -3, Wallet(7, 7)),
    ],
)
def test_what_a_move_leaves(wallet: Wallet, kind: LedgerKind, amount: int, after: Wallet) -> None:
    assert wallet.after(kind, amount) == after
    assert after.available == after.balance - after.held


@pytest.mark.parametrize(
    ("available", "amount", "left", "charge"),
    [
        (10, 4, 10, 4),
        (10, 10, 10, 10),
        (10, 25, 10, 10),  # done already: as much as there is
        (2, 5, 10, 2),  # never what others hold
        (10, 5, 3, 3),  # never above a ceiling
        (10, 5, 0, None),
        (0, 5, 10, None),
        (0, 0, 10, 0),
    ],
)
def test_charging_for_work_done(available: int, amount: int, left: int, charge: int | None) -> None:
    """A charge may take the balance to zero; with nothing left the job parks (design: Credits)."""
    assert chargeable(available, amount, left) == charge


@given(
    st.lists(st.tuples(st.sampled_from(["hold", "release", "settle", "charge"]), st.integers(0, 9)))
)
def test_no_order_of_moves_goes_below_zero(moves: list[tuple[str, int]]) -> None:
    wallet, holds, charged = Wallet(20, 0), list[int](), 0
    for move, amount in moves:
        if move == "hold" and amount <= wallet.available:
            wallet = wallet.after(LedgerKind.HOLD, amount)
            holds.append(amount)
        elif move == "charge" and (charge := chargeable(wallet.available, amount, 20)) is not None:
            wallet = wallet.after(LedgerKind.CHARGE, charge)
            charged += charge
        elif move in ("release", "settle") and holds:
            wallet = wallet.after(LedgerKind.RELEASE, holds[-1])
            if move == "settle":
                charged += holds[-1]
                wallet = wallet.after(LedgerKind.CHARGE, holds[-1])
            holds.pop()
        assert wallet.held == sum(holds)
        assert wallet.balance == 20 - charged
        assert 0 <= wallet.held <= wallet.balance
