"""Delimited text (CSV, TSV and their relatives) made ready for the database."""

from __future__ import annotations

import codecs
import csv
import io
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from agentpost.extraction import Unreadable, encodings
from agentpost.extraction.encodings import SAMPLE_BYTES, Encoding
from agentpost_offline.data import limits
from agentpost_offline.data.model import Note

DELIMITERS = ",;\t|"
_FURTHER = "\x01"


@dataclass(slots=True)
class Grid:
    """A grid of cells as a delimited text file that the database can read.

    Args:
        name: what people call it: ``sales.csv``, ``book.xlsx, sheet Orders``.
        path: the file, in UTF-8.
        delimiter: between its cells.
        width: the most cells of a row.
        decimal_comma: whether the delimiter tells that decimals are written with a comma.
        notes: what the reader must know.
        merged: by the number of a column its merged cells, each as the numbers of the first and the
            last row; only the first one has the value.
        maybe: whether it may be no table at all, so that it is no fault when it cannot be read as
            one.
    """

    name: str
    path: Path
    delimiter: str = ","
    width: int = 0
    decimal_comma: bool = False
    notes: list[Note] = field(default_factory=list)
    merged: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    maybe: bool = False


def sample(path: Path, name: str) -> tuple[str, Encoding]:
    """The beginning of a text file, and its encoding. Raises `Unreadable` for no text."""
    with path.open("rb") as file:
        data = file.read(SAMPLE_BYTES)
    encoding = encodings.detect(data, name, zeros_allowed=True)
    decoder = codecs.getincrementaldecoder(encoding.name)(encoding.errors)
    return decoder.decode(data, final=False), encoding


def find_delimiter(text: str) -> tuple[str, float]:
    """The delimiter that cuts the most lines of a sample into the same number of cells, and the
    share of lines that it cuts so (0 when none cuts any)."""
    best, best_score, share = ",", 0.0, 0.0
    for delimiter in DELIMITERS:
        try:
            lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))[:300]
        except csv.Error:
            continue
        widths = Counter(len(line) for line in lines if any(cell.strip() for cell in line))
        if not widths:
            continue
        width, count = max(widths.items(), key=lambda item: (item[1] * (item[0] > 1), item[0]))
        score = count / sum(widths.values()) * (1 + width / 100) if width > 1 else 0
        if score > best_score:
            best, best_score, share = delimiter, score, count / sum(widths.values())
    return best, share


def whole_lines(text: str) -> str:
    """A sample without its last line, which may be cut; all of it when it has one line."""
    cut = text.rfind("\n") + 1
    return text[:cut] if cut and len(text.encode()) >= SAMPLE_BYTES - 4 else text


def grid(path: Path, name: str, folder: Path) -> Grid:
    """A delimited text file as the database can read it: the file itself where it is UTF-8 and has
    no row out of shape, else a cleaned copy in ``folder``. Raises `Unreadable`."""
    text, encoding = sample(path, name)
    text = whole_lines(text)
    first = text[:40].partition("\n")[0]
    first_line = first.strip().lower()
    skip = 1 if first_line.startswith("sep=") and len(first.strip("\r\n")) == 5 else 0
    delimiter = first[4] if skip else find_delimiter(text)[0]
    plain = encoding == Encoding("utf-8") and not skip and "\0" not in text
    lone_returns = "\r" in text.replace("\r\n", "")
    width = max((len(row) for row in _read_sample(text, delimiter)), default=0)
    result = Grid(name, path, delimiter, width, delimiter == ";")
    odd = not plain or lone_returns or width > limits.COLUMNS or not width
    if odd or not _quotes_close(path):
        return clean(result, folder, encoding, skip)
    return result


def _quotes_close(path: Path) -> bool:
    """Whether each quotation mark of a file has its other one; the database drops a last row that
    never ends without a word."""
    count = 0
    with path.open("rb") as file:
        while piece := file.read(SAMPLE_BYTES):
            count += piece.count(b'"')
    return count % 2 == 0


def _read_sample(text: str, delimiter: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    except csv.Error:
        return


def clean(source: Grid, folder: Path, encoding: Encoding | None = None, skip: int = 0) -> Grid:
    """The grid copied row by row with the standard reader, which forgives more than the database.
    Raises `Unreadable`."""
    encoding = encoding or sample(source.path, source.name)[1]
    try:
        return _copy(source, folder, encoding, skip)
    except UnicodeDecodeError as error:  # beyond the sample
        elsewhere = encodings.detect(error.object, source.name, zeros_allowed=True)
        return _copy(source, folder, replace(elsewhere, errors="replace", is_guess=True), skip)


def _copy(source: Grid, folder: Path, encoding: Encoding, skip: int) -> Grid:
    with source.path.open(encoding=encoding.name, errors=encoding.errors, newline="") as file:
        for _ in range(skip):
            file.readline(limits.ROW_CHARACTERS)
        try:
            notes: list[Note] = []
            if encoding.is_guess:
                notes.append(
                    ("encoding", {"encoding": encoding.name.upper().replace("WINDOWS", "Windows")})
                )
            result = write_grid(_rows(file, source, notes), source.name, folder)
        except csv.Error as error:
            raise Unreadable(f"{source.name} is not a valid CSV file ({error})") from error
    result.decimal_comma = source.decimal_comma
    result.notes = [*source.notes, *notes, *result.notes]
    return result


def _rows(file: io.TextIOBase, source: Grid, notes: list[Note]) -> Iterator[list[str]]:
    """The rows of a text. One that begins with a quotation mark that is never closed would hold
    all that follow: they are read without the mark, and the notes say so. Raises `Unreadable` for
    a row that never ends, which the reader would hold whole."""
    csv.field_size_limit(limits.ROW_CHARACTERS * 2)
    row_lines: list[str] = []
    room = limits.ROW_CHARACTERS

    def lines() -> Iterator[str]:
        nonlocal room
        while line := file.readline(limits.ROW_CHARACTERS + 1):
            room -= len(line)
            if room < 0:
                most = f"{limits.ROW_CHARACTERS:,}"
                raise Unreadable(f"{source.name} has a row of more than {most} characters")
            row_lines.append(line.replace("\0", ""))
            yield row_lines[-1]

    delimiter = source.delimiter
    reader = csv.reader(lines(), delimiter=delimiter)
    pending: list[str] | None = None
    last_lines: list[str] = []
    for row in reader:
        if pending is not None:
            yield pending
        pending, last_lines, room = row, row_lines[:], limits.ROW_CHARACTERS
        row_lines.clear()
    text = "".join(last_lines)
    if pending is None or not _is_open(text, delimiter):
        yield from () if pending is None else (pending,)
        return
    first = reader.line_num - len(last_lines) + 1
    notes.append(("quotation", {"line": first}))
    closed = text.replace('"', "", 1)
    again = io.StringIO(closed, newline="")
    if _is_open(closed, delimiter):
        yield from csv.reader(again, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    else:
        yield from csv.reader(again, delimiter=delimiter)


def _is_open(text: str, delimiter: str) -> bool:
    """Whether a text ends inside quotation marks: a further line then belongs to its last row."""
    if '"' not in text:
        return False
    further = f"{text.rstrip()}\n{_FURTHER}"
    rows = list(csv.reader(io.StringIO(further, newline=""), delimiter=delimiter))
    return rows[-1] != [_FURTHER]


def write_grid(rows: Iterable[Iterable[object]], name: str, folder: Path) -> Grid:
    """Rows of cells as a delimited text file in ``folder``. Raises `Unreadable` beyond limits."""
    descriptor, made_path = tempfile.mkstemp(suffix=".csv", dir=folder)
    os.close(descriptor)
    path = Path(made_path)
    width = cells = 0
    wide = cut = False
    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in rows:
            results = [_text(cell) for cell in row]
            if len(results) > limits.COLUMNS:
                wide = wide or any(cell for cell in results[limits.COLUMNS :])
                results = results[: limits.COLUMNS]
            if not any(results):
                continue
            for at, cell in enumerate(results):
                if len(cell) > limits.CELL_CHARACTERS:
                    results[at], cut = cell[: limits.CELL_CHARACTERS], True
            width = max(width, len(results))
            cells += len(results)
            if cells > limits.CELLS:
                raise Unreadable(f"{name} has more than {limits.CELLS:,} cells")
            writer.writerow(results)
    notes: list[Note] = []
    if wide:
        notes.append(("columns_cut", {"count": limits.COLUMNS}))
    if cut:
        notes.append(("texts_cut", {"count": limits.CELL_CHARACTERS}))
    return Grid(name, path, ",", width, notes=notes)


def _text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        return cell.strip().replace("\0", "")
    if isinstance(cell, float):
        return repr(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    return str(cell)
