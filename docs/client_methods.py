"""Makes the methods of both clients that are one request each, from the table of operations.

    python docs/client_methods.py

A method that sends files, waits, reads along or gives the items of a list is written by hand. For
every other operation it is made here, so that a new one is in both clients as soon as this has
run. What it is called follows from its path: ``POST /v1/webhooks/{endpoint_id}/test`` is
``webhooks.test``. tests/house/test_generated.py fails when a file is not up to date.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentpost.api import openapi
from agentpost.api.app import OPERATIONS
from agentpost.api.operation import Operation

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from docs.client_models import ENUMERATIONS, PLAIN, client_name, wrapped  # noqa: E402
from docs.client_sync import tidy  # noqa: E402
from docs.client_typescript import answer_type, body_type, comment  # noqa: E402

CLIENTS = ROOT / "clients"
PYTHON = CLIENTS / "python/src/agentpost_client/_async/calls.py"
TYPESCRIPT = CLIENTS / "typescript/src/calls.ts"
NAMES = {"POST": "create", "PATCH": "update", "DELETE": "delete"}
"""What a method is called whose path ends with a list or an id; a GET is ``list`` or ``get``."""
POSITIONAL = {
    "createUpload": {"content_type"},
    "createWebhookEndpoint": {"events", "description"},
    "recoverMessage": {"max_credits"},
    "rotateWebhookSecret": {"grace_seconds"},
    "testWebhookEndpoint": {"event"},
}
"""What may be left out and is not named in a call of Python; all else that may, is."""
SENT_ONCE = "When its answer is lost, it is not sent again by itself."
COLUMNS = 100
PYTHON_HEAD = f'''\
"""What is one request of the API each. Made by docs/client_methods.py from the server's table."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from agentpost_client._async.transport import AsyncTransport
from agentpost_client.enums import {", ".join(ENUMERATIONS)}
from agentpost_client.models import %s
from agentpost_client.operations import operation
from agentpost_client.requests import call, moment, texts, without_nones
'''
PYTHON_CLASS = '''

class Async%(name)s:
    """Of ``client.%(resource)s``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
%(methods)s'''
PYTHON_METHOD = '''
    @operation("%(id)s")
    async def %(name)s(%(signature)s) -> %(answer)s:
        """%(text)s"""
%(lines)s
'''
TYPESCRIPT_HEAD = """\
// What is one request of the API each. Made by docs/client_methods.py from the server's table.

import type {
%s} from "./api.js";
import type { CallOptions, Transport } from "./transport.js";
"""
TYPESCRIPT_CLASS = """
/** Of `client.%(resource)s`. */
export class %(name)s {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }
%(methods)s}
"""
TYPESCRIPT_METHOD = """
%(text)s
%(head)s: Promise<%(answer)s> {
    const call = { %(call)s };
    return this.#transport.call("%(id)s", call);
  }
"""


@dataclass(frozen=True)
class Request:
    """An operation, what the API's description says of it, and the schema of its body."""

    operation: Operation
    part: Mapping[str, Any]
    body: Mapping[str, Any]

    @property
    def ids(self) -> list[str]:
        """What the path takes."""
        return [each["name"] for each in self.part["parameters"] if each["in"] == "path"]

    @property
    def queries(self) -> dict[str, Mapping[str, Any]]:
        """What may stand behind the path."""
        return {each["name"]: each for each in self.part["parameters"] if each["in"] == "query"}

    @property
    def is_sent_once(self) -> bool:
        """Whether nothing sends it again."""
        return self.operation.method == "POST" and not self.operation.is_repeatable


def method_of(operation: Operation) -> tuple[str, str]:
    """The resource and the method: ``webhooks`` and ``rotate_secret``."""
    resource, *words = operation.path.split("/")[2:]
    if words and not words[-1].startswith("{"):
        return resource, words[-1].replace("-", "_")
    return resource, NAMES.get(operation.method, "get" if words else "list")


def files(operations: Sequence[Operation] = OPERATIONS) -> dict[Path, str]:
    """Path -> the whole file."""
    document = openapi.document(operations, "/")
    parts = {
        part["operationId"]: part
        for methods in document["paths"].values()
        for part in methods.values()
    }
    schemas = {None: {}, **document["components"]["schemas"]}
    requests = [
        Request(each, parts[each.id], schemas[each.body.__name__ if each.body else None])
        for each in operations
    ]
    return {PYTHON: _python(requests), TYPESCRIPT: _typescript(requests)}


def _rest(requests: Iterable[Request], file: Path, call: str) -> list[Request]:
    """Those that no method beside the file stands for. Raises `ValueError` for one that a method
    made here is not enough for."""
    beside = [path for path in file.parent.glob(f"*{file.suffix}") if path != file]
    ids = set(re.findall(call, "".join(path.read_text("utf-8") for path in beside)))
    rest = [each for each in requests if each.operation.id not in ids]
    for each in rest:
        if "wait" in each.queries or each.operation.headers or each.operation.labels:
            raise ValueError(f"write the method of {each.operation.id}: it is held, or has headers")
    return rest


def _classes(requests: Iterable[Request], template: str, method: Any) -> str:
    resources: dict[str, str] = defaultdict(str)
    for request in requests:
        resources[method_of(request.operation)[0]] += method(request)
    names = {each: f"{each.title().removesuffix('s')}Calls" for each in resources}
    return "".join(
        template % {"name": names[each], "resource": each, "methods": methods}
        for each, methods in resources.items()
    )


def _paragraphs(request: Request) -> list[str]:
    """What the table says of an operation; of others it says what the clients call them."""
    methods = {each.id: f"`{'.'.join(method_of(each))}`" for each in OPERATIONS}
    about = request.part["description"]
    about = re.sub(r"\b[a-z]+[A-Z]\w+", lambda word: methods.get(word[0], word[0]), about)
    once = [SENT_ONCE] if request.is_sent_once else []
    return [f"{request.operation.summary}.", about, *once]


# --- Python ---------------------------------------------------------------------------------------
def _python(requests: Sequence[Request]) -> str:
    rest = _rest(requests, PYTHON, r'@operation\("(\w+)"\)')
    answers = {client_name(each.operation.answer.__name__) for each in rest}
    head = PYTHON_HEAD % ", ".join(sorted(answers))
    return tidy(head + _classes(rest, PYTHON_CLASS, _python_method), PYTHON)


def _python_method(request: Request) -> str:
    operation = request.operation
    if "data" in operation.answer.__annotations__:
        raise ValueError(f"write the method of {operation.id} that gives the items of its list")
    answer = client_name(operation.answer.__name__)
    path = [f'"{word}"' for word in operation.path.split("/")[2:]]
    arguments = [f'"{operation.method}"', *(re.sub(r'"\{(\w+)\}"', r"\1", word) for word in path)]
    lines: list[str] = []
    if request.queries:
        query = {name: each["schema"] for name, each in request.queries.items()}
        lines.append(f"query = {_values(query)}")
        arguments.append("query=query")
    if request.body:
        fields = _values(request.body["properties"])
        optional = f"without_nones({fields}) or None"
        lines.append(f"body = {fields if operation.body_required else optional}")
        arguments.append("body=body")
    if request.is_sent_once:
        arguments.append("repeatable=False")
    lines.append(f"request = call({', '.join(arguments)})")
    lines.append(f"return await self._transport.ask(request, {answer})")
    return PYTHON_METHOD % {
        "id": operation.id,
        "name": method_of(operation)[1],
        "signature": _signature(request),
        "answer": answer,
        "text": _docstring(request),
        "lines": "\n".join(" " * 8 + line for line in lines),
    }


def _signature(request: Request) -> str:
    fields = request.body.get("properties", {})
    schemas = {**fields, **{name: each["schema"] for name, each in request.queries.items()}}
    needed = request.body.get("required", ())
    positional, named = list[str](), list[str]()
    for name, schema in sorted(schemas.items(), key=lambda item: item[0] not in needed):
        default = "" if name in needed else " | None = None"
        is_named = default and name not in POSITIONAL.get(request.operation.id, ())
        (named if is_named else positional).append(f"{name}: {_type(schema)}{default}")
    ids = [f"{name}: str" for name in request.ids]
    return ", ".join(["self", *ids, *positional, *(["*", *named] if named else [])])


def _type(schema: Mapping[str, Any]) -> str:
    """Raises `ValueError` for what is no plain value."""
    schema = next(each for each in schema.get("anyOf", [schema]) if each.get("type") != "null")
    if schema.get("type") == "array":
        return f"Iterable[{_type(schema['items'])}]"
    words = set(schema.get("enum", ()))
    for name, known in ENUMERATIONS.items():
        if words and words <= set(known):
            return f"{name} | str"
    if schema.get("type") not in PLAIN:
        raise ValueError(f"write the method that is given {schema.get('$ref', 'an object')}")
    return "datetime | str" if schema.get("format") == "date-time" else PLAIN[schema["type"]]


def _values(schemas: Mapping[str, Mapping[str, Any]]) -> str:
    """The dict of what is sent."""
    by = {"Iterable": "texts({0})", "datetime": "moment({0})"}
    kinds = {name: re.split(r"\W", _type(each))[0] for name, each in schemas.items()}
    pairs = [f'"{name}": {by.get(kind, "{0}").format(name)}' for name, kind in kinds.items()]
    return f"{{{', '.join(pairs)}}}"


def _docstring(request: Request) -> str:
    paragraphs = [wrapped(each, 8) for each in _paragraphs(request)]
    about = {**request.queries, **request.body.get("properties", {})}
    lines = [wrapped(f"{name}: {each['description']}", 16) for name, each in about.items()]
    if lines:
        paragraphs.append("\n            ".join(["Args:", *lines]))
    return "\n\n        ".join(paragraphs).replace("`", "``") + "\n        "


# --- TypeScript -----------------------------------------------------------------------------------
def _typescript(requests: Sequence[Request]) -> str:
    rest = _rest(requests, TYPESCRIPT, r'transport\.(?:call|open)\("(\w+)"')
    kinds = " ".join(f"{body_type(each.part)} {answer_type(each.part)}" for each in rest)
    types = {*re.findall(r"\w+", kinds), "Operations"} - {"undefined"}
    head = TYPESCRIPT_HEAD % "".join(f"  {name},\n" for name in sorted(types))
    return head + _classes(rest, TYPESCRIPT_CLASS, _typescript_method)


def _typescript_method(request: Request) -> str:
    operation, answer = request.operation, answer_type(request.part)
    parameters = [f"{_camel(name)}: string" for name in request.ids]
    path = ", ".join(f"{name}: {_camel(name)}" for name in request.ids)
    call = [f"path: {{ {path} }}"] if path else []
    if operation.body is not None:
        kind, _, is_optional = body_type(request.part).partition(" | ")
        parameters.append(f"body{'?' if is_optional else ''}: {kind}")
        call.append("body")
    if request.queries:
        parameters.append(f'query: Operations["{operation.id}"]["query"] = {{}}')
        call.append("query")
    if operation.is_repeatable:
        call.append("repeatable: true")
    parameters.append("options: CallOptions = {}")
    name = _camel(method_of(operation)[1])
    head = f"  {name}({', '.join(parameters)})"
    if len(f"{head}: Promise<{answer}> {{") > COLUMNS:
        lines = "".join(f"    {each},\n" for each in parameters)
        head = f"  {name}(\n{lines}  )"
    return TYPESCRIPT_METHOD % {
        "id": operation.id,
        "text": "\n".join(comment(" ".join(_paragraphs(request)), "  ")),
        "head": head,
        "answer": answer,
        "call": ", ".join([*call, "...options"]),
    }


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, "utf-8")
