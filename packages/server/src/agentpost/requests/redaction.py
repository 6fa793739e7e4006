"""Remove secrets from what the request inspector keeps of a request (spec: Authentication 5).

Left out are the values of fields that look like secrets, contents of files, API keys (ours and
those that begin like a known service's), webhook secrets, PEM blocks, and tokens and passwords of
an ``Authorization`` wherever they stand, the user name and the query of every URL, and of a
webhook's URL all but its host: chat services put their token into the path. Searching is cheap and
replacing is not; most bodies contain no secret.
"""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from agentpost.domain.limits import (
    REQUEST_BODY_KEPT_CHARACTERS_MAX,
    REQUEST_BODY_READ_BYTES_MAX,
    REQUEST_PATH_KEPT_CHARACTERS_MAX,
)
from agentpost.domain.text import storable
from agentpost.requests.shapes import LEFT_OUT

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
)
"""A field is secret when its name holds one of these, in any case,"""
_WHOLE_NAMES = ("auth", "pass", "sig", "session", "sid", "otp")
"""is one of these,"""
_KEY_NAMES = ("key", "pem")
"""or holds one of these and is no object nor list of objects (`api_key`, `keyFile`, `key_pem`)."""

_SECRET = re.compile(
    rf"{'|'.join((*SECRET_NAMES, *_KEY_NAMES))}|\A(?:{'|'.join(_WHOLE_NAMES)})\Z", re.IGNORECASE
)
_CERTAIN = re.compile("|".join(SECRET_NAMES), re.IGNORECASE)
_PARAMETER = re.compile(r"[?&;][^=&;]*=[^&;]*(?:;(?![^=&;]*=)[^&;]*)*")
"""A parameter; a ";" separates two as "&" does, unless no name follows."""
_BEFORE_NAME = re.compile(r"[?&;#]")
_ESCAPES_WITHIN_MAX = 8
"""So many times an address is decoded: each address within a parameter is escaped once more."""
_PRESIGNED = "x-amz-"
_HINTS = (*SECRET_NAMES, *_KEY_NAMES, *(f'"{name}"' for name in _WHOLE_NAMES))

# Within JSON text: an escaped quote, backslash or character belongs to the URL, `\n` ends it.
_REST = r'(?:[^\s"\\]|\\["\\/u])*'
_URL = re.compile(rf"([a-z][a-z0-9+.-]{{0,30}}://)({_REST})", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*\Z", re.IGNORECASE)
_SCHEME_CHARACTERS_MAX = 31
_HOST = re.compile(r"(?:\[[0-9a-fA-F:.]*\]|[^:]*)(?::\d*)?")
_BEGIN = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]))"
"""Where a word begins, also behind an escape such as `\\n` of JSON text."""
_BEARER = re.compile(rf"({_BEGIN}bearer\s+)[^\s\"\\]+", re.IGNORECASE)
_BASIC = re.compile(rf"({_BEGIN}basic\s+)([a-z0-9+/_-]{{4,}}={{0,2}})", re.IGNORECASE)
_PEM = re.compile(
    r"(-----BEGIN [A-Z0-9 ]{1,60}-----)[^\"]*?(?:-----END [A-Z0-9 ]{1,60}-----|(?=\")|\Z)"
)
_SERVICES = (
    *("sk-", "k_live_", "k_test_", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_"),
    *("glpat-", "npm_", "hf_", "SG.", "AKIA", "ASIA", "AIza", "xox", "eyJ"),
)
"""How keys and tokens of well-known services begin; "eyJ" begins every JSON Web Token."""
_SERVICE_KEY = re.compile(
    rf"{_BEGIN}([rs]?(?:{'|'.join(map(re.escape, _SERVICES))}))[A-Za-z0-9_.-]{{12,}}"
)
_WEBHOOK_SECRET = re.compile(r"(whsec_)[\w+/=-]+")


_URL_SAFE = str.maketrans("+/", "-_")
_FILE_CONTENT = "base64"
_ROUNDED_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class LargeBody:
    """A body that was taken apart while it came: ``size`` in bytes, and the rest of it, in which
    names stand for long texts; ``texts``: of each name the text's size in bytes."""

    size: int
    rest: bytes = b""
    texts: Mapping[str, int] = field(default_factory=dict)


class Redaction:
    """Cleans texts of a server whose API keys begin with ``key_prefix``."""

    def __init__(self, key_prefix: str) -> None:
        self._key_prefix = key_prefix
        self._key = re.compile(rf"({re.escape(key_prefix)})[\w-]+")

    def path(self, raw_path: bytes, query: bytes) -> str:
        """The address that was asked for, cut to `REQUEST_PATH_KEPT_CHARACTERS_MAX`."""
        target = raw_path + b"?" + query if query else raw_path
        # Cut first: what is left out behind the end is gone either way.
        path = target[:REQUEST_PATH_KEPT_CHARACTERS_MAX].decode("latin-1")
        text = storable(path)
        if query:
            text = _PARAMETER.sub(_parameter, text)
        shown = text = self._text(text, hosts_only=False)
        for _ in range(_ESCAPES_WITHIN_MAX):  # an escape must not hide a secret
            if "%" not in text or (readable := storable(unquote(text))) == text:
                return shown
            text = self._text(_PARAMETER.sub(_parameter, readable), hosts_only=False)
            if text != readable:
                shown = text
        return shown if "%" not in text else LEFT_OUT

    def body(self, content: bytes | LargeBody, raw_path: bytes) -> str | None:
        """A body of a request to ``raw_path`` or of its answer, cut to
        `REQUEST_BODY_KEPT_CHARACTERS_MAX`; None when it is not kept because it is too large, or may
        hold a secret or hide what it says and is no JSON."""
        large = content if isinstance(content, LargeBody) else None
        data = large.rest if large else content
        assert isinstance(data, bytes)
        if not data or len(data) > REQUEST_BODY_READ_BYTES_MAX:
            return None
        texts = large.texts if large else {}
        text = data.decode("utf-8", "replace").replace("\0", "")
        escaped = "\\u" in text or "\\/" in text  # an escape must not hide a name or a secret
        if texts or escaped or self._hints_at_secrets(text):
            try:
                text = json.dumps(_without_secrets(json.loads(text), texts), ensure_ascii=False)
            except (ValueError, RecursionError):
                return None
        # The path as the router reads it, with escapes decoded.
        path = unquote_to_bytes(raw_path) if b"%" in raw_path else raw_path
        hosts_only = path.startswith(WEBHOOKS)
        text = self._text(text, hosts_only=hosts_only)
        # Half of a surrogate pair, written as an escape, is no text for a database.
        text = storable(text) if escaped else text
        return text[:REQUEST_BODY_KEPT_CHARACTERS_MAX]

    def _hints_at_secrets(self, text: str) -> bool:
        lower = text.lower()
        for hint in _HINTS:  # noqa: SIM110 - on every request: a generator takes twice as long
            if hint in lower:
                return True
        return False

    def _text(self, text: str, *, hosts_only: bool) -> str:
        if "://" in text:
            text = _replace_urls(text, _only_host if hosts_only else _without_query)
        if "earer" in text or "EARER" in text:
            text = _BEARER.sub(rf"\1{LEFT_OUT}", text)
        if "asic" in text or "ASIC" in text:
            text = _BASIC.sub(_basic, text)
        if "-----BEGIN " in text:
            text = _PEM.sub(rf"\1{LEFT_OUT}", text)
        for service in _SERVICES:
            if service in text:
                text = _SERVICE_KEY.sub(rf"\1{LEFT_OUT}", text)
                break
        if "whsec_" in text:
            text = _WEBHOOK_SECRET.sub(rf"\1{LEFT_OUT}", text)
        if self._key_prefix in text:
            text = self._key.sub(rf"\1{LEFT_OUT}", text)
        return text


def _without_secrets(value: Any, texts: Mapping[str, int]) -> Any:
    if isinstance(value, dict):
        return {
            LEFT_OUT if name in texts else name: _left_out(name, inner, texts)
            if _is_secret(name, inner)
            else _without_secrets(inner, texts)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_without_secrets(inner, texts) for inner in value]
    if isinstance(value, str) and value in texts:
        return _size(texts[value])
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        return _without_secrets_in_text(value)
    return value


def _without_secrets_in_text(text: str) -> str:
    """A text that is JSON itself, such as the arguments of a tool."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    cleaned = _without_secrets(value, {})
    return text if cleaned == value else json.dumps(cleaned, ensure_ascii=False)


def _left_out(name: str, value: Any, texts: Mapping[str, int]) -> str:
    """What stands for a secret; of a file's content its size is told."""
    if name != _FILE_CONTENT or not isinstance(value, str):
        return LEFT_OUT
    size = texts[value] if value in texts else len(value) - value[-2:].count("=")
    return _size(size * 3 // 4)


def _size(size: int) -> str:
    """What stands for a text of that size in bytes."""
    if size < _ROUNDED_BYTES:  # of a text that was set aside we do not know the very end
        return f"{LEFT_OUT} ({size:,} bytes)"
    return f"{LEFT_OUT} ({size / 1_000:,.0f} kB)"


def _is_secret(name: str, value: Any) -> bool:
    """Whether a field is to be left out; nothing, yes and no tell nothing."""
    if value is None or isinstance(value, bool) or not _SECRET.search(name):
        return False
    values = value if isinstance(value, list) and value else [value]
    return _CERTAIN.search(name) is not None or not all(isinstance(v, dict) for v in values)


def _basic(match: re.Match[str]) -> str:
    """A user's name and password; another word behind "basic" ends without "=" and holds no colon
    when decoded."""
    try:
        is_secret = match[2].endswith("=") or b":" in urlsafe_b64decode(
            match[2].translate(_URL_SAFE) + "=="
        )
    except ValueError:
        is_secret = False
    return f"{match[1]}{LEFT_OUT}" if is_secret else match[0]


def _parameter(match: re.Match[str]) -> str:
    """The parameter; when it is secret or one in its value is, without everything behind that."""
    *names, _ = pieces = match[0].split("=")
    for count, piece in enumerate(names, 1):
        name = _BEFORE_NAME.split(piece)[-1]
        if "%" in name:
            name = unquote(name)
        if _SECRET.search(name) or name.lower().startswith(_PRESIGNED):
            return "=".join((*pieces[:count], LEFT_OUT))
    return match[0]


def _replace_urls(text: str, clean: Callable[[re.Match[str]], str]) -> str:
    """`_URL.sub`, looking for a scheme only in front of a "://": nearly every answer has an address
    in it, and trying each character of the text takes twenty times as long."""
    parts: list[str] = []
    position = 0
    at = text.find("://")
    while at >= 0:
        scheme = _SCHEME.search(text, max(position, at - _SCHEME_CHARACTERS_MAX), at)
        url = _URL.match(text, scheme.start()) if scheme else None
        if url is not None:
            parts += text[position : url.start()], clean(url)
            position = url.end()
        at = text.find("://", max(position, at + 1))
    return "".join((*parts, text[position:]))


def shown_url(text: str) -> str:
    """An address of a receiver for people: its path and query may be secrets, so the host only."""
    url = _URL.fullmatch(text.strip())
    return _only_host(url) if url is not None else LEFT_OUT


def _without_query(url: re.Match[str]) -> str:
    scheme, rest = url[1], url[2]
    authority, slash, path = rest.partition("/")
    if "@" in authority:  # a password may hold a "?" or "#"
        rest = f"{LEFT_OUT}@{authority.rpartition('@')[2]}{slash}{path}"
    rest, mark, _ = rest.partition("?")
    rest, _, fragment = rest.partition("#")
    _, separator, after = rest.rpartition("@")
    if separator:
        rest = f"{LEFT_OUT}@{after}"
    if fragment:
        rest += f"#{LEFT_OUT if '=' in fragment else fragment}"
    return f"{scheme}{rest}{f'?{LEFT_OUT}' if mark else ''}"


def _only_host(url: re.Match[str]) -> str:
    authority, *rest = re.split(r"[/?#\\]", url[2], maxsplit=1)
    host = authority.rpartition("@")[2]
    # A password may hold a "/": then this is a part of it.
    visible = host if _HOST.fullmatch(host) else LEFT_OUT
    return f"{url[1]}{visible}{f'/{LEFT_OUT}' if rest else ''}"
