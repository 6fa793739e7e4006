"""Remove secrets from what the request inspector keeps of a request (spec: Authentication 5).

Left out are the values of fields that look like secrets, contents of files, API keys, webhook
secrets and bearer tokens wherever they stand, the user name and the query of every URL, and of a
webhook's URL all but its host: chat services put their token into the path. Searching is cheap and
replacing is not; most bodies contain no secret.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from agentpost.domain.limits import REQUEST_BODY_KEPT_BYTES_MAX, REQUEST_PATH_KEPT_CHARACTERS_MAX
from agentpost.domain.text import storable

LEFT_OUT = "…"
WEBHOOKS = b"/v1/webhooks"

SECRET_NAMES = (
    "base64",
    "secret",
    "signature",
    "policy",
    "token",
    "jwt",
    "bearer",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "authorization",
    "credential",
    "cookie",
    "accesskey",
)
"""A field is secret when its name holds one of these, in any case,"""
_WHOLE_NAMES = ("auth", "pass", "sig", "session", "sid", "otp")
"""is one of these, or ends in "key" and is no object (`api_key`, `apiKey`, `x-api-key`)."""

_SECRET = re.compile(
    rf"{'|'.join(SECRET_NAMES)}|key\Z|\A(?:{'|'.join(_WHOLE_NAMES)})\Z", re.IGNORECASE
)
_PARAMETER = re.compile(r"([?&]([^=&]*)=)[^&]*")
_PRESIGNED = "x-amz-"
_HINTS = (*SECRET_NAMES, 'key"', *(f'"{name}"' for name in _WHOLE_NAMES))

# Within JSON text: an escaped quote, backslash or character belongs to the URL, `\n` ends it.
_REST = r'(?:[^\s"\\]|\\["\\/u])*'
_URL = re.compile(rf"([a-z][a-z0-9+.-]{{0,30}}://)({_REST})", re.IGNORECASE)
_BEARER = re.compile(r"(\bbearer\s+)[^\s\"\\]+", re.IGNORECASE)
_WEBHOOK_SECRET = re.compile(r"(whsec_)[\w+/=-]+")


class Redaction:
    """Cleans texts of a server whose API keys begin with ``key_prefix``."""

    def __init__(self, key_prefix: str) -> None:
        self._key_prefix = key_prefix
        self._key = re.compile(rf"({re.escape(key_prefix)})[\w-]+")

    def path(self, raw_path: bytes, query: bytes) -> str:
        """The address that was asked for, cut to `REQUEST_PATH_KEPT_CHARACTERS_MAX`."""
        asked = raw_path + b"?" + query if query else raw_path
        # Cut first: what is left out behind the end is gone either way.
        path = asked[:REQUEST_PATH_KEPT_CHARACTERS_MAX].decode("latin-1")
        path = storable(path)
        if query:
            path = _PARAMETER.sub(_parameter, path)
        return self._text(path, hosts_only=False)

    def body(self, data: bytes, raw_path: bytes) -> str | None:
        """A body of a request to ``raw_path`` or of its answer; None when it is not kept because
        it is too large, or may hold a secret or hide what it says and is no JSON."""
        if not data or len(data) > REQUEST_BODY_KEPT_BYTES_MAX:
            return None
        text = data.decode("utf-8", "replace").replace("\0", "")
        escaped = "\\u" in text or "\\/" in text  # an escape must not hide a name or a secret
        if escaped or self._hints_at_secrets(text):
            try:
                text = json.dumps(_without_secrets(json.loads(text)), ensure_ascii=False)
            except (ValueError, RecursionError):
                return None
        # The path as the router reads it, with escapes decoded.
        path = unquote_to_bytes(raw_path) if b"%" in raw_path else raw_path
        hosts_only = path.startswith(WEBHOOKS)
        text = self._text(text, hosts_only=hosts_only)
        # Half of a surrogate pair, written as an escape, is no text for a database.
        return storable(text) if escaped else text

    def _hints_at_secrets(self, text: str) -> bool:
        lower = text.lower()
        for hint in _HINTS:  # noqa: SIM110 - on every request: a generator takes twice as long
            if hint in lower:
                return True
        return False

    def _text(self, text: str, *, hosts_only: bool) -> str:
        if "://" in text:
            text = _URL.sub(_only_host if hosts_only else _without_query, text)
        if "earer" in text or "EARER" in text:
            text = _BEARER.sub(rf"\1{LEFT_OUT}", text)
        if "whsec_" in text:
            text = _WEBHOOK_SECRET.sub(rf"\1{LEFT_OUT}", text)
        if self._key_prefix in text:
            text = self._key.sub(rf"\1{LEFT_OUT}", text)
        return text


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: LEFT_OUT if _is_secret(name, inner) else _without_secrets(inner)
            for name, inner in value.items()
        }
    return [_without_secrets(inner) for inner in value] if isinstance(value, list) else value


def _is_secret(name: str, value: Any) -> bool:
    """Whether a field is to be left out; nothing, yes and no tell nothing."""
    if value is None or isinstance(value, bool) or not _SECRET.search(name):
        return False
    return not (isinstance(value, dict) and name.lower().endswith("key"))


def _parameter(found: re.Match[str]) -> str:
    name = found[2]
    if "%" in name:
        name = unquote(name)
    secret = _SECRET.search(name) or name.lower().startswith(_PRESIGNED)
    return f"{found[1]}{LEFT_OUT}" if secret else found[0]


def _without_query(url: re.Match[str]) -> str:
    scheme, rest = url[1], url[2]
    rest, asked, _ = rest.partition("?")
    rest, _, fragment = rest.partition("#")
    _, named, after = rest.rpartition("@")
    if named:
        rest = f"{LEFT_OUT}@{after}"
    if fragment:
        rest += f"#{LEFT_OUT if '=' in fragment else fragment}"
    return f"{scheme}{rest}{f'?{LEFT_OUT}' if asked else ''}"


def _only_host(url: re.Match[str]) -> str:
    host = re.split(r"[/?#\\]", url[2].rpartition("@")[2], maxsplit=1)
    return f"{url[1]}{host[0]}{f'/{LEFT_OUT}' if len(host) > 1 else ''}"
