"""Files that pass, as descriptors, between the server and a worker that may not open its files.

The server opens what a function may read and what it is to write, and sends the descriptors with
the request. The worker copies the former into its own folder, where the function finds them by a
path, and writes into the latter. So the worker needs no rights for the server's files, and the
server opens nothing by a name that the worker could have made (design: Steps apart).
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from agentpost.agents.files import File

GIVEN: Final = "given"
"""The folder, in a worker's own, of what the function may read."""
_AT_ONCE: Final = 200
"""Descriptors in one message; the kernel takes 253."""
_CHUNK_BYTES: Final = 1024 * 1024

Open = Callable[[], int]
"""Opens a file of the server; the caller closes it."""


@dataclass(slots=True)
class Given:
    """The files of a call: where the server has each, and where its copy is to be."""

    folder: Path
    _copies: dict[Path, Path] = field(default_factory=dict)

    def located(self, value: Any) -> Any:
        """The value with the path of the copy in every file that has a path."""
        if isinstance(value, File):
            path = value.local_path
            return value if path is None else replace(value, local_path=self._copy(path))
        if isinstance(value, list | tuple):
            return [self.located(item) for item in value]
        if isinstance(value, dict):
            return {key: self.located(item) for key, item in value.items()}
        return value

    @property
    def copies(self) -> list[str]:
        """The paths of the copies, in the order of `opens`."""
        return [str(copy) for copy in self._copies.values()]

    @property
    def opens(self) -> list[Open]:
        """Opens each for reading."""
        return [reading(path) for path in self._copies]

    def _copy(self, path: Path) -> Path:
        where = self.folder / GIVEN / str(len(self._copies)) / path.name
        return self._copies.setdefault(path, where)


def reading(path: Path) -> Open:
    """Opens a file for reading."""
    return lambda: os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def writing(path: Path) -> Open:
    """Opens a file for what a function makes, new or emptied."""
    how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    return lambda: os.open(path, how, 0o600)


def send(line: socket.socket, frame: bytes, opens: Sequence[Open]) -> bytes:
    """Send the files with the first bytes of a frame, for which there must be room; the bytes that
    are left to be sent. Raises `OSError`."""
    for begin in range(0, len(opens), _AT_ONCE):
        descriptors: list[int] = []
        try:
            for each in opens[begin : begin + _AT_ONCE]:
                descriptors.append(each())  # noqa: PERF401 - those before one that fails are closed
            socket.send_fds(line, [frame[:1]], descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        frame = frame[1:]
    return frame


class Requests:
    """What the worker reads, bytes and descriptors; like a file that is read."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._descriptors: list[int] = []

    def read(self, size: int) -> bytes:
        """So many bytes, fewer at the end."""
        read = b""
        while len(read) < size:
            part, descriptors, _, _ = socket.recv_fds(
                self._line, size - len(read), _AT_ONCE, socket.MSG_CMSG_CLOEXEC
            )
            self._descriptors += descriptors
            if not part:
                break
            read += part
        return read

    def taken(self) -> Iterator[int]:
        """The descriptors that came since the last request, in their order, the caller's to close;
        those that are left are closed."""
        left, self._descriptors = self._descriptors, []
        left.reverse()
        try:
            while left:
                yield left.pop()
        finally:
            for descriptor in left:
                os.close(descriptor)


def copy_all(descriptors: Iterator[int], paths: Sequence[str]) -> None:
    """Copy each to its path; nobody writes to the copies."""
    for path, descriptor in zip(paths, descriptors, strict=False):
        target = Path(path)
        try:
            target.parent.mkdir(parents=True, mode=0o700)
            with target.open("xb") as out:
                _copy(descriptor, out.fileno())
                os.fchmod(out.fileno(), 0o400)
        finally:
            os.close(descriptor)


def put(made: object, descriptor: int, own_folder: Path) -> None:
    """Write what a function made: bytes, text, or the contents of the file at a path. Raises
    `TypeError` for anything else, and `OSError`."""
    if isinstance(made, str):
        made = made.encode()
    if isinstance(made, bytes | bytearray | memoryview):
        left = memoryview(made).cast("B")
        while left:
            left = left[os.write(descriptor, left) :]
    elif isinstance(made, Path):
        path = made.resolve(strict=True)
        with path.open("rb") as source:
            _copy(source.fileno(), descriptor)
        if path.is_relative_to(own_folder.resolve()):
            path.unlink()  # a temporary file of this worker: nobody else needs it
    else:
        kind = type(made).__qualname__
        raise TypeError(f"the function must return bytes, str or Path for a file, not {kind}")


def forget(own_folder: Path) -> None:
    """The call is over: remove the copies."""
    shutil.rmtree(own_folder / GIVEN, ignore_errors=True)


def _copy(source: int, target: int) -> None:
    """Copy to the end; where the file system can, without reading it."""
    try:
        while os.copy_file_range(source, target, 64 * _CHUNK_BYTES):
            pass
    except OSError:  # between these two it cannot; what was copied stays copied
        while data := os.read(source, _CHUNK_BYTES):
            left = memoryview(data)
            while left:
                left = left[os.write(target, left) :]
