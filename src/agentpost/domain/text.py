"""Text that can be stored, and numbers written for people."""

from __future__ import annotations

import re
from typing import Final

UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
"""Characters that no database takes: U+0000 and halves of surrogate pairs."""

_BYTE_UNITS: Final = ("bytes", "kB", "MB", "GB")


def storable(text: str) -> str:
    """The text without U+0000, and with a question mark for each half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def human_size(size: int) -> str:
    """Bytes for people, such as ``12.3 kB``; a unit is a thousand of the one before."""
    if size == 1:
        return "1 byte"
    amount, unit = float(size), 0
    while round(amount, 1 if unit else 0) >= 1000 and unit < len(_BYTE_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.1f} {_BYTE_UNITS[unit]}" if unit else f"{size} {_BYTE_UNITS[0]}"


def human_credits(amount: float) -> str:
    """Credits for people: ``1 credit``, ``2.5 credits``."""
    shown = f"{amount:.6f}".rstrip("0").rstrip(".")
    return f"{shown} credit" if shown == "1" else f"{shown} credits"
