"""When a step that failed is tried again, and after how long."""

from dataclasses import dataclass
from math import isfinite
from typing import Final, TypeAlias

from agentpost.domain import backoff

RetryOn: TypeAlias = type[Exception] | tuple[type[Exception], ...]
"""Which exceptions of a step are worth another try."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long a step waits before it is tried again; times are in seconds.

    The first retry waits ``first``, each later one ``factor`` times as long as the one before, none
    longer than ``maximum``. Raises `ValueError` for times below 0, a factor below 1 and what is no
    finite number.
    """

    first: float = 0.2
    factor: float = 2.0
    maximum: float = 10.0

    def __post_init__(self) -> None:
        numbers = (self.first, self.factor, self.maximum)
        if not all(isfinite(number) and number >= 0 for number in numbers) or self.factor < 1:
            raise ValueError(f"times are 0 or more and the factor is 1 or more, not {self}")

    def seconds(self, attempts: int) -> float:
        """The wait after ``attempts`` failed retries (0 after the first failure)."""
        return backoff.pause(attempts, self.first, self.maximum, self.factor)


DEFAULT_BACKOFF: Final = Backoff()
