"""How a client asks: what `with_options` changes, and what all parts of a client share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from agentpost_client.config import Config
from agentpost_client.errors import ConfigError
from agentpost_client.retries import RetryPolicy

TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    """Of one client. ``timeout`` in seconds; ``clock`` gives monotonic seconds."""

    config: Config
    timeout: float
    policy: RetryPolicy
    on_retry: Callable[[float, str], object] | None
    clock: Callable[[], float]

    def with_changes(self, timeout: float | None, max_retries: int | None) -> Options:
        """The same with what is given; raises `ConfigError`."""
        options = self
        if timeout is not None:
            options = replace(options, timeout=checked_timeout(timeout))
        if max_retries is not None:
            options = replace(options, policy=with_retries(self.policy, max_retries))
        return options


def checked_timeout(seconds: float) -> float:
    """The same; raises `ConfigError` when it leaves no time."""
    if not seconds > 0:
        raise ConfigError(f"timeout is {seconds:g}: give a number of seconds above 0.")
    return seconds


def with_retries(policy: RetryPolicy, retries: int) -> RetryPolicy:
    """The policy with that many retries of a request, however it is asked."""
    if retries < 0:
        raise ConfigError(f"max_retries is {retries}: give 0 for none, or a number above.")
    return replace(policy, retries=retries, retries_while_following=retries)
