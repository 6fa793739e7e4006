"""What an answer is made of: the class of a resource declares its fields, builds it from the
record, gives its bytes and its part of the OpenAPI document (design: One class for a resource).

Fields go out in the order of their declaration. A field whose default is ``UNSET`` is left out
while it has nothing to say; one that is None goes out as null.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol, Self, TypeAlias, TypeVar, dataclass_transform

import msgspec
from msgspec import UNSET, Meta, Struct, StructMeta, UnsetType

T = TypeVar("T")
Maybe: TypeAlias = T | UnsetType
"""The type of a field that is not always there."""
Time: TypeAlias = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""As `domain.times.iso` writes it."""

_ENCODER = msgspec.json.Encoder()
_REF = "#/components/schemas/{name}"


def about(text: str) -> Meta:
    """The description of a field."""
    return Meta(description=text)


class Links(Protocol):
    """Builds the addresses that appear in shapes."""

    def chat(self, work_id: str) -> str:
        """Where a person sees the work."""

    def file(self, file_id: str, revision: str) -> str:
        """A signed, expiring download link."""


class SigningLinks(Links, Protocol):
    """Links that expire some time after they are asked for, or all at a given one."""

    def expiry(self) -> int:
        """When a link that is made now expires, in seconds since 1970."""

    def until(self, expires_at: int) -> Links:
        """Links that all expire then: the same ones whenever they are asked for."""


class _ShapeMeta(StructMeta):
    """Fields are given by name, so that their order is that of the wire alone."""

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any
    ) -> Any:
        return super().__new__(cls, name, bases, namespace, kw_only=True, **config)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Shape(Struct, metaclass=_ShapeMeta, frozen=True):
    """The base of all answers and events."""

    def json(self) -> bytes:
        """The bytes on the wire."""
        return _ENCODER.encode(self)

    @classmethod
    def with_fields_of(cls, record: object, **own: Any) -> Self:
        """With the record's value of each field that has the same name there and is not given."""
        names = (name for name in cls.__struct_fields__ if name not in own)
        copied = {name: getattr(record, name) for name in names if hasattr(record, name)}
        return cls(**copied, **own)

    @classmethod
    def from_stored(cls, values: Mapping[str, Any], **fresh: Any) -> Self:
        """One of which a part was kept as JSON, perhaps by another version: fields unknown here are
        dropped, fields that are missing stay away. ``fresh`` is what was not kept."""
        known = {**values, **fresh}
        return cls(**{name: known.get(name, UNSET) for name in cls.__struct_fields__})


def dumps(value: Any) -> str:
    """JSON to be stored: of shapes, or of plain values that hold some."""
    return _ENCODER.encode(value).decode()


loads = msgspec.json.decode
"""The value of JSON that was stored."""


# --- OpenAPI --------------------------------------------------------------------------------------
def schemas(shapes: Sequence[type[Shape]]) -> dict[str, Any]:
    """The JSON schemas of these and of what they consist of, by the names of their classes."""
    _, definitions = msgspec.json.schema_components(shapes, ref_template=_REF)
    words = {_REF.format(name=n): s["enum"] for n, s in definitions.items() if "enum" in s}
    by_name = {name: schema for name, schema in definitions.items() if "enum" not in schema}
    for schema in by_name.values():
        fields = schema["properties"]
        # A default is the one value of a field that is always there; `UNSET` is none in JSON.
        schema["required"] = [
            name
            for name, part in fields.items()
            if part.pop("default", None) is not None or name in schema["required"]
        ]
        schema["properties"] = {
            name: _add_title(name, _plain(fields[name], words)) for name in fields
        }
    return by_name


def _add_title(name: str, part: dict[str, Any]) -> dict[str, Any]:
    """Programs that make code of the document name what they make of a field by its title."""
    return part if "$ref" in part else {**part, "title": name.replace("_", " ").title()}


def _plain(part: dict[str, Any], words: Mapping[str, list[str]]) -> dict[str, Any]:
    """A schema with the words of an enumeration where msgspec refers to one, and with their type;
    a single one as a constant. What is always true is a boolean: generators make an enumeration,
    of text, of a constant."""
    part = dict(part)
    if part.get("$ref") in words:
        part["enum"] = words[part.pop("$ref")]
    if part.get("enum") == [True]:
        del part["enum"]
        part = {"description": "Always true.", **part, "type": "boolean"}
    if "enum" in part:
        part["type"] = "string"
        if len(part["enum"]) == 1:
            part["const"] = part.pop("enum")[0]
    for inner in ("items", "additionalProperties"):
        if isinstance(part.get(inner), dict):
            part[inner] = _plain(part[inner], words)
    if "anyOf" in part:
        part["anyOf"] = [_plain(each, words) for each in part["anyOf"]]
    return part
