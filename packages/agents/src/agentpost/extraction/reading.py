"""The text of a file, for agents: one plain function that runs in a worker process.

The text keeps what a citation needs: headings of Word, HTML and PowerPoint files come out as
Markdown headings (``# …``), pages of a PDF are separated by a form feed, sheets of a workbook
start with ``# name`` and their cells are separated by tabs. The file comes from a stranger, so
everything is bounded (`agentpost.extraction.limits`), and whatever goes wrong with one is
`Unreadable`. A file's name is what its sender said, its path says nothing: blobs have no suffix.
"""

import codecs
import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from agentpost import extras
from agentpost.extraction import Unreadable, encodings, limits
from agentpost.extraction.html import visible_text
from agentpost.extraction.office import Archive, check_old, slide_lines, word_lines
from agentpost.extraction.pdf import read_pages
from agentpost.extraction.workbook import is_workbook, text_lines

_SUFFIXES = (
    ".txt .text .md .markdown .rst .csv .tsv .tab .json .jsonl .ndjson .xml .yaml .yml .toml .ini "
    ".cfg .conf .log .py .js .ts .java .c .h .cpp .go .rs .rb .php .sh .sql .css .tex .srt .vtt "
    ".ics .eml"
)
_TEXT_SUFFIXES = frozenset(_SUFFIXES.replace(".", "").split())
_BYTES_PER_CHARACTER = 4
_BEGINNING = 4096
_Reader: TypeAlias = Callable[[Path, str, int], str]

logger = logging.getLogger(__name__)


def read_text(
    path: Path, name: str, content_type: str, *, max_characters: int = limits.MAX_CHARACTERS
) -> str:
    """Return the text of the file at ``path``, cut after ``max_characters``.

    ``name`` and ``content_type`` are what the sender called it; the content decides when they are
    wrong in a way that can be seen. Raises `Unreadable`, with a sentence for the user, when the
    file has no text: another format, encrypted, damaged, or beyond `extraction.limits`.
    """
    with only_unreadable(name):
        size = path.stat().st_size
        if size > limits.MAX_BYTES:
            raise Unreadable(f"{name} is larger than {limits.MAX_BYTES // 2**20} MB")
        text = _reader(path, name, content_type)(path, name, max_characters)
        return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")[:max_characters]


def beginning(path: Path, name: str, most: int) -> bytes:
    """The first bytes of a file, which tell its format. Raises `Unreadable` when it is empty or
    larger than ``most`` bytes."""
    size = path.stat().st_size
    if not size:
        raise Unreadable(f"{name} is empty")
    if size > most:
        raise Unreadable(f"{name} is larger than {most // 2**20} MB")
    with path.open("rb") as file:
        return file.read(_BEGINNING)


def text_of(file: Any) -> str:
    """`read_text` of a `File` inside a worker process: what `File.text` runs."""
    return read_text(file.local, file.name, file.content_type)


@contextlib.contextmanager
def only_unreadable(name: str) -> Iterator[None]:
    """Inside, where a stranger's file is read, every exception becomes `Unreadable`: a hostile file
    must not end a turn. What was not foreseen may be a mistake of ours, so it is logged."""
    try:
        yield
    except Unreadable:
        raise
    except MemoryError as error:
        raise Unreadable(f"{name} takes too much memory to read") from error
    except RecursionError as error:
        raise Unreadable(f"{name} is nested too deeply") from error
    except Exception as error:
        logger.warning("a reader failed in a way it should not", exc_info=True)
        raise Unreadable(f"{name} could not be read") from error


def _reader(path: Path, name: str, content_type: str) -> _Reader:
    suffix = name.lower().rpartition(".")[2] if "." in name else ""
    kind = content_type.partition(";")[0].strip().lower()
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(b"%PDF-") or suffix == "pdf":
        check_installed(name, "a PDF file")
        return read_pages
    if head.startswith(b"PK\x03\x04"):
        return _office
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        check_old(path, name, ".docx or .xlsx")
    if suffix in ("html", "htm", "xhtml") or kind in ("text/html", "application/xhtml+xml"):
        check_installed(name, "an HTML file")
        return _html
    if suffix in _TEXT_SUFFIXES or kind.startswith("text/") or kind.endswith(("json", "xml")):
        return _plain
    if suffix in ("docx", "xlsx", "pptx"):
        raise Unreadable(f"{name} is not a valid .{suffix} file")
    return _plain


def check_installed(name: str, kind: str) -> None:
    """Raise `Unreadable` when the extra that reads PDF, HTML and Excel files is not installed."""
    if extras.missing("extraction"):
        raise Unreadable(
            f"{name} is {kind}, which this server cannot read: it is installed without"
            " agentpost[extraction]"
        )


def decode(data: bytes, name: str, *, cut: bool = False) -> str:
    """Decode text (`encodings.detect`). ``cut`` says that the data may end within a character.
    Raises `Unreadable` for bytes that are no text at all."""
    encoding = encodings.detect(data, name)
    try:
        decoder = codecs.getincrementaldecoder(encoding.name)(encoding.errors)
        return decoder.decode(data, final=not cut)
    except UnicodeDecodeError:  # beyond what was looked at
        return data.decode(encoding.name, "replace")


def _plain(path: Path, name: str, max_characters: int) -> str:
    most = max_characters * _BYTES_PER_CHARACTER
    with path.open("rb") as file:
        data = file.read(most + 1)
    return decode(data, name, cut=len(data) > most)


def _html(path: Path, name: str, max_characters: int) -> str:
    if path.stat().st_size > limits.MAX_HTML_BYTES:
        most = limits.MAX_HTML_BYTES // 2**20
        raise Unreadable(f"{name} is larger than {most} MB, the most for an HTML file")
    text = visible_text(decode(path.read_bytes(), name))
    if not text:
        raise Unreadable(f"{name} has no text in it")
    return text


def _office(path: Path, name: str, max_characters: int) -> str:
    with Archive(path, name) as archive:
        if "word/document.xml" in archive.members:
            return _join_lines(word_lines(archive), max_characters)
        if "ppt/presentation.xml" in archive.members:
            return _join_lines(slide_lines(archive), max_characters)
        if is_workbook(archive):
            check_installed(name, "an Excel file")
            return _join_lines(text_lines(archive), max_characters)
    raise Unreadable(f"{name} is an archive; attach the files inside it one by one")


def _join_lines(lines: Iterable[str], max_characters: int) -> str:
    """The lines until there are characters enough; the rest is not read."""
    text_lines: list[str] = []
    length = 0
    for line in lines:
        text_lines.append(line)
        length += len(line) + 1
        if length > max_characters:
            break
    return "\n".join(text_lines)
