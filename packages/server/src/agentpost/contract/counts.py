"""How many items the lists and objects of a body hold: counted before anything is made of them.

What validates a body looks at each item, and makes an error for each that is wrong, before it says
that there are too many.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel

from agentpost.domain.errors import Problem
from agentpost.domain.limits import LIST_ITEMS_MAX, OBJECT_FIELDS_MAX


def too_many(shape: type[BaseModel], body: dict[str, Any]) -> list[Problem]:
    """A problem for each list and object of the body that holds more than it may: those of the
    shape and of the objects within it, and the body itself where it may have no other fields."""
    schema, problems = _schema(shape), []
    if any(isinstance(value, list | dict) for value in body.values()):  # most bodies have none
        problems = list(_too_many(schema, schema, body, ""))
    if schema.get("additionalProperties") is False and len(body) > OBJECT_FIELDS_MAX:
        problems.append(Problem(None, f"has over {OBJECT_FIELDS_MAX} fields"))
    return problems


@cache
def _schema(shape: type[BaseModel]) -> dict[str, Any]:
    return shape.model_json_schema()


def _too_many(
    root: dict[str, Any], schema: dict[str, Any], body: dict[str, Any], where: str
) -> Iterator[Problem]:
    for name, field_schema in schema.get("properties", {}).items():
        value, path = body.get(name), f"{where}{name}"
        if isinstance(value, list):
            # Other fields take no list, or any value, and then look at none of its items.
            is_list = any(option.get("type") == "array" for option in _options(field_schema))
            if is_list and len(value) > LIST_ITEMS_MAX:
                yield Problem(path, f"has over {LIST_ITEMS_MAX} items")
        elif isinstance(value, dict):
            for option in _options(field_schema):
                most = option.get("maxProperties")
                if most is not None and len(value) > most:
                    yield Problem(path, f"has over {most} entries")
                if "$ref" in option:
                    inner = root["$defs"][option["$ref"].rpartition("/")[2]]
                    yield from _too_many(root, inner, value, f"{path}.")


def _options(field_schema: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """The schemas of which a field's value may fit any."""
    options: Sequence[dict[str, Any]] = field_schema.get("anyOf", (field_schema,))
    return options
