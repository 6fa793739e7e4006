"""JSON Schemas that others wrote: whether they may be used, and whether a value fits one.

A schema is bounded before it is compiled: by its size, its depth, and its parts when each reference
is replaced by what it names, since a few that double each other would keep the validator busy for
hours. Patterns are matched in linear time, nothing is fetched (design: Typed questions).
"""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from agentpost import extras
from agentpost.domain.limits import PROBLEMS_MAX, RECURSION_DEPTH_MAX, SCHEMA_BYTES_MAX
from agentpost.domain.schema_drafts import as_2020_12
from agentpost.domain.schema_parts import Size, size_of

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

SMALL_CHARACTERS: Final = 4_096
"""A value up to this length as JSON is checked in less than a millisecond by most schemas."""
_ALL_PROBLEMS_WORK_MAX: Final = 20_000
"""Parts of the schema times values: above it only the first problem is looked for, since naming all
of them costs a hundred times what finding one does."""
_WORK_MAX: Final = 20_000_000
_RECURSIVE_WORK_MAX: Final = 2_000_000
"""The same with each loop followed to the depth of the value: with more, no problem is named, since
that takes time and memory in proportion."""
_ALTERNATIVES_MAX: Final = 100
"""``anyOf`` and ``oneOf`` within each other when a problem is named: each takes 2 KB of the stack,
and the time grows with their square."""
_PATTERN_BYTES: Final = 400_000
_PROBLEM_CHARACTERS: Final = 300


def check(schema: object, *, is_stored: bool = False) -> dict[str, Any]:
    """The schema as one of draft 2020-12; raises `ValueError`, with what is wrong, for one that may
    not be used. ``is_stored``: it has passed before, maybe in an earlier version that took more
    patterns: what was planned with it goes on."""
    if not isinstance(schema, dict):
        raise ValueError("must be a JSON Schema: an object")
    try:
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"is not JSON: {error}") from None
    if len(text.encode("utf-8", "surrogatepass")) > SCHEMA_BYTES_MAX:
        raise ValueError(f"is over {SCHEMA_BYTES_MAX:,} bytes as JSON")
    usable = as_2020_12(schema)
    text = _as_text(usable)
    if not is_stored:
        _check_size(text)  # before it is compiled, which is dear
    _compile(text)
    return usable


def is_recursive(schema: dict[str, Any]) -> bool:
    """Whether a schema that `check` gave contains itself by a reference."""
    return _compile(_as_text(schema))[1].loops > 0


def problems(schema: dict[str, Any], value: object) -> list[tuple[str, str]]:
    """Where the value does not fit a schema that `check` let pass, and why: up to `PROBLEMS_MAX`
    pairs of a path such as ``$.items[0].price`` and a sentence. Empty when it fits."""
    validator, size = _compile(_as_text(schema))
    values, depth = _extent(value)
    work = size.parts * values
    if work * (depth + 1 if size.loops else 1) > _WORK_MAX:
        return [("$", "is too large to be compared with this schema")]
    if size.loops and depth > RECURSION_DEPTH_MAX:
        most = f"{RECURSION_DEPTH_MAX} levels"
        return [("$", f"is nested deeper than {most}, which a schema in itself is compared with")]
    if validator.is_valid(value):
        return []
    if size.loops:
        # That was looked up once for each value and schema; what describes a problem is not.
        work *= sum(size.loops**level for level in range(depth + 1))
        if work > _RECURSIVE_WORK_MAX or size.alternatives * depth > _ALTERNATIVES_MAX:
            return [("$", "does not fit the schema, which contains itself too often to say where")]
    from jsonschema_rs import ValidationError

    if work <= _ALL_PROBLEMS_WORK_MAX:
        errors = list(islice(validator.iter_errors(value), PROBLEMS_MAX))
    else:
        try:
            validator.validate(value)
            errors = []
        except ValidationError as error:
            errors = [error]
    pairs = [(_path(e.instance_path), e.message[:_PROBLEM_CHARACTERS]) for e in errors]
    return list(dict.fromkeys(pairs)) or [("$", "does not fit the schema")]


@lru_cache(maxsize=64)
def _check_size(text: str) -> None:
    """Raise `ValueError` for a new schema that is too large."""
    size_of(json.loads(text))


@lru_cache(maxsize=64)
def _compile(text: str) -> tuple[Draft202012Validator, Size]:
    """A schema's validator, and how large it is; raises `ValueError` for one that was never taken.

    What is stored has passed `check`, maybe of an earlier version that took more: a question could
    not be answered any more, and an output not be given, if it were refused now.
    """
    extras.require("schemas", extras.SCHEMA_ASKED)
    from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError

    schema = json.loads(text)
    size = size_of(schema, is_stored=True)
    try:
        validator = Draft202012Validator(
            schema,
            pattern_options=RegexOptions(_PATTERN_BYTES, _PATTERN_BYTES),
            offline=True,  # nothing is ever fetched
        )
    except (ValidationError, ValueError) as error:
        first_line = str(getattr(error, "message", error)).splitlines()[0]
        raise ValueError(f"is not a JSON Schema: {first_line[:_PROBLEM_CHARACTERS]}") from None
    return validator, size


def _as_text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def _extent(value: object) -> tuple[int, int]:
    """How many values there are in a value, itself included, and how deep they are nested."""
    count, depth, level = 0, -1, [value]
    while level:
        count, depth = count + len(level), depth + 1
        inner: list[object] = []
        for each in level:
            if isinstance(each, dict):
                inner.extend(each.values())
            elif isinstance(each, list | tuple):
                inner.extend(each)
        level = inner
    return count, depth


def _path(steps: list[str | int]) -> str:
    return "$" + "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps)[:200]
