"""Pages and parts of pages that are made from the code each time the site is built."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import staging

from agentpost.api import openapi
from agentpost.api.app import OPERATIONS
from agentpost.api.reference import Described, Field, Resource, resources
from agentpost_client import Client

ADDRESS = "https://agent.example.com"
TITLES = {"me": "Account"}
ARGUMENTS = {
    "createMessage": '"Chart revenue by month", conversation="customer-4711"',
    "createUpload": '"sales.csv", 48213',
    "createWebhookEndpoint": '"https://example.com/hooks/agentpost"',
    "getMessage": "message_id, wait=45",
    "replayWebhookEvents": 'endpoint_id, "2026-01-31T00:00:00Z"',
    "updateWebhookEndpoint": "endpoint_id, enabled=True",
}
"""What calls of the Python client are shown with; others get the names of what they require."""


def parts() -> dict[str, Callable[[], str]]:
    """What stands for `<!-- made: NAME -->` in a page."""
    return {"settings": settings}


def pages() -> dict[str, str]:
    """Pages that no document has: one for each resource of the API."""
    document = openapi.document(OPERATIONS, ADDRESS)
    calls = python_calls()
    return {
        f"reference/{resource.name}.md": reference(resource, calls)
        for resource in resources(document)
    }


def settings() -> str:
    """The settings of defaults.toml as tables, one for each of its sections."""
    text = (staging.ROOT / "packages/server/src/agentpost/defaults.toml").read_text("utf-8")
    lines: list[str] = []
    comment: list[str] = []
    for before, line in pairwise(["", *text.splitlines()]):
        if found := re.fullmatch(r"# --- (.+?) -+", line):
            lines += ["", f"### {found[1]}", "", "| Setting | Default | Meaning |"]
            lines += ["|---|---|---|"]
            comment = []
        elif line.startswith("#"):
            # Settings without a comment between them share one.
            comment = [*(comment if before.startswith("#") else []), line.strip("# ")]
        elif found := re.match(r"(\w+) *= *(.*)", line):
            name, default = found.groups()
            lines.append(f"| `{name}` | `{_default(default)}` | {_cell(' '.join(comment))} |")
    return "\n".join(lines)


def _default(value: str) -> str:
    return value.replace("_", "") if re.fullmatch(r"[\d_]+", value) else value


def _cell(text: str) -> str:
    text = re.sub(r"\b([a-z]+(?:_[a-z]+)+)\b", r"`\1`", text.replace("|", "\\|"))
    return re.sub(r"`+([^`]*)`+", r"`\1`", text)


def python_calls() -> dict[str, str]:
    """The call of the Python client for each operation that one of its methods stands for."""
    found: dict[str, str] = {}
    with Client("http://127.0.0.1", "svc_key_none") as client:
        spaces = [("client", client)]
        spaces += [(f"client.{name}", value) for name, value in sorted(vars(client).items())]
        for path, value in spaces:
            for name, method in inspect.getmembers(type(value), callable):
                operation = getattr(method, "operation", None)
                if operation is not None and "._" not in path:
                    given = ARGUMENTS.get(operation) or _required(method)
                    found.setdefault(operation, f"{path}.{name}({given})")
    return found


def _required(method: Any) -> str:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    return ", ".join(
        f"{each.name}={each.name}" if each.kind is each.KEYWORD_ONLY else each.name
        for each in parameters
        if each.default is each.empty and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    )


def reference(resource: Resource, calls: dict[str, str]) -> str:
    """The page of one resource."""
    blocks = [f"# {TITLES.get(resource.name, resource.name.capitalize())}", resource.about]
    for each in resource.operations:
        blocks += _operation(each, calls.get(each.id))
    return "\n\n".join(blocks) + "\n"


def _operation(each: Described, call: str | None) -> Iterator[str]:
    yield f"## {each.summary} {{ #{each.id} }}"
    yield f'<p class="route"><span class="{each.method}">{each.method}</span> {each.path}</p>'
    yield each.description
    if call is None:
        yield f"```bash\n{each.curl}\n```"
    else:
        yield _tab("curl", "bash", each.curl)
        yield _tab("Python", "python", f"answer = {call}")
    if each.parameters:
        yield "**Parameters**"
        yield _table(each.parameters)
    if each.body:
        yield "**Body**"
        yield _table(each.body)
    if each.example is not None:
        shown = json.dumps(each.example, indent=2, ensure_ascii=False)
        yield f'??? example "Answer: {each.status}"\n\n' + _indented(f"```json\n{shown}\n```")
        yield '??? abstract "Fields of the answer"\n\n' + _indented(_table(each.answer))
    codes = ", ".join(f"[{status} {code}](../errors.md#{code})" for code, status in each.errors)
    yield f"Errors: {codes}"


def _tab(title: str, language: str, text: str) -> str:
    return f'=== "{title}"\n\n' + _indented(f"```{language}\n{text}\n```")


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.split("\n"))


def _table(fields: tuple[Field, ...]) -> str:
    rows = ["| Name | Type | Meaning |", "|---|---|---|"]
    for field in fields:
        name = f"`{field.name}`" + (" (required)" if field.is_required else "")
        about = " ".join(field.description.split()).replace("|", "\\|")
        rows.append(f"| {name} | {field.type} | {about} |")
    return "\n".join(rows)
