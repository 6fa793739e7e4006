"""The form that answers a typed question: buttons for choices, a few fields for a plain schema,
else a field for JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentpost.domain.answers import AnswerFormat
from agentpost.web.forms import Form

JSON_FIELD: Final = "answer-json"
_FIELDS_MAX: Final = 20
_KINDS: Final = {"string": "text", "number": "number", "integer": "number", "boolean": "choice"}
_CONSTRAINTS: Final = {"minimum": "min", "maximum": "max", "maxLength": "maxlength"}


@dataclass(frozen=True, slots=True)
class AnswerField:
    """A field: ``kind`` is text, number or choice, ``key`` the property, "" for the value itself.
    ``options``: of a choice, as JSON and as people read it."""

    name: str
    key: str
    label: str
    kind: str
    hint: str
    required: bool
    options: tuple[tuple[str, str], ...]
    attributes: dict[str, Any]


def fields(answer_format: AnswerFormat) -> list[AnswerField] | None:
    """The fields for a schema of plain values; None for any other, which is written as JSON."""
    schema = answer_format.schema or {}
    if schema.get("type") != "object":
        alone = _field(0, "", schema, required=True)
        return None if alone is None else [alone]
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not 1 <= len(properties) <= _FIELDS_MAX:
        return None
    required = schema.get("required", ())
    candidates = [
        _field(n, key, part, required=key in required)
        for n, (key, part) in enumerate(properties.items())
    ]
    answer_fields = [field for field in candidates if field is not None]
    return answer_fields if len(answer_fields) == len(candidates) else None


def value_of(answer_format: AnswerFormat, form: Form) -> Any:
    """What was answered; None: nothing. Raises `ValueError` with what to change."""
    if answer_format.schema is None:
        return form.text("answer") or None
    answer_fields = fields(answer_format)
    if answer_fields is None:
        text = form.text(JSON_FIELD)
        try:
            return json.loads(text) if text else None
        except (ValueError, RecursionError):
            raise ValueError("This is not valid JSON.") from None
    values = {field.key: _value(field, form.text(field.name)) for field in answer_fields}
    if "" in values and len(answer_fields) == 1:
        return values[""]
    return {key: value for key, value in values.items() if value is not None}


def _field(n: int, key: str, part: Any, *, required: bool) -> AnswerField | None:
    if not isinstance(part, Mapping) or "$ref" in part:
        return None
    options: tuple[tuple[str, str], ...] = ()
    members, kind = part.get("enum"), _KINDS.get(str(part.get("type")))
    if isinstance(members, list) and all(isinstance(v, str | int | float | bool) for v in members):
        kind, options = "choice", tuple((json.dumps(v), str(v)) for v in members)
    elif part.get("type") == "boolean":
        options = (("true", "Yes"), ("false", "No"))
    if kind is None:
        return None
    attributes = {
        html: part[name]
        for name, html in _CONSTRAINTS.items()
        if isinstance(part.get(name), int | float)
    }
    if kind == "number":
        attributes["step"] = 1 if part.get("type") == "integer" else "any"
    label = str(part.get("title") or key.replace("_", " ").capitalize() or "Your answer")
    hint = str(part.get("description") or "")
    name = f"answer-{n}"
    return AnswerField(name, key, label, kind, hint, required, options, attributes)


def _value(field: AnswerField, text: str) -> Any:
    if not text:
        return None
    if field.kind == "text":
        return text
    options = dict(field.options)
    if field.kind == "choice" and text not in options:
        raise ValueError(f"{field.label}: choose one of the values.")
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError(f"{field.label}: write a number.") from None
