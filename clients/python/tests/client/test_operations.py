"""Every operation of the API's description has a method, and it passes on all it may be given.

An operation, a parameter, a field of a body or of an answer that is new in docs/openapi.json fails
here until the client has it. How to add one is in ARCHITECTURE.md.
"""

import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any

import httpx2
import pytest

from agentpost_client import Attachment, Client, Message, RemoteFile, models
from agentpost_client.records import Record
from agentpost_client.sse import MEDIA_TYPE
from tests.client.scripted import KEY, Talk, answer
from tests.house.test_client_models import SCRIPT, plain, without_nulls
from tests.house.tree import DOCS, document

FILES = [Attachment("a.csv", b"a,b\n", "text/csv"), RemoteFile("https://example.com/b", "b.csv")]
KNOWN = Message.read({"id": "msg_1", "status": "processing", "final": False, "version": 3})
GIVEN: dict[tuple[str, str], Any] = {
    ("createMessage", "files"): FILES,
    ("createSchedule", "files"): [RemoteFile("words", "words")],
    ("getMessage", "known"): KNOWN,
    ("listEvents", "types"): ["job.failed", "job.blocked"],
}
"""Arguments that are not what is sent of them."""
SENT: dict[tuple[str, str], Any] = {
    ("getMessage", "If-None-Match"): '"v3"',
    ("listEvents", "types"): "job.failed,job.blocked",
    ("listEvents", "Last-Event-ID"): None,  # of the stream, which `follow` reads
    ("listMessages", "metadata"): {"order": "1042"},  # as `metadata[order]`, for any label
    ("streamMessage", "cursor"): None,  # the same as Last-Event-ID, which counts more
}
"""What is sent of those, where it can be said; None: it is not."""
ARGUMENTS = {
    "Idempotency-Key": "idempotency_key",
    "If-None-Match": "known",
    "Last-Event-ID": "cursor",
    "from": "start",
    "to": "end",
}
"""Parameters that are called otherwise."""


@cache
def description() -> Any:
    return json.loads(document(DOCS / "openapi.json"))


def operations() -> Iterator[tuple[str, str, str]]:
    for path, methods in description()["paths"].items():
        for method, operation in methods.items():
            yield operation["operationId"], method.upper(), path


def marked() -> dict[str, str]:
    """Operation -> its method, as `client.work.get`."""
    client = Client("http://server.test", "k")
    owners = {"": client, **{f"{name}.": part for name, part in vars(client).items()}}
    found: dict[str, str] = {}
    for prefix, owner in owners.items():
        for name in (
            dir(type(owner)) if prefix == "" or "agentpost" in type(owner).__module__ else ()
        ):
            operation = getattr(getattr(owner, name, None), "operation", None)
            if operation is not None:
                assert operation not in found, f"{operation} has two methods"
                found[operation] = prefix + name
    return found


def test_every_operation_has_one_method() -> None:
    in_the_api = {name for name, _, _ in operations()}
    assert sorted(in_the_api ^ marked().keys()) == []


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema behind a reference, or the first that is not null."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return resolved(description()["components"]["schemas"][name])
    for each in schema.get("anyOf", ()):
        if each.get("type") != "null":
            return resolved(each)
    return schema


def sample(schema: Mapping[str, Any]) -> Any:
    """A value of that schema with every field."""
    schema = resolved(schema)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][-1]
    match schema.get("type"):
        case "object" if "properties" in schema:
            return {name: sample(part) for name, part in schema["properties"].items()}
        case "object":
            values = schema.get("additionalProperties")
            return {"name": sample(values) if isinstance(values, dict) else "value"}
        case "array":
            return [sample(schema["items"])]
        case "integer":
            return int(schema.get("minimum", 0)) + 1
        case "number":
            return 1.5
        case "boolean":
            return True
        case "string" if schema.get("format") == "date-time":
            return "2026-01-31T09:30:00.000000Z"
        case "string":
            return "words"
    return {"any": "thing"}


class Example:
    """One call of an operation with everything it may be given, and the request it has to make."""

    def __init__(self, name: str, path: str, operation: Mapping[str, Any]) -> None:
        self.arguments: dict[str, Any] = {}
        self.path = path
        self.query: dict[str, str] = {}
        self.headers: dict[str, str] = {}
        for parameter in operation["parameters"]:
            key = parameter["name"]
            value = SENT.get((name, key), sample(parameter["schema"]))
            if value is None:
                continue
            if parameter["in"] == "path":
                self.path = self.path.replace(f"{{{key}}}", value)
            elif parameter["in"] == "query" and isinstance(value, dict):
                self.query |= {f"{key}[{name}]": each for name, each in value.items()}
            elif parameter["in"] == "query":
                self.query[key] = str(value).lower() if value is True else str(value)
            else:
                self.headers[key] = value
            argument = ARGUMENTS.get(key, key)
            self.arguments[argument] = GIVEN.get((name, argument), value)
        self.body: Any = None
        if "requestBody" in operation:
            self.body = sample(operation["requestBody"]["content"]["application/json"]["schema"])
            fields = dict(self.body)
            if isinstance(fields.get("message"), dict):  # a method takes its fields beside the rest
                fields |= fields.pop("message")
            self.arguments |= {f: GIVEN.get((name, f), value) for f, value in fields.items()}


def success_of(operation: Mapping[str, Any]) -> Any:
    """The first answer that is a success, with every field."""
    code = min(code for code in operation["responses"] if code.startswith("2"))
    content = operation["responses"][code]["content"]
    if "application/json" in content:
        return sample(content["application/json"]["schema"])
    # The description of a stream names the shape of its events.
    (name,) = re.findall(r"`(\w+Shape)`", json.dumps(content[MEDIA_TYPE]))
    return [sample({"$ref": f"#/components/schemas/{name}"})]


@pytest.mark.parametrize(("name", "method", "path"), sorted(operations()))
async def test_a_method_passes_on_and_reads_everything(
    name: str, method: str, path: str, talk: Talk
) -> None:
    operation = description()["paths"][path][method.lower()]
    example, value = Example(name, path, operation), success_of(operation)
    if isinstance(value, list):
        talk.has_streams = True
        talk.script = [streamed(value)]
    else:
        value |= {"has_more": False} if "has_more" in value else {}
        value.pop("next_before", None)  # there only when more follow
        talk.script = [answer(value)]
    result = await talk(marked()[name], **example.arguments)
    (request,) = talk.asked
    assert (request.method, request.url.path) == (method, example.path)
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert dict(request.url.params) == example.query
    assert {key: request.headers.get(key) for key in example.headers} == example.headers
    if example.body is not None:
        assert request.headers["Content-Type"] == "application/json"
        check_body(json.loads(request.content), example.body)
    check_result(result, value)


def streamed(values: list[Any]) -> httpx2.Response:
    events = "".join(f"id: c\ndata: {json.dumps(value)}\n\n" for value in values)
    text = f"{events}event: end\ndata: {{}}\n\n"
    return httpx2.Response(200, text=text, headers={"Content-Type": MEDIA_TYPE})


def check_body(sent: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Files are compared by the fields they have: those of them exclude one another."""
    if "files" in wanted:
        (fields,) = (set(file) for file in wanted["files"])
        assert {field for file in sent.pop("files") for field in file} == fields
        wanted = {field: part for field, part in wanted.items() if field != "files"}
    assert sent == wanted


def check_result(result: Any, value: Any) -> None:
    """A record has every field; of a list, its items do."""
    if isinstance(result, Record):
        assert plain(result) == without_nulls(value)
    else:
        items = value if isinstance(value, list) else value["data"]
        assert [plain(item) for item in result] == without_nulls(items)


def test_every_field_and_word_of_the_api_is_known() -> None:
    """There is a record for all; a field with an enumeration is read as a member of one."""
    words = 0
    for name, schema in description()["components"]["schemas"].items():
        if name.endswith("In"):  # of a request
            continue
        read = getattr(models, SCRIPT["client_name"](name)).read(sample(schema))
        assert plain(read) == without_nulls(sample(schema)), name
        for field, part in schema["properties"].items():
            if "enum" in resolved(part):
                assert isinstance(getattr(read, field), StrEnum), f"{name}.{field}"
                words += 1
    assert words
