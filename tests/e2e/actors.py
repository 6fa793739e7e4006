"""Calls of every operation, door and page, made from their tables, and what they name.

A new operation, route, tool or page is in it by itself. What it names in its path or body has to
have a value in `Things`; a body that is required has to stand in `BODIES`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from agentpost.api.app import OPERATIONS
from agentpost.domain import ids
from agentpost.doors.routes import DOORS
from agentpost.web.page import Page
from agentpost.web.routes import PAGES
from tests.e2e import posting
from tests.e2e.caller import Caller, Json
from tests.e2e.server import ACCOUNT
from tests.waiting import eventually

MARK = "orchid-4711"
"""Stands in every text and name of the things, and nowhere else."""
RESPONSES = "/openai/v1/responses"
HOOK = "https://hooks.example.com/"
PARAMETER = re.compile(r"\{(\w+)(?::path)?\}")
OF_ITS_KEY = {"message_id", "question_id", "request_id", "schedule_id", "response_id"}
"""Belong to the key that made them; all else is the account's (docs/api.md, Keys and scopes)."""
ID_FIELDS = {
    ids.MESSAGE: "question_id",
    ids.ENDPOINT: "endpoint_id",
    ids.UPLOAD: "ready_upload_id",
    ids.WORK: "work_id",
    ids.SCHEDULE: "schedule_id",
}
"""What a field of a body that is such an id is filled with."""
BODIES: Mapping[str, Json] = {
    "createMessage": {"message": "hello"},
    "createUpload": {"filename": "a.csv", "size": 5},
    "createSchedule": {"message": {"message": "hello"}, "cron": "0 9 * * *"},
    "updateSchedule": {"paused": True},
    "createWebhookEndpoint": {"url": HOOK},
    "updateWebhookEndpoint": {"description": "changed"},
    "replayWebhookEvents": {"since": "2020-01-01T00:00:00Z"},
    f"POST {RESPONSES}": {"model": "agentpost", "input": "hello"},
    "POST /openai/v1/chat/completions": {
        "model": "agentpost",
        "messages": [{"role": "user", "content": "hello"}],
    },
}
_LAST = ("/delete", "/remove", "/revoke", "/end", "/sessions", "/logout")
"""How the pages end that are asked last, in this order: each takes away what others need."""
FILE = {"files": {"file": ("a.txt", b"five!")}, "data": {"purpose": "assistants"}}


@dataclass(frozen=True)
class Call:
    """A request; ``named`` are the things in it, ``is_list``: it names none and tells of many."""

    name: str
    method: str
    path: str
    named: frozenset[str] = frozenset()
    request: Mapping[str, Any] = field(default_factory=dict)
    is_list: bool = False


class Things:
    """One thing of each kind of the first account, made with its first key.

    ``values`` has their ids by the names of the parameters of paths.
    """

    def __init__(self, owner: Caller) -> None:
        self.owner = owner
        server = owner.server
        job = [["write", "report.txt", MARK], ["return", MARK]]
        sent = owner.post(
            [["start", MARK, job]],
            conversation=MARK,
            metadata={"label": MARK},
            files=[{"name": f"{MARK}.txt", "base64": "aGVsbG8="}],
        )
        message = owner.final(sent.json()["id"])
        question = owner.send([["ask", f"{MARK}?"]])["id"]
        owner.until_message(question, status="needs_input")
        endpoint = self._post("/v1/webhooks", {"url": HOOK + MARK, "description": MARK})["id"]
        spare = server.command("keys", "create", "--account", ACCOUNT, "--name", MARK)
        schedule = {"message": {"message": MARK}, "cron": "0 9 * * *"}
        upload = posting.announce(owner, f"{MARK}.csv")
        assert posting.post(upload).status_code == 204
        filed = owner.http.post("/openai/v1/files", **_with_name(f"{MARK}.txt")).json()
        self.values: dict[str, str] = {
            "message_id": message["id"],
            "question_id": question,
            "response_id": message["id"].replace(ids.MESSAGE, "resp_"),
            "work_id": message["jobs"][0]["work_id"],
            "chat_id": message["jobs"][0]["work_id"],
            "file_id": message["files"][0]["file_id"],
            "path": message["files"][0]["file_id"].partition("/")[2],
            "upload_id": upload["upload_id"],
            "ready_upload_id": posting.ready(owner, filename=f"{MARK}.csv"),
            "openai_file_id": filed["id"],
            "endpoint_id": endpoint,
            "event_id": self._post(f"/v1/webhooks/{endpoint}/test")["id"],
            "schedule_id": self._post("/v1/schedules", schedule)["id"],
            "request_id": sent.headers["Request-Id"],
            "key_id": spare["id"],
            "n": "0",
            "model": "agentpost",
            "account_id": spare["account_id"],
        }
        logged = f"/v1/requests/{self.values['request_id']}"
        eventually(lambda: owner.http.get(logged).status_code == 200)

    def _post(self, path: str, body: Json | None = None) -> Json:
        answer = self.owner.call("POST", path, json=body)
        assert answer.status_code == 201, answer.text
        made: Json = answer.json()
        return made

    def value(self, name: str, where: str) -> str:
        """The value of a parameter; fails the test that knows none."""
        if name not in self.values:
            pytest.fail(
                f"{where} names {name!r}: say in tests/e2e/actors.py (Things) which thing that is,"
                " and in OF_ITS_KEY whether it belongs to its key or to the account."
            )
        return self.values[name]

    def filled(self, path: str, where: str, **other: str) -> tuple[str, frozenset[str]]:
        """A path with values in it, and which; ``other``: parameters with another name here."""
        names = [other.get(name, name) for name in PARAMETER.findall(path)]
        values = iter([self.value(name, where) for name in names])
        path = PARAMETER.sub(lambda _: next(values), path)
        return path, frozenset(names) - {"model"}


def _with_name(name: str) -> Json:
    return {**FILE, "files": {"file": (name, b"five!")}}


def _body(name: str, is_required: bool) -> dict[str, Any]:
    if not is_required:
        return {}
    if name not in BODIES:
        pytest.fail(f"{name} needs a body: give it one in tests/e2e/actors.py (BODIES).")
    return {"json": BODIES[name]}


# --- the API --------------------------------------------------------------------------------------
def of_api(things: Things) -> Iterator[Call]:
    """Each operation, those that delete last; and for each field of its body that is an id, a call
    that names a thing there."""
    for each in sorted(OPERATIONS, key=lambda each: each.method == "DELETE"):
        path, named = things.filled(each.path, each.id)
        request = _body(each.id, each.body is not None and each.body_required)
        if each.id in BODIES:
            request = {"json": BODIES[each.id]}
        yield Call(each.id, each.method, path, named, request, each.method == "GET" and not named)
        schema = each.body.model_json_schema() if each.body is not None else {}
        for keys, prefix, is_array in id_fields(schema, schema.get("$defs", {})):
            where = f"{each.id}: {'.'.join(keys)}"
            if prefix not in ID_FIELDS:
                pytest.fail(f"{where} is an id that tests/e2e/actors.py (ID_FIELDS) does not know.")
            value = things.value(ID_FIELDS[prefix], where)
            body = json.loads(json.dumps(BODIES.get(each.id, {})))
            inner = body
            for key in keys[:-1]:
                inner = inner.setdefault(key, {})
            inner[keys[-1]] = [value] if is_array else value
            yield Call(where, each.method, path, named | {ID_FIELDS[prefix]}, {"json": body})


def id_fields(schema: Json, defs: Json) -> Iterator[tuple[tuple[str, ...], str, bool]]:
    """The fields of a body that are ids: where, of which kind, and whether there are several."""
    for name, each in schema.get("properties", {}).items():
        for form in each.get("anyOf", [each]):
            form = defs[form["$ref"].rpartition("/")[2]] if "$ref" in form else form
            is_array = form.get("type") == "array"
            pattern = (form.get("items", {}) if is_array else form).get("pattern", "")
            for prefix in vars(ids).values():
                if isinstance(prefix, str) and pattern and pattern == _pattern(prefix):
                    yield (name,), prefix, is_array
            for keys, prefix, several in id_fields(form, defs):
                yield (name, *keys), prefix, several


def _pattern(prefix: str) -> str:
    return ids.pattern(prefix) if prefix.endswith("_") else ""


# --- the doors ------------------------------------------------------------------------------------
def of_openai(things: Things) -> Iterator[Call]:
    """Each route, those that delete last, and the fields that name a response or a file."""
    values = things.values
    text = {"type": "input_text", "text": "hello"}
    part = {"type": "input_file", "file_id": values["ready_upload_id"]}
    body = {"model": "agentpost", "input": [{"role": "user", "content": [text, part]}]}
    named = frozenset({"ready_upload_id"})
    yield Call("file_id of an input", "POST", RESPONSES, named, {"json": body})
    body = {"model": "agentpost", "input": "hi", "previous_response_id": values["response_id"]}
    named = frozenset({"response_id"})
    yield Call("previous_response_id", "POST", RESPONSES, named, {"json": body})
    for method, route in sorted(DOORS["openai"].routes, key=lambda each: each[0] == "DELETE"):
        name = f"{method} {route}"
        path, named = things.filled(route, name, file_id="openai_file_id")
        is_file = name == "POST /openai/v1/files"
        request = FILE if is_file else _body(name, method == "POST" and not named)
        is_list = method == "GET" and not PARAMETER.search(route)
        yield Call(name, method, path, named, request, is_list)


def of_a2a(things: Things) -> Iterator[Call]:
    """Each method of the protocol that is about tasks; the others are refused for everybody."""
    from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher

    models: Mapping[str, Any] = JsonRpcDispatcher.METHOD_TO_MODEL
    for method, model in models.items():
        fields = set(model.DESCRIPTOR.fields_by_name)
        if "PushNotification" in method or method == "GetExtendedAgentCard":
            continue
        if "message" in fields:
            message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
            question = {**message, "taskId": things.values["question_id"]}
            yield _rpc("/a2a", method, {"message": message})
            yield _rpc("/a2a", method, {"message": question}, "question_id")
        elif "id" in fields:
            yield _rpc("/a2a", method, {"id": things.values["message_id"]}, "message_id")
        else:
            yield _rpc("/a2a", method, {}, is_list=True)


def of_mcp(things: Things) -> Iterator[Call]:
    """Each tool, and the resources."""
    from agentpost.doors.mcp.tools import TOOLS

    for tool, spec in TOOLS.items():
        renamed = {"message_id": "question_id"} if tool == "answer_question" else {}
        named, arguments = set(), {}
        for name, info in spec.model_fields.items():
            if name in ("text", "wait_seconds"):
                arguments[name] = "hello" if name == "text" else 0
            elif name.endswith("_id") or info.is_required():
                named.add(renamed.get(name, name))
                arguments[name] = things.value(renamed.get(name, name), f"the tool {tool}")
        params = {"name": tool, "arguments": arguments}
        yield _rpc("/mcp", tool, params, *named, of="tools/call", is_list=tool.startswith("list_"))
    uri = f"agentpost://files/{things.values['file_id']}"
    yield _rpc("/mcp", "resources/list", {}, is_list=True)
    yield _rpc("/mcp", "resources/read", {"uri": uri}, "file_id")


def _rpc(
    path: str, method: str, params: Json, *named: str, of: str = "", is_list: bool = False
) -> Call:
    request = {"json": {"jsonrpc": "2.0", "id": 1, "method": of or method, "params": params}}
    name = f"{path} {method}{' of a task' if 'question_id' in named and path == '/a2a' else ''}"
    return Call(name, "POST", path, frozenset(named), request, is_list)


# --- the web app ----------------------------------------------------------------------------------
def of_pages(things: Things) -> Iterator[Call]:
    """Each page that needs a session, and each form with fields that name the same things."""
    server, values = things.owner.server, things.values
    server.command("users", "create", "--account", ACCOUNT, "--email", f"{MARK}@example.com")
    (user,) = [each for each in server.command("users", "list")["data"] if MARK in each["email"]]
    oldest = server.command("sessions", "list", "--of", ACCOUNT)["data"][-1]
    values |= {"user_id": user["id"], "session_id": oldest["id"]}
    form = {
        "work": values["work_id"],
        "message": values["message_id"],
        "upload": values["ready_upload_id"],
        "key": values["key_id"],
        "role": "member",
        "to": "on",
        "text": "hello",
        "example": "99",
        "cron": "0 9 * * *",
        "since": "24h",
    }
    routes = [
        (method, each.path)
        for each in PAGES
        if isinstance(each, Page)
        for method, handler in (("GET", each.get), ("POST", each.post))
        if handler is not None
    ]
    for method, route in sorted(routes, key=lambda each: _rank(each[1])):
        name = f"{method} {route}"
        path, parameters = things.filled(route, name)
        request = {"data": form} if method == "POST" else {}
        yield Call(name, method, path, parameters, request, method == "GET" and not parameters)


def _rank(route: str) -> int:
    return next((rank for rank, end in enumerate(_LAST, 1) if route.endswith(end)), 0)
