"""The tables in files: whatever a file is called, its content says what it is."""

from collections import Counter
from collections.abc import Iterator, Sequence
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


def find(
    files: Sequence[File], message_text: str, folder: Path, omissions: list[str]
) -> Iterator[tuple[str, Grid]]:
    """The tables of files and of a message, one by one, each after its file's id; what cannot be
    read is added to ``omissions``."""
    for grid in structured.of_message(message_text, folder):
        yield "", grid
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
                    for grid in _grids(part, folder):
                        yield file.id, grid
            except Unreadable as error:
                omissions.append(str(error))


def picture_form(head: bytes) -> str:
    """The suffix of a picture's format by its first bytes; empty for what is no picture."""
    if head[4:12] in (b"ftypavif", b"ftypavis"):
        return "avif"
    if head[8:12] == b"WEBP":
        return "webp"
    return next((form for start, form in _PICTURES.items() if head.startswith(start)), "")


def _grids(file: File, folder: Path) -> Iterator[Grid]:
    """The tables of a file. Raises `Unreadable`."""
    path, name, suffix = file.local, file.name, _suffix(file)
    head = beginning(path, name, limits.FILE_BYTES)
    if head.startswith(b"PK\x03\x04"):
        yield from _of_archive(file, folder)
    elif head.startswith(b"PK"):
        raise Unreadable(f"{name} is an empty or damaged archive")
    elif head.startswith(b"\xd0\xcf\x11\xe0"):
        if suffix not in ("doc", "ppt", "msg"):
            yield from spreadsheets.of_old_workbook(path, name, folder)
    elif picture_form(head):
        return
    elif head.startswith(b"%PDF"):
        yield from _of_document(file, folder)
    elif suffix in _SHEETS and b"<" not in head[:200]:
        if any(byte < 9 for byte in head):
            raise Unreadable(f"{name} is not a valid .{suffix} file")
        yield delimited.grid(path, name, folder)
    elif suffix not in _WITHOUT:
        yield from _of_text(file, folder)


def _suffix(file: File) -> str:
    return file.name.lower().rpartition(".")[2] if "." in file.name else ""


def _of_text(file: File, folder: Path) -> Iterator[Grid]:
    path, name, suffix = file.local, file.name, _suffix(file)
    is_declared = suffix in _DELIMITED or file.content_type.partition(";")[0] in _TABLE_TYPES
    sample, encoding = delimited.sample(path, name)
    start = sample.lstrip("\ufeff \r\n\t")[:1]
    if start in ("{", "[") and not (is_declared and _commas(sample)):
        if path.stat().st_size > limits.JSON_BYTES:
            most = limits.JSON_BYTES // 2**20
            raise Unreadable(f"{name} is larger than {most} MB, the most for a JSON file")
        text = path.read_text(encoding.name, errors="replace").lstrip("\ufeff")
        try:
            yield from structured.of_json(text, name, folder)
        except Unreadable:
            if suffix in ("json", "jsonl", "ndjson"):
                raise
        return
    is_document = (start == "<" and is_page(sample)) or (
        not is_declared and "|" in sample and suffix not in ("", "txt", "dat", "log")
    )
    is_table = is_declared or structured.looks_delimited(delimited.whole_lines(sample))
    if is_document or not is_table:
        yield from _of_document(file, folder)
        return
    grid = delimited.grid(path, name, folder)
    grid.maybe = not is_declared
    yield grid


def _of_document(file: File, folder: Path) -> Iterator[Grid]:
    """The tables of a document; that it cannot be read is said by who reads documents."""
    try:
        document = reading.read(file)
    except Unreadable:
        return
    yield from structured.of_document(document, folder)


def _of_archive(file: File, folder: Path) -> Iterator[Grid]:
    name, suffix = file.name, _suffix(file)
    with Archive(file.local, name) as archive:
        if is_workbook(archive):
            grids = list(spreadsheets.of_workbook(archive, folder))
            if not grids:
                raise Unreadable(f"{name} has no rows")
            yield from grids
            return
        if "content.xml" in archive.members and "mimetype" in archive.members:
            yield from spreadsheets.of_opendocument(archive, folder)
            return
        is_office = bool({"word/document.xml", "ppt/presentation.xml"} & archive.members)
    if not is_office:
        what = f"not a valid .{suffix} file" if suffix in _SHEETS else "an archive"
        raise Unreadable(f"{name} is {what}")
    yield from _of_document(file, folder)


def _commas(sample: str) -> bool:
    first = sample.lstrip("\ufeff \r\n\t").partition("\n")[0]
    return not first.rstrip().endswith(("{", "[", ",")) and ":" not in first
