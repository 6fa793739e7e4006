"""How long to wait before what failed is tried again; the one place with the formula."""


def pause(tries: int, first: float, most: float, factor: float = 2.0) -> float:
    """How long to wait: ``first`` after the first failure, then ``factor`` (1 or more) times as
    long each time, ``most`` at the most; ``tries``: how many retries have failed already. Any unit
    of time."""
    if first == 0:
        return 0.0
    try:
        return min(first * float(factor) ** tries, most)
    except OverflowError:  # beyond what a number can be, so beyond every limit
        return most


def spread(pause: float, part: float, chance: float) -> float:
    """A pause up to ``part`` of it shorter or longer, so that what failed together does not come
    back together. ``chance`` is evenly distributed from 0 (shortest) to 1 (longest)."""
    return pause * (1 + part * (2 * chance - 1))
