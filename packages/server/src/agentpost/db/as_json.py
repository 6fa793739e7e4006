"""Many values by name as one parameter: both databases read them with ``json_each(?)``.

Its rows have a ``key`` and a ``value``; the value is a number after `NUMBER`.
"""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Final

NUMBER: Final = "CAST(CAST({}.value AS text) AS bigint)"
"""The value of a row, by the name of the rows."""
_PIECE: Final = 1_000
"""To write so many as JSON takes a third of a millisecond, for which the interpreter is held."""


def pieces(values: Mapping[str, int]) -> Iterator[str]:
    """The values as JSON, in parts that each hold up nobody."""
    items = iter(values.items())
    while piece := dict(itertools.islice(items, _PIECE)):
        yield json.dumps(piece)


def join(texts: list[str]) -> str:
    """All parts in one."""
    return "{" + ",".join(text[1:-1] for text in texts) + "}"


def names(values: set[str]) -> str:
    """A few names, each a ``key``."""
    return json.dumps(dict.fromkeys(sorted(values), 0))
