"""JSON Schemas of drafts 06, 07 and 2019-09, rewritten so that they mean the same in 2020-12.

What callers' libraries write names one of these drafts in ``$schema`` and rarely uses what differs.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

from agentpost.domain.limits import SCHEMA_DEPTH_MAX

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_DRAFTS: Final[Mapping[str, str]] = {
    "json-schema.org/draft-06/schema": "draft-06",
    "json-schema.org/draft-07/schema": "draft-07",
    "json-schema.org/draft/2019-09/schema": "draft 2019-09",
    "json-schema.org/draft/2020-12/schema": "draft 2020-12",
}
_NOT_IN: Final[Mapping[str, tuple[str, ...]]] = {
    "draft-06": (
        "if", "then", "else", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
        "unevaluatedItems", "minContains", "maxContains", "prefixItems",
    ),
    "draft-07": (
        "dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems",
        "minContains", "maxContains", "prefixItems",
    ),
    # There, the items that `contains` looks at are not evaluated.
    "draft 2019-09": ("unevaluatedItems", "prefixItems"),
}  # fmt: skip
"""Keywords that mean nothing in a draft, or something else than in 2020-12."""
_BESIDE_REF: Final = frozenset(
    {
        "$ref", "$schema", "$id", "$comment", "$defs", "definitions", "title", "description",
        "default", "examples",
    }
)  # fmt: skip
"""What stays beside ``$ref`` where a draft ignores all else beside it."""
_BY_NAME: Final = ("properties", "patternProperties", "$defs", "dependentSchemas")
"""Keywords with a schema for each name."""
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE: Final = (
    "not", "if", "then", "else", "items", "additionalProperties", "contains", "propertyNames",
    "unevaluatedProperties", "contentSchema",
)  # fmt: skip
_RENAMED_BESIDE_TUPLE: Final = {"items": "prefixItems", "additionalItems": "items"}
_Path = tuple[str, ...]
"""The steps from the root to a part of a schema."""


def as_2020_12(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema itself when it is of 2020-12, else a schema of 2020-12 that means the same.

    Raises `ValueError`, with words for the author of the schema, for an unknown ``$schema`` and for
    what means something else in 2020-12.
    """
    uri = str(schema.get("$schema", DRAFT))
    draft = _DRAFTS.get(uri.removesuffix("#").partition("://")[2])
    if draft is None:
        raise ValueError(
            f"$schema must be {DRAFT}, draft 2019-09, draft-07 or draft-06, or left out"
        )
    if draft == "draft 2020-12":
        return schema
    return {"$schema": DRAFT, **_Translation(draft).whole(schema)}


class _Translation:
    """From a draft, named as in `_NOT_IN`, to 2020-12."""

    def __init__(self, draft: str) -> None:
        self._draft = draft
        self._has_ref_alone = draft != "draft 2019-09"
        self._places: dict[_Path, _Path] = {}
        self._referring: list[dict[str, Any]] = []

    def whole(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A schema with its references, which name the places where its parts are now."""
        translated: dict[str, Any] = self._schema(schema, (), ())
        for part in self._referring:
            part["$ref"] = self._reference(part["$ref"])
        return translated

    def _schema(self, schema: Any, old: _Path, new: _Path) -> Any:
        """One schema, which stands at ``new`` instead of ``old``."""
        if len(old) > 2 * SCHEMA_DEPTH_MAX:
            raise ValueError(f"is nested deeper than {SCHEMA_DEPTH_MAX} levels")
        self._places[old] = new
        if not isinstance(schema, dict):
            return schema
        translated: dict[str, Any] = {}
        for name, value in schema.items():
            if name in _NOT_IN[self._draft]:
                raise ValueError(
                    f"{name} means something else in {self._draft} than in 2020-12: leave it out,"
                    " or write the schema in 2020-12"
                )
            if self._has_ref_alone and "$ref" in schema and name not in _BESIDE_REF:
                continue
            for keyword, part in self._keywords(name, value, schema, old, new):
                self._add(translated, keyword, part)
        if "$ref" in translated:
            self._referring.append(translated)
        return translated

    def _keywords(
        self, name: str, value: Any, beside: dict[str, Any], old: _Path, new: _Path
    ) -> Iterator[tuple[str, Any]]:
        """A keyword as those that say the same in 2020-12."""
        has_tuple = isinstance(beside.get("items"), list)
        if name == "dependencies" and isinstance(value, dict):
            for key, part in value.items():
                kind = "dependentRequired" if isinstance(part, list) else "dependentSchemas"
                yield kind, self._parts({key: part}, kind, (*old, name), (*new, kind))
        elif name != "$schema" and (name != "additionalItems" or has_tuple):
            keyword = _RENAMED_BESIDE_TUPLE.get(name, name) if has_tuple else name
            keyword = "$defs" if name == "definitions" else keyword
            yield keyword, self._parts(value, keyword, (*old, name), (*new, keyword))

    def _parts(self, value: Any, keyword: str, old: _Path, new: _Path) -> Any:
        """What stands behind a keyword of 2020-12, with the schemas in it."""
        if keyword in _BY_NAME and isinstance(value, dict):
            return {k: self._schema(v, (*old, k), (*new, k)) for k, v in value.items()}
        if keyword in _LISTS and isinstance(value, list):
            steps = enumerate(value)
            return [self._schema(v, (*old, str(n)), (*new, str(n))) for n, v in steps]
        return self._schema(value, old, new) if keyword in _SINGLE else value

    @staticmethod
    def _add(translated: dict[str, Any], keyword: str, part: Any) -> None:
        """Add a keyword, or to one that is there by another name already."""
        if keyword not in translated:
            translated[keyword] = part
            return
        there = translated[keyword]
        if not isinstance(there, dict) or not isinstance(part, dict) or there.keys() & part.keys():
            raise ValueError(f"has two parts that become the same one of {keyword} in 2020-12")
        translated[keyword] = there | part

    def _reference(self, ref: Any) -> Any:
        """A reference to the place where the schema that it names stands now."""
        if not isinstance(ref, str) or not ref.startswith("#/"):
            return ref
        steps = unquote(ref[2:]).split("/")
        old = tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)
        if old not in self._places:
            raise ValueError(f"there is no schema at {ref}")
        new = self._places[old]
        if new == old:
            return ref
        return "#/" + "/".join(quote(s.replace("~", "~0").replace("/", "~1"), "~") for s in new)
