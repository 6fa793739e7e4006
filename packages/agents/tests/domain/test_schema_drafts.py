"""Schemas of earlier drafts mean the same when they are written in 2020-12."""

from typing import Any

import jsonschema_rs
import pytest

from agentpost.domain.schema_drafts import DRAFT, as_2020_12

DRAFTS: dict[str, Any] = {
    "http://json-schema.org/draft-06/schema#": jsonschema_rs.Draft6Validator,
    "http://json-schema.org/draft-07/schema#": jsonschema_rs.Draft7Validator,
    "https://json-schema.org/draft-07/schema": jsonschema_rs.Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
}
PAIR = {"items": [{"type": "number"}, {"type": "string"}], "additionalItems": False}
VALUES: list[Any] = [
    None, 1, "x", "xyz", [], [1, "x"], [1, 2], ["x", "x"], [1, "x", 3], [[1]], [[[1, "x"]]],
    {}, {"a": 1}, {"a": 1, "b": 2}, {"a": {"a": {}}}, {"a": {"a": 3}}, {"a": [1, "x"]},
    {"definitions": 1}, {"items": [1]}, {"a": "x"}, {"a/b": [1, 2]},
]  # fmt: skip


SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    PAIR,
    {"items": [{"type": "number"}]},
    {"items": [], "additionalItems": {"type": "number"}},
    {"items": {"type": "number"}, "additionalItems": False},
    {"additionalItems": False},
    {"items": [True, {"$ref": "#/items/0"}], "additionalItems": {"$ref": "#"}},
    {"dependencies": {"a": ["b"]}},
    {"dependencies": {"a": {"required": ["b"]}, "b": ["a"], "c": False}},
    {"properties": {"a": {"$ref": "#/dependencies/a"}}, "dependencies": {"a": PAIR}},
    {"$ref": "#/definitions/p", "definitions": {"p": PAIR}},
    {"$ref": "#/definitions/p/items/1", "definitions": {"p": PAIR}},
    {"$ref": "#/definitions/a~1b%20c", "definitions": {"a/b c": PAIR}, "$defs": {"d": {}}},
    {"$ref": "#/$defs/d", "$defs": {"d": {"maxLength": 1}}},
    {"$ref": "#/definitions/p", "type": "string", "definitions": {"p": {"minimum": 5}}},
    {"properties": {"a": {"$ref": "#"}}, "type": "object"},
    {"properties": {"a": {"definitions": {"n": PAIR}, "$ref": "#/properties/a/definitions/n"}}},
    {"properties": {"definitions": {"type": "string"}, "items": PAIR, "a/b": PAIR}},
    {"properties": {"a": {"$ref": "#/properties/a~1b"}, "a/b": {"items": [{"const": 1}]}}},
    {"anyOf": [PAIR, {"not": {"propertyNames": {"maxLength": 1}}}]},
    {"const": {"definitions": 1}},
    {"enum": [{"items": [1]}, {"$ref": "nowhere"}]},
    {"contains": PAIR},
    {"default": {"prefixItems": 1}, "examples": [{"if": 1}]},
]


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_schema_means_the_same(draft: str) -> None:
    for schema in ({"$schema": draft, **each} for each in SCHEMAS):
        try:
            earlier = DRAFTS[draft](schema, offline=True)
        except jsonschema_rs.ValidationError:  # it is no schema of its draft
            with pytest.raises(jsonschema_rs.ValidationError):
                jsonschema_rs.Draft202012Validator(as_2020_12(schema))
            continue
        translated = as_2020_12(schema)
        assert translated["$schema"] == DRAFT
        validator = jsonschema_rs.Draft202012Validator(translated, offline=True)
        for value in VALUES:
            assert validator.is_valid(value) == earlier.is_valid(value), (schema, value)


@pytest.mark.parametrize(
    ("draft", "schema", "problem"),
    [
        ("draft-04/schema#", {}, "must be .*draft-07"),
        ("schema#", {}, "must be"),
        ("draft-06/schema#", {"if": {}, "then": {}}, "if means something else in draft-06"),
        ("draft-07/schema", {"items": {"dependentRequired": {}}}, "dependentRequired means"),
        ("draft-07/schema#", {"prefixItems": [{}]}, "prefixItems means something else"),
        ("draft-07/schema#", {"unevaluatedProperties": False}, "unevaluatedProperties means"),
        ("draft/2019-09/schema", {"unevaluatedItems": False}, "unevaluatedItems means"),
        ("draft-07/schema#", {"$defs": {"a": {}}, "definitions": {"a": {}}}, "become the same"),
        ("draft-07/schema#", {"$defs": 1, "definitions": 1}, "become the same"),
        ("draft-07/schema#", {"$ref": "#/x/a", "x": {"a": PAIR}}, "there is no schema at #/x/a"),
        ("draft-07/schema#", {"not": {"$ref": "#/definitions"}, "definitions": {}}, "no schema at"),
    ],
)
def test_what_means_something_else_is_refused(
    draft: str, schema: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        as_2020_12({"$schema": f"http://json-schema.org/{draft}", **schema})


def test_a_deep_schema_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(500):
        schema = {"not": schema}
    with pytest.raises(ValueError, match="32 levels"):
        as_2020_12({"$schema": "http://json-schema.org/draft-07/schema#", **schema})


def test_todays_draft_is_left_alone() -> None:
    schema = {"definitions": {"a": {}}, "items": [{}]}
    assert as_2020_12(schema) is schema
    assert as_2020_12({"$schema": f"{DRAFT}#", "not": 1}) == {"$schema": f"{DRAFT}#", "not": 1}
