"""How a JSON object of the API becomes a record: a frozen dataclass that outlives the API's growth.

A record is declared as a subclass of `Record` whose fields have defaults where the API may leave
them out. Written here instead of taken from a validation library because all of those together
with what they need weigh more than the rest of the client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from functools import partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Self, Union, get_args, get_origin, get_type_hints

Reader = Callable[[Any], Any]


class WrongShape(ValueError):
    """The JSON is not a record of that kind; ``path`` leads to the first field that is wrong."""

    def __init__(self, path: tuple[str, ...] = ()) -> None:
        super().__init__(".".join(path) or "the whole answer")
        self.path = path


@dataclass(frozen=True, kw_only=True)
class Record:
    """What all records share.

    Fields that are null or missing have their default. Fields that this version does not know are
    attributes too, with their JSON value.
    """

    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The JSON object this record was read from."""

    @classmethod
    def read(cls, value: object) -> Self:
        """The record in a decoded JSON value; raises `WrongShape`."""
        if not isinstance(value, dict):
            raise WrongShape
        values: dict[str, Any] = {}
        for name, (read, required) in _plan(cls).items():
            item = value.get(name)
            if item is not None:
                values[name] = _at(name, read, item)
            elif required:
                raise WrongShape((name,))
        return cls(raw=value, **values)

    if not TYPE_CHECKING:  # a type checker has to find mistyped names

        def __getattr__(self, name: str) -> Any:
            """A field that this version does not know."""
            try:
                return self.__dict__["raw"][name]
            except KeyError:
                raise AttributeError(f"{type(self).__name__} has no field {name!r}") from None


_PLANS: dict[type[Record], dict[str, tuple[Reader, bool]]] = {}


def _plan(record: type[Record]) -> dict[str, tuple[Reader, bool]]:
    """For each field of a record, what reads it and whether it has to be there."""
    if record not in _PLANS:
        _PLANS[record] = _make_plan(record)
    return _PLANS[record]


def _make_plan(record: type[Record]) -> dict[str, tuple[Reader, bool]]:
    hints = get_type_hints(record)
    return {
        item.name: (
            _reader(hints[item.name]),
            item.default is MISSING and item.default_factory is MISSING,
        )
        for item in fields(record)
        if item.name != "raw"
    }


def _reader(kind: Any) -> Reader:
    """What turns a JSON value that is not null into a value of that type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):  # X | None, or words | str
        words, kinds = _members(arguments)
        return partial(_word, words) if words else _reader(kinds[0])
    if origin is tuple:
        return lambda value: _tuple(_reader(arguments[0]), value)
    if origin is dict:
        return lambda value: _mapping(_reader(arguments[1]), value)
    if kind is Any:
        return lambda value: value
    if kind is datetime:
        return _datetime
    if kind is float:
        return _number
    if kind is int:
        return _whole
    if isinstance(kind, type) and issubclass(kind, Record):
        return kind.read
    return lambda value: _plain((kind,), value)


def _members(arguments: tuple[Any, ...]) -> tuple[dict[str, StrEnum], list[Any]]:
    """Of the types of a field, the members of its enumeration by their words, and the others."""
    kinds = [kind for kind in arguments if kind is not NoneType]
    enumerations = [k for k in kinds if isinstance(k, type) and issubclass(k, StrEnum)]
    words = {str(member): member for kind in enumerations for member in kind}
    return words, [kind for kind in kinds if kind not in enumerations]


def _word(words: Mapping[str, StrEnum], value: Any) -> str:
    """The member of an enumeration, or the text of one that this version does not know."""
    text: str = _plain((str,), value)
    return words.get(text, text)


def _at(name: str, read: Reader, value: Any) -> Any:
    """What is read, with the name before the path of what is wrong in it."""
    try:
        return read(value)
    except WrongShape as error:
        raise WrongShape((name, *error.path)) from None


def _plain(kinds: tuple[type, ...], value: Any) -> Any:
    if isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds):
        return value
    raise WrongShape


def _whole(value: Any) -> int:
    """A number without a fraction, however JSON has it written."""
    number = _number(value)
    if not number.is_integer():
        raise WrongShape
    return int(value)


def _number(value: Any) -> float:
    try:
        return float(_plain((int, float), value))
    except OverflowError:  # an integer of hundreds of digits
        raise WrongShape from None


def _datetime(value: Any) -> datetime:
    try:
        return datetime.fromisoformat(_plain((str,), value))
    except ValueError:
        raise WrongShape from None


def _tuple(read: Reader, value: Any) -> tuple[Any, ...]:
    return tuple(_at(str(n), read, item) for n, item in enumerate(_plain((list,), value)))


def _mapping(read: Reader, value: Any) -> dict[str, Any]:
    return {name: _at(name, read, item) for name, item in _plain((dict,), value).items()}
