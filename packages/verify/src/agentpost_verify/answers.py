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

from agentpost_verify.shapes import Shape, problems

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

    def expect(
        self, *outcomes: str, shape: Shape | None = None, problem: str | None = None
    ) -> Json:
        """The JSON object of this answer. A `Difference` unless it is one of these outcomes, such
        as "201" or "404 not_found", with the fields of that shape, and unless it names that field,
        or one inside it, as a problem."""
        if self.outcome not in outcomes:
            raise Difference(" or ".join(outcomes), self.outcome)
        if not isinstance(self.json, dict):
            raise Difference(f"status {self.status} with a JSON object", self.outcome)
        if shape is not None:
            expect_fields(shape, self.json)
        names = map(str, problem_fields(self.json))
        if problem and not any(f"{name}.".startswith(f"{problem}.") for name in names):
            raise Difference(f"a problem with {problem}", shown(self.json.get("problems")))
        return self.json

    def expect_refusal(self, request: str) -> None:
        """Raise a `Difference` unless the status is 4xx, whatever a storage answers."""
        if self.status not in range(400, 500):
            raise Difference(f"{request} to be refused (4xx)", self.outcome)


def expect_fields(shape: Shape, value: object) -> None:
    """Raise a `Difference` that names the first fields which are not what they must be."""
    wrong = list(problems(shape, value))
    if wrong:
        raise Difference("the fields of the resource", "; ".join(wrong[:3]))


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
