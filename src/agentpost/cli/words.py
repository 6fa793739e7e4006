"""Numbers for people."""

from __future__ import annotations

BYTE_UNITS = ("bytes", "kB", "MB", "GB")


def size_words(size: int) -> str:
    """Bytes for people, such as ``12.3 kB``; a unit is a thousand of the one before."""
    if size == 1:
        return "1 byte"
    amount, unit = float(size), 0
    while round(amount, 1 if unit else 0) >= 1000 and unit < len(BYTE_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.1f} {BYTE_UNITS[unit]}" if unit else f"{size} {BYTE_UNITS[0]}"


def credits_words(amount: float) -> str:
    """Credits for people: ``1 credit``, ``2.5 credits``."""
    shown = f"{amount:.6f}".rstrip("0").rstrip(".")
    return f"{shown} credit" if shown == "1" else f"{shown} credits"
