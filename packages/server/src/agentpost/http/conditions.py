"""Conditions and ranges of requests (RFC 9110, 13.1 and 14; design: Additions).

An unknown header value counts as none, as the RFC requires, with one exception: an `If-Match` that
does not name the file is never met.
"""

import re
from collections.abc import Callable, Sequence

from starlette.datastructures import Headers

from agentpost.domain.errors import BeyondTheEnd

_TAGS_CHARACTERS_MAX = 4_096
"""Of a list of entity tags; those behind that are not looked at."""

_TAG = re.compile(r'(W/)?("[^"]*")')
# More digits than any file has bytes, fewer than Python takes for a number.
_RANGE = re.compile(r"bytes=([0-9]{0,1000})-([0-9]{0,1000})", re.IGNORECASE)


def is_another(headers: Headers, tag: str) -> bool:
    """Whether `If-Match` wants something else than the file with this (strong) entity tag."""
    return "if-match" in headers and not _names(headers, "if-match", tag, weakly=False)


def is_known(headers: Headers, tag: str) -> bool:
    """Whether `If-None-Match` says that the client has the file with this entity tag."""
    return _names(headers, "if-none-match", tag, weakly=True)


def byte_range(headers: Headers, tag: str, size: int) -> tuple[int, int] | None:
    """(start, end) of the one range asked for of ``size`` bytes; None: the whole file, which those
    who ask for several ranges get, too. Raises `BeyondTheEnd`."""
    match = _RANGE.fullmatch(headers.get("range", "").replace(" ", ""))
    if match is None or not (match[1] or match[2]) or headers.get("if-range", tag) != tag:
        return None
    first, last = match[1], match[2]
    if first:
        start = int(first)
        end = min(int(last) + 1, size) if last else size
    else:
        start, end = max(size - int(last), 0), size
    if start >= end:
        raise BeyondTheEnd(size)
    return start, end


def _names(headers: Headers, header: str, tag: str, *, weakly: bool) -> bool:
    """Whether a list of tags has this one; ``weakly``: a weak one may stand for it."""
    text = ", ".join(headers.getlist(header))[:_TAGS_CHARACTERS_MAX]
    if text.strip() == "*":
        return True
    return any(match[2] == tag and (weakly or not match[1]) for match in _TAG.finditer(text))


def versions_of(header_values: Sequence[str]) -> Callable[[int], bool] | None:
    """Whether the `If-None-Match` headers name a version of a message, strongly or weakly; None
    when there is none, or they cannot be read."""
    text = ",".join(header_values).strip()[:_TAGS_CHARACTERS_MAX]
    tags = {match[2] for match in _TAG.finditer(text)}
    if text != "*" and not tags:
        return None
    return lambda version: text == "*" or f'"v{version}"' in tags
