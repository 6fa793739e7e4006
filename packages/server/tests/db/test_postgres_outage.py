"""A server that is away is a few lines of the log, however often the pool tries to connect."""

import pytest
import structlog
from structlog.testing import LogCapture
from structlog.typing import EventDict

from agentpost.db import postgres_pool
from agentpost.db.postgres_pool import Outage


class Seconds:
    now = 1000.0


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[EventDict]:
    """What is logged."""
    capture = LogCapture()
    kind = structlog.make_filtering_bound_logger("debug")
    made = structlog.wrap_logger(None, processors=[capture], wrapper_class=kind)
    monkeypatch.setattr(postgres_pool, "log", made)
    return capture.entries


@pytest.fixture
def outage() -> Outage:
    return Outage(lambda: Seconds.now)


def fail(outage: Outage, times: int) -> None:
    for _ in range(times):
        outage.note_failure("refused\n\tis it running?")


def test_an_outage_is_a_line_a_minute(outage: Outage, lines: list[EventDict]) -> None:
    for seconds in (0, 30, 31, 30, 59):
        Seconds.now += seconds
        fail(outage, 20)
    Seconds.now += 5
    outage.note_success()
    outage.note_success()
    assert lines == [
        line("warning", "unreachable", 0, 1, error="refused"),
        line("warning", "unreachable", 61, 41, error="refused"),
        line("warning", "unreachable", 150, 81, error="refused"),
        line("info", "reachable", 155, 100),
    ]


def test_one_that_begins_within_a_minute_of_the_last_line_is_only_counted(
    outage: Outage, lines: list[EventDict]
) -> None:
    for _ in range(10):
        fail(outage, 3)
        outage.note_success()
        Seconds.now += 10
    assert [it["event"] for it in lines] == [
        *("database_unreachable", "database_reachable"),
        *("database_unreachable", "database_reachable"),
    ]


def line(level: str, event: str, seconds: float, attempts: int, **more: str) -> dict[str, object]:
    said = {"event": f"database_{event}", "log_level": level}
    return {**said, "seconds": seconds, "attempts": attempts, **more}
