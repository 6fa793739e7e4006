"""The tables in files: whatever a file is called, its content says what it is."""

from __future__ import annotations

import shutil
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentpost.agents import File, Unreadable
from agentpost.extraction.office import Archive
from agentpost.extraction.reading import beginning, only_unreadable
from agentpost.extraction.workbook import is_workbook
from agentpost_offline.data import delimited, limits, spreadsheets, structured
from agentpost_offline.data.delimited import Grid
from agentpost_offline.documents import reading
from agentpost_offline.documents.sources import is_page

_DELIMITED = frozenset(("csv", "tsv", "tab", "psv"))
_SHEETS = frozenset(("xlsx", "xlsm", "xls", "ods", "xlsb"))
_TABLE_TYPES = frozenset(("text/csv", "text/tab-separated-values"))
_WITHOUT = frozenset((
    "png", "jpg", "jpeg", "webp", "avif", "gif", "bmp", "tiff", "tif", "heic", "svg", "mp4", "mov",
    "webm", "mp3", "wav", "m4a", "ogg", "py", "js", "ts", "css", "exe", "dll", "so", "bin",
))  # fmt: skip


@dataclass(slots=True)
class Source:
    """A table that was found. ``maybe``: the file may be no table at all, so it is no fault when
    it cannot be read as one."""

    file: str
    grid: Grid
    maybe: bool = False


def find(
    files: Sequence[File], message_text: str, folder: Path, omissions: list[str]
) -> Iterator[Source]:
    """The tables of files and of a message, one by one; what cannot be read is added to
    ``omissions``."""
    if message_text:
        for grid in structured.of_message(message_text, folder):
            yield Source("", grid, maybe=True)
    for file in files:
        try:
            with only_unreadable(file.name):
                yield from _Finder(file, folder, omissions).find()
        except Unreadable as error:
            omissions.append(str(error))


class _Finder:
    """Finds the tables of one file."""

    def __init__(self, file: File, folder: Path, omissions: list[str]) -> None:
        self._file, self._folder, self._omissions = file, folder, omissions
        self._unpacked = 0

    def find(self) -> Iterator[Source]:
        """The tables of the file. Raises `Unreadable`."""
        yield from self._of(self._file.local, self._file.name, self._file.content_type)

    def _of(self, path: Path, name: str, content_type: str, depth: int = 0) -> Iterator[Source]:
        suffix = name.lower().rpartition(".")[2] if "." in name else ""
        head = beginning(path, name, limits.FILE_BYTES)
        if head.startswith(b"PK\x03\x04"):
            yield from self._of_archive(path, name, depth)
        elif head.startswith(b"PK"):
            raise Unreadable(f"{name} is an empty or damaged archive")
        elif head.startswith(b"\xd0\xcf\x11\xe0"):
            if suffix in ("doc", "ppt", "msg"):
                return
            for grid in spreadsheets.of_old_workbook(path, name, self._folder):
                yield Source(self._file.id, grid)
        elif _is_picture(head):
            return
        elif head.startswith(b"%PDF"):
            yield from self._of_document(path, name)
        elif suffix in _SHEETS and b"<" not in head[:200]:
            if any(byte < 9 for byte in head):
                raise Unreadable(f"{name} is not a valid .{suffix} file")
            yield Source(self._file.id, delimited.grid(path, name, self._folder))
        elif suffix not in _WITHOUT:
            yield from self._of_text(path, name, suffix, content_type)

    def _of_text(self, path: Path, name: str, suffix: str, content_type: str) -> Iterator[Source]:
        is_declared = suffix in _DELIMITED or content_type.partition(";")[0] in _TABLE_TYPES
        sample, encoding = delimited.sample(path, name)
        start = sample.lstrip("\ufeff \r\n\t")[:1]
        if start in ("{", "[") and not (is_declared and _commas(sample)):
            if path.stat().st_size > limits.JSON_BYTES:
                most = limits.JSON_BYTES // 2**20
                raise Unreadable(f"{name} is larger than {most} MB, the most for a JSON file")
            text = path.read_text(encoding.name, errors="replace").lstrip("\ufeff")
            try:
                for grid in structured.of_json(text, name, self._folder):
                    yield Source(self._file.id, grid)
            except Unreadable:
                if suffix in ("json", "jsonl", "ndjson"):
                    raise
            return
        if start == "<" and is_page(sample):
            yield from self._of_document(path, name)
        elif is_declared:
            yield Source(self._file.id, delimited.grid(path, name, self._folder))
        elif "|" in sample and suffix not in ("", "txt", "dat", "log"):
            yield from self._of_document(path, name)
        elif structured.looks_delimited(delimited.whole_lines(sample)):
            yield Source(self._file.id, delimited.grid(path, name, self._folder), maybe=True)
        else:
            yield from self._of_document(path, name)

    def _of_document(self, path: Path, name: str) -> Iterator[Source]:
        """The tables of a document; that it cannot be read is said by who reads documents."""
        try:
            document = reading.read_path(path, name)
        except Unreadable:
            return
        for grid in structured.of_document(document, self._folder):
            yield Source(self._file.id, grid, maybe=True)

    def _of_archive(self, path: Path, name: str, depth: int) -> Iterator[Source]:
        with Archive(path, name) as archive:
            if is_workbook(archive):
                grids = list(spreadsheets.of_workbook(archive, self._folder))
                if not grids:
                    raise Unreadable(f"{name} has no rows")
                for grid in grids:
                    yield Source(self._file.id, grid)
                return
            if "content.xml" in archive.members and "mimetype" in archive.members:
                for grid in spreadsheets.of_opendocument(archive, self._folder):
                    yield Source(self._file.id, grid)
                return
            office = {"word/document.xml", "ppt/presentation.xml"} & archive.members
        if office:
            yield from self._of_document(path, name)
        elif depth:
            raise Unreadable(f"{name} is an archive in an archive")
        elif name.lower().endswith((".xlsx", ".xlsm")):
            raise Unreadable(f"{name} is not a valid .xlsx file")
        else:
            yield from self._of_zip(path, name)

    def _of_zip(self, path: Path, name: str) -> Iterator[Source]:
        """The tables of the files in an archive. Raises `Unreadable`."""
        try:
            with zipfile.ZipFile(path) as archive:
                members = [m for m in archive.infolist() if _is_data(m)]
                if len(members) > limits.MEMBERS:
                    self._omissions.append(f"files after the first {limits.MEMBERS} of {name}")
                for number, member in enumerate(members[: limits.MEMBERS]):
                    yield from self._of_member(archive, member, number)
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
            raise Unreadable(f"{name} is damaged") from error

    def _of_member(
        self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, number: int
    ) -> Iterator[Source]:
        name = PurePosixPath(member.filename).name
        self._unpacked += member.file_size
        if member.file_size > limits.MEMBER_BYTES or self._unpacked > limits.UNPACKED_BYTES:
            self._omissions.append(f"{name} unpacks to too much")
            return
        if member.flag_bits & 0x1:
            self._omissions.append(f"{name} is protected by a password")
            return
        apart = self._folder.parent / f"member{number}"
        try:
            with archive.open(member) as source, apart.open("wb") as target:
                # The size in the archive may be a lie.
                shutil.copyfileobj(_BoundedStream(source, member.file_size), target)
            with only_unreadable(name):
                yield from self._of(apart, name, "", depth=1)
        except Unreadable as error:
            self._omissions.append(str(error))


class _BoundedStream:
    """A stream that ends after so many bytes."""

    def __init__(self, stream: object, most: int) -> None:
        self._stream, self._left = stream, most

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._stream.read(min(size, self._left) if size > 0 else self._left)  # type: ignore[attr-defined]
        self._left -= len(data)
        return data


def _is_data(member: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(member.filename)
    return not (
        member.is_dir()
        or path.name.startswith(".")
        or "__MACOSX" in path.parts
        or not member.file_size
    )


def _is_picture(head: bytes) -> bool:
    return (
        head.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM"))
        or head[8:12] == b"WEBP"
        or head[4:12] in (b"ftypavif", b"ftypavis")
    )


def _commas(sample: str) -> bool:
    first = sample.lstrip("\ufeff \r\n\t").partition("\n")[0]
    return not first.rstrip().endswith(("{", "[", ",")) and ":" not in first


__all__ = ["Source", "find", "only_unreadable"]
