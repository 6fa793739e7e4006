"""Credits as integer millionths, and as the numbers that people read (design: Credits)."""

import math
from dataclasses import dataclass
from typing import Final

_MILLIONTHS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Charge:
    """Credits, in millionths, for work already done, and what they are for."""

    amount: int
    note: str


def to_millionths(amount: float) -> int:
    """Credits as integer millionths, rounded half up.

    Raises `ValueError` for negative, NaN or infinite amounts and for things that are no number.
    """
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        raise ValueError(f"credits must be a number, not {type(amount).__name__}")
    if not math.isfinite(amount) or amount < 0:
        raise ValueError(f"credits must be zero or more, not {amount}")
    if amount > 1e12:
        raise ValueError("credits must be at most a trillion")
    return math.floor(amount * _MILLIONTHS + 0.5)


def to_credits(millionths: int) -> float:
    """Millionths as the number a client reads."""
    return millionths / _MILLIONTHS
