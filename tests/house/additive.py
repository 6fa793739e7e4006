"""What in a new OpenAPI description could break a client of an older one (spec: Versioning 2).

The contract may only grow. A request that was right stays right and means the same; an answer has
all it had, in the types it had. New operations, new optional parts of requests, new fields, headers
and enum values of answers and new error statuses pass: clients ignore what they do not know.

What the description cannot say is not judged: texts, examples, tags and links may change freely.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

Part = Mapping[str, Any]
METHODS = ("get", "put", "post", "patch", "delete", "head", "options")
UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
TEXTS = {"title", "description", "examples", "example", "deprecated", "$comment"}
JUDGED = {
    *("type", "enum", "const", "anyOf", "oneOf", "default", "properties", "required", "items"),
    *("additionalProperties", "propertyNames"),
}

DESCRIBED_SINCE = {
    r"path \w+_id: pattern None does not fit '\^\w+_\[0-9a-f\]\{32\}\$'": (
        "an id of another form names nothing: it was a 404, and is"
    ),
    r"query before: pattern None does not fit '\^\w+_\[0-9a-f\]\{32\}\$'": (
        "no page followed anything else: it was empty, or the first one again"
    ),
    r"body\.webhook_endpoint_id: pattern None does not fit .*": (
        "an id of another form is the id of no endpoint: it was a 404, and is"
    ),
    r"body\.message: maxLength None does not fit 20000": "a longer one was `too_long`, and is",
    r"body\.upload_ids: array does not fit null": (
        "more than 10 were `too_many`, and are; what is no id of an upload was `upload_not_ready`"
    ),
    r"200: deleted: only True": "it is true, and was; only the description lost the constant",
}
"""What the last release did without its description saying so: patterns of the lines of `breaking`
without their first words, and why each breaks nobody. A release empties it."""


def breaking(old: Part, new: Part) -> list[str]:
    """One line for each change that could break a client, empty when there is none."""
    comparison = _Comparison(old, new)
    return [*comparison.operations(), *comparison.webhooks()]


def described_since(line: str) -> str | None:
    """Why a line of `breaking` breaks nobody: only the description changed; None when it does."""
    change = line.partition(": ")[2]
    return next((why for p, why in DESCRIBED_SINCE.items() if re.fullmatch(p, change)), None)


class _Comparison:
    def __init__(self, old: Part, new: Part) -> None:
        self._old = old
        self._new = new
        self._open: set[tuple[str, str, bool]] = set()

    def operations(self) -> Iterator[str]:
        for path, methods in self._old["paths"].items():
            for method in METHODS:
                if method not in methods:
                    continue
                name = f"{method.upper()} {path}"
                now = self._new["paths"].get(path, {}).get(method)
                if now is None:
                    yield f"{name}: removed"
                else:
                    for line in self._operation(methods[method], now):
                        yield f"{name}: {line}"

    def webhooks(self) -> Iterator[str]:
        """Events are requests of ours: for a client they are what answers are."""
        for name, event in self._old.get("webhooks", {}).items():
            now = self._new.get("webhooks", {}).get(name, {}).get("post")
            if now is None:
                yield f"webhook {name}: removed"
                continue
            before = event["post"]
            headers, kept = _by_place(before["parameters"]), _by_place(now["parameters"])
            for place in headers.keys() - kept.keys():
                yield f"webhook {name}: {place}: removed"
            for kind, content in before["requestBody"]["content"].items():
                given = now["requestBody"]["content"].get(kind)
                if given is None:
                    yield f"webhook {name}: {kind} removed"
                else:
                    for line in self._gives(content["schema"], given["schema"], ""):
                        yield f"webhook {name}: {line}"

    def _operation(self, old: Part, new: Part) -> Iterator[str]:
        if old["operationId"] != new["operationId"]:
            yield f"operationId {old['operationId']} -> {new['operationId']}"
        if self._security(self._old, old) != self._security(self._new, new):
            yield "another security"
        yield from self._parameters(old.get("parameters", []), new.get("parameters", []))
        yield from self._body(old.get("requestBody"), new.get("requestBody"))
        yield from self._responses(old["responses"], new["responses"])

    @staticmethod
    def _security(document: Part, operation: Part) -> list[Any]:
        """What a request has to carry, without the texts."""
        schemes = document["components"].get("securitySchemes", {})
        asked = operation.get("security", document.get("security", []))
        return [
            [({k: v for k, v in schemes[n].items() if k not in TEXTS}, s) for n, s in one.items()]
            for one in asked
        ]

    # --- requests ---------------------------------------------------------------------------------
    def _parameters(self, old: list[Part], new: list[Part]) -> Iterator[str]:
        before, now = _by_place(old), _by_place(new)
        for place, parameter in before.items():
            if place not in now:
                yield f"{place}: removed"
                continue
            if now[place].get("required") and not parameter.get("required"):
                yield f"{place}: is required now"
            yield from self._accepts(parameter["schema"], now[place]["schema"], place)
        for place in now.keys() - before.keys():
            if now[place].get("required"):
                yield f"{place}: a new required parameter"

    def _body(self, old: Part | None, new: Part | None) -> Iterator[str]:
        if old is None:
            if new is not None and new.get("required"):
                yield "body: is required now"
            return
        if new is None:
            yield "body: removed"
            return
        if new.get("required") and not old.get("required"):
            yield "body: is required now"
        for kind, content in old["content"].items():
            if kind not in new["content"]:
                yield f"body: {kind} removed"
            else:
                yield from self._accepts(content["schema"], new["content"][kind]["schema"], "body")

    # --- answers ----------------------------------------------------------------------------------
    def _responses(self, old: Part, new: Part) -> Iterator[str]:
        for status, response in old.items():
            if status not in new:
                yield f"{status}: removed"
                continue
            before, now = self._resolve(response, self._old), self._resolve(new[status], self._new)
            for line in self._response(before, now):
                yield f"{status}: {line}"
        for status in new.keys() - old.keys():
            if not status.startswith(("4", "5")):
                yield f"{status}: a new way to succeed"
        before_codes, now_codes = self._codes(old, self._old), self._codes(new, self._new)
        for code in before_codes.keys() & now_codes.keys():
            if before_codes[code] != now_codes[code]:
                yield f"{code}: {before_codes[code]} -> {now_codes[code]}"

    def _response(self, old: Part, new: Part) -> Iterator[str]:
        for name, header in old.get("headers", {}).items():
            if name not in new.get("headers", {}):
                yield f"header {name}: removed"
                continue
            before = self._resolve(header, self._old)
            now = self._resolve(new["headers"][name], self._new)
            if before.get("required") and not now.get("required"):
                yield f"header {name}: may be missing now"
            yield from self._gives(before["schema"], now["schema"], f"header {name}")
        for kind, content in old.get("content", {}).items():
            if kind not in new.get("content", {}):
                yield f"{kind} removed"
            else:
                yield from self._gives(content["schema"], new["content"][kind]["schema"], "")

    def _codes(self, responses: Part, document: Part) -> dict[str, str]:
        """The status of each error code, by the names of the examples."""
        return {
            code: status
            for status, response in responses.items()
            if status.startswith(("4", "5"))
            for content in self._resolve(response, document).get("content", {}).values()
            for code in content.get("examples", {})
        }

    # --- schemas ----------------------------------------------------------------------------------
    def _accepts(self, old: Part, new: Part, where: str) -> Iterator[str]:
        """A request: whatever the old schema allows, the new one allows."""
        yield from self._within(old, new, where, is_request=True)

    def _gives(self, old: Part, new: Part, where: str) -> Iterator[str]:
        """An answer: whatever the new schema allows, a client of the old one can read."""
        yield from self._within(new, old, where, is_request=False)

    def _within(self, inner: Part, outer: Part, where: str, *, is_request: bool) -> Iterator[str]:
        """Where ``inner`` allows what ``outer`` does not; the old one is ``inner`` in requests."""
        key = (str(inner.get("$ref")), str(outer.get("$ref")), is_request)
        if "$ref" in inner and "$ref" in outer:
            if key in self._open:
                return
            self._open.add(key)
        inner_home, outer_home = (self._old, self._new) if is_request else (self._new, self._old)
        choices = list(self._choices(outer, outer_home))
        for one in self._choices(inner, inner_home):
            found = [list(self._one(one, other, where, is_request)) for other in choices]
            yield from min(found, key=len)
        self._open.discard(key)
        if is_request and inner.get("default") != outer.get("default"):
            yield f"{where}: default {inner.get('default')!r} -> {outer.get('default')!r}"

    def _choices(self, schema: Part, document: Part) -> Iterator[Part]:
        """The schema without references and unions: each way to be valid, of one type each."""
        schema = self._resolve(schema, document)
        for union in ("anyOf", "oneOf"):
            if union in schema:
                for each in schema[union]:
                    yield from self._choices(each, document)
                return
        if isinstance(schema.get("type"), list):
            for kind in schema["type"]:
                yield {**schema, "type": kind}
            return
        yield schema

    def _one(self, inner: Part, outer: Part, where: str, is_request: bool) -> Iterator[str]:
        kinds = inner.get("type"), outer.get("type")
        if kinds[1] is not None and kinds[0] != kinds[1] and kinds != ("integer", "number"):
            yield f"{where}: {kinds[0]} does not fit {kinds[1]}"
            return
        yield from _values(inner, outer, where, is_request)
        yield from _limits(inner, outer, where)
        yield from self._fields(inner, outer, where, is_request)
        for name in ("items", "additionalProperties", "propertyNames"):
            if isinstance(outer.get(name), Mapping):
                inside = inner.get(name)
                yield from self._within(
                    inside if isinstance(inside, Mapping) else {},
                    outer[name],
                    f"{where}[{name}]",
                    is_request=is_request,
                )
        closed = is_request and outer.get("additionalProperties") is False
        if closed and inner.get("additionalProperties") is not False:
            yield f"{where}: takes no other fields"

    def _fields(self, inner: Part, outer: Part, where: str, is_request: bool) -> Iterator[str]:
        old, new = (inner, outer) if is_request else (outer, inner)
        for name, schema in old.get("properties", {}).items():
            at = f"{where}.{name}".removeprefix(".")
            now = new.get("properties", {}).get(name)
            if now is None:
                yield f"{at}: removed"
            elif is_request:
                yield from self._accepts(schema, now, at)
            else:
                yield from self._gives(schema, now, at)
        for name in set(outer.get("required", [])) - set(inner.get("required", [])):
            said = "is required now" if is_request else "may be missing now"
            yield f"{where}.{name}: {said}".removeprefix(".")

    @staticmethod
    def _resolve(part: Part, document: Part) -> Part:
        while "$ref" in part:
            found: Any = document
            for name in part["$ref"].removeprefix("#/").split("/"):
                found = found[name]
            part = found
        return part


def _by_place(parameters: list[Part]) -> dict[str, Part]:
    """Parameters by where they stand; the names of headers are the same in any case."""
    return {
        f"{p['in']} {p['name'].lower() if p['in'] == 'header' else p['name']}": p
        for p in parameters
    }


def _values(inner: Part, outer: Part, where: str, is_request: bool) -> Iterator[str]:
    """Enumerations. Answers may get new values, unless there was one value only: that is a mark."""
    allowed, given = _enum(outer), _enum(inner)
    if allowed is None or (not is_request and len(allowed) > 1):
        return
    if given is None:
        yield f"{where}: only {', '.join(map(repr, allowed))}"
    else:
        for value in given:
            if value not in allowed:
                yield f"{where}: {value!r} is not among the values"


def _enum(schema: Part) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    found: list[Any] | None = schema.get("enum")
    return found


def _limits(inner: Part, outer: Part, where: str) -> Iterator[str]:
    """Numbers that bound what is allowed; any other keyword has to be the same."""
    for name, limit in outer.items():
        if name in UPPER or name in LOWER:
            given = inner.get(name)
            if given is None or (given > limit if name in UPPER else given < limit):
                yield f"{where}: {name} {given} does not fit {limit}"
        elif name not in JUDGED | TEXTS and inner.get(name) != limit:
            yield f"{where}: {name} {inner.get(name)!r} does not fit {limit!r}"
