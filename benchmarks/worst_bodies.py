"""The dearest calls of each operation and door: what costs its server most to read, to check or to
refuse.

`worst_bodies` are JSON objects of up to 64 kB, `large_bodies` have megabytes; `worst_queries` go to
what takes no body, as long as a query may be.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

from agentpost.api.app import OPERATIONS
from agentpost.domain.limits import MEBIBYTE
from agentpost.doors.routes import DOORS

BODY_BYTES: Final = 64_000
_MANY: Final = 4_900
_PATTERN: Final = r"\w{1,7}" * 2_000
"""A pattern that a compiler of regular expressions works at for ten seconds."""

Route = tuple[str, str]
"""Method and path."""
FORM: Final = "multipart/form-data; boundary=b"
"""The type of a body whose name begins with ``form``."""
_FORM_BEGINS: Final = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
_FORM_ENDS: Final = b"\r\n--b--\r\n"
_QUERY_PARAMETERS: Final = 99
_QUERY_BYTES: Final = 14_000


def forms() -> dict[str, bytes]:
    """Forms, by what they have much of."""
    part = b'--b\r\nContent-Disposition: form-data; name="%d"\r\n\r\nx\r\n'
    return {
        "parts": b"".join(part % n for n in range(5_000)) + _FORM_BEGINS + b"x" + _FORM_ENDS,
        "headers": b"--b\r\n" + b"a: b\r\n" * 20_000,
        "boundaries": _FORM_BEGINS + b"\r\n--bx" * 40_000 + _FORM_ENDS,
        "returns": _FORM_BEGINS + b"\r" * MEBIBYTE + _FORM_ENDS,
    }


def large_bodies() -> Iterator[tuple[str, Route, bytes]]:
    """As `worst_bodies`: a file of 9 MB where a call has it, and as long a text elsewhere."""
    long = base64.b64encode(b"x" * 9 * MEBIBYTE).decode("ascii")
    message: dict[str, Any] = {"messageId": "1", "role": "ROLE_USER"}
    at_once = {"configuration": {"returnImmediately": True}}
    sending: dict[str, dict[str, Any]] = {
        "file": {"parts": [{"raw": long, "filename": "a.txt"}]},
        "text": {"parts": [{"text": long}]},
        "name": {"parts": [{"text": "x"}], long: 1},
    }
    old: dict[str, Any] = {"kind": "file", "file": {"bytes": long, "name": "a.txt"}}
    old_message = {"kind": "message", "messageId": "1", "role": "user", "parts": [old]}
    for name, members in sending.items():
        params: dict[str, Any] = {"message": {**message, **members}, **at_once}
        yield f"large a2a {name}", ("POST", "/a2a"), _call("SendMessage", params)
    params = {"message": old_message, "configuration": {"blocking": False}}
    yield "large a2a old file", ("POST", "/a2a"), _call("message/send", params)
    yield "large a2a id", ("POST", "/a2a"), _call("GetTask", {"id": long})
    yield "large a2a method", ("POST", "/a2a"), _call(long, {})
    tools: dict[str, dict[str, Any]] = {
        "file": {"text": "x", "files": [{"base64": long}], "wait_seconds": 0},
        "text": {"text": long},
        "name": {long: 1},
    }
    for name, arguments in tools.items():
        params = {"name": "send_message", "arguments": arguments}
        yield f"large mcp {name}", ("POST", "/mcp"), _call("tools/call", params)
    yield "large mcp method", ("POST", "/mcp"), _call(long, {})
    files: dict[str, dict[str, Any]] = {
        "file": {"file_data": long},
        "url": {"file_data": f"data:text/plain;base64,{long}"},
    }
    for name, file in files.items():
        part = {"type": "input_file", "filename": "a.txt", **file}
        said = [{"role": "user", "content": [part, {"type": "input_text", "text": "x"}]}]
        body = {"input": said, "background": True}
        yield f"large responses {name}", ("POST", "/openai/v1/responses"), _encoded(body)
        body = {"messages": [{"role": "user", "content": [{"type": "file", "file": file}]}]}
        yield f"large chat {name}", ("POST", "/openai/v1/chat/completions"), _encoded(body)
    body = {"input": long, "background": True}
    yield "large responses text", ("POST", "/openai/v1/responses"), _encoded(body)
    route = ("POST", "/v1/messages")
    yield "large message file", route, _encoded({"message": "x", "files": [{"base64": long}]})
    yield "large message text", route, _encoded({"message": long})
    for name, form in forms().items():
        yield f"form {name}", ("POST", "/openai/v1/files"), form


def worst_queries() -> Iterator[tuple[str, Route, bytes]]:
    """As `worst_bodies`: the longest queries to each operation and door that takes no body."""
    routes = [(each.method, each.path) for each in OPERATIONS if each.body is None]
    texts = {
        each.path: [text.name for text in each.texts] + [labels.name for labels in each.labels]
        for each in OPERATIONS
    }
    for door in DOORS.values():
        routes += [route for route in door.routes if route[0] != "POST" or "{" in route[1]]
    for method, path in routes:
        place = _filled(path)
        size = _QUERY_BYTES // _QUERY_PARAMETERS
        many = "&".join(f"metadata[{n}]={'%41' * (size // 4)}" for n in range(_QUERY_PARAMETERS))
        queries = {"many": many}
        for name in texts.get(path, []):
            queries[name] = f"{name}={quote('a,=' * (_QUERY_BYTES // 7))}"
        for name, query in queries.items():
            yield f"query {name} {method} {path}", (method, f"{place}?{query}"), b""


def worst_bodies() -> Iterator[tuple[str, Route, bytes]]:
    """A name, the route and the body of each: those of every operation, then those of the doors."""
    for operation in OPERATIONS:
        if operation.body is None:
            continue
        path = _filled(operation.path)
        for name, value in _wide(operation.body.model_json_schema()).items():
            yield f"{operation.id} {name}", (operation.method, path), _encoded(value)
    yield from _messages()
    yield from _rpc_calls()
    yield from _openai_calls()


def _filled(path: str) -> str:
    """A path with a word in the place of each parameter."""
    return re.sub(r"\{[^}]*\}", "x", path)


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
