"""How long to leave alone what failed."""

from __future__ import annotations

_DOUBLINGS_MAX = 20  # far beyond every limit: the number stays small


def pause(tries: int, first: int, most: int) -> int:
    """``first`` after the first failure (``tries`` is 0), then twice as long each time, ``most`` at
    the most; all in one unit."""
    return min(first << min(tries, _DOUBLINGS_MAX), most)
