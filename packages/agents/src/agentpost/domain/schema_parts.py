"""How large a JSON Schema (2020-12) is when each reference stands for what it names.

That is how often a validator may have to look at its parts, whatever the size of its text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import unquote

from agentpost.domain.limits import SCHEMA_DEPTH_MAX, SCHEMA_PARTS_MAX
from agentpost.domain.pattern_cost import pattern_cost

_PATTERN_PARTS: Final = 100
"""As how many parts a pattern counts at the least: making it ready takes as long."""
_REFUSED: Final = ("$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$anchor", "$vocabulary")
_UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")
_DATA: Final = ("const", "enum", "default", "examples", "required", "type", "dependentRequired")
"""Keywords whose values are no schemas."""
_DEFINITIONS: Final = ("$defs", "definitions")
_BY_NAME: Final = ("properties", "patternProperties", *_DEFINITIONS, "dependentSchemas")
"""Keywords with a schema for each name."""
_INTO_THE_VALUE: Final = frozenset(
    {
        "properties", "patternProperties", "additionalProperties", "propertyNames", "items",
        "prefixItems", "contains", *_UNEVALUATED,
    }
)  # fmt: skip
"""Keywords whose schemas are for parts of the value that their own schema is for."""


@dataclass(frozen=True, slots=True)
class Size:
    """``parts``: of a schema that is followed until it contains itself; ``loops``: how often one of
    its schemas contains itself there, 0 for a schema that does not; ``alternatives``: how many
    ``anyOf`` and ``oneOf`` are within each other."""

    parts: int
    loops: int = 0
    alternatives: int = 0

    def __add__(self, other: Size) -> Size:
        """Of schemas beside each other."""
        deeper = max(self.alternatives, other.alternatives)
        return Size(self.parts + other.parts, self.loops + other.loops, deeper)


def size_of(schema: dict[str, Any], *, is_stored: bool = False) -> Size:
    """Raises `ValueError`, with words for the author of the schema, for one that is too large, that
    contains itself for the same value, and for what is not taken.

    ``is_stored``: it was taken when it was stored, maybe by a version that counted each pattern as
    `_PATTERN_PARTS`.
    """
    counting = _Counting(schema, is_stored=is_stored)
    whole = counting.schema(schema, 0, 0)
    for name in _DEFINITIONS:  # those that nothing refers to are compiled as well
        for each in _mapping(schema.get(name)).values():
            if not counting.has_counted(each):
                whole += counting.schema(each, 1, 0)
    if whole.loops and counting.unevaluated:
        # What it looks at is looked at again from each level of the value.
        raise ValueError(f"{counting.unevaluated} is not taken in a schema that contains itself")
    return _bound(whole)


class _Counting:
    def __init__(self, root: dict[str, Any], *, is_stored: bool) -> None:
        self._root = root
        self._is_stored = is_stored
        self._counted: dict[int, Size] = {}
        self._open: dict[int, int] = {}  # how deep into the value they are
        self._visits = 0
        self.unevaluated: str | None = None  # a keyword of `_UNEVALUATED` that there is

    def has_counted(self, schema: Any) -> bool:
        """Whether it has been come across."""
        return id(schema) in self._counted

    def schema(self, schema: Any, depth: int, level: int) -> Size:
        """The size of a schema, ``depth`` schemas and references within the root."""
        if not isinstance(schema, dict):
            return Size(1)  # true, false, or what the validator will refuse
        if id(schema) in self._open:
            if self._open[id(schema)] == level:
                raise ValueError(
                    "a schema that contains itself is taken only where it is for a part of the"
                    " value, such as a property or an item"
                )
            return Size(1, loops=1)
        count = self._counted.get(id(schema))
        if count is not None and not count.loops:  # else its size depends on where it stands
            return count
        if depth > SCHEMA_DEPTH_MAX:
            raise ValueError(f"is nested deeper than {SCHEMA_DEPTH_MAX} levels")
        self._visits += 1
        _bound(Size(self._visits))
        self._open[id(schema)] = level
        size = self._counted[id(schema)] = _bound(self._members(schema, depth, level))
        del self._open[id(schema)]
        return size

    def _members(self, schema: dict[str, Any], depth: int, level: int) -> Size:
        size = Size(1)
        for name, value in schema.items():
            if name in _REFUSED or (name == "$id" and schema is not self._root):
                raise ValueError(f"{name} is not taken; use $ref with $defs")
            if name not in _DEFINITIONS:  # they are counted where they are referred to
                size += self._keyword(name, value, depth + 1, level + (name in _INTO_THE_VALUE))
        looking_again = [name for name in _UNEVALUATED if name in schema]
        if not looking_again:
            return size
        self.unevaluated = looking_again[0]
        # It looks at what the keywords beside it have seen, once more each.
        return replace(size, parts=size.parts * 3)

    def _keyword(self, name: str, value: Any, depth: int, level: int) -> Size:
        if name == "$ref":
            return self.schema(self._target(value), depth, level)
        if name == "pattern":
            return self._pattern_size(value)
        if name in _DATA:
            return Size(len(value) if isinstance(value, list | dict) else 1)
        if name in _BY_NAME:
            schemas = list(_mapping(value).values())
        else:
            schemas = value if isinstance(value, list) else [value]
            schemas = [each for each in schemas if isinstance(each, dict | bool)]
        patterns = _mapping(value) if name == "patternProperties" else ()
        start = sum(map(self._pattern_size, patterns), Size(0))
        size = sum((self.schema(each, depth, level) for each in schemas), start)
        is_choice = name in ("anyOf", "oneOf")
        return replace(size, alternatives=size.alternatives + 1) if is_choice else size

    def _pattern_size(self, pattern: object) -> Size:
        if self._is_stored or not isinstance(pattern, str):
            return Size(_PATTERN_PARTS)
        return _bound(Size(_PATTERN_PARTS + pattern_cost(pattern)))

    def _target(self, ref: object) -> object:
        """What a reference such as ``#/$defs/item`` names."""
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            raise ValueError(f"a reference may only name a part of the schema itself, not {ref!r}")
        place: Any = self._root
        for step in ref[2:].split("/") if len(ref) > 1 else ():
            step = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(place, list) and step.isdecimal() and int(step) < len(place):
                place = place[int(step)]
            elif isinstance(place, dict) and step in place:
                place = place[step]
            else:
                raise ValueError(f"there is no {ref} in the schema")
        return place


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _bound(size: Size) -> Size:
    if size.parts > SCHEMA_PARTS_MAX:
        most = f"{SCHEMA_PARTS_MAX:,}"
        raise ValueError(f"has over {most} parts, each reference counted as what it names")
    return size
