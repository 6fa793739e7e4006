# Made by docs/client_sync.py from agentpost_client/_async/files.py; change that.
"""Files that the agent made."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from agentpost_client._sync import io
from agentpost_client._sync.transport import Fetch, Transport
from agentpost_client.addresses import is_http_url
from agentpost_client.attachments import Progress
from agentpost_client.errors import BadAnswer
from agentpost_client.models import File
from agentpost_client.operations import operation
from agentpost_client.partial import place_for
from agentpost_client.requests import call
from agentpost_client.wire import Answer, failure, host_of

STALE_LINK_STATUSES = frozenset({403, 412})
"""A file link that expired, or whose file changed since (spec: File; design: Links)."""


class Files:
    """Records of made files, and their bytes."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @operation("getFile")
    def get(self, file_id: str) -> File:
        """A file's record with a fresh link."""
        return self._transport.ask(call("GET", "files", *file_id.split("/")), File)

    def download(
        self, file: File | str, into: str | os.PathLike[str], on_progress: Progress | None = None
    ) -> Path:
        """Save a file (or the file with that id) and return where.

        ``into`` is a folder, or the path of the file to write, which is replaced in one step when
        all bytes are there. A stale link is renewed once. ``on_progress`` is called with the bytes
        done and all of them. Raises `OSError` for the disk's trouble.
        """
        record = file if isinstance(file, File) else self.get(file)
        for is_last in (False, True):
            if not is_http_url(record.url):
                raise BadAnswer(f"The link of {record.file_id} is not an http address.")
            target = io.run(place_for, record.name, Path(into))
            fetch = Fetch(record.url, target, on_progress)
            outcome = self._transport.attempt(fetch, self._transport.options.policy.retries)
            if isinstance(outcome, Answer) and outcome.is_success:
                return target
            stale = isinstance(outcome, Answer) and outcome.status in STALE_LINK_STATUSES
            if is_last or not stale:
                break
            record = self.get(record.file_id)
        raise failure(outcome, host_of(record.url))

    def read(self, file: File | str) -> bytes:
        """All bytes of a file, in memory; for large files use `download`."""
        with tempfile.TemporaryDirectory() as folder:
            path = self.download(file, Path(folder) / "file")
            return io.run(path.read_bytes)
