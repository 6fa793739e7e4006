"""Signed values that clients hand back: download links and event-log cursors.

Both carry all they mean, so nothing is stored for them. The keys are derived from the server's
secret, one per use: what was signed as one thing can never pass as another. ``before`` are earlier
secrets: what they have signed still counts, and nothing new is signed with them.
"""

import base64
import hmac
import re
import struct
from collections.abc import Sequence
from enum import Enum
from urllib.parse import quote

_UNIX_SECONDS = re.compile(r"[0-9]{1,12}")
_CURSOR_HEAD = struct.Struct(">QIB")  # time, seq, bytes of the message id
_CURSOR_MAC_BYTES = 12
_CURSOR_CHARACTERS_MAX = 800


class LinkState(Enum):
    """The verdict on a link; design: Links."""

    OK = "ok"
    EXPIRED = "expired"
    FORGED = "forged"


class LinkSigner:
    """Download links that need no API key: ``{base_url}/files/<file id>?exp=…&rev=…&sig=…``.

    The signature is an HMAC-SHA256 over file id, revision and expiry: a link opens one revision of
    one file until a moment. (spec: File.url; design: Links)
    """

    def __init__(self, secret: bytes, base_url: str, before: Sequence[bytes] = ()) -> None:
        """``base_url``: where files are downloaded from, the setting ``FILE_URL``."""
        self._keys = [_derive_key(each, b"download link") for each in (secret, *before)]
        self._prefix = base_url.rstrip("/") + "/files/"

    def link(self, file_id: str, revision: str, expires_at: int) -> str:
        """A link to the file as it is in ``revision`` (an entity tag, quoted or not), good until
        ``expires_at`` (Unix seconds)."""
        exp, rev = str(expires_at), compact_revision(revision)
        sig = _text(_link_signature(self._keys[0], file_id, exp, rev))
        return f"{self._prefix}{quote(file_id)}?exp={exp}&rev={quote(rev, safe='')}&sig={sig}"

    def check(self, file_id: str, exp: str, rev: str, sig: str, now: float) -> LinkState:
        """Judge the decoded parts of a link; ``now`` in Unix seconds. Any text may be given.

        Whether ``rev`` is still the file's revision is for the caller to see (`compact_revision`).
        """
        encoded = sig.encode(errors="replace")
        genuine = any(
            hmac.compare_digest(_text(_link_signature(key, file_id, exp, rev)).encode(), encoded)
            for key in self._keys
        )
        if not genuine or not _UNIX_SECONDS.fullmatch(exp):
            return LinkState.FORGED
        return LinkState.OK if now < int(exp) else LinkState.EXPIRED


def _link_signature(key: bytes, file_id: str, exp: str, rev: str) -> bytes:
    # Lengths first: no two different triples give the same text.
    signed = f"{len(exp)}:{len(rev)}:{exp}{rev}{file_id}"
    return hmac.digest(key, signed.encode(errors="surrogatepass"), "sha256")


def compact_revision(revision: str) -> str:
    """An entity tag without its quotes: the form a link carries."""
    return revision.removeprefix('"').removesuffix('"')


class CursorSigner:
    """Places in event logs as opaque text. spec: EventList; Errors bad_cursor; design: The event
    log.
    """

    def __init__(self, secret: bytes, before: Sequence[bytes] = ()) -> None:
        self._keys = [_derive_key(each, b"event cursor") for each in (secret, *before)]

    def make(self, message_id: str, key_id: str, seq: int, time: int) -> str:
        """The place after entry ``seq`` of a message's log, for one API key; ``time`` is when it
        was handed out (Unix seconds). URL-safe."""
        message = message_id.encode()
        body = _CURSOR_HEAD.pack(time, seq, len(message)) + message + key_id.encode()
        return _text(_cursor_mac(self._keys[0], body) + body)

    def read(self, text: str) -> tuple[str, str, int, int] | None:
        """Message id, key id, seq and time, or None when we did not make this text."""
        raw = _bytes(text) if len(text) <= _CURSOR_CHARACTERS_MAX else None
        if raw is None or len(raw) < _CURSOR_MAC_BYTES + _CURSOR_HEAD.size:
            return None
        mac, body = raw[:_CURSOR_MAC_BYTES], raw[_CURSOR_MAC_BYTES:]
        if not any(hmac.compare_digest(mac, _cursor_mac(key, body)) for key in self._keys):
            return None
        time, seq, message_bytes = _CURSOR_HEAD.unpack_from(body)
        ids = body[_CURSOR_HEAD.size :]
        return ids[:message_bytes].decode(), ids[message_bytes:].decode(), seq, time


def _cursor_mac(key: bytes, body: bytes) -> bytes:
    return hmac.digest(key, body, "sha256")[:_CURSOR_MAC_BYTES]


def _derive_key(secret: bytes, use: bytes) -> bytes:
    return hmac.digest(secret, b"agentpost " + use, "sha256")


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _bytes(text: str) -> bytes | None:
    """The bytes of `_text`; None for anything it would not have written."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    return raw if _text(raw) == text else None
