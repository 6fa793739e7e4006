"""The OpenAPI 3.1 description, built from the operations (design: 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from agentpost.api.links import links
from agentpost.api.operation import Operation, Query, Text
from agentpost.contract import webhook_events
from agentpost.contract.errors import CATALOGUE, ErrorShape

VERSION = "1.0.0"
EVERYWHERE = ("unauthorized", "rate_limited", "internal", "unavailable")
"""Codes any operation may answer with."""

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
            "description": "Send a message to an agent, follow its work, take the files.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url}],
        "security": [{"key": []}],
        "paths": paths,
        "webhooks": {name: _webhook(name, shape) for name, shape in webhook_events.EVENTS.items()},
        "components": {
            "schemas": _schemas(operations),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(operation: Operation, operations: Sequence[Operation]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": _parameters(operation),
        "responses": _responses(operation),
    }
    linked = links(operation, operations)
    if linked:
        described["responses"][str(operation.status)]["links"] = linked
    if operation.handler.__doc__:
        described["description"] = operation.handler.__doc__
    if operation.body is not None:
        content = {"application/json": {"schema": _ref(operation.body)}}
        described["requestBody"] = {"required": operation.body_required, "content": content}
    return described


def _webhook(name: str, shape: type[BaseModel]) -> dict[str, Any]:
    """A request of ours to a receiver; it is signed, and has no API key."""
    string: dict[str, Any] = {"type": "string"}
    post = {
        "summary": f"`{name}`",
        "description": shape.__doc__,
        "security": [],
        "parameters": [
            _parameter(header, "header", string, text) for header, text in webhook_events.HEADERS
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ref(shape)}}},
        "responses": {
            "2XX": {"description": "Taken, within 10 seconds. Anything else is tried again."}
        },
    }
    return {"post": post}


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    in_path = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    return [
        *(_parameter(name.split(":")[0], "path", {"type": "string"}) for name in in_path),
        *(_parameter(q.name, "query", _whole(q), q.description) for q in operation.queries),
        *(_parameter(t.name, "query", _text(t), t.description) for t in operation.texts),
        *(_parameter(name, "header", {"type": "string"}, text) for name, text in operation.headers),
    ]


def _parameter(
    name: str, where: str, schema: dict[str, Any], description: str | None = None
) -> dict[str, Any]:
    parameter = {"name": name, "in": where, "required": where == "path", "schema": schema}
    return {**parameter, "description": description} if description else parameter


def _whole(query: Query) -> dict[str, Any]:
    return {
        "type": "integer",
        "minimum": query.least,
        "maximum": query.most,
        "default": query.default,
    }


def _text(text: Text) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if text.choices:
        schema["enum"] = [str(choice) for choice in text.choices]
    return schema


def _responses(operation: Operation) -> dict[str, Any]:
    success = {"application/json": {"schema": _ref(operation.answer)}}
    responses: dict[str, Any] = {
        str(operation.status): {"description": "Success", "content": success}
    }
    if operation.id == "createMessage":
        responses["200"] = {"description": "The message, as it is now", "content": success}
    if operation.id == "getMessage":
        responses["304"] = {"description": "Nothing newer than the given ETag"}
    by_status: dict[int, list[str]] = {}
    for code in (*operation.errors, *EVERYWHERE):
        by_status.setdefault(CATALOGUE[code].status, []).append(code)
    failure = {"application/json": {"schema": _ref(ErrorShape)}}
    for status, codes in sorted(by_status.items()):
        text = ", ".join(f"`{code}`" for code in codes)
        responses[str(status)] = {"description": text, "content": failure}
    return responses


def _ref(shape: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=shape.__name__)}


def _schemas(operations: Sequence[Operation]) -> dict[str, Any]:
    bodies = [(op.body, "validation") for op in operations if op.body is not None]
    answers = [(op.answer, "serialization") for op in operations]
    events = [(shape, "serialization") for shape in webhook_events.EVENTS.values()]
    models: Any = [*bodies, *answers, *events, (ErrorShape, "serialization")]
    _, described = models_json_schema(list(dict.fromkeys(models)), ref_template=_REF)
    schemas: dict[str, Any] = described["$defs"]
    return schemas
