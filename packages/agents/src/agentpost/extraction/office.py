"""Office documents: bounded streams of their XML, and the text of Word and PowerPoint files.

No part is ever held whole, neither as bytes nor as a tree: a small archive can unpack to gigabytes
of elements. A part is fed to the parser in pieces, and the handlers keep nothing but text.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Generic, NoReturn, TypeVar
from xml.parsers import expat

from agentpost.extraction import Unreadable, limits

_CHUNK_BYTES: Final = 64 * 1024
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED: Final = 0x1 | 0x40
_PATCHED: Final = 0x20
_TRANSITIONAL: Final = "http://schemas.openxmlformats.org/"
_STRICT: Final = "http://purl.oclc.org/ooxml/"

Attributes = Mapping[str, str]
Item = TypeVar("Item")


def names(namespace: str, local: str) -> dict[str, str]:
    """Short names by full ones: for the elements ``local`` (separated by blanks) of one of the
    namespaces of Office, in both spellings that the standard has for it."""
    strict = namespace.replace("/2006/main", "/main")
    return {
        f"{place} {name}": name
        for place in (_TRANSITIONAL + namespace, _STRICT + strict)
        for name in local.split()
    }


class Collector(Generic[Item]):
    """Takes what the parser reports of one XML part, and puts what it makes of it into ``items``.

    An element is called as the parser does: its namespace, a blank, its name.
    """

    def __init__(self) -> None:
        self.items: list[Item] = []

    def start(self, tag: str, attributes: Attributes) -> None:
        """An element begins."""

    def end(self, tag: str) -> None:
        """An element ends."""

    def text(self, data: str) -> None:
        """Text, or a piece of it."""


class Elements(Collector[tuple[str, Attributes]]):
    """The elements that are named: the short name of each, by its full one, and its attributes."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self._names = names

    def start(self, tag: str, attributes: Attributes) -> None:
        if tag in self._names:
            self.items.append((self._names[tag], attributes))


class _BoundedFile(io.BufferedReader):
    """A file that gives no more than a table of contents at once: `zipfile` reads the table whole,
    as long as the archive says it is."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path))
        self._size = path.stat().st_size

    def read(self, size: int | None = -1, /) -> bytes:
        wanted_size = self._size - self.tell() if size is None or size < 0 else size
        if wanted_size > limits.MAX_DIRECTORY_BYTES:
            raise zipfile.BadZipFile("the table of contents is too long")
        return super().read(size)


class Archive:
    """A zip based document, opened with all its limits; use it as a context manager. ``name`` is
    what its sender called it. Raises `Unreadable` when it is none or unpacks to more than they
    allow."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._elements = 0
        self._file = _BoundedFile(path)
        try:
            self._zip = zipfile.ZipFile(self._file)
            members = self._zip.infolist()
            unpacked_size = sum(member.file_size for member in members)
            if unpacked_size > limits.MAX_UNPACKED_BYTES or len(members) > limits.MAX_MEMBERS:
                most = limits.MAX_UNPACKED_BYTES // 2**20
                raise Unreadable(
                    f"{name} unpacks to more than {most} MB or {limits.MAX_MEMBERS:,} parts"
                )
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            self._file.close()
            raise Unreadable(f"{name} is damaged") from error
        except BaseException:
            self._file.close()
            raise
        self.members = frozenset(self._zip.namelist())

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._file.close()

    def parse(
        self, member: str, collector: Collector[Item], *, most: int | None = None
    ) -> Iterator[Item]:
        """Parse one XML part in pieces: what was collected of each, before the next is read.

        ``most`` is how many elements this part and all parts before it may have; those of a
        document by default. Raises `Unreadable` when the part is missing, damaged, encrypted or
        beyond the limits.
        """
        try:
            with self._zip.open(self._info(member)) as stream:
                elements = limits.MAX_DOCUMENT_ELEMENTS if most is None else most
                yield from self._feed(stream, collector, elements)
        except (zipfile.BadZipFile, zlib.error, expat.ExpatError, EOFError, OSError) as error:
            raise Unreadable(f"{self.name} is damaged") from error

    def size(self, member: str) -> int:
        """How long a member says it is when it is unpacked, in bytes."""
        return self._zip.getinfo(member).file_size

    def read(self, member: str, most: int) -> bytes | None:
        """A member as it is; None when there is none, or it has more than ``most`` bytes. Raises
        `Unreadable` as `parse` does."""
        if member not in self.members or self.size(member) > most:
            return None
        try:
            with self._zip.open(self._info(member)) as stream:
                content = stream.read(most + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise Unreadable(f"{self.name} is damaged") from error
        return content if len(content) <= most else None

    def _info(self, member: str) -> zipfile.ZipInfo:
        if member not in self.members:
            raise Unreadable(f"{self.name} is damaged")
        info = self._zip.getinfo(member)
        if info.flag_bits & _ENCRYPTED:
            raise Unreadable(f"{self.name} is protected by a password")
        if info.file_size > limits.MAX_PART_BYTES:
            most = limits.MAX_PART_BYTES // 2**20
            raise Unreadable(f"{self.name} has a part of more than {most} MB")
        if info.compress_type not in _METHODS or info.flag_bits & _PATCHED:
            # The standard allows no other methods; they unpack further and take more memory.
            raise Unreadable(f"{self.name} is packed in a way that Office files are not")
        return info

    def _feed(self, stream: Any, collector: Collector[Item], most: int) -> Iterator[Item]:
        depth = 0

        def on_open(tag: str, attributes: Attributes) -> None:
            nonlocal depth
            depth += 1
            self._elements += 1
            if depth > limits.MAX_DEPTH:
                raise Unreadable(f"{self.name} is nested too deeply")
            if self._elements > most:
                raise Unreadable(f"{self.name} has more than {most:,} elements")
            collector.start(tag, attributes)

        def on_close(tag: str) -> None:
            nonlocal depth
            depth -= 1
            collector.end(tag)

        def refuse(*_: object) -> None:
            # Office never writes a DTD, so one can only be an entity bomb.
            raise Unreadable(f"{self.name} is damaged")

        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = refuse
        parser.StartElementHandler = on_open
        parser.EndElementHandler = on_close
        parser.CharacterDataHandler = collector.text
        fed = 0
        while chunk := stream.read(_CHUNK_BYTES):
            parser.Parse(chunk, False)
            fed += len(chunk)
            if fed - parser.CurrentByteIndex > limits.MAX_TOKEN_BYTES:
                raise Unreadable(f"{self.name} is damaged")
            yield from collector.items
            collector.items.clear()
        parser.Parse(b"", True)
        yield from collector.items
        collector.items.clear()


def check_old(path: Path, name: str, advice: str) -> NoReturn:
    """Say why a file in the format before Office 2007 is not read: newer programs keep a document
    with a password in it, too. ``advice``: what to save it as. Raises `Unreadable`."""
    with path.open("rb") as file:
        if _ENCRYPTED_PACKAGE in file.read(limits.MAX_BYTES):
            raise Unreadable(f"{name} is protected by a password")
    raise Unreadable(f"{name} is an old Office file; save it as {advice}")


_ENCRYPTED_PACKAGE: Final = "EncryptedPackage".encode("utf-16-le")
"""The part of a compound file that holds an encrypted document."""

# Word

_WORD = names("wordprocessingml/2006/main", "p t br cr tab tbl tr tc pStyle numPr pPrChange")


class _Word(Collector[str]):
    """The lines of a Word document: Markdown headings, list items and table rows."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[str] = []
        self._cells: list[str] = []
        self._prefix = ""
        self._listed = self._styled = self._typing = False
        self._paragraphs = self._tables = self._changes = 0
        self._characters = 0

    def start(self, tag: str, attributes: Attributes) -> None:
        name = _WORD.get(tag)
        if name is None or self._changes:
            self._changes += name == "pPrChange"
            return
        if name == "t":
            self._typing = True
        elif name in ("br", "cr"):
            self._pieces.append("\n")
        elif name == "tab":
            self._pieces.append(" ")
        elif name == "p":
            self._paragraphs += 1
            if self._paragraphs == 1 and not self._tables:
                self._pieces, self._prefix = [], ""
                self._listed = self._styled = False
        elif name in ("tbl", "tr", "tc"):
            self._open(name)
        elif name == "pStyle" and not self._styled:
            self._styled = True
            value = next((v for key, v in attributes.items() if key.endswith(" val")), "")
            self._prefix = _prefix(value)
        elif name == "numPr":
            self._listed = True
        elif name == "pPrChange":  # how it was before a tracked change
            self._changes = 1

    def _open(self, name: str) -> None:
        if name == "tbl":
            self._tables += 1
        elif name == "tr" and self._tables == 1:
            self._cells = []
        elif name == "tc" and self._tables == 1:
            self._pieces = []

    def end(self, tag: str) -> None:
        name = _WORD.get(tag)
        if self._changes:
            self._changes -= name == "pPrChange"
        elif name == "t":
            self._typing = False
        elif name == "p":
            self._paragraphs -= 1
            if self._tables:
                self._pieces.append(" ")
            elif not self._paragraphs:
                text = "".join(self._pieces).strip()
                prefix = self._prefix or ("- " if self._listed else "")
                if text:
                    self.items += (prefix + text, "")
        elif name == "tc" and self._tables == 1:
            self._cells.append("".join(self._pieces).strip().replace("\n", " "))
        elif name == "tr" and self._tables == 1:
            self.items.append(f"| {' | '.join(self._cells)} |")
        elif name == "tbl":
            self._tables -= 1
            if not self._tables:
                self._pieces = []
                self.items.append("")

    def text(self, data: str) -> None:
        if self._typing and self._characters < limits.MAX_CHARACTERS:
            self._characters += len(data)
            self._pieces.append(data)


def _prefix(style: str) -> str:
    if style == "Title":
        return "# "
    if style.startswith("Heading") and style[-1] in "123456789":
        return "#" * min(int(style[-1]), 6) + " "
    return "- " if style.startswith("List") else ""


def word_lines(archive: Archive) -> Iterator[str]:
    """The text of a Word document, line by line, then its comments; raises `Unreadable`."""
    yield from archive.parse("word/document.xml", _Word())
    if "word/comments.xml" in archive.members:
        comments = list(archive.parse("word/comments.xml", _Word()))
        if comments:
            yield from ("# Comments", "", *comments)


# PowerPoint

_SLIDE = names("drawingml/2006/main", "p t")
_RELATIONS = names("package/2006/relationships", "Relationship")


class Texts(Collector[tuple[str, str]]):
    """What stands in each element of a kind, such as the paragraphs of a slide: pairs of its
    attribute ``ref``, if it has one, and its text. ``names``: short names by full ones, of which
    ``t`` holds the text and ``rPh`` says how to pronounce it; ``unit``: the short name of the kind;
    ``most`` characters are kept of all together."""

    def __init__(
        self, names: Mapping[str, str], unit: str, most: int = limits.MAX_CHARACTERS
    ) -> None:
        super().__init__()
        self.characters = 0
        """How many there were."""
        self._names, self._unit, self._most = names, unit, most
        self._ref = ""
        self._pieces: list[str] = []
        self._typing = self._reading_aid = False

    def start(self, tag: str, attributes: Attributes) -> None:
        name = self._names.get(tag)
        if name == self._unit:
            self._ref, self._pieces = attributes.get("ref", "")[:12], []
        self._reading_aid = self._reading_aid or name == "rPh"
        self._typing = name == "t" and not self._reading_aid

    def end(self, tag: str) -> None:
        self._typing = False
        name = self._names.get(tag)
        if name == "rPh":
            self._reading_aid = False
        elif name == self._unit:
            self.items.append((self._ref, "".join(self._pieces)))
            self._pieces = []

    def text(self, data: str) -> None:
        if self._typing:
            if self.characters < self._most:
                self._pieces.append(data)
            self.characters += len(data)


def slide_members(archive: Archive) -> list[str]:
    """The parts of a presentation's slides, in their order."""
    slides = [m for m in archive.members if m.startswith("ppt/slides/slide")]
    slides.sort(key=lambda m: (int("".join(c for c in m[-12:] if c in "0123456789") or 0), m))
    return slides


def slide_texts(archive: Archive, member: str) -> Iterator[str]:
    """The paragraphs of a slide; raises `Unreadable`."""
    for _, text in archive.parse(member, Texts(_SLIDE, "p")):
        if text.strip():
            yield from (text.strip(), "")


def slide_notes(archive: Archive, member: str) -> Iterator[str]:
    """The paragraphs of a slide's speaker notes; raises `Unreadable`."""
    for notes in related_parts(archive, member, "notesSlide"):
        for line in slide_texts(archive, notes):
            if line and not line.isdecimal():  # the number of the slide
                yield line


def references(
    archive: Archive, member: str, *, most: int | None = None
) -> dict[str, tuple[str, str]]:
    """Kind and part of what a part refers to, by the id of the reference; ``most`` and what it
    raises: see `Archive.parse`."""
    folder, _, name = member.rpartition("/")
    targets: dict[str, tuple[str, str]] = {}
    relations = archive.parse(f"{folder}/_rels/{name}.rels", Elements(_RELATIONS), most=most)
    for _, attributes in relations:
        if len(targets) < limits.MAX_MEMBERS:
            path = posixpath.normpath(posixpath.join(folder, attributes.get("Target", "")))
            kind = attributes.get("Type", "").rpartition("/")[2]
            targets[attributes.get("Id", "")] = kind, path.lstrip("/")
    return targets


def related_parts(archive: Archive, member: str, kind: str) -> list[str]:
    """The parts of a kind (``image``, ``chart``, ``notesSlide``) that a part refers to; raises
    `Unreadable`."""
    folder, _, name = member.rpartition("/")
    is_alone = f"{folder}/_rels/{name}.rels" not in archive.members
    targets = () if is_alone else references(archive, member).values()
    return [part for its, part in targets if its == kind and part in archive.members]


def slide_lines(archive: Archive) -> Iterator[str]:
    """The text of a presentation and its speaker notes, slide by slide in their order; raises
    `Unreadable`."""
    for number, member in enumerate(slide_members(archive)[: limits.MAX_PAGES], 1):
        yield f"# Slide {number}"
        yield from slide_texts(archive, member)
        notes = " ".join(slide_notes(archive, member))
        if notes:
            yield from (f"Notes: {notes}", "")
