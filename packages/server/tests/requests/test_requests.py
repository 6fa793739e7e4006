"""The request log: written in batches, without secrets, never in the way (spec: Limits)."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from agentpost.record.records import RequestRecord
from agentpost.requests import actions as requests
from agentpost.requests.actions import QUEUE_MAX, STRANGERS_PER_FLUSH, RequestLogEntry
from agentpost.requests.filter_rules import request_filter
from agentpost.retention import actions as retention
from tests.harness.driver import DAY, ManualHarness


def made_entry(
    at: ManualHarness, n: int = 0, *, known: bool = True, **fields: object
) -> RequestLogEntry:
    request = RequestLogEntry(
        id=f"req_{at.clock.now():014x}{n:018x}",
        at=at.clock.now(),
        account_id=at.caller.account_id if known else None,
        key_id=at.caller.key_id if known else None,
        method="GET",
        raw_path=b"/v1/me",
        query=b"",
        status=200,
        error=None,
        ms=3,
        request_body=b"",
        response_body=b"{}",
        traceparent=None,
    )
    for name, value in fields.items():
        setattr(request, name, value)
    return request


async def all_records(at: ManualHarness) -> list[RequestRecord]:
    await at.ctx.requests.flush()
    lines, _ = await requests.recent(at.ctx.db, at.caller.account_id, limit=500)
    found = [await requests.get(at.ctx.db, at.caller.account_id, line.id) for line in lines]
    return [each for each in found if each is not None]


FILTERS: list[tuple[dict[str, str], list[int]]] = [
    ({}, [4, 3, 2, 1]),
    ({"status": "failed"}, [4, 2]),
    ({"status": "4xx"}, [2]),
    ({"status": "503"}, [4]),
    ({"status": "9xx"}, [4, 3, 2, 1]),
    ({"key": "key_b"}, [2]),
    ({"key": "key_of_nobody"}, []),
    ({"error": "rate_limited"}, [2]),
    ({"path": "WEBHOOKS"}, [3]),
    ({"path": "_1%"}, [3]),
    ({"path": "%"}, [3]),
    ({"method": "delete"}, [3]),
    ({"method": "BREW"}, [4, 3, 2, 1]),
    ({"since": "15m"}, [4]),
    ({"since": "1h"}, [4, 3, 2, 1]),
    ({"status": "failed", "since": "15m"}, [4]),
]


async def test_requests_can_be_filtered(at: ManualHarness) -> None:
    at.ctx.requests.append(made_entry(at, 1))
    at.ctx.requests.append(made_entry(at, 2, status=429, error="rate_limited", key_id="key_b"))
    odd = made_entry(at, 3, method="DELETE", raw_path=b"/v1/webhooks/whe_1%25")
    at.ctx.requests.append(odd)
    at.clock.advance(1800)
    at.ctx.requests.append(made_entry(at, 4, status=503))
    await at.ctx.requests.flush()
    made = [line.id for line in (await requests.recent(at.ctx.db, at.caller.account_id))[0]]
    for given, found in FILTERS:
        wanted = request_filter(given, at.clock.now())
        lines, _ = await requests.recent(at.ctx.db, at.caller.account_id, wanted)
        assert [4 - made.index(line.id) for line in lines] == found, given


async def test_the_last_use_of_a_key_is_noted(at: ManualHarness) -> None:
    now = at.clock.now()
    for times in ((now - 5, now, now - 7), (now - 9,)):  # a long-poll is noted when it ends
        for n, time in enumerate(times):
            request = made_entry(at, n)
            request.at = time
            at.ctx.requests.append(request)
        await at.ctx.requests.flush()
        assert await at.rows("SELECT last_used_at FROM keys") == [(now,)]


async def test_a_full_queue_loses_requests_and_says_so(
    at: ManualHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    for n in range(QUEUE_MAX + 7):
        at.ctx.requests.append(made_entry(at, n))
    change = replace(made_entry(at, QUEUE_MAX + 7), method="POST", status=201, error=None)
    at.ctx.requests.append(change)
    await at.ctx.requests.flush()
    assert await at.count("requests") == QUEUE_MAX + 1
    assert await requests.get(at.ctx.db, change.account_id or "", change.id) is not None
    out = capsys.readouterr().out
    assert "request_log_lost" in out
    assert "7" in out
    at.ctx.requests.append(made_entry(at, QUEUE_MAX + 8))
    await at.ctx.requests.flush()
    assert await at.count("requests") == QUEUE_MAX + 2


async def test_strangers_cannot_fill_the_log(at: ManualHarness) -> None:
    for n in range(STRANGERS_PER_FLUSH * 3):
        at.ctx.requests.append(
            made_entry(at, n, known=False, request_body=b"{}", response_body=b"{}")
        )
    at.ctx.requests.append(made_entry(at, 999))
    await at.ctx.requests.flush()
    assert await at.count("requests", "account_id IS NULL") == STRANGERS_PER_FLUSH
    assert await at.count("requests", "account_id IS NULL AND request_body IS NOT NULL") == 0
    assert len(await all_records(at)) == 1


async def test_a_write_that_fails_takes_nobody_down(
    at: ManualHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    await at.ctx.db.write(lambda tx: tx.execute("ALTER TABLE requests RENAME TO away"))
    at.ctx.requests.append(made_entry(at))
    await at.ctx.requests.flush()
    assert "request_log_failed" in capsys.readouterr().out
    await at.ctx.db.write(lambda tx: tx.execute("ALTER TABLE away RENAME TO requests"))
    at.ctx.requests.append(made_entry(at))
    assert len(await all_records(at)) == 1


@pytest.mark.rule("Limits inspector")
async def test_requests_are_forgotten_after_thirty_days(at: ManualHarness) -> None:
    at.ctx.requests.append(made_entry(at, 1))
    await at.ctx.requests.flush()
    at.clock.advance(30 * DAY - 1)
    at.ctx.requests.append(made_entry(at, 2))
    await at.ctx.requests.flush()
    await retention.rest(at.ctx)
    assert await at.count("requests") == 2
    at.clock.advance(1)
    await retention.rest(at.ctx)
    assert await at.count("requests") == 1


async def test_refused_calls_do_not_blind_the_log(
    at: ManualHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of each key a few a minute are kept and the others counted; another key is not concerned."""
    log, few = at.ctx.requests, requests.REFUSED_KEPT_PER_MINUTE
    for n in range(40_000):
        log.append(made_entry(at, n, status=403, raw_path=b"/v1/messages", method="POST"))
    log.append(made_entry(at, 50_000, key_id="key_other"))
    log.append(made_entry(at, 50_001))
    await log.flush()
    assert await at.count("requests", "status = 403") == few
    assert await at.count("requests", "status = 200") == 2
    assert "request_log_refused" in (out := capsys.readouterr().out)
    assert str(40_000 - few) in out
    at.clock.advance(60)
    log.append(made_entry(at, 60_000, status=403))
    await log.flush()
    assert await at.count("requests", "status = 403") == few + 1


async def test_bodies_of_so_many_calls_are_kept_in_a_minute(at: ManualHarness) -> None:
    """A program that reads long answers all day would fill the disk."""
    most = requests.BODIES_KEPT_PER_MINUTE
    for n in range(most + 5):
        at.ctx.requests.append(made_entry(at, n, response_body=b'{"a": 1}'))
    at.ctx.requests.append(made_entry(at, 500, response_body=b'{"a": 1}', key_id="key_other"))
    await at.ctx.requests.flush()
    assert await at.count("requests") == most + 6
    assert await at.count("requests", "response_body IS NOT NULL") == most + 1
    at.clock.advance(60)
    at.ctx.requests.append(made_entry(at, 600, response_body=b'{"a": 1}'))
    await at.ctx.requests.flush()
    assert await at.count("requests", "response_body IS NOT NULL") == most + 2


async def test_refused_calls_that_were_left_out_are_told_once_in_a_minute(
    at: ManualHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    for round_ in range(2):
        for n in range(requests.REFUSED_KEPT_PER_MINUTE + 3):
            at.ctx.requests.append(made_entry(at, 100 * round_ + n, status=403))
        await at.ctx.requests.flush()
        at.clock.advance(60)
    assert capsys.readouterr().out.count("request_log_refused") == 1


async def test_a_flush_that_is_cancelled_loses_nothing(at: ManualHarness) -> None:
    for n in range(300):
        at.ctx.requests.append(made_entry(at, n))
    flushing = asyncio.create_task(at.ctx.requests.flush())
    await asyncio.sleep(0)
    flushing.cancel()
    await asyncio.gather(flushing, return_exceptions=True)
    await at.ctx.requests.flush()
    assert await at.count("requests") == 300


async def test_a_long_body_is_kept_while_there_is_room_for_it(
    at: ManualHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = b'{"message": "' + b"word " * 4_000 + b'", "secret": "hunter2"}'
    monkeypatch.setattr(requests, "LONG_BODIES_BYTES_MAX", 2 * len(long))
    for n in range(3):
        at.ctx.requests.append(made_entry(at, n, request_body=long))
    at.ctx.requests.append(made_entry(at, 3, request_body=b'{"a": 1}'))
    short, left_out, *whole = await all_records(at)
    assert short.request_body == '{"a": 1}'
    assert (left_out.request_body, left_out.request_bytes) == (None, len(long))
    assert all((each.request_body or "").endswith('word ", "secret": "…"}') for each in whole)
    at.ctx.requests.append(made_entry(at, 4, request_body=long))  # there is room again
    assert (await all_records(at))[0].request_body == whole[0].request_body


async def test_a_call_that_only_reads_is_none_that_changes(
    at: ManualHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By MCP and Agent2Agent both are a POST; a refusal of theirs may have the status 200. A full
    queue takes the one that changed something."""
    log = at.ctx.requests
    monkeypatch.setattr(requests, "QUEUE_MAX", 0)
    kinds: list[dict[str, Any]] = [{}, {"reads": True}, {"error": "invalid_request"}]
    for n, kind in enumerate(kinds):
        log.append(made_entry(at, n, method="POST", raw_path=b"/a2a", **kind))
    await log.flush()
    assert await at.count("requests") == 1
