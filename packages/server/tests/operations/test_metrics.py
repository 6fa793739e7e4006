"""What `/metrics` says of the database and of what has happened."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentpost.accounts import rows as account_rows
from agentpost.db.filtered import COUNTED_MAX
from agentpost.db.session import Tx
from agentpost.jobs import actions as jobs
from agentpost.messages.rules import TurnFailure
from agentpost.operations import metric_rows, metrics as service
from agentpost.operations.metrics import COUNTS_SECONDS, Metrics
from tests.harness.context import Harness, open_harness

Values = dict[str, float]


@pytest.fixture
async def server(tmp_path: Path, schema_url: str | None) -> AsyncIterator[Harness]:
    async with open_harness(tmp_path, postgres_url=schema_url) as made:
        yield made


async def values(metrics: Metrics) -> Values:
    """The samples, by name and labels as they are written."""
    lines = (await metrics.text()).decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}


async def test_open_rows_are_counted_on_each_database(server: Harness) -> None:
    metrics = Metrics(server.ctx, lambda: True)
    assert (await values(metrics))['agentpost_turns{state="running"}'] == 0
    server.clock.advance(COUNTS_SECONDS)
    await server.break_turn(await server.begin_turn("none"))
    await server.begin_turn("one", conversation="a")
    await server.send("two", conversation="a")
    _, (owned,) = await server.working()
    server.clock.advance(60)
    found = await values(metrics)
    assert found['agentpost_turns{state="running"}'] == 1
    assert found['agentpost_turns{state="waiting"}'] == 1
    assert found['agentpost_jobs{state="running"}'] == 1
    assert found['agentpost_jobs{state="queued"}'] == 0
    assert found["agentpost_jobs_unowned"] == 0
    assert 60 <= found['agentpost_turn_oldest_seconds{state="running"}'] < 61
    assert 60 <= found['agentpost_turn_oldest_seconds{state="waiting"}'] < 61
    assert 60 <= found['agentpost_job_oldest_seconds{state="running"}'] < 61
    assert found["agentpost_deliveries_pending"] > 0
    assert 60 <= found["agentpost_delivery_oldest_seconds"] < 61
    assert 60 <= found["agentpost_delivery_late_seconds"] < 61
    assert found["agentpost_nodes"] == 0, "this one beats nowhere"
    await server.ctx.db.write(
        lambda tx: tx.execute("UPDATE jobs SET node = NULL WHERE id = ?", (owned.job_id,))
    )
    server.clock.advance(COUNTS_SECONDS)
    found = await values(metrics)
    assert found["agentpost_jobs_unowned"] == 1
    assert 65 <= found["agentpost_job_unowned_seconds"] < 66


async def test_held_and_charged_credits_are_said(server: Harness) -> None:
    _, (owned,) = await server.working()
    await jobs.charge(server.ctx, owned, server.call(owned.job_id), 2_500_000, "two and a half")
    await server.ctx.db.write(lambda tx: tx.execute("UPDATE accounts SET held = ?", (4_000_000,)))
    found = await values(Metrics(server.ctx, lambda: True))
    assert found["agentpost_credits_held"] == 4
    assert found["agentpost_credits_charged_total"] == 2.5


async def test_a_queued_job_has_the_age_of_its_wait(tmp_path: Path) -> None:
    async with open_harness(tmp_path, balance=0) as harness:
        await harness.working()
        harness.clock.advance(100)
        found = await values(Metrics(harness.ctx, lambda: True))
        assert found['agentpost_jobs{state="queued"}'] == 1
        assert 100 <= found['agentpost_job_oldest_seconds{state="queued"}'] < 101


async def test_ends_are_counted_once_they_are_committed(harness: Harness) -> None:
    await harness.break_turn(await harness.begin_turn())
    await harness.break_turn(await harness.begin_turn(), TurnFailure.EMPTY)
    _, owned = await harness.working("first", "second")
    await harness.ctx.db.write(lambda tx: _stop(tx, harness, owned[0].job_id))
    with pytest.raises(RuntimeError, match="rolled back"):
        await harness.ctx.db.write(lambda tx: _stop(tx, harness, owned[1].job_id, fail=True))
    found = await values(Metrics(harness.ctx, lambda: True))
    assert found['agentpost_turns_failed_total{reason="error"}'] == 1
    assert found['agentpost_turns_failed_total{reason="empty"}'] == 1
    assert found['agentpost_jobs_ended_total{state="stopped"}'] == 1


def _stop(tx: Tx, harness: Harness, job_id: str, *, fail: bool = False) -> None:
    account = account_rows.lock(tx, harness.account_id)
    assert jobs.stop_one(tx, harness.ctx, account, job_id, harness.clock.now())
    if fail:
        raise RuntimeError("rolled back")


async def test_the_database_is_read_once_in_some_seconds(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, times = metric_rows.read, []

    def counted(tx: Tx) -> Any:
        times.append(harness.clock.now())
        return read(tx)

    monkeypatch.setattr(metric_rows, "read", counted)
    metrics = Metrics(harness.ctx, lambda: True)
    for _ in range(3):
        await metrics.text()
    assert len(times) == 1
    harness.clock.advance(COUNTS_SECONDS)
    await metrics.text()
    assert len(times) == 2


async def test_without_the_database_the_rest_is_said(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(tx: Tx) -> Any:
        raise OSError("no database")

    monkeypatch.setattr(metric_rows, "read", broken)
    harness.ctx.health.note_failure("database", "no database")
    harness.ctx.health.works("blobs")
    metrics = Metrics(harness.ctx, lambda: True)
    harness.clock.advance(90)
    found = await values(metrics)
    assert found["agentpost_counts_age_seconds"] == 90
    assert found['agentpost_part_works{part="database"}'] == 0
    assert found['agentpost_part_works{part="blobs"}'] == 1
    assert found["agentpost_ready"] == 0
    assert "agentpost_nodes" not in found


async def test_labels_are_bounded(harness: Harness) -> None:
    metrics = Metrics(harness.ctx, lambda: True)
    before = len(await values(metrics))
    for n in range(20):
        metrics.observe(f"METHOD{n}", None, 404, 0.001)
    metrics.observe("GET", "/v1/me", 200, 0.002)
    found = await values(metrics)
    other = 'method="other",route="other"'
    assert found[f'agentpost_http_requests_total{{{other},status="404"}}'] == 20
    assert found['agentpost_http_request_seconds_count{method="GET",route="/v1/me"}'] == 1
    series = 2 * (1 + 16 + 2)  # a counter; buckets with +Inf; sum and count
    assert len(found) == before + series


def test_no_number_is_above_its_bound() -> None:
    """Each statement reads so many rows at most, and says so."""
    texts = [metric_rows._JOBS_EXECUTING, *metric_rows._COUNTS.values()]
    assert [text for text in texts if "LIMIT ?" not in text] == []
    assert COUNTED_MAX <= 10_000


async def test_times_are_counted_by_bound(harness: Harness) -> None:
    metrics = Metrics(harness.ctx, lambda: True)
    for seconds, status in ((0.001, 200), (0.0011, 200), (0.2, 500), (100.0, 200)):
        metrics.observe("GET", "/v1/me", status, seconds)
    found = await values(metrics)
    bucket = 'agentpost_http_request_seconds_bucket{le="%s",method="GET",route="/v1/me"}'
    bounds = ("0.001", "0.0025", "0.1", "0.25", "60.0", "+Inf")
    assert [found[bucket % bound] for bound in bounds] == [1, 2, 2, 3, 3, 4]
    labels = '{method="GET",route="/v1/me"}'
    assert found[f"agentpost_http_request_seconds_count{labels}"] == 4
    assert round(found[f"agentpost_http_request_seconds_sum{labels}"], 4) == 100.2021


async def test_a_database_that_hangs_is_asked_once(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answers = [], asyncio.Event()

    async def hang(fn: object) -> Any:
        asked.append(fn)
        await answers.wait()
        raise OSError("it came back, and broken")

    monkeypatch.setattr(service, "_PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(harness.ctx.db, "read", hang)
    harness.ctx.silent = lambda: {"node_a": 0, "node_b": 7_000_000}
    metrics = Metrics(harness.ctx, lambda: True)
    for _ in range(2):
        found = await values(metrics)
        assert found["agentpost_ready"] == 1
        assert found["agentpost_node_silent_seconds"] == 7
        assert "agentpost_nodes" not in found
    assert len(asked) == 1
    answers.set()
    await metrics.text()  # it has ended
    await metrics.text()
    assert len(asked) == 2, "asked again"
