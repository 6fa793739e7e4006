"""One request and what came back, and what checks expect of it.

A check fails by an `AssertionError`; one that could not be carried out skips, with the reason.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import pytest

from agentpost_verify.shapes import Kind, problems

Json = dict[str, Any]
SHOWN_CHARACTERS_MAX: Final = 200


class Difference(AssertionError):
    """An `assert` that brings its own words: ``expected`` by the rule, ``got`` from the
    deployment."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(f"expected {expected}, got {got}")
        self.expected = expected
        self.got = got


class Gone(Exception):
    """The deployment cannot be reached any more: the rest cannot be checked either."""


NOT_PROVED: Final = (Difference, Gone, pytest.skip.Exception)
"""The ways in which a call or a sample does not succeed."""


@dataclass(frozen=True)
class Exchange:
    """An answer read to its end. ``has_key``: the request carried the key. ``began`` is on the
    monotonic clock, ``took`` the seconds until the answer was there."""

    method: str
    path: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    began: float
    took: float
    has_key: bool

    @property
    def line(self) -> str:
        """The request for a person: the method and where it went, without what signs a link."""
        return f"{self.method} {self.path}"

    @property
    def request_id(self) -> str | None:
        """What the operator finds the request by in the server's log."""
        return self.headers.get("request-id")

    @property
    def outcome(self) -> str:
        """The status, and after it an error's code or the beginning of another body: "201",
        "404 not_found"."""
        code = self.error
        if code is None and self.status >= 300:
            code = self.body[:SHOWN_CHARACTERS_MAX].decode(errors="replace").strip()
        return f"{self.status} {code or ''}".strip()

    @property
    def error(self) -> str | None:
        """The code of the error in the body, None when there is none."""
        code = self.json.get("error") if isinstance(self.json, dict) else None
        return code if isinstance(code, str) else None

    def number(self, header: str) -> int | None:
        """A header in plain digits; None when it is missing, something else or absurdly long."""
        text = self.headers.get(header, "")
        return int(text) if re.fullmatch("[0-9]{1,18}", text) else None

    @cached_property
    def json(self) -> Any:
        """The body as JSON, or None when it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def sample(self, status: int = 200) -> Json:
        """The body of an answer that another check judges; skips when it is of no use."""
        body = self.json if isinstance(self.json, dict) and self.status == status else {}
        if any(isinstance(body.get(name), str) for name in ("id", "upload_id", "object")):
            return body
        pytest.skip(f"{self.line} answered {self.outcome}")


def expect(exchange: Exchange, *outcomes: str) -> Json:
    """The JSON object of an answer; a `Difference` unless it is one of these outcomes, such as
    "201" or "404 not_found"."""
    if exchange.outcome not in outcomes:
        raise Difference(" or ".join(outcomes), exchange.outcome)
    if not isinstance(exchange.json, dict):
        raise Difference(f"status {exchange.status} with a JSON object", exchange.outcome)
    return exchange.json


def expect_shape(exchange: Exchange, kind: Kind, status: str = "200") -> Json:
    """The resource of an answer with that status; a `Difference` for fields that are wrong."""
    body = expect(exchange, status)
    expect_fields(exchange, kind, body)
    return body


def expect_fields(exchange: Exchange, kind: Kind, value: object) -> None:
    """Raise a `Difference` that names the first fields which are not what they must be."""
    wrong = list(problems(kind, value))
    if wrong:
        raise Difference(f"the fields of the resource in {exchange.line}", "; ".join(wrong[:3]))


def expect_problem(exchange: Exchange, field: str) -> None:
    """Raise a `Difference` unless an answer is ``invalid_request`` and names that field, or one
    inside it."""
    body = expect(exchange, "400 invalid_request")
    names = [str(name) for name in problem_fields(body)]
    if not any(name == field or name.startswith(f"{field}.") for name in names):
        raise Difference(f"a problem with the field {field}", shown(body.get("problems")))


def problem_fields(error: object) -> list[str | None]:
    """The fields that the ``problems`` of an error name; None is the body as a whole."""
    return [item.get("field") for item in objects_of(error, "problems")]


def objects_of(value: object, field: str) -> list[Json]:
    """The objects in a field that ought to be a list; whatever is not an object is left out."""
    items = value.get(field) if isinstance(value, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def shown(value: object) -> str:
    """A value for a person, cut to a length that fits into a line or two."""
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARACTERS_MAX else text[:SHOWN_CHARACTERS_MAX] + "…"


def without_links(value: Any) -> Any:
    """A record without the links of its files: each reading signs them anew."""
    if isinstance(value, dict):
        link = "url" if "file_id" in value and "revision" in value else None
        return {name: without_links(item) for name, item in value.items() if name != link}
    return [without_links(item) for item in value] if isinstance(value, list) else value
