"""Where the server is and which key to use, checked once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from agentpost_client.addresses import is_http_url
from agentpost_client.errors import ConfigError

URL_VARIABLE = "AGENTPOST_URL"
KEY_VARIABLE = "AGENTPOST_KEY"


@dataclass(frozen=True, slots=True)
class Config:
    """``url`` has no trailing slash and no ``/v1``; the key never shows up in a ``repr``."""

    url: str
    key: str = field(repr=False)


def resolve_config(
    url: str | None, key: str | None, environment: Mapping[str, str] = os.environ
) -> Config:
    """Take what is given, else the environment; raises `ConfigError` that says what to set."""
    url = (url or environment.get(URL_VARIABLE, "")).strip()
    key = (key or environment.get(KEY_VARIABLE, "")).strip()
    if not url:
        raise ConfigError(f"No server address: set {URL_VARIABLE}, such as http://127.0.0.1:8080.")
    if not key:
        raise ConfigError(f"No API key: set {KEY_VARIABLE} to a key of this server.")
    # A password in the address would be sent in place of the key, and shown in error texts.
    if not is_http_url(url) or any(character in url for character in "@?# "):
        raise ConfigError(
            "The server's address must be an http:// or https:// address of a host, without a"
            f" password: check {URL_VARIABLE}, or the url given."
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError(
            f"The API key has characters that no key has: check {KEY_VARIABLE}, or the key given."
        )
    return Config(url.rstrip("/").removesuffix("/v1"), key)
