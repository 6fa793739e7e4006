"""Parse query parameters: whole numbers in plain digits, and texts (design: Input)."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from starlette.requests import Request

from agentpost.api.operation import Query
from agentpost.domain.errors import InvalidRequest, Problem
from agentpost.domain.times import parse_iso

_INTEGER = re.compile(r"[0-9]{1,15}", re.ASCII)
INT_PARAM_MAX = 10**15 - 1
"""The largest number a parameter can have; every JSON reader has it exactly."""


def int_param(request: Request, query: Query) -> int:
    """The parameter's value, or its default; raises ``invalid_request``."""
    assert query.default is not None, "without a default it is `optional_int_param`"
    given = optional_int_param(request, query)
    return query.default if given is None else given


def optional_int_param(request: Request, query: Query) -> int | None:
    """The parameter's value, None when absent; raises ``invalid_request``."""
    if not request.scope["query_string"]:
        return None
    # Not `request.query_params`: the request keeps them for as long as the call is held.
    text = request.scope["query_string"].decode("latin-1")
    given = [v for name, v in parse_qsl(text, keep_blank_values=True) if name == query.name]
    if not given:
        return None
    if len(given) > 1:
        raise InvalidRequest(Problem(query.name, "the parameter is given twice"))
    most = "or more" if query.most == INT_PARAM_MAX else f"to {query.most}"
    if not _INTEGER.fullmatch(given[0]):
        raise InvalidRequest(Problem(query.name, f"must be a whole number, {query.least} {most}"))
    value = int(given[0])
    if not query.least <= value <= query.most:
        raise InvalidRequest(Problem(query.name, f"must be {query.least} {most}"))
    return value


def text_param(request: Request, name: str) -> str | None:
    """A text parameter, None when absent or empty; raises ``invalid_request``."""
    given = request.query_params.getlist(name)
    if len(given) > 1:
        raise InvalidRequest(Problem(name, "the parameter is given twice"))
    return given[0] if given and given[0] else None


def labels_param(request: Request, name: str) -> tuple[tuple[str, str], ...]:
    """The labels of ``name[label]=text``, with their texts; raises ``invalid_request``."""
    found: dict[str, str] = {}
    for given, value in request.query_params.multi_items():
        if not given.startswith(f"{name}[") or not given.endswith("]"):
            continue
        label = given[len(name) + 1 : -1]
        if label in found:
            raise InvalidRequest(Problem(given, "the parameter is given twice"))
        if "\0" in label + value:
            raise InvalidRequest(Problem(given, "the text holds U+0000"))
        found[label] = value
    return tuple(found.items())


def time_param(request: Request, name: str) -> int | None:
    """A time in microseconds, None when absent or empty; raises ``invalid_request``."""
    given = text_param(request, name)
    if given is None:
        return None
    try:
        return parse_iso(given)
    except ValueError:
        problem = Problem(name, "must be an ISO 8601 time with its offset")
        raise InvalidRequest(problem) from None


def id_param(request: Request, name: str) -> str | None:
    """`text_param` that names a row; raises ``invalid_request`` for what no database would take."""
    value = text_param(request, name)
    if value is not None and "\0" in value:
        raise InvalidRequest(Problem(name, "the text holds U+0000"))
    return value
