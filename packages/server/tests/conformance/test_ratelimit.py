"""The contract of `ratelimit.base`, on both adapters: exact windows, whole or not at all."""

import asyncio
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agentpost.domain.times import SECOND
from agentpost.ratelimit import redis
from agentpost.ratelimit.base import RateLimiter, Rule
from agentpost.ratelimit.memory import MemoryLimiter
from agentpost.ratelimit.redis import RedisLimiter
from tests.servers import free_port, redis_server
from tests.waiting import PATIENCE, eventually, eventually_awaited

START = 1_800_000_000 * SECOND
MINUTE = Rule("minute", 3, 60 * SECOND)
HOUR = Rule("hour", 5, 3_600 * SECOND)


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis of its own, on a free port."""
    port, home = free_port(), tmp_path_factory.mktemp("redis")
    process = start_redis(port, home)
    yield f"redis://127.0.0.1:{port}/0"
    process.kill()
    process.wait()


def start_redis(port: int, home: Path) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        [redis_server(), "--port", str(port), "--bind", "127.0.0.1", "--save", ""],
        cwd=home,
        stdout=subprocess.DEVNULL,
    )
    eventually(lambda: b"PONG" in ping(port), what="the start of Redis")
    return process


def ping(port: int) -> bytes:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(100)
    except OSError:
        return b""


@pytest.fixture(params=["memory", "redis"])
async def limiter(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[RateLimiter]:
    made: RateLimiter = MemoryLimiter()
    if request.param == "redis":
        from redis.asyncio import Redis

        url = request.getfixturevalue("redis_url")
        # One that answers late on a busy machine would be counted as gone.
        monkeypatch.setattr(redis, "_TIMEOUT_SECONDS", PATIENCE)
        client = Redis.from_url(url)
        await client.flushall()
        await client.aclose()
        made = RedisLimiter(url, MemoryLimiter())
    await made.start()
    yield made
    await made.stop()


async def test_calls_are_counted_down_and_then_refused(limiter: RateLimiter) -> None:
    left = [(await limiter.acquire("key", [MINUTE], START + n * SECOND)) for n in range(4)]
    assert [decision.allowed for decision in left] == [True, True, True, False]
    assert [decision.remaining for decision in left] == [2, 1, 0, 0]
    assert [decision.seconds_until(decision.reset_at) for decision in left] == [60, 59, 58, 57]
    assert left[3].seconds_until(left[3].free_at) == 57


async def test_the_window_moves_with_each_call(limiter: RateLimiter) -> None:
    for at in (0, 30, 59):
        assert (await limiter.acquire("key", [MINUTE], START + at * SECOND)).allowed
    almost = START + 60 * SECOND - 1
    refused = await limiter.acquire("key", [MINUTE], almost)
    assert (refused.allowed, refused.free_at) == (False, START + 60 * SECOND)
    assert (await limiter.acquire("key", [MINUTE], START + 60 * SECOND)).allowed
    refused = await limiter.acquire("key", [MINUTE], START + 60 * SECOND)
    assert (refused.allowed, refused.seconds_until(refused.free_at)) == (False, 30)
    assert (await limiter.acquire("key", [MINUTE], START + 90 * SECOND)).allowed


async def test_waiting_as_told_is_enough(limiter: RateLimiter) -> None:
    now = START
    for n in range(30):
        decision = await limiter.acquire("key", [MINUTE], now)
        if not decision.allowed:
            now += decision.seconds_until(decision.free_at) * SECOND
            assert (await limiter.acquire("key", [MINUTE], now)).allowed, n
        now += 1_234_567


async def test_no_span_ever_holds_more_than_the_limit(limiter: RateLimiter) -> None:
    allowed = []
    for n in range(300):
        now = START + n * 3_700_001
        if (await limiter.acquire("key", [MINUTE], now)).allowed:
            allowed.append(now)
    for begin in allowed:
        inside = [at for at in allowed if begin <= at < begin + MINUTE.span]
        assert len(inside) <= MINUTE.limit
    assert len(allowed) >= 300 * 3.7 / 60 * MINUTE.limit - MINUTE.limit


async def test_a_refused_call_counts_nowhere(limiter: RateLimiter) -> None:
    for _ in range(3):
        assert (await limiter.acquire("key", [MINUTE, HOUR], START)).allowed
    for _ in range(50):
        assert not (await limiter.acquire("key", [MINUTE, HOUR], START + SECOND)).allowed
    later = START + 60 * SECOND
    assert [(await limiter.acquire("key", [HOUR, MINUTE], later)).remaining for _ in range(2)] == [
        1,
        0,
    ]
    refused = await limiter.acquire("key", [MINUTE, HOUR], later)
    assert (refused.allowed, refused.free_at) == (False, START + HOUR.span)


async def test_subjects_and_rules_are_apart(limiter: RateLimiter) -> None:
    for _ in range(3):
        await limiter.acquire("first", [MINUTE], START)
    assert not (await limiter.acquire("first", [MINUTE], START)).allowed
    assert (await limiter.acquire("second", [MINUTE], START)).allowed
    assert (await limiter.acquire("first", [HOUR], START)).allowed


async def test_a_call_given_back_counts_no_more(limiter: RateLimiter) -> None:
    rules = [MINUTE, HOUR]
    decision = [await limiter.acquire("key", rules, START + n) for n in range(3)]
    await limiter.give_back("key", rules, decision[1])
    again = await limiter.acquire("key", rules, START + 10)
    assert (again.allowed, again.remaining) == (True, 0)
    assert not (await limiter.acquire("key", rules, START + 11)).allowed


async def test_a_clock_that_steps_back_stands_still(limiter: RateLimiter) -> None:
    for _ in range(3):
        await limiter.acquire("key", [MINUTE], START)
    refused = await limiter.acquire("key", [MINUTE], START - 3_600 * SECOND)
    assert (refused.allowed, refused.seconds_until(refused.free_at)) == (False, 60)


async def test_memory_goes_on_from_a_clock_that_stepped_back() -> None:
    """Else a clock set back by an hour would shut everybody out for that hour."""
    limiter = MemoryLimiter()
    for n in range(3):
        await limiter.acquire("key", [MINUTE], START + n * SECOND)
    back = START - 3_600 * SECOND
    refused = await limiter.acquire("key", [MINUTE], back)
    assert (refused.allowed, refused.seconds_until(refused.free_at)) == (False, 58)
    assert not (await limiter.acquire("key", [MINUTE], back + 57 * SECOND)).allowed
    assert (await limiter.acquire("key", [MINUTE], back + 58 * SECOND)).allowed
    assert not (await limiter.acquire("key", [MINUTE], back + 58 * SECOND)).allowed

    decision = await limiter.acquire("other", [MINUTE], back + 59 * SECOND)
    await limiter.give_back("other", [MINUTE], decision)
    assert (await limiter.acquire("other", [MINUTE], back + 59 * SECOND)).remaining == 2


async def test_a_call_that_comes_late_does_not_move_the_clock() -> None:
    limiter = MemoryLimiter()
    for n in (0, 1, 0, 1, 0, 1):
        await limiter.acquire(f"key {n}", [MINUTE], START + n * SECOND)
    assert not (await limiter.acquire("key 0", [MINUTE], START + 59 * SECOND)).allowed


async def test_a_limit_may_change_at_any_time(limiter: RateLimiter) -> None:
    for n in range(3):
        await limiter.acquire("key", [MINUTE], START + n * SECOND)
    wider = Rule(MINUTE.name, 5, MINUTE.span)
    assert (await limiter.acquire("key", [wider], START + 3 * SECOND)).remaining == 1
    narrower = Rule(MINUTE.name, 2, MINUTE.span)
    refused = await limiter.acquire("key", [narrower], START + 10 * SECOND)
    assert (refused.allowed, refused.remaining) == (False, 0)
    assert refused.free_at == START + 62 * SECOND  # the third of the four has to go


async def test_calls_at_once_take_exactly_what_is_left(limiter: RateLimiter) -> None:
    decision = await asyncio.gather(*(limiter.acquire("key", [MINUTE], START) for _ in range(50)))
    assert sum(t.allowed for t in decision) == MINUTE.limit


async def test_memory_forgets_who_does_not_call() -> None:
    limiter = MemoryLimiter()
    for n in range(5_000):
        await limiter.acquire(f"key {n}", [MINUTE], START + n * SECOND)
    assert len(limiter) < 200
    await limiter.acquire("key 4999", [MINUTE], START + 5_000 * SECOND)
    decision = await limiter.acquire("key 4999", [MINUTE], START + 5_000 * SECOND)
    assert decision.remaining == 0, "who calls is not forgotten"


async def test_two_nodes_count_together(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "_TIMEOUT_SECONDS", PATIENCE)
    nodes = [RedisLimiter(redis_url, MemoryLimiter()) for _ in range(2)]
    decision = [await nodes[n % 2].acquire("together", [MINUTE], START) for n in range(4)]
    assert [t.allowed for t in decision] == [True, True, True, False]
    for node in nodes:
        await node.stop()


async def test_without_redis_each_node_counts_for_itself(tmp_path: Path) -> None:
    port = free_port()
    url = f"redis://127.0.0.1:{port}/0"
    limiter = RedisLimiter(url, MemoryLimiter())
    await limiter.start()
    decision = [await limiter.acquire("key", [MINUTE], START) for _ in range(4)]
    assert [t.allowed for t in decision] == [True, True, True, False]
    process = start_redis(port, tmp_path)
    try:

        async def is_allowed() -> bool:
            return (await limiter.acquire("key", [MINUTE], START)).allowed

        await eventually_awaited(is_allowed, what="Redis")
    finally:
        await limiter.stop()
        process.kill()
        process.wait()
