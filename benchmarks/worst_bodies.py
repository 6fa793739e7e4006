"""The dearest bodies that are no larger than 64 kB, by the route they are sent to.

Each is a JSON object that costs its server the most to read, to check or to refuse.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from agentpost.api.app import OPERATIONS

BODY_BYTES: Final = 64_000
_MANY: Final = 4_900
_PATTERN: Final = r"\w{1,7}" * 2_000
"""A pattern that a compiler of regular expressions works at for ten seconds."""

Route = tuple[str, str]
"""Method and path."""


def worst_bodies() -> Iterator[tuple[str, Route, bytes]]:
    """A name, the route and the body of each: those of every operation, then those of the doors."""
    for operation in OPERATIONS:
        if operation.body is None:
            continue
        path = operation.path.replace("{", "").replace("}", "")
        for name, value in _wide(operation.body.model_json_schema()).items():
            yield f"{operation.id} {name}", (operation.method, path), _encoded(value)
    yield from _messages()
    yield from _rpc_calls()
    yield from _openai_calls()


def _wide(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A body for each field that may be a list or an object, full of wrong values, and one of
    fields that do not exist."""
    bodies: dict[str, dict[str, Any]] = {"unknown fields": {f"u{n}": 1 for n in range(_MANY)}}
    for name in schema["properties"]:
        bodies[f"{name} list"] = {"message": "x", name: [1] * (2 * _MANY)}
        bodies[f"{name} object"] = {"message": "x", name: {f"k{n}": 1 for n in range(_MANY)}}
    return bodies


def _messages() -> Iterator[tuple[str, Route, bytes]]:
    route = ("POST", "/v1/messages")
    yield "files", route, _encoded({"message": "x", "files": [{"url": "a"}] * 4_700})
    yield "deep", route, b'{"message":' + b"[" * 30_000 + b"]" * 30_000 + b"}"
    yield "long number", route, b'{"message":' + b"1" * 60_000 + b"}"
    yield "twins", route, b"{" + b",".join([b'"a":1'] * 9_000) + b"}"
    yield "escapes", route, b'{"message":"' + rb"\u0000" * 10_000 + b'"}'
    schemas = {
        "pattern": {"pattern": _PATTERN},
        "classes": {"allOf": [{"pattern": r"\w" * 50}] * 49},
        "properties": {"properties": {f"p{n}": {} for n in range(1_500)}},
        "old draft": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {f"d{n}": {"items": [{}]} for n in range(600)},
        },
    }
    for name, schema in schemas.items():
        yield f"schema {name}", route, _encoded({"message": "x", "response_schema": schema})


def _rpc_calls() -> Iterator[tuple[str, Route, bytes]]:
    texts = {"parts": [{}] * 4_700, "extensions": ["a"] * 9_000, "referenceTaskIds": ["a"] * 9_000}
    labels = {f"k{n}": 1 for n in range(_MANY)}
    members: dict[str, Any] = texts | {"metadata": labels}
    for method in ("SendMessage", "message/send"):
        for name, value in (members | {"data": [{"data": {"a": [1] * 9_000}}]}).items():
            member = "parts" if name == "data" else name
            message = {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "x"}]}
            body = _call(method, {"message": {**message, member: value}})
            yield f"a2a {method} {name}", ("POST", "/a2a"), body
    arguments: dict[str, Any] = {
        "files": [{}] * 4_500,
        "upload_ids": ["a"] * 9_000,
        "metadata": labels,
        **labels,
    }
    for name, value in arguments.items():
        if name == "k1":
            break
        sent = labels if name == "k0" else {"text": "x", name: value}
        params = {"name": "send_message", "arguments": sent}
        yield f"mcp {name}", ("POST", "/mcp"), _call("tools/call", params)


def _openai_calls() -> Iterator[tuple[str, Route, bytes]]:
    said = [{"role": "user", "content": ""}, {"role": "assistant", "content": ""}]
    labels = {f"k{n}": 1 for n in range(_MANY)}
    content = [{"role": "user", "content": [{"type": "text", "text": ""}] * 1_900}]
    unclosed = [{"role": "assistant", "content": "<think>" * 9_000}, said[0]]
    for name, path in (("input", "responses"), ("messages", "chat/completions")):
        route = ("POST", f"/openai/v1/{path}")
        yield f"{path} items", route, _encoded({name: [*(said * 800), said[0]]})
        yield f"{path} empty items", route, _encoded({name: [{}] * _MANY})
        yield f"{path} parts", route, _encoded({name: content})
        yield f"{path} unclosed", route, _encoded({name: unclosed})
        yield f"{path} metadata", route, _encoded({name: [said[0]], "metadata": labels})
        yield f"{path} unknown", route, _encoded({name: [said[0]], **labels})


def _call(method: str, params: dict[str, Any]) -> bytes:
    return _encoded({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def _encoded(body: dict[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()
