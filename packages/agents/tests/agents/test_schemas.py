"""Schemas of callers and agents: bounded before they are used, and what does not fit is named."""

import json
import threading
from typing import Any

import pytest

from agentpost.agents import schemas
from agentpost.domain.schema_drafts import DRAFT

ITEM = {"type": "object", "properties": {"price": {"type": "number", "minimum": 0}}}
ORDER = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
    "required": ["items"],
    "$defs": {"item": ITEM},
}


def doubled(times: int) -> dict[str, Any]:
    """Each part refers to the next one twice."""
    parts: dict[str, Any] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(times)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**parts, f"d{times}": {"type": "string"}}}


def nested(levels: int) -> dict[str, Any]:
    return {"type": "string"} if levels == 0 else {"items": nested(levels - 1)}


def dense(count: int) -> dict[str, Any]:
    """Each of the parts contains all of them."""
    refs = {f"p{n}": {"$ref": f"#/$defs/d{n}"} for n in range(count)}
    return {"$ref": "#/$defs/d0", "$defs": {f"d{n}": {"properties": refs} for n in range(count)}}


def chain(levels: int, end: Any) -> Any:
    """Each value is a property of the next."""
    return end if levels == 0 else {"l": chain(levels - 1, end), "r": 1, "k": "k3"}


TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["name"],
        }
    },
}
OPERATION = {
    "anyOf": [
        {"type": "integer"},
        *(
            {
                "properties": {"l": {"$ref": "#"}, "r": {"$ref": "#"}, "k": {"const": f"k{n}"}},
                "required": ["k"],
                "type": "object",
            }
            for n in range(4)
        ),
    ]
}


@pytest.mark.parametrize(
    ("value", "places"),
    [
        ({"items": []}, []),
        ({"items": [{"price": 1.5}]}, []),
        ({"items": [{"price": -1}, {"price": "x"}]}, ["$.items[0].price", "$.items[1].price"]),
        ({}, ["$"]),
        ([], ["$"]),
        (None, ["$"]),
    ],
)
def test_problems_are_named_with_their_place(value: Any, places: list[str]) -> None:
    schemas.check(ORDER)
    assert [path for path, _ in schemas.problems(ORDER, value)] == places


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ([], "an object"),
        ({"type": "objekt"}, "not a JSON Schema"),
        ({"properties": []}, "not a JSON Schema"),
        ({"pattern": "(?=a)"}, "not a JSON Schema"),
        ({"description": "x" * 16_384}, "16,384 bytes"),
        ({"$ref": "https://example.com/a.json"}, "part of the schema itself"),
        ({"$ref": "file:///etc/passwd"}, "part of the schema itself"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, "part of the schema itself"),
        ({"$ref": "#/$defs/none"}, "there is no"),
        ({"$ref": "#"}, "only where it is for a part of the value"),
        ({"anyOf": [{"items": {"$ref": "#/anyOf/0"}}, {"$ref": "#"}]}, "only where it is for"),
        ({"items": {"$ref": "#"}, "unevaluatedItems": False}, "not taken in a schema that"),
        (dense(8), "5,000 parts"),
        ({"$dynamicRef": "#x"}, "not taken"),
        ({"items": {"$id": "https://example.com/a"}}, "not taken"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "2020-12"),
        ({"default": float("nan")}, "not JSON"),
        (nested(40), "32 levels"),
        (doubled(12), "5,000 parts"),
        ({"patternProperties": {f"^a{n}": {} for n in range(60)}}, "5,000 parts"),
        ({"pattern": "(a{1000}){1000}"}, "5,000 parts"),
        ({"allOf": [{"pattern": f"(.{{30}}){{10}}{n}"} for n in range(40)]}, "5,000 parts"),
        ({"patternProperties": {r"\w" * 20: {}, r"\s" * 50: {}}}, "5,000 parts"),
    ],
)
def test_what_is_not_bounded_is_refused(schema: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        schemas.check(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$schema": DRAFT, "$id": "https://example.com/order", **ORDER},
        {"enum": [{"$ref": "https://example.com"}]},  # data, no reference
        {"properties": {"$ref": {"type": "string"}, "$id": {}}},  # names of properties
        doubled(5),
        TREE,
        OPERATION,
        dense(5),
    ],
)
def test_what_is_bounded_is_taken(schema: dict[str, Any]) -> None:
    assert schemas.check(schema) is schema


def test_a_schema_in_itself_is_followed() -> None:
    leaf = {"name": 1}
    value = {"name": "a", "children": [{"name": "b"}, {"name": "c", "children": [leaf, {}]}]}
    assert [path for path, _ in schemas.problems(TREE, value)] == [
        "$.children[1].children[0].name",
        "$.children[1].children[1]",
    ]
    leaf["name"] = "d"  # type: ignore[assignment]
    value["children"].pop()  # type: ignore[attr-defined]
    assert schemas.problems(TREE, value) == []
    assert schemas.is_recursive(TREE)
    assert not schemas.is_recursive(ORDER)


@pytest.mark.parametrize("levels", [2, 12, 99])
def test_a_schema_that_doubles_itself_is_followed_in_bounded_time(levels: int) -> None:
    """Describing what does not fit would take 8 times as long for each level."""
    assert schemas.problems(OPERATION, chain(levels, 1)) == []
    ((path, problem),) = schemas.problems(OPERATION, chain(levels, "x"))
    assert path == "$"
    assert ("too often to say where" in problem) == (levels > 2)


def test_alternatives_in_themselves_take_a_bounded_stack() -> None:
    """Describing what does not fit takes stack for each of them; the process would end."""
    inner: dict[str, Any] = {"type": "object", "properties": {"l": {"$ref": "#/$defs/d"}}}
    for _ in range(26):
        inner = {"anyOf": [inner]}
    schema = schemas.check({"$ref": "#/$defs/d", "$defs": {"d": inner}})
    found: list[Any] = []
    threading.stack_size(2**19)
    thread = threading.Thread(target=lambda: found.extend(schemas.problems(schema, chain(99, 1))))
    threading.stack_size(0)
    thread.start()
    thread.join()
    assert [path for path, _ in found] == ["$"]


def test_a_value_deeper_than_the_limit_does_not_fit_a_schema_in_itself() -> None:
    assert schemas.problems(TREE, chain(100, 1))[0][0] == "$"
    ((_, problem),) = schemas.problems(OPERATION, chain(101, 1))
    assert "100 levels" in problem


def test_what_was_stored_may_have_the_patterns_of_an_earlier_version() -> None:
    schema = {"pattern": r"\w" * 50}
    with pytest.raises(ValueError, match="5,000 parts"):
        schemas.check(schema)
    assert schemas.check(schema, is_stored=True) == schema
    assert schemas.problems(schema, "a" * 50) == []


def test_a_pattern_takes_linear_time() -> None:
    """A backtracking engine would be at it for ever; the test's time limit would end it."""
    assert schemas.problems({"pattern": "^(a+)+$"}, "a" * 10_000 + "b")


def test_only_the_first_problem_of_a_large_value_is_named() -> None:
    found = schemas.problems({"items": {"type": "string"}}, list(range(20_000)))
    assert found == [("$[0]", '0 is not of type "string"')]


def test_a_problem_is_cut() -> None:
    ((path, said),) = schemas.problems({"type": "integer"}, "x" * 5_000)
    assert path == "$"
    assert len(said) <= 300


def test_the_same_schema_is_made_ready_once() -> None:
    schemas.check(ORDER)
    before = schemas._compile.cache_info().misses
    schemas.problems(json.loads(json.dumps(ORDER)), {})
    assert schemas._compile.cache_info().misses == before
