"""The OpenAPI description as a person reads it: resources, their operations, fields and examples.

The server's page `/docs` and the documentation's pages of the API are made from this.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

_DEPTH_MAX = 3
"""How deep fields of fields are listed."""
_IDS = {
    "message_id": "msg_0660c545b410f5f5761497037f1afa21",
    "upload_id": "up_0660c545b9f2a7d0c1e3f5a7b9d1c3e5",
    "work_id": "chat_0660c545c1f09b6a2c33d1e5f7a84c10",
    "file_id": "chat_0660c545c1f09b6a2c33d1e5f7a84c10/revenue.png",
    "endpoint_id": "whe_0660c545d0a17c1d8e7f6a5b4c3d2e1f",
    "event_id": "evt_0660c545d1b2c3d4e5f60718293a4b5c",
    "schedule_id": "sch_0660c545d2c3d4e5f60718293a4b5c6d",
    "job_id": "exe_0660c545c1f0a7cb0d1a4f5be8d2a9b3",
}
_VALUES: Mapping[str, Any] = {
    **_IDS,
    "AccountShape.name": "Team",
    "AgentShape.name": "offline",
    "DeliveryShape.id": _IDS["event_id"],
    "DeletedEndpointShape.id": _IDS["endpoint_id"],
    "DeliveryShape.status": "delivered",
    "EndpointShape.id": _IDS["endpoint_id"],
    "EndpointWithDeliveriesShape.id": _IDS["endpoint_id"],
    "KeyShape.id": "key_0660c537d4bf4d312f1da7cd7b1f7409",
    "KeyShape.name": "production",
    "LoggedDeliveryShape.id": _IDS["event_id"],
    "LoggedDeliveryShape.status": "delivered",
    "NewEndpointShape.id": _IDS["endpoint_id"],
    "RecoveryShape.id": _IDS["message_id"],
    "RotatedSecretShape.id": _IDS["endpoint_id"],
    "base64": "bW9udGgscmV2ZW51ZQpKYW4sMTIwCg==",
    "content_type": "text/csv",
    "conversation": "customer-4711",
    "credits": 996,
    "cron": "0 9 * * 1",
    "delivered_at": "2026-01-31T09:30:00Z",
    "deliveries": 3,
    "description": "Orders",
    "email": "team@example.com",
    "event": "message.completed",
    "events": ["message.completed"],
    "field": "files.0.url",
    "filename": "sales.csv",
    "has_more": False,
    "last_ms": 84,
    "last_status_code": 204,
    "link": "https://agent.example.com/chat/chat_0660c545c1f09b6a2c33d1e5f7a84c10",
    "message": "Chart revenue by month",
    "ScheduleIn.message": {"message": "Chart last week's revenue by day"},
    "ScheduleShape.message": {"message": "Chart last week's revenue by day"},
    "ms": 84,
    "name": "sales.csv",
    "preview": "Revenue by month, as a bar chart.",
    "requests_per_minute": 600,
    "running_jobs": 5,
    "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "size": 48213,
    "status_code": 204,
    "text": "Revenue by month, as a bar chart.",
    "timezone": "Europe/Berlin",
    "title": "Chart revenue by month",
    "url": "https://example.com/hooks/agentpost",
    "user_id": "acc_0660c537d4be5347be0d7fa7add821ba",
    "webhook_endpoint_id": _IDS["endpoint_id"],
}
"""What fields without an example of their own show: by their name, or by shape and name."""
_AT = "2026-01-31T09:30:00Z"
_CHOSEN = {
    "MessageIn": {"message": "Chart revenue by month", "conversation": "customer-4711"},
    "UploadIn": {"filename": "sales.csv", "size": 48213},
    "EndpointChangeIn": {"enabled": True},
    "ScheduleChangeIn": {"paused": True},
    "ReplayIn": {"since": "2026-01-31T00:00:00Z", "status": ["failed", "dropped"]},
    "RotateIn": {"grace_seconds": 3600},
}
"""Bodies whose required fields alone would show too little."""


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a field of a body or answer; ``name`` has the path to it."""

    name: str
    type: str
    is_required: bool
    description: str


@dataclass(frozen=True, slots=True)
class Described:
    """One operation. ``errors`` are (code, status); ``example`` is None without a body."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    parameters: tuple[Field, ...]
    body: tuple[Field, ...]
    body_example: Any
    answer: tuple[Field, ...]
    status: str
    example: Any
    errors: tuple[tuple[str, str], ...]

    @property
    def curl(self) -> str:
        """The call as a command, for `$AGENTPOST_URL` and `$AGENTPOST_KEY`."""
        lines = [f'curl -s "$AGENTPOST_URL{self.filled_path}"']
        if self.method == "POST" and self.body_example is None:
            lines[0] = lines[0].replace("curl -s", "curl -s -X POST")
        elif self.method not in ("GET", "POST"):
            lines[0] = lines[0].replace("curl -s", f"curl -s -X {self.method}")
        lines.append('  -H "Authorization: Bearer $AGENTPOST_KEY"')
        if self.body_example is not None:
            body = json.dumps(self.body_example, ensure_ascii=False).replace("'", "'\\''")
            lines.append(f"  -d '{body}'")
        return " \\\n".join(lines)

    @property
    def filled_path(self) -> str:
        """The path with ids in it."""
        return re.sub(r"{(\w+)}", lambda match: _IDS.get(match[1], f"{match[1]}_…"), self.path)


@dataclass(frozen=True, slots=True)
class Resource:
    """The operations below one path."""

    name: str
    about: str
    operations: tuple[Described, ...]


def resources(document: Json) -> list[Resource]:
    """Everything the description has, in its order of resources."""
    by_tag: dict[str, list[Described]] = {tag["name"]: [] for tag in document["tags"]}
    reader = _Reader(document)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            entry = reader.operation(method.upper(), path, operation)
            by_tag[operation["tags"][0]].append(entry)
    about = {tag["name"]: tag["description"] for tag in document["tags"]}
    return [Resource(name, about[name], tuple(each)) for name, each in by_tag.items() if each]


class _Reader:
    def __init__(self, document: Json) -> None:
        self._document = document
        answers = document["paths"]["/v1/messages/{message_id}"]["get"]["responses"]
        message: Json = next(iter(self._content(answers["200"])["examples"].values()))["value"]
        self._known = {
            "MessageShape": message,
            "JobShape": message["jobs"][0],
            "FileShape": message["files"][0],
            "FileObject": {**message["files"][0], "object": "file"},
        }

    def operation(self, method: str, path: str, operation: Json) -> Described:
        """One operation with everything it refers to."""
        status = next(iter(sorted(operation["responses"])))
        answer = self._content(operation["responses"][status])
        body = self._content(operation.get("requestBody", {}))
        return Described(
            id=operation["operationId"],
            method=method,
            path=path,
            summary=operation["summary"],
            description=operation["description"],
            parameters=tuple(map(self._parameter, operation["parameters"])),
            body=tuple(self._fields(body.get("schema", {}))),
            # {} is a body that may be left out
            body_example=(self._example(body["schema"], is_request=True) or None) if body else None,
            answer=tuple(self._fields(answer.get("schema", {}))),
            status=status,
            example=self._show(answer),
            errors=tuple(self._errors(operation["responses"])),
        )

    def _content(self, part: Json) -> Json:
        kinds: Json = part.get("content", {})
        content: Json = kinds.get("application/json", {})
        return content

    def _show(self, content: Json) -> Any:
        for example in content.get("examples", {}).values():
            return example["value"]
        return self._example(content["schema"]) if "schema" in content else None

    def _resolve(self, part: Json) -> Json:
        target = part
        while "$ref" in target:
            _, *names = target["$ref"].split("/")
            target = self._document
            for name in names:
                target = target[name]
        return target

    def _parameter(self, part: Json) -> Field:
        part = self._resolve(part)
        kind = self._type(part.get("schema", {}))
        place = "" if part["in"] == "path" else f" ({part['in']})"
        return Field(part["name"], kind + place, part.get("required", False), part["description"])

    def _errors(self, responses: Json) -> Iterator[tuple[str, str]]:
        for status, response in sorted(responses.items()):
            if status < "400":
                continue
            if "$ref" in response:
                yield response["$ref"].rpartition("/")[2], status
            else:
                for code in self._content(response).get("examples", {}):
                    yield code, status

    def _fields(self, schema: Json, path: str = "", depth: int = 1) -> Iterator[Field]:
        schema = self._plain(schema)
        for name, part in schema.get("properties", {}).items():
            is_required = name in schema.get("required", ())
            inner, ending = self._plain(part), ""
            if inner.get("type") == "array":
                inner, ending = self._plain(inner.get("items", {})), "[]"
            about = part.get("description") or inner.get("description", "")
            yield Field(f"{path}{name}", self._type(part), is_required, about)
            if "properties" in inner and depth < _DEPTH_MAX:
                yield from self._fields(inner, f"{path}{name}{ending}.", depth + 1)

    def _plain(self, schema: Json) -> Json:
        """Without the reference, and without the alternative null."""
        schema = self._resolve(schema)
        others = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
        if not others:
            return schema
        own = {name: value for name, value in schema.items() if name != "anyOf"}
        return self._plain({**others[0], **own})

    def _type(self, schema: Json) -> str:
        plain = self._plain(schema)
        if "const" in plain:
            text = f"`{plain['const']}`"
        elif "enum" in plain:
            text = ", ".join(f"`{each}`" for each in plain["enum"])
        elif plain.get("type") == "array":
            text = f"list of {self._type(plain.get('items', {}))}"
        elif plain.get("format") == "date-time":
            text = "time"
        else:
            kind = plain.get("type", "any")
            text = str(kind if isinstance(kind, str) else " or ".join(kind))
        return f"{text} or null" if self._is_nullable(schema) else text

    def _is_nullable(self, schema: Json) -> bool:
        whole = self._resolve(schema)
        return any(each.get("type") == "null" for each in whole.get("anyOf", ()))

    def _example(self, schema: Json, name: str = "", *, is_request: bool = False) -> Any:
        shape = schema.get("$ref", "").rpartition("/")[2]
        example = (_CHOSEN if is_request else self._known).get(shape)
        if example is not None:
            return example
        plain = self._plain(schema)
        for key in ("const", "default" if is_request else "const"):
            if plain.get(key) is not None:
                return plain[key]
        if plain.get("examples"):
            return plain["examples"][0]
        if not is_request and self._is_nullable(schema) and _by_name(name) is None:
            return None
        if "enum" in plain:
            return _VALUES.get(name, plain["enum"][0])
        if "properties" in plain:
            names = plain.get("required", ()) if is_request else plain["properties"]
            shape = plain.get("title", "")
            return {
                each: self._example(part, f"{shape}.{each}", is_request=is_request)
                for each, part in plain["properties"].items()
                if each in names
            }
        return self._value(plain, name, is_request=is_request)

    def _value(self, plain: Json, name: str, *, is_request: bool) -> Any:
        if _by_name(name) is not None:
            return _by_name(name)
        match plain.get("type"):
            case "array":
                return [self._example(plain.get("items", {}), name, is_request=is_request)]
            case "boolean":
                return True
            case "integer" | "number":
                return plain.get("minimum", 1)
            case "object":
                return {}
            case _:
                return _AT if plain.get("format") == "date-time" else "…"


def _by_name(name: str) -> Any:
    return _VALUES.get(name, _VALUES.get(name.rpartition(".")[2]))
