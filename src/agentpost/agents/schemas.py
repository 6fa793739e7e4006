"""JSON Schemas that others wrote: whether they may be used, and whether a value fits one.

A schema comes from a caller or an agent, so it is bounded before it is compiled: by its size, by
its depth, and by how many parts it has when each reference is replaced by what it names. Without
the last, a few references that double each other would keep the validator busy for hours. Patterns
are matched in linear time, and nothing is ever fetched (design: Typed questions).
"""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from agentpost.domain.limits import (
    PROBLEMS_MAX,
    SCHEMA_BYTES_MAX,
    SCHEMA_DEPTH_MAX,
    SCHEMA_PARTS_MAX,
)

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

SMALL_CHARACTERS: Final = 4_096
"""A value up to this length as JSON is checked in less than a millisecond by most schemas."""
_ALL_PROBLEMS_WORK_MAX: Final = 20_000
"""Parts of the schema times values: above it only the first problem is looked for, since naming all
of them costs a hundred times what finding one does."""
_WORK_MAX: Final = 20_000_000
_PATTERN_BYTES: Final = 400_000
_PATTERN_PARTS: Final = 100
"""As how many parts a pattern counts: making it ready takes as long."""
_PROBLEM_CHARACTERS: Final = 300
_REFUSED: Final = ("$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$anchor", "$vocabulary")
_REPEATING: Final = ("unevaluatedProperties", "unevaluatedItems")
_DATA: Final = ("const", "enum", "default", "examples", "required", "type", "dependentRequired")
"""Keywords whose values are no schemas."""
_NAMED: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords with a schema for each name."""
DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def check(schema: object) -> dict[str, Any]:
    """The schema, when it may be used; raises `ValueError` with what is wrong."""
    if not isinstance(schema, dict):
        raise ValueError("must be a JSON Schema: an object")
    try:
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"is not JSON: {error}") from None
    if len(text.encode("utf-8", "surrogatepass")) > SCHEMA_BYTES_MAX:
        raise ValueError(f"is over {SCHEMA_BYTES_MAX:,} bytes as JSON")
    _compiled(text)
    return schema


def problems(schema: dict[str, Any], value: object) -> list[tuple[str, str]]:
    """Where the value does not fit a schema that `check` let pass, and why: up to `PROBLEMS_MAX`
    pairs of a path such as ``$.items[0].price`` and a sentence. Empty when it fits."""
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    validator, parts = _compiled(text)
    work = parts * _values(value)
    if work > _WORK_MAX:
        return [("$", "is too large to be compared with this schema")]
    if validator.is_valid(value):
        return []
    from jsonschema_rs import ValidationError

    if work <= _ALL_PROBLEMS_WORK_MAX:
        found = list(islice(validator.iter_errors(value), PROBLEMS_MAX))
    else:
        try:
            validator.validate(value)
            found = []
        except ValidationError as error:
            found = [error]
    said = [(_path(e.instance_path), e.message[:_PROBLEM_CHARACTERS]) for e in found]
    return list(dict.fromkeys(said)) or [("$", "does not fit the schema")]


@lru_cache(maxsize=64)
def _compiled(text: str) -> tuple[Draft202012Validator, int]:
    """A schema's validator, and how many parts it has; raises `ValueError`."""
    from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError

    schema = json.loads(text)
    if str(schema.get("$schema", DRAFT)).rstrip("#") != DRAFT:
        raise ValueError(f"$schema must be {DRAFT}, or left out")
    parts = _Parts(schema).count()
    try:
        validator = Draft202012Validator(
            schema,
            pattern_options=RegexOptions(_PATTERN_BYTES, _PATTERN_BYTES),
            offline=True,  # nothing is ever fetched
        )
    except (ValidationError, ValueError) as error:
        said = str(getattr(error, "message", error)).splitlines()[0]
        raise ValueError(f"is no JSON Schema: {said[:_PROBLEM_CHARACTERS]}") from None
    return validator, parts


class _Parts:
    """How many parts a schema has once each reference stands for what it names."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._root = schema
        self._counted: dict[int, int] = {}
        self._open: set[int] = set()

    def count(self) -> int:
        """Raises `ValueError` for too many, for a schema in itself, and for what is not taken."""
        found = self._schema(self._root, 0)
        for name in ("$defs", "definitions"):  # those that nothing refers to are compiled as well
            for each in self._mapping(self._root.get(name)).values():
                found += self._schema(each, 1)
        return self._bounded(found)

    def _schema(self, schema: Any, depth: int) -> int:
        if not isinstance(schema, dict):
            return 1  # true, false, or what the validator will refuse
        known = self._counted.get(id(schema))
        if known is not None:
            return known
        if id(schema) in self._open:
            raise ValueError("a schema that contains itself by a reference is not taken")
        if depth > SCHEMA_DEPTH_MAX:
            raise ValueError(f"is nested deeper than {SCHEMA_DEPTH_MAX} levels")
        self._open.add(id(schema))
        found = self._members(schema, depth)
        self._open.remove(id(schema))
        self._counted[id(schema)] = self._bounded(found)
        return found

    def _members(self, schema: dict[str, Any], depth: int) -> int:
        found = 1
        for name, value in schema.items():
            if name in _REFUSED or (name == "$id" and schema is not self._root):
                raise ValueError(f"{name} is not taken; use $ref with $defs")
            if name == "$ref":
                found += self._schema(self._target(value), depth + 1)
            elif name in _NAMED:
                if name in ("$defs", "definitions"):
                    continue  # counted where it is referred to
                found += sum(self._schema(v, depth + 1) for v in self._mapping(value).values())
                if name == "patternProperties":
                    found += _PATTERN_PARTS * len(self._mapping(value))
            elif name == "pattern":
                found += _PATTERN_PARTS
            elif name in _DATA:
                found += len(value) if isinstance(value, list | dict) else 1
            elif isinstance(value, list):
                found += sum(self._schema(each, depth + 1) for each in value)
            elif isinstance(value, dict):
                found += self._schema(value, depth + 1)
        # These look at what the keywords beside them have seen, once more each.
        return found * 3 if any(name in schema for name in _REPEATING) else found

    def _target(self, ref: object) -> object:
        """What a reference such as ``#/$defs/item`` names."""
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            raise ValueError(f"a reference may only name a part of the schema itself, not {ref!r}")
        found: Any = self._root
        for step in ref[2:].split("/") if len(ref) > 1 else ():
            step = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
                found = found[int(step)]
            elif isinstance(found, dict) and step in found:
                found = found[step]
            else:
                raise ValueError(f"there is no {ref} in the schema")
        return found

    @staticmethod
    def _mapping(value: object) -> dict[str, Any]:
        return value if isinstance(value, dict) else {}

    @staticmethod
    def _bounded(found: int) -> int:
        if found > SCHEMA_PARTS_MAX:
            most = f"{SCHEMA_PARTS_MAX:,}"
            raise ValueError(f"has over {most} parts, each reference counted as what it names")
        return found


def _values(value: object) -> int:
    """How many values there are in a value, itself included."""
    count, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        count += 1
        if isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list | tuple):
            waiting.extend(one)
    return count


def _path(steps: list[str | int]) -> str:
    return "$" + "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps)[:200]
