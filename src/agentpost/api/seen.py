"""The versions a caller already has: `If-None-Match` (design: Additions. RFC 9110, 13.1.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from starlette.requests import Request

from agentpost.api.conditions import TAGS_CHARACTERS_MAX

_TAG = re.compile(r'"([^"]*)"')
_OURS = re.compile(r"v([0-9]{1,15})", re.ASCII)


@dataclass(frozen=True, slots=True)
class KnownVersions:
    """``versions``: those the caller names, strongly or weakly. ``any``: it has some, whichever."""

    versions: frozenset[int]
    any: bool = False

    def has(self, version: int) -> bool:
        """Whether the caller has that version."""
        return self.any or version in self.versions


def if_none_match(request: Request) -> KnownVersions | None:
    """The versions the caller names; None when the header is missing or cannot be read."""
    headers = request.headers.getlist("if-none-match")
    if not headers:
        return None
    header = ",".join(headers).strip()[:TAGS_CHARACTERS_MAX]
    if header == "*":
        return KnownVersions(frozenset(), any=True)
    tags = _TAG.findall(header)
    ours = (_OURS.fullmatch(tag) for tag in tags)
    return KnownVersions(frozenset(int(tag[1]) for tag in ours if tag)) if tags else None
