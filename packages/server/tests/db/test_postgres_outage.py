"""A server that is away is a few lines of the log, however often the pools try to connect."""

import logging

import pytest
import structlog
from structlog.testing import LogCapture
from structlog.typing import EventDict

from agentpost.db import postgres
from agentpost.db.postgres import Outage, PoolRecords

POOL = logging.getLogger("psycopg.pool")


class Seconds:
    now = 1000.0


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[EventDict]:
    """What is logged."""
    capture = LogCapture()
    kind = structlog.make_filtering_bound_logger("debug")
    made = structlog.wrap_logger(None, processors=[capture], wrapper_class=kind)
    monkeypatch.setattr(postgres, "log", made)
    return capture.entries


@pytest.fixture
def outage(monkeypatch: pytest.MonkeyPatch) -> Outage:
    made = Outage(lambda: Seconds.now)
    # A database that this process has opened has a filter of its own there.
    monkeypatch.setattr(POOL, "filters", [PoolRecords(made)])
    return made


def try_to_connect(times: int) -> None:
    for number in range(times):
        POOL.warning("error connecting in %r: %s", f"pool-{number}", "refused\n\tis it running?")
        POOL.warning("reconnection attempt in pool %r failed after %s sec", "pool-1", 4.0)


def test_an_outage_is_a_line_a_minute(
    outage: Outage, lines: list[EventDict], caplog: pytest.LogCaptureFixture
) -> None:
    POOL.warning("discarding broken connection: %s", "connection")
    for seconds in (0, 30, 31, 30, 59):
        Seconds.now += seconds
        try_to_connect(20)
    Seconds.now += 5
    outage.note_success()
    outage.note_success()
    assert lines == [
        line("warning", "unreachable", 0, 1, error="refused"),
        line("warning", "unreachable", 61, 41, error="refused"),
        line("warning", "unreachable", 150, 81, error="refused"),
        line("info", "reachable", 155, 100),
    ]
    assert not caplog.records, "the library's own lines"


def test_one_that_begins_within_a_minute_of_the_last_line_is_only_counted(
    outage: Outage, lines: list[EventDict]
) -> None:
    for _ in range(10):
        try_to_connect(3)
        outage.note_success()
        Seconds.now += 10
    assert [it["event"] for it in lines] == [
        *("database_unreachable", "database_reachable"),
        *("database_unreachable", "database_reachable"),
    ]


def test_all_else_that_the_pool_says_is_logged(
    outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    POOL.warning("rolling back returned connection: %s", "connection")
    assert len(caplog.records) == 1


def line(level: str, event: str, seconds: float, attempts: int, **more: str) -> dict[str, object]:
    said = {"event": f"database_{event}", "log_level": level}
    return {**said, "seconds": seconds, "attempts": attempts, **more}
