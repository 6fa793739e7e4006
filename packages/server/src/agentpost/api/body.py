"""Reading a JSON body: bounded, strict, every problem named (design: Input)."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn, Protocol, TypeVar

from starlette.requests import Request

from agentpost.api.long_texts import LongText, TakenApart, TooMuchElse
from agentpost.api.operation import Api
from agentpost.clock import new_id
from agentpost.contract.validation import (
    NAME_NOT_STORABLE,
    NESTED_TOO_DEEPLY,
    NOT_STORABLE,
    check_texts,
    problem,
    refuse,
)
from agentpost.domain.errors import ErrorCode, InvalidRequest, Problem, Refusal
from agentpost.domain.limits import (
    BODY_NESTING_MAX,
    BODY_REST_BYTES_MAX,
    BODY_VALUES_MAX,
    PROBLEMS_MAX,
    REQUEST_BODY_READ_BYTES_MAX,
)
from agentpost.domain.text import UNSTORABLE
from agentpost.http.bodies import (
    COUNTED_BYTES,
    LARGE_BYTES,
    BodySlot,
    Pace,
    TooSlow,
    chunks,
    declared_length,
    has_body,
)
from agentpost.http.headers import header
from agentpost.http.request_state import state_of
from agentpost.requests.redaction import LargeBody

VALUES_AT_ONCE = 500
"""A small body with more of them, or with a text full of commas or brackets, is parsed on a
thread."""

LONG_AT = re.compile(r"message|files\.[0-9]+\.base64")
"""Where `read_json` gives out a `LongText`: the one field that is counted in characters, and the
one that holds megabytes."""

_GIVEN_TWICE = "the field is given twice"
_TOO_MANY_VALUES = f"the body holds more than {BODY_VALUES_MAX:,} values"
_REST_OF_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*"?', re.DOTALL)
Result = TypeVar("Result")
Large = TypeVar("Large", bound="Taker")
RefuseFirst = Callable[[dict[str, Any]], None]


async def read_json(
    api: Api,
    request: Request,
    refuse_first: RefuseFirst | None = None,
    slot: BodySlot | None = None,
) -> dict[str, Any]:
    """The body as a JSON object; raises ``invalid_request``, ``too_large`` and ``unauthorized``.

    A long text of a large body is a `LongText` where `LONG_AT` says so. Elsewhere nothing may be as
    long, and it counts by its beginning.

    Args:
        refuse_first: sees the object before its text is judged: a refusal with a code of its own
            comes before ``invalid_request``.
        slot: where a large body may be held. Without one a body has up to `LARGE_BYTES`.
    """
    most = api.ctx.settings.body_bytes_max
    if slot is None:
        most = min(most, LARGE_BYTES)
    data, size = await read_body(api, request, most, slot, lambda: TakenApart(new_id("text_", 0)))
    state = state_of(request.scope)
    if not isinstance(data, TakenApart):
        state.body = bytes(data)
        return await in_turn(api, request, data, partial(_parse_object, data, refuse_first))
    data.end()
    rest = bytes(data.rest) if len(data.rest) <= REQUEST_BODY_READ_BYTES_MAX else b""
    sizes = {name: len(text) for name, text in data.texts.items()} if rest else {}
    state.body = LargeBody(size, rest, sizes)
    parse = partial(_parse_object, data.rest, refuse_first, data.texts)
    return await in_turn(api, request, data, parse)


async def in_turn(
    api: Api, request: Request, data: bytes | bytearray | TakenApart, work: Callable[[], Result]
) -> Result:
    """Do what a body asks for: on a thread, one at a time for the account of its caller, when the
    body is large or has many values."""
    if (
        not isinstance(data, TakenApart)
        and len(data) <= LARGE_BYTES
        and _count_signs(data) <= VALUES_AT_ONCE
    ):
        return work()
    caller = state_of(request.scope).caller
    assert caller is not None, "who has no key is refused before"
    return await api.ctx.account_threads.run(caller.account_id, work)


async def read_optional_json(api: Api, request: Request) -> dict[str, Any]:
    """`read_json`; a request without a body gives an empty object."""
    return await read_json(api, request) if has_body(request) else {}


class Taker(Protocol):
    """Takes a large body on its way."""

    def feed(self, data: bytes | bytearray, /) -> object:
        """The next bytes; raises `TooMuchElse`."""


async def read_body(
    api: Api, request: Request, most: int, slot: BodySlot | None, begin_large: Callable[[], Large]
) -> tuple[bytearray | Large, int]:
    """The bytes of a body, or what has taken them when they were many; and how many they were.

    They are counted while they arrive: a length that lies is cut off too. A place is taken by what
    has come, not by what was announced: announcing costs nothing. Raises ``too_large``,
    ``invalid_request``, as `BodySlot.acquire` and `BodySlot.count`, and ``unauthorized`` when the
    key has ended meanwhile: a body may take minutes.
    """
    coding = header(request, b"content-encoding")
    if coding is not None and coding.strip().lower() != "identity":
        refuse(None, "the body must be sent as it is, without a Content-Encoding")
    if (declared_length(request) or 0) > most:
        raise too_large(most)
    try:
        received = await _receive(api, request, most, slot, begin_large)
    except TooSlow as error:
        refuse(None, str(error))
    await api.keys.caller(request)
    return received


async def _receive(
    api: Api, request: Request, most: int, slot: BodySlot | None, begin_large: Callable[[], Large]
) -> tuple[bytearray | Large, int]:
    body, size = bytearray(), 0
    large: Large | None = None
    async for chunk in chunks(request, api.ctx.settings.body_idle_seconds):
        size += len(chunk)
        if size > most:
            raise too_large(most)
        if large is None:
            body += chunk
            if slot is None or size <= LARGE_BYTES:
                continue
            await slot.acquire()
            large, pace = begin_large(), Pace()
            await _feed(large, body)
        else:
            assert slot is not None, "without one no body gets large"
            if size > COUNTED_BYTES:
                await slot.count()
            await _feed(large, chunk)
            await pace.keep(size)
    return (body if large is None else large), size


async def _feed(large: Taker, data: bytes | bytearray) -> None:
    try:
        large.feed(data)
    except TooMuchElse as error:
        if await asyncio.to_thread(has_too_many_values, error.rest):
            refuse(None, _TOO_MANY_VALUES)
        refuse(None, f"the body is over {BODY_REST_BYTES_MAX:,} bytes without its long texts")


def too_large(most: int) -> Refusal:
    """The refusal of a body with more bytes."""
    return Refusal(
        ErrorCode.TOO_LARGE, f"The body is over {most} bytes; send large files as uploads."
    )


def has_too_many_values(data: bytes | bytearray, most: int = BODY_VALUES_MAX) -> bool:
    """Whether the JSON in ``data`` has more than ``most`` values; for no JSON, either answer.

    Values are counted by what begins the first and the next ones: the brackets of lists and objects
    and the commas. Those in strings are told apart only when there are too many in all, and no
    further than needed to know.
    """
    if _count_signs(data) <= most:
        return False
    values = strings = at = 0
    while values <= most and strings <= 2 * most:  # a name and a text for each value
        opening = data.find(b'"', at)
        if opening < 0:
            return values + _count_signs(data, at) > most
        values += _count_signs(data, at, opening)
        strings += 1
        rest = _REST_OF_STRING.match(data, opening + 1)
        at = rest.end() if rest else len(data)
    return True


def _count_signs(data: bytes | bytearray, begin: int = 0, end: int | None = None) -> int:
    """How many commas and opening brackets there are."""
    return (
        data.count(b",", begin, end) + data.count(b"[", begin, end) + data.count(b"{", begin, end)
    )


def _parse_object(
    data: bytearray,
    refuse_first: RefuseFirst | None,
    texts: dict[str, LongText] | None = None,
) -> dict[str, Any]:
    """The object; text that cannot be stored is refused by the name of its field. ``texts``: those
    that were set aside, by what stands for them in ``data``."""
    if has_too_many_values(data):
        refuse(None, _TOO_MANY_VALUES)
    try:
        text = data.decode("utf-8")
        if text.startswith("\ufeff"):
            raise ValueError("it begins with a byte order mark")
        body = _DECODER.decode(text)
    except UnicodeDecodeError:
        refuse(None, "the body is not UTF-8 text")
    except RecursionError:
        refuse(None, "the body is nested too deeply")
    except ValueError as error:
        refuse(None, f"the body is not valid JSON: {_first_line(error, texts)}")
    if not isinstance(body, dict):
        refuse(None, "the body must be a JSON object")
    problems: list[Problem] = []
    if texts:
        LongTexts(texts, _as_field, problems).put_back(body)
    if refuse_first is not None:
        refuse_first(body)
    check_texts(body, problems, escapes=b"\\u" in data)
    if problems:
        raise InvalidRequest(*problems[:PROBLEMS_MAX])
    return body


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two values for one name: whichever we took, somebody would be surprised."""
    read = dict(pairs)
    if len(read) != len(pairs):
        names: set[str] = set()
        for name, _ in pairs:
            if name in names:
                refuse(UNSTORABLE.sub("?", name), _GIVEN_TWICE)
            names.add(name)
    return read


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_no_twins, parse_constant=_no_constant)
"""Made once: `json.loads` makes one for each text it reads with hooks."""


@dataclass(frozen=True, slots=True)
class LongTexts:
    """Puts long texts of a body back, each of which is examined.

    Args:
        by_name: those that were set aside, by what stands for them in the body.
        as_field: what the body gets at a place (``files.0.base64``) for a text.
        problems: gets those that cannot be stored.
    """

    by_name: dict[str, LongText]
    as_field: Callable[[str, LongText], Any]
    problems: list[Problem] = field(default_factory=list)

    def put_back(self, value: Any, where: str = "", depth: int = 0) -> Any:
        """The value with its long texts; names are cut."""
        if isinstance(value, str):
            text = self.by_name.get(value)
            return value if text is None else self._examine(text, where)
        if depth > BODY_NESTING_MAX:
            refuse(where, NESTED_TOO_DEEPLY)
        if isinstance(value, dict):
            for key, item in list(value.items()):
                name = key
                if key in self.by_name:
                    name = self._cut_name(self.by_name[key], where, value)
                    del value[key]
                path = f"{where}.{name}" if where else name
                value[name] = self.put_back(item, path, depth + 1)
        elif isinstance(value, list):
            for n, item in enumerate(value):
                value[n] = self.put_back(item, f"{where}.{n}", depth + 1)
        return value

    def _cut_name(self, text: LongText, where: str, fields: dict[str, Any]) -> str:
        """The beginning of a name, which is longer than any may be."""
        before = len(self.problems)
        self._examine(text, f"{where}.")
        if len(self.problems) > before:
            refuse(where, NAME_NOT_STORABLE)
        name = text.start()
        if name in fields:
            refuse(name, _GIVEN_TWICE)
        return name

    def _examine(self, text: LongText, where: str) -> Any:
        try:
            if not text.examine():
                self.problems.append(problem(where, NOT_STORABLE))
        except UnicodeDecodeError:
            refuse(None, "the body is not UTF-8 text")
        except ValueError as error:
            refuse(where, f"the text is not valid JSON: {_first_line(error, {})}")
        return self.as_field(where, text)


def _as_field(where: str, text: LongText) -> LongText | str:
    return text if LONG_AT.fullmatch(where) else text.start()


def _first_line(error: ValueError, texts: dict[str, LongText] | None) -> str:
    """What is wrong, without the advice to programmers that follows a semicolon. Not where, when
    texts were set aside: they count for the place."""
    if texts is not None and isinstance(error, json.JSONDecodeError):
        return error.msg
    return str(error).splitlines()[0].partition(";")[0][:200]
