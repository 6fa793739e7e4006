"""Archives of files: what is inside is worked on as if it had been attached file by file."""

import contextlib
import functools
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Concatenate, ParamSpec, TypeVar

from agentpost.agents.base import File
from agentpost.extraction import Unreadable
from agentpost.extraction.office import Archive
from agentpost.extraction.workbook import is_workbook
from agentpost_offline.data import limits

P = ParamSpec("P")
T = TypeVar("T")
_OFFICE = frozenset(("word/document.xml", "ppt/presentation.xml", "content.xml"))
_KINDS = {
    "data": ("csv", "tsv", "tab", "xlsx", "xlsm", "xls", "ods", "json", "jsonl", "ndjson"),
    "image": ("png", "jpg", "jpeg", "webp", "gif", "bmp", "tif", "tiff", "avif"),
    "document": ("md", "markdown", "txt", "text", "html", "htm", "pdf", "docx", "pptx"),
}
_UNTOLD = ("", "dat", "log")
"""Suffixes that do not tell a kind: what is in such a file decides."""
_DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError)


def unpacking(
    step: Callable[Concatenate[Sequence[File], P], T],
) -> Callable[Concatenate[Sequence[File], P], T]:
    """A step whose first argument, files, has the members of zip archives in place of the
    archives."""

    @functools.wraps(step)
    def unpacked_first(files: Sequence[File], /, *args: P.args, **kwargs: P.kwargs) -> T:
        with tempfile.TemporaryDirectory(prefix="members-") as folder:
            results: list[File] = []
            for file in files:
                members, omissions = unpack(file, Path(folder))
                # The reader of the archive says that something of it was left out.
                results += [*members, file] if omissions and members != [file] else members
            return step(results, *args, **kwargs)

    return unpacked_first


def inside(file: File) -> list[str]:
    """Which kinds of files an archive holds: ``data document image``; nothing for another file.
    Runs in a worker process."""
    try:
        with _archive(file) as members:
            return sorted({kind for member in _members(members) if (kind := _kind(member))})
    except (Unreadable, *_DAMAGED):
        return []


def unpack(file: File, folder: Path) -> tuple[list[File], list[str]]:
    """What to read instead of a file: the members of an archive, which are written to ``folder``,
    and what of it is left out, each with the reason."""
    results: list[File] = []
    omissions: list[str] = []
    left = limits.UNPACKED_BYTES
    try:
        with _archive(file) as archive:
            members = _members(archive)
            if len(members) > limits.MEMBERS:
                omissions.append(f"files after the first {limits.MEMBERS} of {file.name}")
            for member in members[: limits.MEMBERS]:
                name, kind = PurePosixPath(member.filename).name, _kind(member)
                if kind is None and _suffix(member) in _UNTOLD:
                    kind = "other"
                left -= member.file_size
                if member.flag_bits & 0x1:
                    omissions.append(f"{name} is protected by a password")
                elif kind is None:
                    is_archive = name.lower().endswith(".zip")
                    what = (
                        "an archive in an archive" if is_archive else "of a kind that is not read"
                    )
                    omissions.append(f"{name} is {what}")
                elif member.file_size > limits.MEMBER_BYTES or left < 0:
                    omissions.append(f"{name} unpacks to too much")
                else:
                    path = folder / str(len(list(folder.iterdir())))
                    try:
                        with archive.open(member) as source, path.open("wb") as target:
                            shutil.copyfileobj(source, target)
                    except _DAMAGED:
                        omissions.append(f"{name} is damaged")
                        continue
                    results.append(replace(file, name=name, kind=kind, content_type="",
                                           size=member.file_size, local_path=path))  # fmt: skip
    except (Unreadable, *_DAMAGED):
        return [file], []
    return results or [file], omissions


@contextlib.contextmanager
def _archive(file: File) -> Iterator[zipfile.ZipFile]:
    """An archive of files. Raises `Unreadable` for all else, Office files among it."""
    with file.local.open("rb") as stream:
        if stream.read(4) != b"PK\x03\x04":
            raise Unreadable(f"{file.name} is not an archive")
    with Archive(file.local, file.name) as archive:
        if archive.members & _OFFICE or is_workbook(archive):
            raise Unreadable(f"{file.name} is an Office file")
    with zipfile.ZipFile(file.local) as members:
        yield members


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The files that people put in, without those that systems add."""
    paths = [(PurePosixPath(member.filename), member) for member in archive.infolist()]
    return [
        member for path, member in paths
        if member.file_size and not member.is_dir() and not path.name.startswith(".")
        and "__MACOSX" not in path.parts
    ]  # fmt: skip


def _kind(member: zipfile.ZipInfo) -> str | None:
    """What a member is by its name; None for what is not read."""
    suffix = _suffix(member)
    return next((kind for kind, suffixes in _KINDS.items() if suffix in suffixes), None)


def _suffix(member: zipfile.ZipInfo) -> str:
    return PurePosixPath(member.filename).suffix.lower().removeprefix(".")
