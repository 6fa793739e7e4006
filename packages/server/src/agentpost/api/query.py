"""Parse query parameters: whole numbers in plain digits, and texts (design: Input)."""

import re
from collections.abc import Iterable

from starlette.datastructures import QueryParams
from starlette.requests import Request

from agentpost.accounts import list_places
from agentpost.api.operation import Api, Labels, Query, Text
from agentpost.caller import Caller
from agentpost.domain.errors import InvalidRequest, Problem
from agentpost.domain.limits import INT_PARAM_MAX
from agentpost.domain.times import parse_iso

_INTEGER = re.compile(r"[0-9]{1,15}", re.ASCII)
TIME = "date-time"
"""The format of what `time_param` reads: ISO 8601 with its offset."""


def int_param(request: Request, query: Query) -> int:
    """The parameter's value, or its default; raises ``invalid_request``."""
    assert query.default is not None, "without a default it is `optional_int_param`"
    value = optional_int_param(request, query)
    return query.default if value is None else value


def optional_int_param(request: Request, query: Query) -> int | None:
    """The parameter's value, None when absent; raises ``invalid_request``."""
    if not request.scope["query_string"]:
        return None
    # Not `request.query_params`, which the request keeps for as long as the call is held.
    value = _given_once(QueryParams(request.scope["query_string"]), query.name)
    if value is None:
        return None
    most = "or more" if query.most == INT_PARAM_MAX else f"to {query.most}"
    if not _INTEGER.fullmatch(value):
        raise InvalidRequest(Problem(query.name, f"must be a whole number, {query.least} {most}"))
    if not query.least <= int(value) <= query.most:
        raise InvalidRequest(Problem(query.name, f"must be {query.least} {most}"))
    return int(value)


def _given_once(params: QueryParams, name: str) -> str | None:
    values = params.getlist(name)
    if len(values) > 1:
        raise InvalidRequest(Problem(name, "the parameter is given twice"))
    return values[0] if values else None


def text_param(request: Request, name: str) -> str | None:
    """A text parameter, None when absent or empty; raises ``invalid_request``."""
    return checked_param(request, name) or None


def checked_param(request: Request, name: str) -> str | None:
    """A text parameter of which the caller checks the form, None when absent: an empty one is
    wrong, since the list would not be filtered. Raises ``invalid_request``."""
    return _given_once(request.query_params, name)


def choice_param(request: Request, name: str, choices: Iterable[str]) -> str | None:
    """One of the choices, None when absent; raises ``invalid_request``."""
    value, words = checked_param(request, name), [str(choice) for choice in choices]
    if value is not None and value not in words:
        raise InvalidRequest(Problem(name, f"must be one of {', '.join(words)}"))
    return value


def labels_param(request: Request, labels: Labels) -> tuple[tuple[str, str], ...]:
    """The labels of a `Labels` parameter, with their texts; raises ``invalid_request``."""
    name = labels.name
    texts: dict[str, str] = {}
    for parameter, value in request.query_params.multi_items():
        if parameter == name:
            if not re.match(labels.pattern, value):
                raise InvalidRequest(Problem(name, f"must be label=text, as in {name}=order=1042"))
            label, _, text = value.partition("=")
        elif parameter.startswith(f"{name}[") and parameter.endswith("]"):
            label, text = parameter[len(name) + 1 : -1], value
        else:
            continue
        if label in texts:
            raise InvalidRequest(Problem(parameter, f"the label {label} is given twice"))
        if "\0" in label + text:
            raise InvalidRequest(Problem(parameter, "the text holds U+0000"))
        texts[label] = text
    return tuple(texts.items())


def time_param(request: Request, name: str) -> int | None:
    """A time in microseconds, None when absent; raises ``invalid_request``."""
    text = checked_param(request, name)
    return None if text is None else time_of(name, text)


def time_of(field: str, text: str) -> int:
    """A time that a request names, in microseconds; raises ``invalid_request``."""
    try:
        return parse_iso(text)
    except (ValueError, OverflowError):
        problem = Problem(field, "must be an ISO 8601 time with its offset")
        raise InvalidRequest(problem) from None


async def place_param(api: Api, request: Request, caller: Caller, place: Text) -> str | None:
    """Where a list goes on: something that it had, named by the ``pattern`` of the parameter. None
    when absent. Raises ``invalid_request``."""
    value = checked_param(request, place.name)
    if value is None:
        return None
    if not re.fullmatch(place.pattern or "", value):
        raise InvalidRequest(Problem(place.name, list_places.NOT_LISTED))
    await list_places.check(api.ctx, caller, place.name, value)
    return value


def id_param(request: Request, name: str) -> str | None:
    """`text_param` that names a row; raises ``invalid_request`` for what no database would take."""
    value = text_param(request, name)
    if value is not None and "\0" in value:
        raise InvalidRequest(Problem(name, "the text holds U+0000"))
    return value
