"""Whether an object of JSON is a legal body: types, limits and texts, with every problem named."""

from collections.abc import Container, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from itertools import islice
from typing import Any, Final, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from agentpost.domain.errors import InvalidRequest, Problem
from agentpost.domain.limits import (
    BODY_NESTING_MAX,
    LIST_ITEMS_MAX,
    OBJECT_FIELDS_MAX,
    PROBLEMS_MAX,
)
from agentpost.domain.text import UNSTORABLE

NESTED_TOO_DEEPLY: Final = f"the body is nested deeper than {BODY_NESTING_MAX} levels"
NOT_STORABLE: Final = "the text holds U+0000 or half a surrogate pair, which cannot be stored"
NAME_NOT_STORABLE: Final = "a field name holds U+0000 or half a surrogate pair"
_FIELD_CHARACTERS_MAX: Final = 200
"""Of the name of a field in a problem: names may be as long as the body."""
Shape = TypeVar("Shape", bound=BaseModel)


def validate(shape: type[Shape], body: dict[str, Any]) -> Shape:
    """The body as a shape; raises ``invalid_request`` with every problem, up to ten, or with what
    holds too many items."""
    overfull = too_many(shape, body)
    if overfull:
        raise InvalidRequest(*overfull[:PROBLEMS_MAX])
    try:
        return shape.model_validate(body)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
        raise InvalidRequest(
            *(
                _problem_of(each["loc"], each["msg"] + _suggestion(shape, body, each))
                for each in details[:PROBLEMS_MAX]
            )
        ) from None


def check_texts(
    value: Any, problems: list[Problem], escapes: bool = True, where: str = "", depth: int = 0
) -> None:
    """Add a problem for each text that no database takes; raise ``invalid_request`` for such a name
    and for what is nested too deeply. Without ``escapes`` only the depth is looked at: then the
    JSON had no character that only an escape can bring in (U+0000, lone surrogates). ``where`` and
    ``depth``: of the value in the body."""
    if depth > BODY_NESTING_MAX:
        refuse(where, NESTED_TOO_DEEPLY)
    if isinstance(value, str):
        if escapes and UNSTORABLE.search(value):
            problems.append(problem(where, NOT_STORABLE))
    elif isinstance(value, dict):
        for name, item in value.items():
            if escapes and UNSTORABLE.search(name):
                refuse(where, NAME_NOT_STORABLE)
            inner = f"{where}.{name}" if where else name
            check_texts(item, problems, escapes, inner, depth + 1)
    elif isinstance(value, list):
        for n, item in enumerate(value):
            inner = f"{where}.{n}" if where else str(n)
            check_texts(item, problems, escapes, inner, depth + 1)


def refuse(field: str | None, sentence: str) -> NoReturn:
    """Raise ``invalid_request`` for one field, or for the whole body."""
    raise InvalidRequest(problem(field, sentence))


def problem(field: str | None, sentence: str) -> Problem:
    """A problem of a field, whose name is cut when it is long."""
    return Problem((field or "")[:_FIELD_CHARACTERS_MAX] or None, sentence)


def _suggestion(shape: type[BaseModel], body: dict[str, Any], error: ErrorDetails) -> str:
    """What a missing field was probably misspelt as."""
    if error["type"] != "missing" or len(error["loc"]) != 1:
        return ""
    sentence = hint(body, [str(error["loc"][0])], shape.model_fields)
    return f";{sentence.rstrip('?')}" if sentence else ""


def _problem_of(path: tuple[int | str, ...], message: str) -> Problem:
    """pydantic's finding; it marks one about the name of an entry by a last part of its own."""
    sentence = message[:1].lower() + message[1:]
    if len(path) > 2 and path[-1] == "[key]":
        path, sentence = path[:-1], f"the name is wrong: {sentence}"
    return problem(".".join(str(part) for part in path), sentence)


# Fields that are not known are ignored, so a misspelt one is only noticed by what it leaves out.
_SHOWN_CHARACTERS: Final = 40
_SIMILAR: Final = 0.7
_LOOKED_AT: Final = 50
_OTHER_NAMES: Final = {
    "text": "message",
    "content": "message",
    "prompt": "message",
    "input": "message",
    "file": "files",
    "attachments": "files",
}
"""What other APIs call it."""


def hint(body: Mapping[str, Any], missing: Sequence[str], fields: Container[str]) -> str:
    """A sentence to put behind what is said of the missing fields; empty when nothing is like them.

    Args:
        missing: the fields of which one is needed.
        fields: every field that the body may have.
    """
    names = list(islice((name for name in body if name not in fields), _LOOKED_AT))
    for name in names:
        close = get_close_matches(name[:_SHOWN_CHARACTERS].casefold(), missing, 1, _SIMILAR)
        other = _OTHER_NAMES.get(name.casefold())
        field = close[0] if close else other if other in missing else None
        if field is not None:
            return f" {name[:_SHOWN_CHARACTERS]!a} is not a field: did you mean `{field}`?"
    return ""


# What validates a body looks at each item, and makes an error for each that is wrong, before it
# says that there are too many.
def too_many(shape: type[BaseModel], body: dict[str, Any]) -> list[Problem]:
    """A problem for each list and object of the body that holds more than it may: those of the
    shape and of the objects within it, and the body itself where it may have no other fields."""
    schema, problems = _schema(shape), []
    if any(isinstance(value, list | dict) for value in body.values()):  # most bodies have none
        problems = list(_too_many(schema, schema, body, ""))
    if schema.get("additionalProperties") is False and len(body) > OBJECT_FIELDS_MAX:
        problems.append(Problem(None, f"has over {OBJECT_FIELDS_MAX} fields"))
    return problems


@cache
def _schema(shape: type[BaseModel]) -> dict[str, Any]:
    return shape.model_json_schema()


def _too_many(
    root: dict[str, Any], schema: dict[str, Any], body: dict[str, Any], where: str
) -> Iterator[Problem]:
    for name, field_schema in schema.get("properties", {}).items():
        value, path = body.get(name), f"{where}{name}"
        if isinstance(value, list):
            # Other fields take no list, or any value, and then look at none of its items.
            is_list = any(option.get("type") == "array" for option in _options(field_schema))
            if is_list and len(value) > LIST_ITEMS_MAX:
                yield Problem(path, f"has over {LIST_ITEMS_MAX} items")
        elif isinstance(value, dict):
            for option in _options(field_schema):
                most = option.get("maxProperties")
                if most is not None and len(value) > most:
                    yield Problem(path, f"has over {most} entries")
                if "$ref" in option:
                    inner = root["$defs"][option["$ref"].rpartition("/")[2]]
                    yield from _too_many(root, inner, value, f"{path}.")


def _options(field_schema: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """The schemas of which a field's value may fit any."""
    options: Sequence[dict[str, Any]] = field_schema.get("anyOf", (field_schema,))
    return options
