"""`docs/openapi.json` is what its script makes of today's operations, and reads well.

So every change of the contract is a change of a committed file, which review sees: within /v1 it
may only add.
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from agentpost.record.events import TEST_EVENT, EventName
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


def parts(part: Any) -> Iterator[Json]:
    """Every object of the description."""
    if isinstance(part, dict):
        yield part
    for inner in (
        part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    ):
        yield from parts(inner)


def test_generators_can_read_it() -> None:
    """What made a client that did not compile, or did not send what it was told to: tried with the
    generators of docs/api.md (`make generators`)."""
    document = description()
    events = [event["post"] for event in document["webhooks"].values()]
    tags = {tag for operation in operations() for tag in operation["tags"]}
    assert not tags & {tag for event in events for tag in event["tags"]}, "one file for both"
    assert all(event["x-internal"] for event in events), "a client that calls receivers"
    assert [p for p in parts(document) if "default" in p and p["default"] is None] == []
    assert [p for p in parts(document) if isinstance(p.get("const"), bool)] == [], "enumerations"
    bodies = [s for name, s in document["components"]["schemas"].items() if name.endswith("In")]
    defaults = [p for b in bodies for p in b["properties"].values() if "default" in p]
    assert defaults == [], "openapi-typescript requires these"
    streams = [
        p["text/event-stream"]["schema"]["type"]
        for p in parts(document)
        if "text/event-stream" in p
    ]
    assert streams == ["string", "string"]


SENT_BY_ALL = {
    *(("path", "string"), ("header", "string")),
    *(("query", kind) for kind in ("string", "integer", "array")),
}
"""Where a parameter stands, and its type: every generator sends these alike, a list as one pair
for each item. Objects are sent in five ways, and by some clients not at all."""


def test_every_parameter_is_one_that_generators_send() -> None:
    for operation in operations():
        for parameter in operation["parameters"]:
            kind = parameter["schema"]["type"]
            name = f"{operation['operationId']}: {parameter['name']}"
            assert (parameter["in"], kind) in SENT_BY_ALL, name
            assert parameter.get("style", "form") == "form", name
            if kind == "array":
                assert parameter["explode"], name
                assert parameter["schema"]["items"]["type"] == "string", name


def test_formats_that_are_checked_are_described() -> None:
    """So clients know before they call; a server that checks more than it says surprises them."""
    times = {"created_after", "created_before"}
    for operation in operations():
        for parameter in operation["parameters"]:
            schema, name = parameter["schema"], parameter["name"]
            assert (schema.get("format") == "date-time") == (name in times), name
            if parameter["in"] == "path" and name not in {"work_id", "file_id", "event_id"}:
                assert schema["pattern"].endswith("_[0-9a-f]{32}$"), name
    schemas = description()["components"]["schemas"]
    for body in (schemas["ScheduleIn"], schemas["ReplayIn"]):
        for name in {"at", "since", "until"} & body["properties"].keys():
            assert '"format": "date-time"' in json.dumps(body["properties"][name]), name


def test_the_examples_are_right() -> None:
    from openapi_schema_validator import OAS31Validator

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
