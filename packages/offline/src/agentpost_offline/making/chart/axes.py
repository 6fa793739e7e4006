"""Axes with round numbers on them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agentpost_offline.making.picture import Axis, Tick
from agentpost_offline.style.numbers import NumberFormat

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def axis(
    values: Sequence[float],
    form: NumberFormat,
    *,
    zero: bool,
    lines: int = 5,
    title: str = "",
    near: float = 0.5,
) -> Axis:
    """An axis over all values.

    Args:
        values: what must fit.
        form: how its numbers are written.
        zero: whether it must begin at zero, as lengths and areas need.
        lines: about how many lines it has.
        title: its name.
        near: it begins at zero all the same when the smallest value is below this part of the
            largest.
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    if zero or (low > 0 and low < high * near) or (high < 0 and high > low * near):
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        spare = abs(low) * 0.1 or 1.0
        low, high = (low - spare, high + spare) if not zero else (low, low + 1.0)
    step = _step((high - low) / lines)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(Tick(n * step, form.tick(n * step, step)) for n in range(first, last + 1))
    return Axis(first * step, last * step, ticks, title, form.excel(step))


def exact(values: Sequence[float]) -> Axis:
    """An axis from zero without lines, for values that are all written."""
    low, high = min(0.0, *values), max(0.0, *values)
    return Axis(low, high if high > low else low + 1.0)


def _step(rough: float) -> float:
    size = 10.0 ** math.floor(math.log10(rough))
    return next((s * size for s in _STEPS if s * size >= rough * 0.999), 10 * size)
