"""Limit the structure of a body by counting in its bytes, before it is parsed.

A legal body of many megabytes consists of text. The same size in small values would need dozens of
times as much memory, and the parser would block everything else meanwhile.
"""

from __future__ import annotations

import re

VALUES_MAX = 10_000
"""Of one body, all its levels together, give or take one for each level."""

_REST_OF_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)


def has_too_many_values(data: bytes | bytearray) -> bool:
    """Whether the JSON in ``data`` has more than `VALUES_MAX` values; for no JSON, either answer.

    Values are counted by the commas between them. Those in strings are told apart only when there
    are too many in all, and no further than needed to know.
    """
    if data.count(b",") <= VALUES_MAX:
        return False
    commas = strings = at = 0
    while commas <= VALUES_MAX and strings <= 2 * VALUES_MAX:  # a name and a text for each value
        opening = data.find(b'"', at)
        if opening < 0:
            return commas + data.count(b",", at) > VALUES_MAX
        commas += data.count(b",", at, opening)
        strings += 1
        rest = _REST_OF_STRING.match(data, opening + 1)
        at = rest.end() if rest else len(data)
    return True
