"""Reading a JSON body: bounded, strict, every problem named (design: 4.12)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from agentpost.api.intake import (
    LARGE_BYTES,
    Room,
    TooSlow,
    chunks,
    declared_length,
    has_body,
)
from agentpost.api.operation import Api
from agentpost.api.structure import VALUES_MAX, has_too_many_values
from agentpost.domain.errors import InvalidRequest, Problem, Refusal
from agentpost.domain.limits import PROBLEMS_MAX, REQUEST_BODY_KEPT_BYTES_MAX

DEPTH_MAX = 64
BODY = "agentpost.body"
"""Where a request's scope keeps its body for the inspector: the bytes, or how many they were."""

FIELD_CHARACTERS_MAX = 200
"""Of the name of a field in a problem: names may be as long as the body."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
Shape = TypeVar("Shape", bound=BaseModel)
RefuseFirst = Callable[[dict[str, Any]], None]


async def read_json(
    api: Api,
    request: Request,
    refuse_first: RefuseFirst | None = None,
    room: Room | None = None,
) -> dict[str, Any]:
    """The body as a JSON object; raises ``invalid_request``, ``too_large`` and ``unauthorized``.

    Args:
        refuse_first: sees the object before its text is judged: a refusal with a code of its own
            comes before ``invalid_request``.
        room: where a large body may be held. Without one a body has up to `LARGE_BYTES`.
    """
    most = api.house.settings.body_bytes_max
    if room is None:
        most = min(most, LARGE_BYTES)
    coding = request.headers.get("content-encoding", "identity")
    if coding.strip().lower() != "identity":
        _refuse(None, "the body must be sent as it is, without a Content-Encoding")
    declared = declared_length(request)
    if declared is not None and declared > most:
        raise _too_large(most)
    try:
        data = await _read(request, most, room, api.house.settings.body_idle_seconds)
    except TooSlow as problem:
        _refuse(None, str(problem))
    await api.keys.caller(request)  # a body may take minutes: the key is still live
    if len(data) <= LARGE_BYTES:
        return _parsed(data, refuse_first)
    return await asyncio.to_thread(_parsed, data, refuse_first)


async def read_optional_json(api: Api, request: Request) -> dict[str, Any]:
    """`read_json`; a request without a body gives an empty object."""
    return await read_json(api, request) if has_body(request) else {}


async def _read(request: Request, most: int, room: Room | None, idle_seconds: float) -> bytearray:
    """The bytes, counted while they arrive: a length that lies is cut off too.

    A place is taken by what has come, not by what was announced: announcing costs nothing.
    """
    body = bytearray()
    async for chunk in chunks(request, idle_seconds):
        before = len(body)
        body += chunk
        if len(body) > most:
            raise _too_large(most)
        if room is not None and before <= LARGE_BYTES < len(body):
            await room.enter()
    kept = len(body) <= REQUEST_BODY_KEPT_BYTES_MAX
    request.scope[BODY] = bytes(body) if kept else len(body)
    return body


def _too_large(most: int) -> Refusal:
    return Refusal("too_large", f"The body is over {most} bytes; send large files as uploads.")


def _parsed(data: bytearray, refuse_first: RefuseFirst | None) -> dict[str, Any]:
    """The object; text that cannot be stored is refused by the name of its field."""
    if len(data) > LARGE_BYTES and has_too_many_values(data):
        _refuse(None, f"the body holds more than {VALUES_MAX:,} values")
    try:
        text = data.decode("utf-8")
        body = json.loads(text, object_pairs_hook=_no_twins, parse_constant=_no_constant)
    except UnicodeDecodeError:
        _refuse(None, "the body is not UTF-8 text")
    except RecursionError:
        _refuse(None, "the body is nested too deeply")
    except ValueError as error:
        _refuse(None, f"the body is not valid JSON: {_first_line(error)}")
    if not isinstance(body, dict):
        _refuse(None, "the body must be a JSON object")
    if refuse_first is not None:
        refuse_first(body)
    problems: list[Problem] = []
    _check(body, "", 0, problems, b"\\u" in data)
    if problems:
        raise InvalidRequest(*problems[:PROBLEMS_MAX])
    return body


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two values for one name: whichever we took, somebody would be surprised."""
    read = dict(pairs)
    if len(read) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                _refuse(_UNSTORABLE.sub("?", name), "the field is given twice")
            seen.add(name)
    return read


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _first_line(error: ValueError) -> str:
    """What is wrong, without the advice to programmers that follows a semicolon."""
    return str(error).splitlines()[0].partition(";")[0][:200]


def _check(value: Any, where: str, depth: int, problems: list[Problem], escapes: bool) -> None:
    """Depth, and characters that only an escape can smuggle in (U+0000, lone surrogates)."""
    if depth > DEPTH_MAX:
        _refuse(where, f"the body is nested deeper than {DEPTH_MAX} levels")
    if isinstance(value, str):
        if escapes and _UNSTORABLE.search(value):
            problem = "the text holds U+0000 or half a surrogate pair, which cannot be stored"
            problems.append(_problem(where, problem))
    elif isinstance(value, dict):
        for name, item in value.items():
            if escapes and _UNSTORABLE.search(name):
                _refuse(where, "a field name holds U+0000 or half a surrogate pair")
            _check(item, f"{where}.{name}" if where else name, depth + 1, problems, escapes)
    elif isinstance(value, list):
        for n, item in enumerate(value):
            _check(item, f"{where}.{n}" if where else str(n), depth + 1, problems, escapes)


def _refuse(field: str | None, problem: str) -> NoReturn:
    raise InvalidRequest(_problem(field, problem))


def _problem(field: str | None, problem: str) -> Problem:
    return Problem((field or "")[:FIELD_CHARACTERS_MAX] or None, problem)


def validated(shape: type[Shape], body: dict[str, Any]) -> Shape:
    """The body as a shape; raises ``invalid_request`` with every problem, up to ten."""
    try:
        return shape.model_validate(body)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise InvalidRequest(*(_told(e["loc"], e["msg"]) for e in found[:PROBLEMS_MAX])) from None


def _told(place: tuple[int | str, ...], message: str) -> Problem:
    """pydantic's finding; it marks one about the name of an entry by a last part of its own."""
    sentence = message[:1].lower() + message[1:]
    if len(place) > 2 and place[-1] == "[key]":
        place, sentence = place[:-1], f"the name is wrong: {sentence}"
    return _problem(".".join(str(part) for part in place), sentence)
