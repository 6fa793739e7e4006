"""The OpenAPI 3.1 description, built from the operations (spec: Versioning)."""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from agentpost.api import event_docs, examples, header_docs
from agentpost.api.header_docs import parameter_of
from agentpost.api.operation import STREAMED, Labels, Operation, Query, Success, Text
from agentpost.contract.errors import CATALOGUE, ErrorShape
from agentpost.contract.shape import Shape, schemas
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode
from agentpost.messages.body_shapes import id_schema
from agentpost.webhooks.event_shapes import EVENTS

VERSION = "1.0.0"
EVERYWHERE = (
    ErrorCode.UNAUTHORIZED,
    ErrorCode.FORBIDDEN,
    ErrorCode.RATE_LIMITED,
    ErrorCode.INTERNAL,
    ErrorCode.UNAVAILABLE,
)
"""Codes any operation may answer with."""
SHARED = (*EVERYWHERE, ErrorCode.NOT_FOUND)
"""Codes whose answer is described once, for all operations."""

ABOUT = """\
Send a message in plain language to an agent, follow the work it starts, take the files it makes.

Every answer has a `Request-Id`. Every failure has one shape, with a stable code in `error`. Repeat
after network errors, 429 (when `Retry-After` is over), 500 and 503, with growing pauses. Fields,
event types and reasons may be added at any time: ignore what you do not know.
"""
TAGS = {
    "messages": "What is said to the agent, and what became of it.",
    "events": "What happened in the account.",
    "uploads": "Large files on their way to the agent.",
    "work": "Where jobs run and leave their files.",
    "files": "What the agent made.",
    "me": "The account of a key.",
    "schedules": "Messages that are sent at given times.",
    "usage": "What an account used.",
    "requests": "What was asked of the API, and what it answered.",
    "webhooks": "Endpoints that receive signed events, and their deliveries.",
    event_docs.TAG: "The signed events that these endpoints receive.",
}
"""The resources, by the first part of their paths, and the events."""

IDS = {
    "message_id": ("The `id` of a message.", ids.MESSAGE),
    "upload_id": ("The `upload_id` of an upload.", ids.UPLOAD),
    "work_id": ("The `work_id` of a work, as jobs and files have it.", None),
    "file_id": ("The `file_id` of a file, with its slashes.", None),
    "endpoint_id": ("The `id` of a webhook endpoint.", ids.ENDPOINT),
    "schedule_id": ("The `id` of a schedule.", ids.SCHEDULE),
    "request_id": ("`req_<id>`, as `Request-Id` of the answer has it.", ids.REQUEST),
    "event_id": ("The `id` of a delivery.", None),
}
"""What stands in paths: its description, and the prefix of an id that has one form only."""
KEY = {
    "type": "http",
    "scheme": "bearer",
    "description": (
        "An API key. Never send one to a browser: keys are for servers. A key has scopes, by"
        " default all: `send` for what makes the agent work, `read` for what only tells, `admin`"
        " for webhook endpoints and for deleting. `x-scope` is the one that an operation needs; a"
        " key without it is answered 403 `forbidden`."
    ),
}

_REF = "#/components/schemas/{model}"


def document(operations: Sequence[Operation], base_url: str) -> dict[str, Any]:
    """The whole description."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = operation.path.replace(":path}", "}")
        paths.setdefault(path, {})[operation.method.lower()] = _operation(operation, operations)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "agentpost",
            "version": VERSION,
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url}],
        "security": [{"key": []}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "webhooks": event_docs.webhooks(),
        "components": {
            "schemas": _schemas(operations),
            "responses": {code: _failure([code]) for code in SHARED},
            "headers": header_docs.components(),
            "examples": examples.of_errors(base_url),
            "securitySchemes": {"key": KEY},
        },
    }


def _operation(operation: Operation, operations: Sequence[Operation]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "operationId": operation.id,
        "tags": [operation.path.split("/")[2]],
        "summary": operation.summary,
        "description": operation.description,
        "parameters": _parameters(operation),
        "responses": _responses(operation),
    }
    if operation.scope is not None:
        document["description"] += f" Needs a key with the scope `{operation.scope}`."
        document["x-scope"] = operation.scope.value
    operation_links = links(operation, operations)
    if operation_links:
        document["responses"][str(operation.successes[0].status)]["links"] = operation_links
    if operation.body is not None:
        content = {"application/json": {"schema": _ref(operation.body)}}
        document["requestBody"] = {"required": operation.body_required, "content": content}
    return document


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    return [
        *(_id(name) for name in _ids_in(operation.path)),
        *(parameter_of(q.name, "query", _whole(q), q.description) for q in operation.queries),
        *(parameter_of(t.name, "query", _text(t), t.description) for t in operation.texts),
        *(_labels(labels) for labels in operation.labels),
        *(header.parameter(False) for header in operation.headers),
    ]


def _ids_in(path: str) -> list[str]:
    return [part[1:-1].split(":")[0] for part in path.split("/") if part.startswith("{")]


def _id(name: str) -> dict[str, Any]:
    description, prefix = IDS[name]
    schema = {"type": "string"} if prefix is None else id_schema(prefix)
    return parameter_of(name, "path", schema, description)


def _labels(labels: Labels) -> dict[str, Any]:
    schema = {"type": "array", "items": {"type": "string", "pattern": labels.pattern}}
    parameter = parameter_of(labels.name, "query", schema, labels.description)
    return {**parameter, "style": "form", "explode": True}


def _whole(query: Query) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": query.least, "maximum": query.most}
    return schema if query.default is None else {**schema, "default": query.default}


def _text(text: Text) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if text.choices:
        schema["enum"] = [str(choice) for choice in text.choices]
    if text.format:
        schema["format"] = text.format
    if text.pattern:
        schema["pattern"] = text.pattern
    return schema


def codes_of(operation: Operation) -> tuple[ErrorCode, ...]:
    """All codes that the operation may answer with."""
    return (*operation.errors, *EVERYWHERE)


def _responses(operation: Operation) -> dict[str, Any]:
    responses = {str(each.status): _success(operation, each) for each in operation.successes}
    by_status: dict[int, list[ErrorCode]] = {}
    for code in codes_of(operation):
        by_status.setdefault(CATALOGUE[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        shared = len(codes) == 1 and codes[0] in SHARED
        ref = {"$ref": f"#/components/responses/{codes[0]}"}
        responses[str(status)] = ref if shared else _failure(codes)
    return responses


def _success(operation: Operation, success: Success) -> dict[str, Any]:
    document: dict[str, Any] = {
        "description": success.description,
        "headers": header_docs.of_answer(success.status, success.headers),
    }
    if success.has_body:
        document["content"] = {
            media: _content(operation, success, media) for media in success.media
        }
    return document


def _content(operation: Operation, success: Success, media: str) -> dict[str, Any]:
    """A body of one type."""
    if media in STREAMED:
        assert operation.event is not None, f"{operation.id} streams no events"
        return {"schema": _stream(operation.event)}
    content: dict[str, Any] = {"schema": _ref(operation.answer)}
    body_examples = examples.of_answer(operation.id, success.status)
    return {**content, "examples": body_examples} if body_examples else content


def _stream(event: type[Shape]) -> dict[str, Any]:
    """A stream is a text: clients that are told of an object parse all of it as JSON."""
    about = (
        f"Server-sent events. `data` of each is one line of JSON: see `{event.__name__}`, or `{{}}`"
        " when `event` says all."
    )
    return {"type": "string", "description": about}


def _failure(codes: Sequence[ErrorCode]) -> dict[str, Any]:
    """An error response; the codes have one status."""
    lines = [f"- `{code}`: {CATALOGUE[code].meaning}" for code in codes]
    body_examples = {code.value: {"$ref": f"#/components/examples/{code}"} for code in codes}
    return {
        "description": "\n".join(lines),
        "headers": header_docs.of_answer(CATALOGUE[codes[0]].status),
        "content": {"application/json": {"schema": _ref(ErrorShape), "examples": body_examples}},
    }


def _ref(shape: type[BaseModel | Shape]) -> dict[str, str]:
    return {"$ref": _REF.format(model=shape.__name__)}


def _schemas(operations: Sequence[Operation]) -> dict[str, Any]:
    bodies: Any = {(op.body, "validation"): None for op in operations if op.body is not None}
    _, definitions = models_json_schema(list(bodies), ref_template=_REF)
    for body in definitions["$defs"].values():
        for part in body["properties"].values():
            # It says nothing. Generators require a field that has a default, or send null for it.
            if "default" in part and part["default"] is None:
                del part["default"]
    answers: dict[type[Shape], None] = dict.fromkeys(
        [*(op.answer for op in operations), ErrorShape, *EVENTS.values()]
    )
    return {**definitions["$defs"], **schemas(list(answers))}


IDS_GIVEN: Final[dict[str, dict[str, str]]] = {
    "createMessage": {"message_id": "$response.body#/id"},
    "listRequests": {"request_id": "$response.body#/data/0/id"},
    "listWork": {"work_id": "$response.body#/data/0/work_id"},
    "getWork": {"file_id": "$response.body#/files/0/file_id"},
    "createUpload": {"upload_id": "$response.body#/upload_id"},
    "createSchedule": {"schedule_id": "$response.body#/id"},
    "createWebhookEndpoint": {"endpoint_id": "$response.body#/id"},
    "testWebhookEndpoint": {
        "endpoint_id": "$request.path.endpoint_id",
        "event_id": "$response.body#/id",
    },
}
"""How a response of an operation and its request fill the path of others: the runtime expression
(OpenAPI, "Link Object") of each id."""
_CURSOR = {"cursor": "$response.body#/cursor"}
FURTHER_LINKS: Final[dict[str, dict[str, dict[str, str]]]] = {
    "createMessage": {"getWork": {"work_id": "$response.body#/jobs/0/work_id"}},
    "listEvents": {"listEvents": _CURSOR},
    "listRequests": {"listRequests": _CURSOR},
}


def links(operation: Operation, operations: Sequence[Operation]) -> dict[str, Any]:
    """The links of an operation's success answer, to what is served: every operation whose path
    takes the ids that it gives, unless that is refused to what is new, and `FURTHER_LINKS`."""
    given, further = IDS_GIVEN.get(operation.id), FURTHER_LINKS.get(operation.id, {})
    values_by_target = {
        each.id: given if given and _ids_in(each.path) == list(given) else further.get(each.id)
        for each in operations
        if ErrorCode.NOT_FINAL not in each.errors
    }
    return {
        target: {"operationId": target, "parameters": values}
        for target, values in values_by_target.items()
        if values
    }
