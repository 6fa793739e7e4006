"""A posted form, read while it arrives: some fields, then one file of any size.

Nothing is held back but the fields, which are bounded; the file's bytes are handed on as they come.
spec: createUpload.procedure. The refusals are S3's.
"""

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from agentpost.domain.limits import CONTENT_TYPE_CHARACTERS_MAX, POST_FORM_BYTES_MAX
from agentpost.storage.post_policy import PostRefused

_PARTS_MAX = 50
_BOUNDARY_CHARACTERS_MAX = 70
_FILE = "file"


class PostedForm:
    """A push parser for one request body. Raises `PostRefused` for what S3 refuses, too."""

    def __init__(self, content_type: str) -> None:
        """``content_type``: the request's header."""
        if len(content_type) > CONTENT_TYPE_CHARACTERS_MAX:  # its parser takes very long for more
            raise malformed_error("The Content-Type is too long.")
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary", b"")
        if kind != b"multipart/form-data" or not 0 < len(boundary) <= _BOUNDARY_CHARACTERS_MAX:
            raise malformed_error("Post a form of the type multipart/form-data with a boundary.")
        self.fields: dict[str, str] = {}
        """Those before the file, by lower-case name."""
        self.filename = ""
        """The client's name for the file, once it began."""
        self.file_began = False
        self.ended = False
        self._pieces: list[bytes] = []
        self._parts = 0
        self._fed = 0
        self._around = 0  # bytes of other parts, since the form or the file began
        self._disposition = self._header = b""
        self._name = ""
        self._value = b""
        self._in_file = False
        self._delimiter = b"\r\n--" + boundary
        self._preamble: bytes | None = b"\r\n"  # as much as may begin the delimiter; None: over
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._part_begins,
                "on_header_field": self._header_name,
                "on_header_value": self._header_value,
                "on_header_end": self._header_ends,
                "on_headers_finished": self._data_begins,
                "on_part_data": self._data,
                "on_part_end": self._part_ends,
                "on_end": self._form_ends,
            },
        )

    def feed(self, data: bytes) -> list[bytes]:
        """Read on; the pieces of the file that were in it. Keeps nothing of them."""
        size = len(data)
        if self._preamble is not None:
            data = self._after_preamble(data)
        try:
            self._parser.write(data)
        except FormParserError:
            raise malformed_error("The body is not well-formed multipart/form-data.") from None
        self._fed += size
        if not self.file_began and self._fed > POST_FORM_BYTES_MAX:
            raise _too_long()
        pieces, self._pieces = self._pieces, []
        return pieces

    def _after_preamble(self, data: bytes) -> bytes:
        """What there is from the first boundary on (RFC 2046, 5.1.1: what is before it counts for
        nothing)."""
        data = (self._preamble or b"") + data
        begin = data.find(self._delimiter)
        if begin < 0:
            self._preamble = data[-len(self._delimiter) :]
            self._count(len(data) - len(self._preamble))
            return b""
        self._preamble = None
        self._count(begin)
        return data[begin + 2 :]

    def _part_begins(self) -> None:
        self._parts += 1
        self._disposition = self._value = b""
        if self._parts > _PARTS_MAX:
            raise _too_long()

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]
        self._count(end - start)

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]
        self._count(end - start)

    def _header_ends(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header = self._value = b""

    def _data_begins(self) -> None:
        # Bytes, not text: browsers write file names in UTF-8, which the parser cannot write back.
        _, options = parse_options_header(self._disposition)
        # Ours are ASCII; no other letter may become one of theirs in lower case.
        self._name = options.get(b"name", b"").decode("ascii", "backslashreplace").lower()
        is_file = self._name == _FILE
        if not self._name or not self._name.isprintable():
            raise malformed_error("A part of the form has no name, or one that cannot be shown.")
        if self.file_began and (is_file or b"filename" in options):
            raise one_file()
        self._in_file = is_file
        if is_file:
            self.file_began = True
            self.filename = options.get(b"filename", b"").decode("utf-8", "replace")
            self._around = 0

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self._pieces.append(data[start:end])
        else:
            self._count(end - start)
            self._value += data[start:end]

    def _part_ends(self) -> None:
        if not self.file_began:
            if self._name in self.fields:
                raise PostRefused(400, "InvalidArgument", f"The field {self._name} is there twice.")
            self.fields[self._name] = self._value.decode("utf-8", "replace")
        self._in_file = False
        self._value = b""

    def _form_ends(self) -> None:
        self.ended = True

    def _count(self, size: int) -> None:
        self._around += size
        if self._around > POST_FORM_BYTES_MAX:
            raise _too_long()


def malformed_error(message: str) -> PostRefused:
    """The body cannot be read as a form."""
    return PostRefused(400, "MalformedPOSTRequest", message)


def one_file() -> PostRefused:
    """No file, or more than one."""
    return PostRefused(400, "InvalidArgument", "POST requires exactly one file upload per request.")


def _too_long() -> PostRefused:
    return PostRefused(
        400,
        "MaxPostPreDataLengthExceeded",
        "Your POST request fields around the upload file were too large.",
    )
