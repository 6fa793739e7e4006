"""Hostile files: each is read or refused, in bounded memory, by what a worker process runs."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.extraction.hostile import BOMBS, MB, archive

MEMORY_MB = 900
"""The database may have 384 MB of it, libraries take 150."""
SECONDS_MAX = 120.0

CHILD = """
import json, resource, sys
from pathlib import Path
from agentpost.agents import File, Unreadable
from agentpost.agents.offline.data.dataset import survey
from agentpost.agents.offline.documents.reading import read

path, name = sys.argv[1:]
file = File(id="f", name=name, content_type="", kind="other", size=1, revision="1", work_id="w",
            local_path=Path(path))
found = survey([file])
said = [[table["name"], table["rows"]] for table in found["tables"]]
try:
    read(file)
    text = "read"
except Unreadable as error:
    text = str(error)
most = max(resource.getrusage(who).ru_maxrss
           for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps({"tables": said, "skipped": found["skipped"], "text": text, "memory": most}))
"""


def read_apart(blob: Path, name: str) -> dict[str, object]:
    """What a process of its own makes of a file, and the most memory it had, in MB."""
    start = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", start, sys.executable, "-c", CHILD, str(blob), name],
        capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr  # an unforeseen exception would be in the log
    found: dict[str, object] = json.loads(done.stdout)
    found["memory"] = int(str(found["memory"])) * (1 if sys.platform == "darwin" else 1024) // MB
    return found


def zipped(name: str, data: bytes, times: int = 1) -> bytes:
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
        "content.xml": f"<office:document-content {spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="A">{rows}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>",
    }


REPEATED = (
    '<table:table-row table:number-rows-repeated="1048576"><table:table-cell office:value="1"'
    ' office:value-type="float" table:number-columns-repeated="16384"/></table:table-row>'
)
FILES: dict[str, Callable[[], bytes]] = {
    "empty.csv": lambda: b"",
    "blank.csv": lambda: b"\n\n  \n,,\n",
    "garbage.csv": lambda: bytes(range(256)) * 4_000,
    "garbage.xlsx": lambda: bytes(range(256)) * 4_000,
    "truncated.xlsx": lambda: zipped("a.csv", b"a,b\n1,2\n")[:60],
    "header.csv": lambda: b"a,b,c\n",
    "wide.csv": lambda: b"\n".join(b",".join(b"%d" % i for i in range(16_384)) for _ in range(9)),
    "cell.csv": lambda: b"k,v\na," + b"x" * 900_000 + b"\nb,2\n",
    "row.csv": lambda: b"k,v\na," + b"x" * 3_000_000 + b"\nb,2\n",
    "million.csv": lambda: b"k,v\n" + b"".join(b"g%d,%d\n" % (i % 9, i) for i in range(1_000_000)),
    "distinct.csv": lambda: b"k,v\n" + b"".join(b"g%d,$%d\n" % (i, i) for i in range(500_000)),
    "bomb.zip": lambda: zipped("a.csv", b"a,b\n" + b"1,2\n" * 20_000_000),
    "many.zip": lambda: zipped("a.csv", b"a,b\n" + b"1,2\n" * 4_000_000, 30),
    "nested.zip": lambda: zipped("b.zip", zipped("a.csv", b"a,b\n1,2\n")),
    "deep.json": lambda: b"[" * 100_000,
    "keys.json": lambda: json.dumps([{f"k{i}": 1} for i in range(20_000)]).encode(),
    "repeated.ods": lambda: archive(ods(REPEATED * 50)),
    "spans.html": lambda: b"<html><table>" + b"<tr><td colspan=9999 rowspan=9999>x" * 5_000,
    "quotes.csv": lambda: b"k,v\n" + b'"' * 200_001 + b"\n",
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_ends_as_tables_or_with_a_reason(name: str, tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.write_bytes(FILES[name]())
    found = read_apart(blob, name)
    assert int(str(found["memory"])) < MEMORY_MB, found
    assert found["text"]
    if name in ("million.csv", "distinct.csv"):
        assert found["tables"] == [[name, 1_000_000 if name == "million.csv" else 500_000]]


# The others are for the readers of documents, which tests of their own hold to their limits.
TABLES = (
    "rows.xlsx", "sheets.xlsx", "number.xlsx", "lying.docx", "cells.csv", "row.csv", "quote.csv",
    "nested.json", "dictionaries.pdf",
)  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_bomb_takes_bounded_memory(name: str, tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.write_bytes(BOMBS[name]())
    found = read_apart(blob, name)
    assert int(str(found["memory"])) < MEMORY_MB, found
