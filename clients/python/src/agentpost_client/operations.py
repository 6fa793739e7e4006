"""Which operation of the API a method stands for.

A test compares the marked methods with the API's description: none may be missing, and each has to
pass on every parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def operation(name: str) -> Callable[[F], F]:
    """Mark a method as the one for this ``operationId``."""

    def mark(method: F) -> F:
        method.__dict__["operation"] = name
        return method

    return mark
