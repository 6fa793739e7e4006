"""The standard streams of a worker process, read by the server.

Read, not inherited: endless output must fill neither the log nor the pipe, so output over the limit
is read and dropped. That holds for what C code and started programs write, too.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextvars import Context
from typing import Final

from agentpost.author.output import Output

_CHUNK_BYTES: Final = 64 * 1024
_STDERR_BYTES_MAX: Final = 600
_LAST_CHUNKS: Final = 32
"""What is read of each stream when a call is over: more than a pipe holds."""


class OutputPipes:
    """A pipe for each standard stream of one worker. Belongs to the event loop it is started on.

    ``stdout`` and ``stderr`` are the descriptors for the worker. Raises `OSError`.
    """

    def __init__(self) -> None:
        self._output = Output({})
        self._reading: dict[str, int] = {}
        self._stderr_tail: bytes | None = b""
        self.stdout = self.stderr = -1
        try:
            self._reading["stdout"], self.stdout = _pipe()
            self._reading["stderr"], self.stderr = _pipe()
        except OSError:  # too many are open
            self.close()
            raise

    def start(self) -> None:
        """The worker has its descriptors: read what it writes."""
        self._close_theirs()
        loop = asyncio.get_running_loop()
        for stream, reading in self._reading.items():
            # In a context of its own: that of the call which started the worker is another's later.
            Context().run(loop.add_reader, reading, self._read, stream)

    def begin(self, ids: Mapping[str, object]) -> None:
        """A call begins: what is written from here on is its."""
        self._stderr_tail = None
        self._output.end()
        self._output = Output(ids)

    def stderr_tail(self) -> str:
        """The end of what it wrote to standard error before its first call, to say why it could not
        begin; empty when that is nothing."""
        text = " ".join((self._stderr_tail or b"").decode("utf-8", "replace").split())
        return f"; it says: {text}" if text else ""

    def end(self) -> None:
        """The call is over. What programs that it started still write is its as well."""
        for stream in list(self._reading):
            for _ in range(_LAST_CHUNKS):
                if not self._read(stream):
                    break
        self._output.end()

    def close(self) -> None:
        """Read what is left, then close."""
        self.end()
        self._close_theirs()
        for stream in list(self._reading):
            self._close(stream)

    def _read(self, stream: str) -> bool:
        """Read a part; False when there is nothing now."""
        try:
            data = os.read(self._reading[stream], _CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._close(stream)
            return False
        if self._stderr_tail is not None and stream == "stderr":
            self._stderr_tail = (self._stderr_tail + data)[-_STDERR_BYTES_MAX:]
        self._output.feed(stream, data)
        return True

    def _close(self, stream: str) -> None:
        reading = self._reading.pop(stream)
        asyncio.get_running_loop().remove_reader(reading)
        os.close(reading)

    def _close_theirs(self) -> None:
        for writing in (self.stdout, self.stderr):
            if writing >= 0:
                os.close(writing)
        self.stdout = self.stderr = -1


def _pipe() -> tuple[int, int]:
    """A pipe whose reading end does not block."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    return reading, writing
