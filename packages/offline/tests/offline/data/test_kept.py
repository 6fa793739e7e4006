"""Small tables stay open for the next step of a message, and answer as if they were read again."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentpost_offline.data import dataset, limits
from agentpost_offline.data.dataset import open_tables
from agentpost_offline.data.delimited import Grid
from agentpost_offline.data.loading import Loaded, Loader
from agentpost_offline.frame import Aggregate, Measure, Query
from tests.libraries import duckdb
from tests.offline.data.given import file

SALES = "month,revenue\nJan,120\nFeb,135\nMar,128\n"


@pytest.fixture(autouse=True)
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The ids of the tables that were loaded."""
    found: list[str] = []
    real = Loader.load

    def load(loader: Loader, grid: Grid, table_id: str, file: str) -> Loaded:
        found.append(table_id)
        return real(loader, grid, table_id, file)

    monkeypatch.setattr(Loader, "load", load)
    dataset.forget()
    yield found
    dataset.forget()


def total(data: dataset.Dataset) -> tuple[object, str]:
    query = Query(data.tables[0].id, (Measure("revenue", Aggregate.SUM),))
    made = data.run(query)
    return made.rows[0][0], made.reading


def test_the_same_tables_are_loaded_once(tmp_path: Path, loads: list[str]) -> None:
    sales = file(tmp_path, "sales.csv", SALES)
    found = []
    for language in ("en", "de", "en"):
        with open_tables([sales], "", language) as data:
            found.append(total(data))
    assert len(loads) == 1
    assert [value for value, _ in found] == [383.0] * 3
    assert found[0] == found[2] != found[1], "described in the language that was asked for"


def test_they_are_closed_after_thousands_of_steps(tmp_path: Path) -> None:
    sales = file(tmp_path, "sales.csv", SALES)
    for _ in range(3_000):
        with open_tables([sales]) as data:
            pass
    dataset.forget()
    with pytest.raises(duckdb.Error):  # a stack in a stack for each step could not be undone
        data.run(Query(data.tables[0].id, (Measure("revenue", Aggregate.SUM),)))


def test_other_bytes_are_other_tables(tmp_path: Path, loads: list[str]) -> None:
    sales = file(tmp_path, "sales.csv", SALES)
    with open_tables([sales]):
        pass
    sales.local.write_text(SALES.replace("120", "121"))
    os.utime(sales.local, (1, 1))
    with open_tables([sales]) as data:
        assert total(data)[0] == 384.0
    with open_tables([sales], "a;b\n1;2\n"):
        pass
    assert len(loads) > 2


def test_two_users_at_once_have_tables_of_their_own(tmp_path: Path, loads: list[str]) -> None:
    sales = file(tmp_path, "sales.csv", SALES)
    with open_tables([sales]) as one, open_tables([sales]) as other:
        assert total(one) == total(other)
    assert len(loads) == 2


def test_large_tables_and_those_of_a_failed_step_are_not_kept(
    tmp_path: Path, loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sales = file(tmp_path, "sales.csv", SALES)
    with pytest.raises(LookupError), open_tables([sales]):
        raise LookupError
    with open_tables([sales]):
        pass
    assert len(loads) == 2
    monkeypatch.setattr(limits, "CELLS_KEPT", 5)
    for _ in range(2):
        with open_tables([sales]):
            pass
    assert len(loads) == 3, "kept by the step before, then too large"


def test_only_the_last_ones_are_kept(tmp_path: Path, loads: list[str]) -> None:
    files = [file(tmp_path, f"{n}.csv", SALES) for n in range(limits.DATASETS_KEPT + 1)]
    for one in files:
        with open_tables([one]):
            pass
    for one in (files[-1], files[0]):
        with open_tables([one]):
            pass
    assert len(loads) == len(files) + 1


def test_a_database_is_used_again_without_what_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "_empty", [])
    with open_tables([file(tmp_path, "sales.csv", SALES)], "a;b\n1;2\n"):
        pass
    dataset.forget()
    (database,) = dataset._empty
    assert not database.db.execute("select table_name from duckdb_tables()").fetchall()
    assert not list(Path(database.folder).glob("*/**"))
    with open_tables([file(tmp_path, "sales.csv", SALES.replace("120", "121"))]) as data:
        assert data._db is database.db
        assert total(data)[0] == 384.0


def test_a_database_reads_its_own_folder_only(tmp_path: Path) -> None:
    sales = file(tmp_path, "sales.csv", SALES)
    with open_tables([sales]) as data, pytest.raises(duckdb.Error, match="Cannot access"):
        data._db.execute("from read_csv(?)", [str(sales.local)])


def test_after_a_failure_the_database_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "_empty", [])
    with pytest.raises(MemoryError), open_tables([file(tmp_path, "sales.csv", SALES)]) as data:
        raise MemoryError
    assert not dataset._empty
    with pytest.raises(duckdb.Error):
        data._db.execute("select 1")
