"""The dearest calls of each operation and door: what costs its server most to read, to check or to
refuse.

`worst_bodies` are JSON objects of up to 64 kB, `large_bodies` have megabytes; `largest_bodies` are
taken; `worst_queries` go to what takes no body, as long as a query may be.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

from agentpost.api.app import OPERATIONS
from agentpost.domain.limits import INLINE_FILES_MAX, MEBIBYTE
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


def _nested(depth: int, count: int) -> list[Any]:
    """So many lists in each other, and that so many times: few commas, many values."""
    item: list[Any] = []
    for _ in range(depth - 1):
        item = [item]
    return [item] * count


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
    nested = _nested(55, 9_900)
    yield "large message nested", route, _encoded({"message": "x", "more": nested})
    for what, text in {"short": "ab", "empty": "", "escaped": '"'}.items():
        body = {"message": "x", "more": [text] * 600_000}
        yield f"large message {what} texts", route, _encoded(body)
    for name, schema_call in _schema_calls({"enum": nested}).items():
        yield f"large {name} schema nested", ("POST", f"/openai/v1/{name}"), _encoded(schema_call)
    for name, form in forms().items():
        yield f"form {name}", ("POST", "/openai/v1/files"), form


def largest_bodies() -> Iterator[tuple[str, Route, bytes]]:
    """As `worst_bodies`: calls with as many values as they may have, which are taken."""
    nested = {"a": _nested(44, 10)}
    message = {"messageId": "1", "role": "ROLE_USER", "parts": [{"data": nested}]}
    yield "largest a2a", ("POST", "/a2a"), _call("SendMessage", {"message": message})
    part = {"kind": "data", "data": nested}
    message = {"kind": "message", "messageId": "1", "role": "user", "parts": [part]}
    yield "largest a2a old", ("POST", "/a2a"), _call("message/send", {"message": message})
    files = [{"name": "a.txt", "base64": "eA=="} for _ in range(INLINE_FILES_MAX)]
    arguments = {"text": "x", "files": files, "wait_seconds": 0}
    params = {"name": "send_message", "arguments": arguments}
    yield "largest mcp", ("POST", "/mcp"), _call("tools/call", params)
    body = {"message": "x", "more": _nested(55, 266)}
    yield "largest message", ("POST", "/v1/messages"), _encoded(body)
    part = {"type": "output_text", "text": "x", "annotations": []}
    said = {"type": "message", "id": "1", "status": "completed", "content": [part]}
    items = [{**said, "role": role} for role in ("user", "assistant")] * 499
    call = _schema_calls({"enum": _nested(30, 60)})["responses"]
    body = call | {"input": [*items, {"role": "user", "content": "x"}]}
    yield "largest responses", ("POST", "/openai/v1/responses"), _encoded(body)


def _schema_calls(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Calls of the OpenAI API that ask for an answer of that schema, by their path."""
    form = {"name": "a", "schema": schema}
    text = {"format": {"type": "json_schema", **form}}
    response_format = {"type": "json_schema", "json_schema": form}
    messages = [{"role": "user", "content": "x"}]
    return {
        "responses": {"input": "x", "background": True, "text": text},
        "chat/completions": {"messages": messages, "response_format": response_format},
    }


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
    bodies: dict[str, dict[str, Any]] = {
        "unknown fields": {f"u{n}": 1 for n in range(_MANY)},
        "unknown nested": {"message": "x", "u": _nested(60, 490)},
    }
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
        "nested": {"enum": _nested(60, 80)},
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
    data = {"data": {"a": [1] * 9_000}, "nested data": {"a": _nested(40, 300)}}
    members |= {name: [{"data": value}] for name, value in data.items()}
    members["nested metadata"] = data["nested data"]
    for method in ("SendMessage", "message/send"):
        for name, value in members.items():
            member = "parts" if name.endswith("data") and name in data else name.split()[-1]
            message = {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "x"}]}
            body = _call(method, {"message": {**message, member: value}})
            yield f"a2a {method} {name}", ("POST", "/a2a"), body
    arguments: dict[str, Any] = {
        "files": [{}] * 4_500,
        "upload_ids": ["a"] * 9_000,
        "metadata": labels,
        "nested": _nested(60, 200),
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
        yield f"{path} nested", route, _encoded({name: [said[0]], "user": _nested(60, 490)})
    for name, body in _schema_calls({"enum": _nested(55, 540)}).items():
        yield f"{name} schema nested", ("POST", f"/openai/v1/{name}"), _encoded(body)


def _call(method: str, params: dict[str, Any]) -> bytes:
    return _encoded({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def _encoded(body: dict[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()
