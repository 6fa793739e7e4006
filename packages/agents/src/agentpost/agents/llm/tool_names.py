"""Names of tools as providers take them: a request with another name, or with one twice, fails."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

CHARACTERS_MAX: Final = 64
_NAME: Final = re.compile(f"[a-zA-Z0-9_-]{{1,{CHARACTERS_MAX}}}")
_OTHER: Final = re.compile("[^a-zA-Z0-9_-]")
_MARK_CHARACTERS: Final = 8


@dataclass(frozen=True, slots=True)
class Reserved:
    """What names of a server's tools may not be: ``names`` of other tools, and those that begin
    with one of ``prefixes``, which are another server's."""

    names: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()

    @classmethod
    def of(cls, server: str, servers: Iterable[str], names: Iterable[str]) -> Reserved:
        """What a server has to leave to the other ``servers`` and to tools of those ``names``.

        Of two servers whose names begin alike, such as ``a`` and ``a_b``, the longer name keeps its
        prefix: ``a_b_c`` may be a tool of either one.
        """
        begin_alike = (f"{other}_" for other in servers if other.startswith(f"{server}_"))
        return cls(frozenset(names), tuple(begin_alike))


def provider_name(name: str, reserved: Reserved) -> str:
    """The name itself where a provider takes it, else one that is made of it: without the
    characters that it may not have, cut, and with a mark that no other name has.

    It depends on nothing but its arguments, so that a repeated run has the same names.
    """
    if (
        _NAME.fullmatch(name)
        and name not in reserved.names
        and not name.startswith(reserved.prefixes)
    ):
        return name
    mark = hashlib.sha256(name.encode()).hexdigest()[:_MARK_CHARACTERS]
    return f"{_OTHER.sub('_', name)[: CHARACTERS_MAX - _MARK_CHARACTERS - 1]}_{mark}"
