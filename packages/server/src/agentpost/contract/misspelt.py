"""A field that is missing, and one beside it that was probably meant to be it.

Fields that are not known are ignored, so a misspelt one is only noticed by what it leaves out.
"""

from collections.abc import Container, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final

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
