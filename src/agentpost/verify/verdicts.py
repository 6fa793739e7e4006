"""How a check ends when it does not end well, and the words to say so.

NotProved
├── Difference      the deployment breaks the rule
└── NotChecked      the check could not be carried out
    └── Gone        nothing answers any more: the rest cannot be carried out either
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, Never

from agentpost.verify.exchange import Exchange

Json = dict[str, Any]
SHOWN_CHARACTERS_MAX = 200


class NotProved(Exception):
    """Base of the two ways in which a check does not succeed."""


class NotChecked(NotProved):
    """Why a check could not be carried out, as half a sentence for a person."""


class Gone(NotChecked):
    """The deployment cannot be reached any more."""


class Difference(NotProved):
    """``expected`` by the rule, ``got`` from the deployment; ``exchange``: in answer to what."""

    def __init__(self, expected: str, got: str, exchange: Exchange | None = None) -> None:
        super().__init__(f"expected {expected}, got {got}")
        self.expected = expected
        self.got = got
        self.exchange = exchange


def differs(exchange: Exchange | None, expected: str, got: object) -> Never:
    """Raise the `Difference`; texts are shown as they are, other values as JSON, both cut."""
    raise Difference(expected, shown(got), exchange)


def shown(value: object) -> str:
    """A value for a person, cut to a length that fits into a line or two."""
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARACTERS_MAX else text[:SHOWN_CHARACTERS_MAX] + "…"


def require(exchange: Exchange | None, holds: bool, expected: str, got: object) -> None:
    """Raise a `Difference` unless it holds."""
    if not holds:
        differs(exchange, expected, got)


def expect_status(exchange: Exchange, *statuses: int) -> Json:
    """The JSON object of an answer with one of these statuses; anything else is a difference."""
    wanted = " or ".join(map(str, statuses))
    require(exchange, exchange.status in statuses, f"status {wanted}", summary(exchange))
    body = exchange.json()
    if not isinstance(body, dict):
        differs(exchange, f"status {wanted} with a JSON object", summary(exchange))
    return body


def refused(exchange: Exchange, status: int, *codes: str) -> Json:
    """The error body of a refusal with that status and one of these codes."""
    wanted = f"{status} {' or '.join(codes)}"
    body = exchange.json()
    if not isinstance(body, dict) or exchange.status != status or body.get("error") not in codes:
        differs(exchange, wanted, summary(exchange))
    return body


def names_field(exchange: Exchange, field: str) -> None:
    """The refusal is ``invalid_request``, and a problem names that field or one inside it."""
    problems = refused(exchange, 400, "invalid_request").get("problems")
    named = fields_of(problems)
    inside = any(name == field or (name or "").startswith(f"{field}.") for name in named)
    require(exchange, inside, f"a problem with the field {field}", problems)


def fields_of(problems: object) -> Collection[str | None]:
    """The fields that the ``problems`` of an error name."""
    items = problems if isinstance(problems, list) else []
    return [item.get("field") for item in items if isinstance(item, dict)]


def summary(exchange: Exchange) -> str:
    """An answer in a few words: its status, and its code or the beginning of its body."""
    body = exchange.json()
    if isinstance(body, dict) and isinstance(body.get("error"), str):
        return f"{exchange.status} {body['error']}"
    text = exchange.body[:SHOWN_CHARACTERS_MAX].decode(errors="replace").strip()
    return f"{exchange.status} {text}".strip() if exchange.status >= 300 else str(exchange.status)
