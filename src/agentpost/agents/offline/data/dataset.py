"""Tables of files, opened for questions.

    with opened(files, pasted) as data:
        data.tables                        # what was found
        data.run(Query(data.tables[0].id, …))

Everything runs in a database in memory that reads nothing from outside once the tables are loaded.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentpost.agents import File, JobFailed, Unreadable
from agentpost.agents.offline.data import limits, running, sources
from agentpost.agents.offline.data.loading import Loaded, load
from agentpost.agents.offline.data.model import Cell, Kind, Result, Table
from agentpost.agents.offline.frame import Query

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Dataset:
    """The tables of some files. Made by `opened`."""

    def __init__(self, db: DuckDBPyConnection, loaded: Sequence[Loaded], skipped: Sequence[str],
                 language: str) -> None:  # fmt: skip
        self._db = db
        self._loaded = {one.table.id: one for one in loaded}
        self.tables: tuple[Table, ...] = tuple(one.table for one in loaded)
        self.skipped: tuple[str, ...] = tuple(skipped)
        """Files and tables that could not be read, each with the reason."""
        self.language = language

    def table(self, table_id: str) -> Table:
        """The table of this id; raises `JobFailed`."""
        return self._find(table_id).table

    def _find(self, table_id: str) -> Loaded:
        if table_id not in self._loaded:
            raise JobFailed("The table is no longer there; attach its file again.")
        return self._loaded[table_id]

    def run(self, query: Query) -> Result:
        """Compute a query over all rows of its table.

        ``Result.header`` has the groups, then the time axis, then the measures. Periods are the
        ISO date of their first day; weekdays are the numbers 1 (Monday) to 7, hours 0 to 23 (over
        three days or less: moments). Without an order, groups come with the largest first measure
        first and periods by time. A time axis without a grain gets one of at most 60 periods,
        which ``Result.query`` then has. Raises `JobFailed`.
        """
        return running.run(self._db, self._find(query.table), query, self.language)

    def cells(
        self, table: str, columns: Sequence[str] | None = None, limit: int = limits.ROWS_RETURNED,
        query: Query | None = None,
    ) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:  # fmt: skip
        """Rows of a table as they stand: the names of the columns, then the rows. ``query`` only
        lends its filters. Raises `JobFailed`."""
        return running.cells(self._db, self._find(table), columns, limit, query)


@contextlib.contextmanager
def opened(files: Sequence[File], pasted: str = "", language: str = "en") -> Iterator[Dataset]:
    """Open the tables of files, and those pasted into a message.

    Files without tables (a text, a picture) are passed over. What cannot be read is in
    `Dataset.skipped`. Runs in a worker process.
    """
    import duckdb

    with tempfile.TemporaryDirectory(prefix="tables-") as name:
        folder = Path(name)
        spill = folder / "spill"
        config: dict[str, Any] = {
            "memory_limit": limits.MEMORY,
            "max_temp_directory_size": limits.DISK,
            "temp_directory": str(spill),
            "threads": 1,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        with contextlib.closing(duckdb.connect(":memory:", config=config)) as db:
            # The bar would be lines of the job's log.
            db.execute("set enable_progress_bar = false")
            loaded, skipped = _loaded(db, folder, files, pasted)
            db.execute("set enable_external_access = false")
            db.execute("set lock_configuration = true")
            yield Dataset(db, loaded, skipped, language)


def _loaded(
    db: DuckDBPyConnection, folder: Path, files: Sequence[File], pasted: str
) -> tuple[list[Loaded], list[str]]:
    found: list[Loaded] = []
    skipped: list[str] = []
    ids: dict[str, int] = {}
    work = folder / "grids"
    work.mkdir()
    for source in sources.find(files, pasted, work, skipped):
        if len(found) >= limits.TABLES:
            skipped.append(f"further tables after the first {limits.TABLES}")
            break
        number = ids[source.file] = ids.get(source.file, -1) + 1
        table_id = f"{source.file}#{number}"
        try:
            with sources.only_unreadable(source.grid.name):
                found.append(
                    load(db, source.grid, len(found), work, table_id=table_id, file=source.file)
                )
        except Unreadable as error:
            if not source.maybe:
                skipped.append(str(error))
    return found, skipped


def describe(files: Sequence[File], pasted: str = "") -> list[Any]:
    """The tables of files as JSON (a step): `Table` by `msgspec.convert`."""
    described: list[Any] = survey(files, pasted)["tables"]
    return described


def survey(files: Sequence[File], pasted: str = "") -> dict[str, Any]:
    """Like `describe`, with what could not be read (a step): ``tables`` and ``skipped``."""
    with opened(files, pasted) as data:
        tables = msgspec.json.decode(msgspec.json.encode(data.tables))
        return {"tables": tables, "skipped": list(data.skipped)}


__all__ = ["Dataset", "Kind", "describe", "opened", "survey"]
