"""Hostile files: each is read or refused, in bounded memory, by what a worker process runs."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentpost.agents import File, Unreadable
from agentpost_offline.data import limits
from agentpost_offline.documents.reading import read
from agentpost_offline.steps import survey
from tests.extraction.apart import run_apart
from tests.extraction.hostile import SMALLER, archive, made_small, smaller_limits

MEMORY_MB = 220
"""The database may have 96 MB of it, libraries take 70."""
TABLE_LIMITS = (
    "FILE_BYTES", "COLUMNS", "CELLS", "MEMBERS", "MEMBER_BYTES", "UNPACKED_BYTES", "JSON_BYTES",
    "LEGACY_BYTES",
)  # fmt: skip


def take_in(path: str, name: str) -> dict[str, Any]:
    """What is made of a file in a process of its own, under limits that are an eighth."""
    smaller_limits()
    for limit in TABLE_LIMITS:
        setattr(limits, limit, getattr(limits, limit) // SMALLER)
    # An eighth of the rows, each of an eighth of the columns.
    setattr(limits, "CELLS", limits.CELLS // SMALLER)  # noqa: B010
    # An eighth would do for the data, not for the database itself.
    setattr(limits, "MEMORY", "96MB")  # noqa: B010
    file = File(
        id="f", name=name, content_type="", kind="other", size=1, revision="1", work_id="w",
        local_path=Path(path),
    )  # fmt: skip
    found = survey([file])
    try:
        read(file)
        text = "read"
    except Unreadable as error:
        text = str(error)
    tables = [[table["name"], table["rows"]] for table in found["tables"]]
    return {"tables": tables, "skipped": found["skipped"], "text": text}


def taken_in(data: bytes, name: str, folder: Path) -> dict[str, Any]:
    """The same, of these bytes and in bounded memory."""
    blob = folder / "blob"
    blob.write_bytes(data)
    found, memory = run_apart(take_in, str(blob), name, folder=folder)
    assert memory < MEMORY_MB, (memory, found)
    result: dict[str, Any] = found
    return result


def zip_of(name: str, data: bytes, times: int = 1) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for number in range(times):
            packed.writestr(f"{number}{name}", data)
    return out.getvalue()


def ods(rows: str) -> dict[str, Iterator[bytes] | str]:
    spaces = " ".join(
        f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"'
        for n in ("office", "table", "text")
    )
    return {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": "<manifest/>",
        "content.xml": f"<office:document-content {spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="A">{rows}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>",
    }


REPEATED = (
    '<table:table-row table:number-rows-repeated="1048576"><table:table-cell office:value="1"'
    ' office:value-type="float" table:number-columns-repeated="16384"/></table:table-row>'
)
FAR_APART = (
    "<table:table-row>CELL</table:table-row>"
    '<table:table-row table:number-rows-repeated="1048574"><table:table-cell/></table:table-row>'
    '<table:table-row><table:table-cell table:number-columns-repeated="16383"/>CELL'
    "</table:table-row>"
).replace("CELL", '<table:table-cell office:value="1" office:value-type="float"/>')
TEXTS = (
    '<table:table-row table:number-rows-repeated="1000"><table:table-cell'
    ' office:value-type="string" table:number-columns-repeated="1000"><text:p>'
    + "x" * 20_000 + "</text:p></table:table-cell></table:table-row>"
)  # fmt: skip
ROWS = {"many.csv": 125_000, "distinct.csv": 62_500}
FILES: dict[str, Callable[[], bytes]] = {
    "empty.csv": lambda: b"",
    "blank.csv": lambda: b"\n\n  \n,,\n",
    "garbage.csv": lambda: bytes(range(256)) * 4_000,
    "garbage.xlsx": lambda: bytes(range(256)) * 4_000,
    "truncated.xlsx": lambda: zip_of("a.csv", b"a,b\n1,2\n")[:60],
    "header.csv": lambda: b"a,b,c\n",
    "wide.csv": lambda: b"\n".join(b",".join(b"%d" % i for i in range(2_048)) for _ in range(9)),
    "cell.csv": lambda: b"k,v\na," + b"x" * 900_000 + b"\nb,2\n",
    "row.csv": lambda: b"k,v\na," + b"x" * 3_000_000 + b"\nb,2\n",
    "many.csv": lambda: b"k,v\n" + b"".join(b"g%d,%d\n" % (i % 9, i) for i in range(125_000)),
    "distinct.csv": lambda: b"k,v\n" + b"".join(b"g%d,$%d\n" % (i, i) for i in range(62_500)),
    "bomb.zip": lambda: zip_of("a.csv", b"a,b\n" + b"1,2\n" * 2_500_000),
    "many.zip": lambda: zip_of("a.csv", b"a,b\n" + b"1,2\n" * 500_000, 30),
    "nested.zip": lambda: zip_of("b.zip", zip_of("a.csv", b"a,b\n1,2\n")),
    "deep.json": lambda: b"[" * 100_000,
    "keys.json": lambda: json.dumps([{f"k{i}": 1} for i in range(2_500)]).encode(),
    "repeated.ods": lambda: archive(ods(REPEATED * 50)),
    "apart.ods": lambda: archive(ods(FAR_APART)),
    "untyped.ods": lambda: archive(ods(REPEATED.replace('office:value-type="float"', ""))),
    "formulas.ods": lambda: archive(ods(REPEATED.replace("office:value=", "table:formula="))),
    "texts.ods": lambda: archive(ods(TEXTS)),
    "spans.html": lambda: b"<html><table>" + b"<tr><td colspan=9999 rowspan=9999>x" * 625,
    "quotes.csv": lambda: b"k,v\n" + b'"' * 200_001 + b"\n",
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_ends_as_tables_or_with_a_reason(name: str, tmp_path: Path) -> None:
    found = taken_in(FILES[name](), name, tmp_path)
    assert found["text"]
    if name in ROWS:
        assert found["tables"] == [[name, ROWS[name]]]


# The others are for the readers of documents, which tests of their own hold to their limits.
TABLES = (
    "rows.xlsx", "sheets.xlsx", "number.xlsx", "lying.docx", "cells.csv", "row.csv", "quote.csv",
    "nested.json", "dictionaries.pdf", "runs.pptx",
)  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_bomb_takes_bounded_memory(name: str, tmp_path: Path) -> None:
    taken_in(made_small(name), name, tmp_path)
