"""What a key may do: its scopes (design: Key scopes)."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from agentpost.domain.errors import ErrorCode, Refusal


class Scope(StrEnum):
    """A scope of a key; none implies another."""

    SEND = "send"
    READ = "read"
    ADMIN = "admin"
    READ_ALL = "read_all"


DEFAULT_SCOPES: Final = frozenset({Scope.SEND, Scope.READ, Scope.ADMIN})
"""What a key has whose scopes were not chosen: all that the specification gives a key. It does not
show a key what other keys sent (spec: createMessage 6)."""


def parse(names: Iterable[str]) -> frozenset[Scope]:
    """The scopes with these names; raises `ValueError` for an unknown one and for none."""
    all_names = ", ".join(Scope)
    scopes = [name.strip() for name in names]
    for name in scopes:
        if name not in set(Scope):
            raise ValueError(f"no such scope: {name!r}; choose from {all_names}")
    if not scopes:
        raise ValueError(f"a key needs at least one scope: {all_names}")
    return frozenset(map(Scope, scopes))


def to_stored(scopes: frozenset[Scope]) -> str | None:
    """How a key keeps its scopes: None for `DEFAULT_SCOPES`, as earlier versions kept them."""
    return None if scopes == DEFAULT_SCOPES else ",".join(in_order(scopes))


def of_stored(text: str | None) -> frozenset[Scope]:
    """The scopes that a key keeps; words that this version does not know grant nothing."""
    if text is None:
        return DEFAULT_SCOPES
    return frozenset(scope for scope in Scope if scope in text.split(","))


def in_order(scopes: frozenset[Scope]) -> list[str]:
    """The names of the scopes, always in the same order."""
    return [scope.value for scope in Scope if scope in scopes]


def check(scopes: frozenset[Scope], scope: Scope | None) -> None:
    """Raise ``forbidden`` when the scope is needed and missing."""
    if scope is not None and scope not in scopes:
        has = ", ".join(in_order(scopes)) or "none"
        raise Refusal(
            ErrorCode.FORBIDDEN,
            f"This key lacks the scope {scope.value!r} (it has: {has}). Use a key that has it;"
            " the scopes of a key are chosen when it is made.",
        )
