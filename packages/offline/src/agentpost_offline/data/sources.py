"""The tables in files: whatever a file is called, its content says what it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentpost.agents import File, Unreadable
from agentpost.extraction.office import Archive
from agentpost.extraction.reading import beginning, only_unreadable
from agentpost.extraction.workbook import is_workbook
from agentpost_offline.data import delimited, limits, spreadsheets, structured
from agentpost_offline.data.archives import unpack
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

_PICTURES = {
    b"\x89PNG": "png", b"\xff\xd8\xff": "jpg", b"GIF8": "gif", b"BM": "bmp", b"II*\0": "tiff",
    b"MM\0*": "tiff",
}  # fmt: skip


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
    members = folder.parent / "members"
    members.mkdir()
    ids = Counter(file.id for file in files)
    for file in files:
        parts, reasons = unpack(file, members)
        omissions += reasons
        # The members of an archive may stand beside it already.
        for part in parts if parts == [file] or ids[file.id] == 1 else ():
            try:
                with only_unreadable(part.name):
                    yield from _Finder(part, folder).find()
            except Unreadable as error:
                omissions.append(str(error))


def picture_form(head: bytes) -> str:
    """The suffix of a picture's format by its first bytes; empty for what is no picture."""
    if head[4:12] in (b"ftypavif", b"ftypavis"):
        return "avif"
    if head[8:12] == b"WEBP":
        return "webp"
    return next((form for start, form in _PICTURES.items() if head.startswith(start)), "")


class _Finder:
    """Finds the tables of one file."""

    def __init__(self, file: File, folder: Path) -> None:
        self._file, self._folder = file, folder

    def find(self) -> Iterator[Source]:
        """The tables of the file. Raises `Unreadable`."""
        path, name = self._file.local, self._file.name
        suffix = name.lower().rpartition(".")[2] if "." in name else ""
        head = beginning(path, name, limits.FILE_BYTES)
        if head.startswith(b"PK\x03\x04"):
            yield from self._of_archive(path, name)
        elif head.startswith(b"PK"):
            raise Unreadable(f"{name} is an empty or damaged archive")
        elif head.startswith(b"\xd0\xcf\x11\xe0"):
            if suffix not in ("doc", "ppt", "msg"):
                yield from self._of_grids(spreadsheets.of_old_workbook(path, name, self._folder))
        elif picture_form(head):
            return
        elif head.startswith(b"%PDF"):
            yield from self._of_document()
        elif suffix in _SHEETS and b"<" not in head[:200]:
            if any(byte < 9 for byte in head):
                raise Unreadable(f"{name} is not a valid .{suffix} file")
            yield Source(self._file.id, delimited.grid(path, name, self._folder))
        elif suffix not in _WITHOUT:
            yield from self._of_text(path, name, suffix, self._file.content_type)

    def _of_grids(self, grids: Iterable[Grid], *, maybe: bool = False) -> Iterator[Source]:
        for grid in grids:
            yield Source(self._file.id, grid, maybe)

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
                yield from self._of_grids(structured.of_json(text, name, self._folder))
            except Unreadable:
                if suffix in ("json", "jsonl", "ndjson"):
                    raise
            return
        if start == "<" and is_page(sample):
            yield from self._of_document()
        elif is_declared:
            yield Source(self._file.id, delimited.grid(path, name, self._folder))
        elif "|" in sample and suffix not in ("", "txt", "dat", "log"):
            yield from self._of_document()
        elif structured.looks_delimited(delimited.whole_lines(sample)):
            yield Source(self._file.id, delimited.grid(path, name, self._folder), maybe=True)
        else:
            yield from self._of_document()

    def _of_document(self) -> Iterator[Source]:
        """The tables of a document; that it cannot be read is said by who reads documents."""
        try:
            document = reading.read(self._file)
        except Unreadable:
            return
        yield from self._of_grids(structured.of_document(document, self._folder), maybe=True)

    def _of_archive(self, path: Path, name: str) -> Iterator[Source]:
        with Archive(path, name) as archive:
            if is_workbook(archive):
                sources = list(self._of_grids(spreadsheets.of_workbook(archive, self._folder)))
                if not sources:
                    raise Unreadable(f"{name} has no rows")
                yield from sources
                return
            if "content.xml" in archive.members and "mimetype" in archive.members:
                yield from self._of_grids(spreadsheets.of_opendocument(archive, self._folder))
                return
            is_office = bool({"word/document.xml", "ppt/presentation.xml"} & archive.members)
        if is_office:
            yield from self._of_document()
        else:
            suffix = name.rpartition(".")[2].lower()
            what = f"not a valid .{suffix} file" if suffix in _SHEETS else "an archive"
            raise Unreadable(f"{name} is {what}")


def _commas(sample: str) -> bool:
    first = sample.lstrip("\ufeff \r\n\t").partition("\n")[0]
    return not first.rstrip().endswith(("{", "[", ",")) and ":" not in first
