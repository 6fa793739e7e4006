"""Query parameters: whole numbers, plainly written (design: Input)."""

from __future__ import annotations

import re

from starlette.requests import Request

from agentpost.api.operation import Query
from agentpost.domain.errors import InvalidRequest, Problem

_WHOLE = re.compile(r"[0-9]{1,15}", re.ASCII)
WHOLE_MAX = 10**15 - 1
"""The largest number a parameter can have; every JSON reader has it exactly."""


def whole(request: Request, query: Query) -> int:
    """The parameter's value, or its default; raises ``invalid_request``."""
    given = request.query_params.getlist(query.name)
    if not given:
        return query.default
    if len(given) > 1:
        raise InvalidRequest(Problem(query.name, "the parameter is given twice"))
    most = "or more" if query.most == WHOLE_MAX else f"to {query.most}"
    if not _WHOLE.fullmatch(given[0]):
        raise InvalidRequest(Problem(query.name, f"must be a whole number, {query.least} {most}"))
    value = int(given[0])
    if not query.least <= value <= query.most:
        raise InvalidRequest(Problem(query.name, f"must be {query.least} {most}"))
    return value


def text(request: Request, name: str) -> str | None:
    """A text parameter, None when absent or empty; raises ``invalid_request``."""
    given = request.query_params.getlist(name)
    if len(given) > 1:
        raise InvalidRequest(Problem(name, "the parameter is given twice"))
    return given[0] if given and given[0] else None


def stored_id(request: Request, name: str) -> str | None:
    """`text` that names a row; raises ``invalid_request`` for what no database would take."""
    value = text(request, name)
    if value is not None and "\0" in value:
        raise InvalidRequest(Problem(name, "the text holds U+0000"))
    return value
