"""Prints src/api.ts: the types of the API and the table of its operations, from openapi.json.

    python docs/client_typescript.py > clients/typescript/src/api.ts

test_generated.py of its tests fails when the file is not up to date. It is a program of
our own because the types are read by people in their editors: names without suffixes, the
descriptions beside the fields, known words open to new ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).parent / "openapi.json"
HEAD = "// Made by docs/client_typescript.py from docs/openapi.json.\n"
WIDTH = 96
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}
_NO_BODY = "undefined"
RENAMED = {
    # What would hide a name of every browser.
    "ErrorShape": "ErrorBody",
    "FileShape": "OutputFile",
    "FileObject": "OutputFileObject",
    "JobEventShape": "JobWebhookEvent",
    "MessageEventShape": "MessageWebhookEvent",
    "TestEventShape": "TestWebhookEvent",
}

Part = Mapping[str, Any]


def text(document: Part) -> str:
    """The whole file."""
    schemas: Part = document["components"]["schemas"]
    events = _event_names(document)
    parts = [HEAD]
    named = sorted(schemas, key=public_name)
    parts += ["\n".join(_interface(name, schemas[name], events.get(name))) for name in named]
    parts.append(_union("WebhookEvent", [public_name(name) for name in sorted(events)]))
    parts.append("\n".join(_error_codes(document)))
    parts.append("\n".join(_operations(document)))
    return "\n\n".join(parts) + "\n"


def public_name(schema: str) -> str:
    """What the client calls a schema: ``MessageShape`` is ``Message``, ``MessageIn`` is
    ``MessageInput``."""
    if schema in RENAMED:
        return RENAMED[schema]
    return re.sub(r"In$", "Input", schema.removesuffix("Shape"))


# --- types ----------------------------------------------------------------------------------------
def _interface(name: str, schema: Part, event_names: list[str] | None) -> Iterator[str]:
    is_input = name.endswith("In")
    yield from comment(schema.get("description"), "")
    yield f"export interface {public_name(name)} {{"
    required = schema.get("required", ())
    for field, part in sorted(schema["properties"].items(), key=lambda item: item[0] != "id"):
        kind = type_of(part, open_words=not is_input)
        if event_names is not None and field == "type":
            kind = " | ".join(f'"{event}"' for event in event_names)
        yield from comment(part.get("description"), "  ")
        yield f"  {field}{'' if field in required else '?'}: {kind};"
    yield "}"


def type_of(part: Part, *, open_words: bool) -> str:
    """The TypeScript type of a JSON schema. ``open_words``: examples of a text are words it may
    have, besides others that are not known yet."""
    if "$ref" in part:
        return public_name(part["$ref"].rpartition("/")[2])
    if "const" in part:
        return json.dumps(part["const"])
    if "enum" in part:
        return " | ".join(json.dumps(word) for word in part["enum"])
    if "anyOf" in part:
        return " | ".join(type_of(each, open_words=open_words) for each in part["anyOf"])
    kind = part.get("type")
    if isinstance(kind, list):
        return " | ".join(type_of({**part, "type": one}, open_words=open_words) for one in kind)
    if kind == "null":
        return "null"
    if kind == "array":
        inner = type_of(part.get("items", {}), open_words=open_words)
        return f"Array<{inner}>" if " " in inner else f"{inner}[]"
    if kind == "object":
        more = part.get("additionalProperties", True)
        inner = type_of(more, open_words=open_words) if isinstance(more, dict) else "unknown"
        return f"Record<string, {inner}>"
    if kind == "string" and open_words and len(part.get("examples", ())) > 1:
        return " | ".join([*(json.dumps(word) for word in part["examples"]), "(string & {})"])
    return PLAIN.get(str(kind), "unknown")


def _union(name: str, members: list[str]) -> str:
    return f"export type {name} = {' | '.join(members)};"


def _event_names(document: Part) -> dict[str, list[str]]:
    """The webhook events by the schema of their body."""
    found: dict[str, list[str]] = {}
    for event, item in sorted(document.get("webhooks", {}).items()):
        (operation,) = item.values()
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        found.setdefault(schema["$ref"].rpartition("/")[2], []).append(event)
    return found


def _error_codes(document: Part) -> Iterator[str]:
    """The codes of all errors, from the examples that answers have of them."""
    shared = document["components"]["responses"]
    codes: set[str] = set()
    for methods in document["paths"].values():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                if status[0] in "45":
                    named = response.get("$ref", "").rpartition("/")[2]
                    content = (shared[named] if named else response)["content"]
                    codes.update(content["application/json"]["examples"])
    yield "/** The code of an error; newer servers may have more. */"
    yield "export type ErrorCode ="
    yield from (f'  | "{code}"' for code in sorted(codes))
    yield "  | (string & {});"


# --- operations -----------------------------------------------------------------------------------
def _operations(document: Part) -> Iterator[str]:
    table: list[str] = []
    yield "/** What each operation takes and gives. */"
    yield "export interface Operations {"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            name = operation["operationId"]
            yield from comment(operation.get("summary"), "  ")
            yield f"  {name}: {{"
            yield from _parameters("path", operation)
            yield from _parameters("query", operation)
            yield f"    body: {body_type(operation)};"
            yield f"    answer: {answer_type(operation)};"
            yield "  };"
            table.append(f'  {name}: ["{method.upper()}", "{path}"],')
    yield "}"
    yield ""
    yield "/** The method and the path of each operation. */"
    yield "export const OPERATIONS = {"
    yield from table
    yield "} as const satisfies Record<keyof Operations, readonly [string, string]>;"


def _parameters(place: str, operation: Part) -> Iterator[str]:
    given = [p for p in operation.get("parameters", ()) if p["in"] == place]
    if not given:
        yield f"    {place}: {{}};"
        return
    yield f"    {place}: {{"
    for parameter in given:
        yield from comment(parameter.get("description"), "      ")
        kind = type_of(parameter["schema"], open_words=False)
        name = parameter["name"]
        shown = name if name.isidentifier() else json.dumps(name)
        yield f"      {shown}{'' if parameter.get('required') else '?'}: {kind};"
    yield "    };"


def body_type(operation: Part) -> str:
    """The type of what is sent; one that may be left out is `undefined` as well."""
    body = operation.get("requestBody")
    if body is None:
        return _NO_BODY
    kind = type_of(body["content"]["application/json"]["schema"], open_words=False)
    return kind if body.get("required") else f"{kind} | {_NO_BODY}"


def answer_type(operation: Part) -> str:
    """The type of the answer when it is a success."""
    kinds: dict[str, None] = {}
    for status, response in operation["responses"].items():
        content = response.get("content", {}).get("application/json")
        if status.startswith("2") and content is not None:
            kinds[type_of(content["schema"], open_words=True)] = None
    return " | ".join(kinds) or _NO_BODY


def comment(words: str | None, indent: str) -> Iterator[str]:
    """A comment that editors show; folded."""
    if not words:
        return
    lines = _folded(words.replace("*/", "* /"), WIDTH - len(indent))
    if len(lines) == 1:
        yield f"{indent}/** {lines[0]} */"
        return
    yield f"{indent}/**"
    for line in lines:
        yield f"{indent} * {line}"
    yield f"{indent} */"


def _folded(words: str, width: int) -> list[str]:
    lines = [""]
    for word in words.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


if __name__ == "__main__":
    print(text(json.loads(DOCUMENT.read_text())), end="")
