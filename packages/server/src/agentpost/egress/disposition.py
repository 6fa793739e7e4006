"""The file name in a `Content-Disposition` header of a server we do not trust (RFC 6266, 4.3).

Read here and not by the HTTP client: that one lets the header choose among all of Python's codecs,
some of which raise, and warns about each header it cannot read.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

_PARAMETER = re.compile(
    r';\s*filename(?P<extended>\*?)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s;"]+))',
    re.IGNORECASE,
)
_EXTENDED = re.compile(r"(?P<charset>utf-8|iso-8859-1)'[^']*'(?P<text>.+)", re.IGNORECASE)
_ESCAPED = re.compile(r"\\(.)")


def given_name(header: str) -> str | None:
    """The name it gives, unsafe as it is; the extended form wins. None when it gives none."""
    plain: str | None = None
    for parameter in _PARAMETER.finditer(header):
        quoted = parameter["quoted"]
        text = parameter["plain"] if quoted is None else _ESCAPED.sub(r"\1", quoted)
        if not parameter["extended"]:
            plain = plain or text
        elif value := _EXTENDED.fullmatch(text):
            return unquote(value["text"], value["charset"], "replace")
    return plain
