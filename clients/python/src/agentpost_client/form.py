"""The form that carries an upload: its fields and then the file, in constant memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import uuid4

from agentpost_client.attachments import CHUNK_BYTES, Outgoing
from agentpost_client.errors import FileRefused


class FileForm:
    """``multipart/form-data`` with the file as its last field ``file`` (spec:
    createUpload.procedure).

    `chunks` can be taken again for another try. The file's own name is no part of the form: the
    server has had it before.
    """

    def __init__(self, fields: Mapping[str, str], outgoing: Outgoing) -> None:
        self._outgoing = outgoing
        boundary = f"agentpost-{uuid4().hex}"
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in fields.items()
        ]
        parts.append(
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n\r\n'
        )
        self._head = "".join(parts).encode()
        self._tail = f"\r\n--{boundary}--\r\n".encode()
        length = len(self._head) + outgoing.size + len(self._tail)
        self.headers = {
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "Content-Length": str(length),
        }

    def progress(self, position: int) -> tuple[int, int]:
        """Of the file, the bytes done when that many of the body are, and all of them."""
        size = self._outgoing.size
        return min(max(position - len(self._head), 0), size), size

    def chunks(self) -> Iterator[bytes]:
        """The body; raises `FileRefused` when the file has become another size."""
        yield self._head
        left = self._outgoing.size
        with self._outgoing.open() as stream:
            while left:
                chunk = stream.read(min(CHUNK_BYTES, left))
                if not chunk:
                    raise FileRefused(f"{self._outgoing.name} became shorter while it was sent.")
                left -= len(chunk)
                yield chunk
        yield self._tail
