"""Tables of files, opened for questions with `open_tables`. Everything runs in a database in memory
that reads nothing from outside once the tables are loaded."""

from __future__ import annotations

import atexit
import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentpost.agents import File, JobFailed, Unreadable
from agentpost.extraction.reading import only_unreadable
from agentpost_offline.data import limits, running, sources, wording
from agentpost_offline.data.loading import Loaded, Loader
from agentpost_offline.data.model import Result, Table
from agentpost_offline.data.sql import Compiler
from agentpost_offline.frame import Cell, Query

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Dataset:
    """The tables of some files. Made by `open_tables`."""

    def __init__(
        self, db: DuckDBPyConnection, loaded: Sequence[Loaded], omissions: Sequence[str],
        language: str = "en",
    ) -> None:  # fmt: skip
        self._db = db
        self._by_id = {one.table.id: one for one in loaded}
        self.tables: tuple[Table, ...] = tuple(
            replace(one.table, notes=tuple(wording.note(note, language) for note in one.notes))
            for one in loaded
        )
        self.skipped: tuple[str, ...] = tuple(omissions)
        """Files and tables that could not be read, each with the reason."""
        self.language = language

    def speaking(self, language: str) -> Dataset:
        """The same tables, with results described in that language."""
        return Dataset(self._db, [*self._by_id.values()], self.skipped, language)

    def table(self, table_id: str) -> Table:
        """The table of this id; raises `JobFailed`."""
        self._compiler(table_id)
        return next(one for one in self.tables if one.id == table_id)

    def _compiler(self, table_id: str) -> Compiler:
        if table_id not in self._by_id:
            raise JobFailed("The table is no longer there; attach its file again.")
        return Compiler(self._db, self._by_id[table_id])

    def run(self, query: Query) -> Result:
        """Compute a query over all rows of its table.

        Periods are the ISO date of their first day; weekdays are the numbers 1 (Monday) to 7, hours
        0 to 23 (over three days or less: moments). Without an order, groups come with the largest
        first measure first and periods by time. A time axis without a grain gets one of at most 60
        periods, which ``Result.query`` then has. Raises `JobFailed`.
        """
        return running.run(self._compiler(query.table), query, self.language)

    def cells(
        self, table: str, columns: Sequence[str] | None = None, limit: int = limits.ROWS_RETURNED,
        query: Query | None = None,
    ) -> list[tuple[Cell, ...]]:  # fmt: skip
        """The cells of these columns, or of all, row by row. ``query`` lends its filters and the
        order of the rows. Raises `JobFailed`."""
        compiler, order = self._compiler(table), ""
        sql = ", ".join(map(compiler.field, compiler.columns if columns is None else columns))
        if query is not None and query.rows_by is not None:
            falls = query.order is not None and query.order.descending
            order = f"{compiler.field(query.rows_by)} {'desc' if falls else 'asc'} nulls last, "
        where = compiler.where(query.filters if query else ())
        rows = compiler.rows(
            f"select {sql} from {compiler.relation} where {where}"
            f" order by {order}rowid limit {limit}"
        )
        return [tuple(map(running.cell_of, row)) for row in rows]


_open: dict[object, tuple[contextlib.ExitStack, Dataset]] = {}
"""Small tables that this process opened last: the steps of a message open the same ones."""


@atexit.register
def forget(beyond: int = 0) -> None:
    """Close the tables that are kept open, the oldest first, until there are only so many."""
    while len(_open) > beyond:
        stack, _ = _open.pop(next(iter(_open)))
        stack.close()


@contextlib.contextmanager
def open_tables(
    files: Sequence[File], message_text: str = "", language: str = "en"
) -> Iterator[Dataset]:
    """Open the tables of files, and those pasted into a message. Files without tables are passed
    over; what cannot be read is in `Dataset.skipped`. Runs in a worker process, which keeps small
    tables open for the next call."""
    key = message_text, tuple(_identity(file) for file in files)
    # Who opens them has them alone.
    stack, data = _open.pop(key, None) or (contextlib.ExitStack(), None)
    with stack as undo:
        if data is None:
            data = undo.enter_context(_open_anew(files, message_text))
        yield data.speaking(language)
        if _is_small(data):
            forget(beyond=limits.DATASETS_KEPT - 1)
            _open[key] = undo.pop_all(), data


def _identity(file: File) -> tuple[object, ...]:
    bytes_of = file.local.stat()
    return file, file.local, bytes_of.st_size, bytes_of.st_mtime_ns


@contextlib.contextmanager
def _open_anew(files: Sequence[File], message_text: str) -> Iterator[Dataset]:
    import duckdb

    with contextlib.ExitStack() as undo:
        database = _empty.pop() if _empty else _Database()
        undo.callback(database.close)
        with tempfile.TemporaryDirectory(dir=database.folder) as folder:
            loaded, omissions = _load(database.db, Path(folder), files, message_text)
            data = Dataset(database.db, loaded, omissions)
            yield data
        if _is_small(data) and len(_empty) < limits.DATASETS_KEPT:
            with contextlib.suppress(duckdb.Error):  # what has failed for good is closed
                database.clear()
                undo.pop_all()
                _empty.append(database)


class _Database:
    """A database without tables, and the only folder that it may read from and write to."""

    def __init__(self) -> None:
        import duckdb

        self._place = tempfile.TemporaryDirectory(prefix="tables-")
        self.folder = self._place.name
        config: dict[str, Any] = {
            "memory_limit": limits.MEMORY,
            "max_temp_directory_size": limits.DISK,
            "temp_directory": f"{self.folder}/spill",
            "threads": 1,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        self.db = duckdb.connect(":memory:", config=config)
        # The bar would be lines of the job's log.
        self.db.execute("set enable_progress_bar = false")
        self.db.execute("set allowed_directories = [?]", [self.folder])
        self.db.execute("set enable_external_access = false")
        self.db.execute("set lock_configuration = true")

    def clear(self) -> None:
        """Drop all tables. Raises `duckdb.Error`."""
        for (name,) in self.db.execute("select table_name from duckdb_tables()").fetchall():
            self.db.execute(f"drop table {name}")

    def close(self) -> None:
        """Give up what it holds, and its folder."""
        self.db.close()
        self._place.cleanup()


_empty: list[_Database] = []
"""Databases whose tables were closed: to start one takes as long as to load a small table."""


def _is_small(data: Dataset) -> bool:
    return sum(table.rows * len(table.columns) for table in data.tables) <= limits.CELLS_KEPT


def _load(
    db: DuckDBPyConnection,
    folder: Path,
    files: Sequence[File],
    message_text: str,
) -> tuple[list[Loaded], list[str]]:
    tables: list[Loaded] = []
    omissions: list[str] = []
    ids: dict[str, int] = {}
    work = folder / "grids"
    work.mkdir()
    for file, grid in sources.find(files, message_text, work, omissions):
        if len(tables) >= limits.TABLES:
            omissions.append(f"further tables after the first {limits.TABLES}")
            break
        number = ids[file] = ids.get(file, -1) + 1
        table_id = f"{file}#{number}"
        try:
            with only_unreadable(grid.name):
                tables.append(Loader(db, len(tables), work).load(grid, table_id, file))
        except Unreadable as error:
            if not grid.maybe:
                omissions.append(str(error))
    return tables, omissions
