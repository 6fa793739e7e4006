"""Which failures of a step are worth another try (see `Job.step`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentpost.agents import Backoff, JobFailed, NotAllowedInStep, Unreadable, values
from agentpost.agents.retries import DEFAULT_BACKOFF, RetryOn

NOT_RETRIED: Final[tuple[type[Exception], ...]] = (
    TypeError,
    NameError,
    AttributeError,
    ImportError,
    SyntaxError,
    NotImplementedError,
    AssertionError,
    values.MissingFunction,
    JobFailed,
    Unreadable,
    NotAllowedInStep,
)
"""What is raised again however often it is tried: mistakes in the code, and decisions."""


@dataclass(frozen=True, slots=True)
class Retry:
    """``most`` tries after the first, of what is in ``on`` (None: of all but `NOT_RETRIED`)."""

    most: int = 0
    on: tuple[type[Exception], ...] | None = None
    backoff: Backoff = DEFAULT_BACKOFF

    @classmethod
    def of(cls, retries: int, retry_on: RetryOn | None, backoff: Backoff) -> Retry:
        """From the options of a step; raises `TypeError` or `ValueError`."""
        if not isinstance(retries, int) or retries < 0:
            raise ValueError(f"retries is a whole number from 0, not {retries!r}")
        if not isinstance(backoff, Backoff):
            raise TypeError(f"backoff is a Backoff(first, factor, maximum), not {backoff!r}")
        if retry_on is None:
            return cls(retries, None, backoff)
        kinds = retry_on if isinstance(retry_on, tuple) else (retry_on,)
        for kind in kinds:
            if not (isinstance(kind, type) and issubclass(kind, Exception)):
                raise TypeError(f"retry_on names classes of exceptions, not {kind!r}")
        return cls(retries, kinds, backoff)

    def is_worth(self, error: Exception, tries: int) -> bool:
        """Whether to try again, after ``tries`` retries so far."""
        if tries >= self.most:
            return False
        return not _is_a(error, NOT_RETRIED) if self.on is None else _is_a(error, self.on)


def _is_a(error: Exception, kinds: tuple[type[Exception], ...]) -> bool:
    if isinstance(error, kinds):
        return True
    # One that came from a worker process may be of a class that could not be made again.
    names = values.class_names(error)
    return any(f"{kind.__module__}:{kind.__qualname__}" in names for kind in kinds)
