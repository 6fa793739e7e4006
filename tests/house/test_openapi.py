"""`docs/openapi.json` is what its script makes of today's operations, and reads well.

So every change of the contract is a change of a committed file, seen in review; that it only adds
is kept by `test_additive`.
"""

import json
import runpy
from collections.abc import Iterator
from functools import cache
from typing import Any

from openapi_schema_validator import OAS31Validator

from agentpost.domain.events import TEST_EVENT, EventName
from tests.house.tree import DOCS, document

Json = dict[str, Any]
ERROR = {"$ref": "#/components/schemas/ErrorShape"}


@cache
def description() -> Json:
    found: Json = json.loads(document(DOCS / "openapi.json"))
    return found


def operations() -> Iterator[Json]:
    for methods in description()["paths"].values():
        yield from methods.values()


def test_the_file_is_up_to_date() -> None:
    made = runpy.run_path(str(DOCS / "openapi.py"))["text"]()
    assert document(DOCS / "openapi.json") == made, "python docs/openapi.py > docs/openapi.json"


def test_the_file_names_no_server() -> None:
    """It describes every installation alike."""
    assert description()["servers"] == [{"url": "/"}]


def test_every_operation_says_what_it_is_for() -> None:
    """A line for lists, sentences for who is about to call it."""
    tags = {tag["name"] for tag in description()["tags"]}
    for operation in operations():
        name = operation["operationId"]
        assert 5 < len(operation["summary"]) < 60, name
        assert not operation["summary"].endswith("."), name
        assert operation["description"].endswith("."), name
        assert len(operation["description"]) > len(operation["summary"]), name
        assert set(operation["tags"]) <= tags, name


def test_every_event_is_reported() -> None:
    """What an endpoint can subscribe to is described, each under a name of its own."""
    events = description()["webhooks"]
    assert set(events) == {*EventName, TEST_EVENT}
    names = [o["operationId"] for o in operations()] + [
        event["post"]["operationId"] for event in events.values()
    ]
    assert len(names) == len(set(names))


def test_every_parameter_and_answer_is_explained() -> None:
    silent = [
        f"{operation['operationId']}: {part.get('name', status)}"
        for operation in operations()
        for status, part in [
            *(("", p) for p in operation["parameters"]),
            *operation["responses"].items(),
        ]
        if not part.get("description") and "$ref" not in part
    ]
    assert silent == []


def test_the_examples_are_right() -> None:
    shown = [(ERROR, each["value"]) for each in description()["components"]["examples"].values()]
    shown += [
        (content["schema"], each["value"])
        for operation in operations()
        for response in operation["responses"].values()
        for content in response.get("content", {}).values()
        for each in content.get("examples", {}).values()
        if "value" in each
    ]
    assert len(shown) > 30
    for schema, value in shown:
        whole = {**schema, "components": description()["components"]}
        found = [error.message for error in OAS31Validator(whole).iter_errors(value)]
        assert found == [], value
