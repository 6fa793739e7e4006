"""Set long texts of a large JSON body aside while it arrives.

A legal body of many megabytes consists of text, mostly base64. Parsing it in one piece would block
the interpreter for a tenth of a second. So long texts stay bytes and are read in pieces of a
tenth of a millisecond; the rest is short enough to be parsed at once.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from pydantic_core import from_json

from agentpost.domain.limits import BODY_REST_BYTES_MAX
from agentpost.domain.text import UNSTORABLE
from agentpost.uploads.attachments import InPieces

_TEXT_BYTES = 4 * 1024
"""A text that is longer may be set aside; one of twice the size always is."""
PIECE_BYTES = 16 * 1024
"""What is read at once: no thread gets the interpreter meanwhile."""
START_BYTES = 64 * 1024
_BLOCK_BYTES = 64 * 1024
"""A block of a text that is as long is whole: one that grew to megabytes would be copied by the
allocator, which takes the event loop ten milliseconds."""

# No group is repeated possessively: Python before 3.11.5 finds too short a match then (gh-106052).
_UNITS = re.compile(rb"[^\\]*+(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^\\]*+)*", re.DOTALL)
_HIGH_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")


class LongText(InPieces):
    """A text of a JSON body, as it came, in blocks: escaped, without its quotes. `examine` comes
    first: the other methods take the text for good."""

    def __init__(self, blocks: Sequence[bytes | bytearray]) -> None:
        self._blocks = blocks
        self._is_as_sent = False  # found to be ASCII without escapes, as base64 is

    def examine(self) -> bool:
        """Whether it has neither U+0000 nor half a surrogate pair. Raises `UnicodeDecodeError`, and
        `ValueError` when it is no text of JSON."""
        is_storable = is_as_sent = True
        for raw in self._raw_pieces():
            if _is_plain(raw):
                _check_plain(raw)
            else:
                is_as_sent = False
                is_storable = is_storable and not UNSTORABLE.search(_unescape(raw))
        self._is_as_sent = is_as_sent
        return is_storable

    def __len__(self) -> int:
        """Its size in bytes, as it came."""
        return sum(map(len, self._blocks))

    def pieces(self) -> Iterator[str]:
        """The text in pieces of `PIECE_BYTES` at the most; raises `ValueError` for no JSON."""
        for raw in self._raw_pieces():
            yield raw.decode("ascii") if self._is_as_sent else _unescape(raw)

    def start(self) -> str:
        """The first `START_BYTES` of it, about."""
        return "".join(islice(self.pieces(), START_BYTES // PIECE_BYTES))

    def strip(self, most: int) -> str | None:
        """The text without blanks around it; None when that has more than ``most`` characters."""
        text_so_far = blanks = ""
        for piece in self.pieces():
            text = blanks + piece if text_so_far else piece.lstrip()
            text_so_far += text.rstrip()
            blanks = text[len(text.rstrip()) :] if text_so_far else ""
            if len(text_so_far) > most:
                return None
            if len(blanks) > PIECE_BYTES:  # more than any text may have: only blanks can follow
                blanks = blanks[:PIECE_BYTES]
        return text_so_far

    def _raw_pieces(self) -> Iterator[bytes]:
        window = b""
        for n, block in enumerate(self._blocks, 1):
            window += block
            at, ahead = 0, PIECE_BYTES if n < len(self._blocks) else 0
            while len(window) - at > ahead:
                end = _end_of_piece(window, at)
                if end == at:
                    raise ValueError("a text ends in the middle of a character")
                yield window[at:end]
                at = end
            window = window[at:]


def _end_of_piece(data: bytes, at: int) -> int:
    """Behind the last whole character of a piece that begins there."""
    most = at + PIECE_BYTES
    if _is_plain(data[at:most]):
        return min(most, len(data))
    match = _UNITS.match(data, at, most)
    assert match is not None
    end = match.end()
    if end >= len(data):
        return end
    if end == most:
        while end > at and data[end] & 0xC0 == 0x80:  # inside of a character of several bytes
            end -= 1
    if _HIGH_SURROGATE.search(data, max(at, end - 6), end):
        end -= 6
    return end


def _is_plain(raw: bytes) -> bool:
    """Whether its text is the same letters, as far as it is a text of JSON at all."""
    return raw.isascii() and b"\\" not in raw


def _check_plain(raw: bytes) -> None:
    """Raises `ValueError` when it is no text of JSON. The other parser takes eight times as long,
    and no thread gets the interpreter meanwhile."""
    try:
        from_json(b'"%b"' % raw)
    except ValueError:
        _unescape(raw)  # says what is wrong


def _hide_escapes(data: bytes | bytearray) -> bytes | bytearray:
    """As many bytes, in which each quote begins or ends a text, and a backslash that stands last
    escapes what comes next. A pattern that repeats a group takes several times as long."""
    if b"\\" not in data:
        return data
    return data.replace(b"\\\\", b"..").replace(b'\\"', b"..")


def _unescape(raw: bytes) -> str:
    text: str = json.loads(b'"%b"' % raw)
    return text


class TooMuchElse(Exception):
    """The body is over `BODY_REST_BYTES_MAX` without its long texts: ``rest`` is what there is."""

    def __init__(self, rest: bytearray) -> None:
        super().__init__()
        self.rest = rest


class TakenApart:
    """A JSON body on its way. Whether it is JSON at all is for the parser to say. ``token``: text
    that nobody can have put into the body; a long text is stood for by it and a number."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._escaped = False
        self._text: list[bytearray] | None = None
        self.rest = bytearray()
        self.texts: dict[str, LongText] = {}

    def rest_hash(self) -> str:
        """The hash of the rest, as hex digits: that of another body with the same rest as well."""
        return hashlib.sha256(self.rest.replace(self._token.encode(), b"")).hexdigest()

    def feed(self, data: bytes | bytearray) -> None:
        """The next bytes; raises `TooMuchElse`."""
        at = 0
        while at < len(data):
            at = self._outside(data, at) if self._text is None else self._inside(data, at)
        if len(self.rest) > BODY_REST_BYTES_MAX:
            raise TooMuchElse(self.rest)

    def end(self) -> None:
        """There is no more: a text without an end is left to the parser, which refuses it."""
        if self._text is not None:
            self.rest += b'"' + self._text[0][:_TEXT_BYTES]
            self._text = None

    def _outside(self, data: bytes | bytearray, at: int) -> int:
        """Read on to the first text that does not end within the next bytes."""
        piece = _hide_escapes(data[at : at + _TEXT_BYTES])
        end = at + len(piece)
        if piece.count(b'"') % 2:  # the last quote begins a text that goes on
            begins = at + piece.rindex(b'"')
            self.rest += data[at:begins]
            self._text = [bytearray()]
            return begins + 1
        self.rest += data[at:end]
        return end

    def _inside(self, data: bytes | bytearray, at: int) -> int:
        text = self._text
        assert text is not None
        if len(text[-1]) >= _BLOCK_BYTES:
            text.append(bytearray())
        end = self._end_of_text(data, at)
        if end < 0:
            text[-1] += data[at:]
            return len(data)
        text[-1] += data[at:end]
        self._put_aside(text)
        self._text = None
        return end + 1

    def _end_of_text(self, data: bytes | bytearray, at: int) -> int:
        """Where the quote is that ends the text; -1 when that is not among the next bytes."""
        at += self._escaped
        self._escaped = False
        while at < len(data):
            piece = _hide_escapes(data[at : at + _TEXT_BYTES])
            end = piece.find(b'"')
            if end >= 0:
                return at + end
            at += len(piece)
            if piece.endswith(b"\\"):  # it escapes what comes next
                self._escaped = at == len(data)
                at += 1
        return -1

    def _put_aside(self, text: list[bytearray]) -> None:
        if len(text) == 1 and len(text[0]) <= _TEXT_BYTES:
            self.rest += b'"%b"' % bytes(text[0])
            return
        name = f"{self._token}{len(self.texts)}"
        self.texts[name] = LongText(text)
        self.rest += b'"%b"' % name.encode()
