"""A client for the tests that trusts nothing: every answer is held against `/openapi.json`."""

import json
import re
import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import httpx2
from openapi_schema_validator import OAS31Validator

from tests.e2e.agents import Script
from tests.e2e.server import KEY, AgentServer

Json = dict[str, Any]
REQUEST_ID = re.compile(r"req_[0-9a-f]{32}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
TIMES = ("created_at", "updated_at", "started_at", "settled_at", "resume_by", "at")
FINAL_SECONDS = 20.0


class Contract:
    """The served description: what an answer may look like."""

    def __init__(self, document: Json) -> None:
        self.document = document
        self._validators: dict[str, OAS31Validator] = {}
        self._paths = [
            (
                re.compile(re.sub(r"\{[^}]+\}", "(.+)" if "file_id" in path else "([^/]+)", path)),
                path,
            )
            for path in document["paths"]
        ]

    def check(self, method: str, path: str, answer: httpx2.Response) -> None:
        """Fails unless a request of that kind may be answered so."""
        assert REQUEST_ID.fullmatch(answer.headers["Request-Id"])
        assert answer.status_code < 500, answer.text
        described = self._described(method, urlsplit(path).path)
        if described is None:
            if answer.status_code >= 400:
                self.check_shape("ErrorShape", answer.json())
            return
        response = described["responses"].get(str(answer.status_code))
        assert response is not None, f"{method} {path} may not answer {answer.status_code}"
        if not answer.content:
            return
        body = answer.json()
        schema = response["content"]["application/json"]["schema"]
        self.check_shape(schema["$ref"].rpartition("/")[2], body)
        if answer.status_code >= 400:
            assert body["error"] in response["description"], f"{body} is not announced"
            assert body["request_id"] == answer.headers["Request-Id"]
            assert body["docs"].endswith(f"/docs/errors#{body['error']}")
        _check_times(body)

    def check_shape(self, name: str, body: Any) -> None:
        """Fails unless ``body`` is what the component schema says."""
        if name not in self._validators:
            schema: Json = {"$ref": f"#/components/schemas/{name}"}
            schema["components"] = self.document["components"]
            self._validators[name] = OAS31Validator(schema)
        found = self._validators[name].iter_errors(body)
        errors = [f"{list(error.path)}: {error.message}" for error in found]
        assert errors == [], f"{name}: {errors}"

    def _described(self, method: str, path: str) -> Json | None:
        for pattern, template in self._paths:
            if pattern.fullmatch(path):
                found: Json | None = self.document["paths"][template].get(method.lower())
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


class Caller:
    """Calls a server with one API key; ``key`` None sends none."""

    def __init__(self, server: AgentServer, key: str | None = KEY) -> None:
        self.server = server
        headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
        limits = httpx2.Limits(max_connections=100)
        self.http = httpx2.Client(
            base_url=server.url, headers=headers, timeout=60, limits=limits, trust_env=False
        )

    def close(self) -> None:
        self.http.close()

    @cached_property
    def contract(self) -> Contract:
        """The server's own description of itself."""
        return Contract(self.http.get("/openapi.json").json())

    def call(self, method: str, path: str, **request: Any) -> httpx2.Response:
        """Any request; the answer has been held against the description."""
        answer = self.http.request(method, path, **request)
        self.contract.check(method, path, answer)
        return answer

    def refused(self, status: int, code: str, method: str, path: str, **request: Any) -> Json:
        """A request that must be refused so; the error body."""
        answer = self.call(method, path, **request)
        body: Json = answer.json()
        assert (answer.status_code, body["error"]) == (status, code), body
        return body

    # --- messages ---------------------------------------------------------------------------------
    def post(
        self, message: str | Script | None = None, key: str | None = None, **fields: Any
    ) -> httpx2.Response:
        """`POST /v1/messages`; a script is what the agent will do, ``key`` the idempotency key."""
        body = dict(fields)
        if message is not None:
            body["message"] = message if isinstance(message, str) else json.dumps(message)
        headers = {"Idempotency-Key": key} if key is not None else {}
        return self.call("POST", "/v1/messages", json=body, headers=headers)

    def send(self, message: str | Script | None = None, **fields: Any) -> Json:
        """A message that is new; its first answer."""
        answer = self.post(message, **fields)
        assert answer.status_code == 201, answer.text
        body: Json = answer.json()
        return body

    def get(self, message_id: str, wait: int = 0) -> Json:
        """The message, held up to ``wait`` seconds."""
        answer = self.call("GET", f"/v1/messages/{message_id}?wait={wait}")
        assert answer.status_code == 200, answer.text
        body: Json = answer.json()
        return body

    def final(self, message_id: str, seconds: float = FINAL_SECONDS) -> Json:
        """The message once it is final."""
        return self.until_message(message_id, seconds, final=True)

    def until_message(
        self, message_id: str, seconds: float = FINAL_SECONDS, **fields: object
    ) -> Json:
        """The message once those fields have those values."""
        deadline = time.monotonic() + seconds
        while True:
            message = self.get(message_id)
            if all(message.get(name) == value for name, value in fields.items()):
                return message
            assert time.monotonic() < deadline, f"no {fields} within {seconds} s: {message}"
            time.sleep(0.01)

    def events(self, message_id: str, cursor: str | None = None, wait: int = 0) -> Json:
        """A page of the log."""
        query = f"&cursor={cursor}" if cursor is not None else ""
        answer = self.call("GET", f"/v1/messages/{message_id}/events?wait={wait}{query}")
        assert answer.status_code == 200, answer.text
        page: Json = answer.json()
        return page

    def log(self, message_id: str) -> list[Json]:
        """The log as far as it goes now; checks that its numbers have no gaps."""
        page = self.events(message_id)
        entries: list[Json] = page["data"]
        while page["has_more"]:
            page = self.events(message_id, page["cursor"])
            entries += page["data"]
        assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
        return entries

    # --- the rest ---------------------------------------------------------------------------------
    def work(self, work_id: str, from_char: int = 0) -> Json:
        """A work with a page of its text."""
        answer = self.call("GET", f"/v1/work/{work_id}?from_char={from_char}")
        assert answer.status_code == 200, answer.text
        body: Json = answer.json()
        return body

    def credits(self) -> float:
        """What the account can still spend."""
        left: float = self.call("GET", "/v1/me").json()["credits"]
        return left


def kinds(entries: Sequence[Json]) -> list[str]:
    """The types of log entries, in order."""
    return [entry["type"] for entry in entries]
