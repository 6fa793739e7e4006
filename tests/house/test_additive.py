"""Within /v1 the API only grows (spec: Versioning 2), and what watches over that sees what matters.

`docs/openapi.released.json` is the description of the last release. CONTRIBUTING says when it is
made anew; to change it by hand is to break a promise.
"""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.house.additive import DESCRIBED_SINCE, breaking, described_since
from tests.house.small_api import NOTE, OLD
from tests.house.tree import DOCS, document

Json = dict[str, Any]
Change = Callable[[Json], object]


@pytest.mark.rule("Versioning 2")
def test_todays_api_breaks_no_client_of_the_last_release() -> None:
    released = json.loads(document(DOCS / "openapi.released.json"))
    today = json.loads(document(DOCS / "openapi.json"))
    reasons = {line: described_since(line) for line in breaking(released, today)}
    assert [line for line, reason in reasons.items() if reason is None] == []
    assert set(reasons.values()) == set(DESCRIBED_SINCE.values()), "a line that nothing needs"


# --- the check itself, on a small API -------------------------------------------------------------
def note(new: Json) -> Json:
    found: Json = new["paths"]["/v1/notes/{note_id}"]
    return found


def schema(new: Json, name: str) -> Json:
    found: Json = new["components"]["schemas"][name]
    return found


def asked(new: Json, **fields: object) -> None:
    """Another schema for fields of the request; None removes one."""
    _fields(schema(new, "NoteIn")["properties"], fields)


def asked_also(new: Json, name: str) -> str:
    """One more field of the request; its name."""
    asked(new, **{name: STRING})
    return name


def given(new: Json, **fields: object) -> None:
    """The same of the answer."""
    _fields(schema(new, "Note")["properties"], fields)


def _fields(properties: Json, fields: Json) -> None:
    for name, value in fields.items():
        if value is None:
            del properties[name]
        else:
            properties[name] = value


def sent(new: Json) -> Json:
    """The event."""
    found: Json = new["webhooks"]["note.done"]["post"]
    return found


def parameter(new: Json, name: str, **schema: object) -> None:
    [found] = [p for p in note(new)["get"]["parameters"] if p["name"] == name]
    found["schema"] = {**found["schema"], **schema}


def without_parameter(new: Json, name: str) -> None:
    kept = [p for p in note(new)["get"]["parameters"] if p["name"] != name]
    note(new)["get"]["parameters"] = kept


def add_parameter(new: Json, **more: object) -> None:
    added = {"name": "page", "in": "query", "schema": {"type": "integer"}, **more}
    note(new)["get"]["parameters"].append(added)


STRING, NULL = {"type": "string"}, {"type": "null"}

BREAKING: dict[str, tuple[Change, str]] = {
    "a path": (lambda new: new["paths"].pop("/v1/me"), "GET /v1/me: removed"),
    "an operation": (lambda new: note(new).pop("post"), "removed"),
    "an operation's name": (
        lambda new: note(new)["get"].update(operationId="readNote"),
        "operationId getNote -> readNote",
    ),
    "the security of all": (lambda new: new.update(security=[]), "another security"),
    "the security of one": (
        lambda new: note(new)["get"].update(security=[{"key": ["admin"]}]),
        "another security",
    ),
    "the kind of key": (
        lambda new: new["components"]["securitySchemes"]["key"].update(scheme="basic"),
        "another security",
    ),
    "a parameter": (lambda new: without_parameter(new, "limit"), "query limit: removed"),
    "a header": (lambda new: without_parameter(new, "If-None-Match"), "header if-none-match"),
    "a new parameter that is needed": (
        lambda new: add_parameter(new, required=True),
        "query page: a new required parameter",
    ),
    "a parameter that is needed now": (
        lambda new: note(new)["get"]["parameters"][1].update(required=True),
        "query limit: is required now",
    ),
    "a lower maximum": (lambda new: parameter(new, "limit", maximum=49), "maximum 50"),
    "a higher minimum": (lambda new: parameter(new, "limit", minimum=2), "minimum 1"),
    "another default": (lambda new: parameter(new, "limit", default=10), "default 20 -> 10"),
    "another type of parameter": (
        lambda new: parameter(new, "limit", type="string"),
        "integer does not fit string",
    ),
    "a value of a parameter": (
        lambda new: parameter(new, "status", enum=["open"]),
        "'done' is not among the values",
    ),
    "a body that is needed now": (
        lambda new: note(new)["post"]["requestBody"].update(required=True),
        "body: is required now",
    ),
    "a body": (lambda new: note(new)["post"].pop("requestBody"), "body: removed"),
    "a new body that is needed": (
        lambda new: note(new)["get"].update(
            requestBody={**NOTE["post"]["requestBody"], "required": True}
        ),
        "body: is required now",
    ),
    "the body's kind": (
        lambda new: note(new)["post"]["requestBody"].update(content={"text/plain": {}}),
        "body: application/json removed",
    ),
    "a field of the request": (lambda new: asked(new, label=None), "body.label: removed"),
    "a field that is needed now": (
        lambda new: schema(new, "NoteIn").update(required=["text", "size"]),
        "body.size: is required now",
    ),
    "a new field that is needed": (
        lambda new: schema(new, "NoteIn")["required"].append(asked_also(new, "extra")),
        "body.extra: is required now",
    ),
    "a field that may not be null any more": (
        lambda new: asked(new, label={**STRING, "default": None}),
        "null does not fit string",
    ),
    "a narrower type": (lambda new: asked(new, size={"type": "integer"}), "number does not fit"),
    "a type where there was none": (lambda new: asked(new, any=STRING), "does not fit string"),
    "a shorter text": (
        lambda new: asked(new, text={**STRING, "maxLength": 99}),
        "maxLength 100 does not fit 99",
    ),
    "a limit where there was none": (
        lambda new: asked(new, label={"anyOf": [{**STRING, "maxLength": 9}, NULL]}),
        "maxLength None does not fit 9",
    ),
    "a pattern": (
        lambda new: asked(new, text={**STRING, "minLength": 1, "pattern": "^x"}),
        "pattern None does not fit '^x'",
    ),
    "values where any were taken": (
        lambda new: asked(new, any={"enum": ["x"]}),
        "only 'x'",
    ),
    "a value of a field": (
        lambda new: asked(new, state={"type": "string", "enum": ["open"]}),
        "'done' is not among the values",
    ),
    "shorter lists": (
        lambda new: asked(new, tags={"type": "array", "items": STRING, "maxItems": 4}),
        "maxItems 5 does not fit 4",
    ),
    "other things in lists": (
        lambda new: asked(new, tags={"type": "array", "items": {"type": "integer"}}),
        "body.tags[items]: string does not fit integer",
    ),
    "no unknown fields any more": (
        lambda new: schema(new, "NoteIn").update(additionalProperties=False),
        "takes no other fields",
    ),
    "a keyword nobody judges": (
        lambda new: asked(new, text={**STRING, "minLength": 1, "contentEncoding": "base64"}),
        "contentEncoding",
    ),
    "a status": (lambda new: note(new)["get"]["responses"].pop("304"), "304: removed"),
    "a new way to succeed": (
        lambda new: note(new)["post"]["responses"].update({"202": {"description": ""}}),
        "202: a new way to succeed",
    ),
    "an error's status": (
        lambda new: note(new)["get"]["responses"].update(
            {"410": note(new)["get"]["responses"]["409"], "409": {"description": ""}}
        ),
        "locked: 409 -> 410",
    ),
    "an answer's kind": (
        lambda new: note(new)["get"]["responses"]["200"].update(content={}),
        "200: application/json removed",
    ),
    "an answer's header": (
        lambda new: note(new)["get"]["responses"]["200"].pop("headers"),
        "header ETag: removed",
    ),
    "a header that may be missing": (
        lambda new: new["components"]["headers"]["ETag"].update(required=False),
        "header ETag: may be missing now",
    ),
    "a header's type": (
        lambda new: new["components"]["headers"]["ETag"].update(schema={"type": "integer"}),
        "header ETag: integer does not fit string",
    ),
    "a field of the answer": (lambda new: given(new, label=None), "label: removed"),
    "a field that may be missing": (
        lambda new: schema(new, "Note")["required"].remove("size"),
        "size: may be missing now",
    ),
    "a field that may be null": (
        lambda new: given(new, size={"anyOf": [{"type": "integer"}, NULL]}),
        "size: null does not fit integer",
    ),
    "the same by a list of types": (
        lambda new: given(new, size={"type": ["integer", "null"]}),
        "size: null does not fit integer",
    ),
    "a wider type": (
        lambda new: given(new, size={"type": "number"}),
        "size: number does not fit integer",
    ),
    "the mark of an object": (
        lambda new: given(new, object={"type": "string", "const": "memo"}),
        "'memo' is not among the values",
    ),
    "a longer text": (
        lambda new: given(new, text={**STRING, "maxLength": 101}),
        "maxLength 101 does not fit 100",
    ),
    "a text without its format": (lambda new: given(new, at=STRING), "format None does not fit"),
    "values of a map": (
        lambda new: given(
            new, tags={"type": "object", "additionalProperties": {"type": "integer"}}
        ),
        "tags[additionalProperties]: integer does not fit string",
    ),
    "an event": (lambda new: new["webhooks"].clear(), "webhook note.done: removed"),
    "an event's header": (
        lambda new: sent(new).update(parameters=[]),
        "webhook note.done: header webhook-id: removed",
    ),
    "an event's kind": (
        lambda new: sent(new)["requestBody"].update(content={}),
        "webhook note.done: application/json removed",
    ),
    "a field of an event": (
        lambda new: schema(new, "Done").update(properties={}),
        "webhook note.done: data: removed",
    ),
    "a field inside an event": (
        lambda new: given(new, label=None),
        "webhook note.done: data.label: removed",
    ),
    "a list's things": (
        lambda new: given(new, children={"type": "array", "items": STRING}),
        "string does not fit object",
    ),
}

ADDITIVE: dict[str, Change] = {
    "nothing": lambda new: None,
    "a path": lambda new: new["paths"].update({"/v1/new": NOTE}),
    "an operation": lambda new: new["paths"]["/v1/me"].update(
        delete={"operationId": "deleteMe", "responses": {}}
    ),
    "a parameter": add_parameter,
    "a wider range": lambda new: parameter(new, "limit", minimum=0, maximum=100),
    "a value of a parameter": lambda new: parameter(new, "status", enum=["open", "done", "new"]),
    "any value of a parameter": lambda new: note(new)["get"]["parameters"][2].update(schema={}),
    "a field of the request": lambda new: asked(new, extra=STRING),
    "a field that is not needed any more": lambda new: schema(new, "NoteIn").update(required=[]),
    "a field that may be null": lambda new: asked(
        new, text={"anyOf": [{**STRING, "minLength": 1, "maxLength": 100}, NULL]}
    ),
    "a longer text": lambda new: asked(new, text={**STRING, "minLength": 1, "maxLength": 101}),
    "a text without limits": lambda new: asked(new, text=STRING),
    "a field of the answer": lambda new: given(new, extra=STRING),
    "an event": lambda new: new["webhooks"].update({"note.lost": {"post": sent(new)}}),
    "a field of an event": lambda new: schema(new, "Done")["properties"].update(extra=STRING),
    "a field that is always there": lambda new: schema(new, "Note")["required"].append("label"),
    "a field that is never null": lambda new: given(new, label=STRING),
    "a narrower answer": lambda new: given(new, text={**STRING, "maxLength": 99}),
    "a value of the answer": lambda new: given(
        new, state={"type": "string", "enum": ["open", "done", "lost"]}
    ),
    "an error": lambda new: note(new)["get"]["responses"].update({"410": {"description": ""}}),
    "a header of the answer": lambda new: note(new)["get"]["responses"]["304"].update(
        headers={"ETag": {"schema": STRING}}
    ),
    "texts": lambda new: given(new, id={**STRING, "description": "Names it.", "examples": ["n"]}),
    "the place of a description": lambda new: note(new)["get"]["responses"].update(
        {"404": new["components"]["responses"]["not_found"]}
    ),
    "a header's letters": lambda new: note(new)["get"]["parameters"][3].update(
        name="if-none-match"
    ),
}


@pytest.mark.parametrize("name", BREAKING)
def test_a_change_that_breaks_clients_is_found(name: str) -> None:
    change, line = BREAKING[name]
    new = deepcopy(OLD)
    change(new)
    found = breaking(OLD, new)
    assert [each for each in found if line in each], found


@pytest.mark.parametrize("name", ADDITIVE)
def test_a_change_that_only_adds_passes(name: str) -> None:
    new = deepcopy(OLD)
    ADDITIVE[name](new)
    assert breaking(OLD, new) == []
