"""A record class says what its table's rows are."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum

import pytest

from agentpost.db.mapper import Mapper
from agentpost.db.sqlite_group import SqliteTx


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(slots=True)
class Ball:
    id: str
    colour: Colour
    stripes: Colour | None = None
    size: int = 3


BALLS = Mapper(Ball, "balls", "ON CONFLICT (id) DO NOTHING")


@pytest.fixture
def tx() -> Iterator[SqliteTx]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE balls (size, stripes, colour, id PRIMARY KEY)")
        yield SqliteTx(connection)


def test_a_record_is_read_as_it_was_written(tx: SqliteTx) -> None:
    plain, striped = Ball("a", Colour.RED), Ball("b", Colour.BLUE, Colour.RED, 7)
    assert BALLS.insert(tx, plain)
    assert BALLS.insert(tx, striped)
    assert BALLS.all(tx, f"{BALLS.select} ORDER BY id") == [plain, striped]
    read = BALLS.one(tx, f"{BALLS.select} WHERE id = ?", ("b",))
    assert read is not None
    assert (read.colour, read.stripes) == (Colour.BLUE, Colour.RED)
    assert isinstance(read.stripes, Colour)
    assert BALLS.one(tx, f"{BALLS.select} WHERE id = ?", ("c",)) is None


def test_the_conflict_clause_holds_for_one_and_for_many(tx: SqliteTx) -> None:
    assert BALLS.insert(tx, Ball("a", Colour.RED))
    assert not BALLS.insert(tx, Ball("a", Colour.BLUE))
    BALLS.insert_all(tx, [Ball("a", Colour.BLUE), Ball("b", Colour.BLUE)])
    assert [ball.colour for ball in BALLS.all(tx, BALLS.select)] == [Colour.RED, Colour.BLUE]


def test_an_update_names_its_columns(tx: SqliteTx) -> None:
    BALLS.insert(tx, Ball("a", Colour.RED))
    sql = BALLS.update_sql(("size", "colour"), "id = ?")
    assert tx.execute(sql, (9, Colour.BLUE, "a")) == 1
    assert BALLS.all(tx, BALLS.select) == [Ball("a", Colour.BLUE, None, 9)]


def test_a_value_that_is_no_member_is_not_read(tx: SqliteTx) -> None:
    tx.execute("INSERT INTO balls VALUES (1, NULL, 'green', 'a')")
    with pytest.raises(KeyError):
        BALLS.all(tx, BALLS.select)
