"""What errors of a connection must not tell: the keys in the server's address and headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import parse_qsl, quote, unquote, urlsplit

_TEXT_CHARACTERS: Final = 4
_PART_CHARACTERS: Final = 8
"""Shorter parts of an address are words, such as ``mcp``, and no keys."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """The texts that are left out, the longest first."""

    texts: tuple[str, ...] = ()

    @classmethod
    def of(cls, url: str | None, headers: Mapping[str, str]) -> Self:
        """Those of a server: passwords and values in its address, long parts of its path, and the
        values of its headers."""
        secrets = [part for value in headers.values() for part in (value, *value.split())]
        if url is not None:
            parts = urlsplit(url)
            values = [value for _, value in parse_qsl(parts.query)]
            raw = [pair.partition("=")[2] for pair in parts.query.split("&")]
            long = [p for p in parts.path.split("/") if len(p) >= _PART_CHARACTERS]
            account = parts.netloc.rpartition("@")[0]
            secrets += [*long, *values, *raw, account, *account.split(":")]
        forms = {form for text in secrets for form in (text, quote(text, safe=""), unquote(text))}
        long_enough = {text for text in forms if len(text) >= _TEXT_CHARACTERS}
        return cls(tuple(sorted(long_enough, key=len, reverse=True)))

    def in_text(self, text: str) -> str:
        """The text with ``…`` in their places."""
        for hidden in self.texts:
            text = text.replace(hidden, "…")
        return text


NOTHING: Final = Hidden()
