"""The served description, held against what the server really answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import httpx2

if TYPE_CHECKING:
    from openapi_schema_validator import OAS31Validator

Part = dict[str, Any]
"""Of the description."""
REQUEST_ID = re.compile(r"req_[0-9a-f]{32}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
TIMES = {
    *("at", "created_at", "updated_at", "started_at", "settled_at", "resume_by", "expires_at"),
    *("disabled_at", "failing_since", "delivered_at", "next_attempt_at", "old_secret_until"),
}


class Contract:
    """What an answer may look like: status, headers, body."""

    def __init__(self, document: Part) -> None:
        self.document = document
        self._validators: dict[str, OAS31Validator] = {}
        self._paths = [
            (
                re.compile(re.sub(r"\{[^}]+\}", "(.+)" if "file_id" in path else "([^/]+)", path)),
                path,
            )
            for path in document["paths"]
        ]

    def check(self, answer: httpx2.Response) -> None:
        """Fails unless its request may be answered so."""
        assert REQUEST_ID.fullmatch(answer.headers["Request-Id"])
        operation = self.operation(answer.request)
        if operation is None:
            if answer.status_code >= 400:
                self.check_shape("ErrorShape", answer.json())
            return
        response = self.resolved(operation["responses"].get(str(answer.status_code)))
        asked = f"{answer.request.method} {answer.request.url}"
        assert response is not None, f"{asked} may not answer {answer.status_code}"
        self._check_headers(response.get("headers", {}), answer)
        if "content" not in response:
            assert answer.content == b"", f"{asked} has no body with {answer.status_code}"
            return
        media = answer.headers["Content-Type"].partition(";")[0]
        schema = response["content"][media]["schema"]
        if media == "text/event-stream":
            return
        body = answer.json()
        self.check_shape(schema["$ref"].rpartition("/")[2], body)
        if answer.status_code >= 400:
            assert f"`{body['error']}`" in response["description"], f"{body} is not announced"
            assert body["request_id"] == answer.headers["Request-Id"]
            assert body["docs"].endswith(f"/docs/errors#{body['error']}")
        _check_times(body)

    def _check_headers(self, reported: Part, answer: httpx2.Response) -> None:
        """What is told is there, and nothing of the API's own that is not told."""
        for name in self.document["components"]["headers"]:
            header = self.resolved(reported.get(name))
            value = answer.headers.get(name)
            if header is None:
                assert value is None, f"{name} is not told of {answer.status_code}"
            elif value is None:
                assert not header["required"], f"{name} is missing from {answer.status_code}"
            elif header["schema"]["type"] == "integer":
                assert re.fullmatch("[0-9]+", value), f"{name}: {value}"

    def resolved(self, part: Part | None) -> Part | None:
        """What a part of the description refers to, or itself."""
        if part is None or "$ref" not in part:
            return part
        found: Any = self.document
        for name in part["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        return dict(found)

    def check_shape(self, name: str, body: Any) -> None:
        """Fails unless ``body`` is what the component schema says."""
        from openapi_schema_validator import OAS31Validator

        if name not in self._validators:
            schema: Part = {"$ref": f"#/components/schemas/{name}"}
            schema["components"] = self.document["components"]
            self._validators[name] = OAS31Validator(schema)
        found = self._validators[name].iter_errors(body)
        errors = [f"{list(error.path)}: {error.message}" for error in found]
        assert errors == [], f"{name}: {errors}"

    def operation(self, request: httpx2.Request) -> Part | None:
        """The described operation the request asks for."""
        for pattern, template in self._paths:
            if pattern.fullmatch(request.url.path):
                found: Part | None = self.document["paths"][template].get(request.method.lower())
                return found
        return None


def _check_times(value: Any) -> None:
    if isinstance(value, dict):
        for name, item in value.items():
            if name in TIMES and item is not None:
                assert TIME.fullmatch(item), f"{name}: {item}"
            _check_times(item)
    elif isinstance(value, list):
        for item in value:
            _check_times(item)
