"""Play many histories, find the shortest form of one that fails, and say how to repeat it."""

from __future__ import annotations

import contextlib
import gc
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import structlog

from agentpost.db import migrate
from tests.simulation.history import History
from tests.simulation.known import Outcome

_COLLECT_AFTER = 25
"""Histories, between two collections of garbage: each leaves thousands of objects at once."""


def made_schema() -> bytes:
    """The bytes of a SQLite database with its tables and no rows."""
    with tempfile.TemporaryDirectory(prefix="agentpost-simulation-") as folder:
        path = Path(folder) / "empty.db"
        migrate.upgrade_sqlite(path)
        return schema_of(path)


def schema_of(path: Path) -> bytes:
    """The bytes of a SQLite file in the form that an in-memory database can be made of."""
    with contextlib.closing(sqlite3.connect(":memory:")) as copy:
        with contextlib.closing(sqlite3.connect(path)) as made:
            made.backup(copy)
        content = bytearray(copy.serialize())
    content[18:20] = b"\x01\x01"  # without a write-ahead log, which needs a file
    return bytes(content)


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Nothing is logged: faults are what happens here, and each would be a line."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    try:
        yield
    finally:
        structlog.configure(**before)


def first_broken(schema: bytes, seeds: range) -> tuple[int, str] | None:
    """The first history of these in which something does not hold, and what that is."""
    gc.disable()
    gc.collect()
    gc.freeze()  # what there is before, in a run of all tests millions of objects, stays anyway
    try:
        for count, seed in enumerate(seeds, 1):
            if count % _COLLECT_AFTER == 0:
                gc.collect()
            broken = History(schema, seed).play().broken
            if broken is not None:
                return seed, broken
        return None
    finally:
        gc.enable()


def shortest(schema: bytes, seed: int) -> tuple[frozenset[int], Outcome]:
    """The operations without which the history does not fail, and how it fails with them alone."""
    kept = frozenset(operation.n for operation in History(schema, seed).operations)
    shrunk = True
    while shrunk:
        shrunk = False
        for n in sorted(kept):
            if History(schema, seed, only=kept - {n}).play().broken is not None:
                kept, shrunk = kept - {n}, True
    return kept, History(schema, seed, only=kept, tracing=True).play()


def report(schema: bytes, seed: int) -> str:
    """What fails in a history, how it comes to that, and how to see it again."""
    kept, outcome = shortest(schema, seed)
    only = ",".join(str(n) for n in sorted(kept)) or "none"
    return "\n".join(
        [
            f"history {seed}: {outcome.broken}",
            *outcome.trace,
            f"history {seed}: {outcome.broken}",
            "all of it:   " + command(f"--seed {seed} --histories 1 --trace"),
            "the shortest: " + command(f"--seed {seed} --histories 1 --trace --only {only}"),
        ]
    )


def command(arguments: str) -> str:
    return f'make simulate ARGS="{arguments}"'
