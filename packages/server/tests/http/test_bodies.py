"""Bodies that come slowly, stop, or are large, with the client in the test's hand."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from agentpost.clock import ManualClock
from agentpost.domain.errors import Overloaded, RateLimited, Refusal
from agentpost.http import bodies, request_state
from agentpost.http.bodies import BodyBudget, BodySlot, TooSlow
from tests.waiting import PATIENCE

IDLE = 0.05
OF_ONE = bodies.LARGE_BODIES_PER_ACCOUNT_MAX


def request(client: AsyncIterator[Message], *headers: tuple[bytes, bytes]) -> Request:
    """A request whose body comes as the client sends it; after that nothing comes any more."""

    async def receive() -> Message:
        async for message in client:
            return message
        await asyncio.Event().wait()
        raise AssertionError("nothing comes")

    scope = {"type": "http", "method": "POST", "path": "/", "headers": list(headers)}
    request_state.begin(scope, ManualClock())
    return Request(scope, receive)


def piece(data: bytes, *, more: bool = True) -> Message:
    return {"type": "http.request", "body": data, "more_body": more}


async def sending(*messages: Message) -> AsyncIterator[Message]:
    for message in messages:
        yield message


async def read(given: Request, idle_seconds: float = IDLE) -> bytes:
    return b"".join([chunk async for chunk in bodies.chunks(given, idle_seconds)])


async def test_a_body_comes_in_pieces() -> None:
    given = request(sending(piece(b"a"), piece(b""), piece(b"b", more=False)), CHUNKED)
    assert bodies.is_left_over(given)
    assert await read(given) == b"ab"
    assert not bodies.is_left_over(given)


async def test_a_client_that_hangs_up_is_reported_nothing() -> None:
    with pytest.raises(ClientDisconnect):
        await read(request(sending(piece(b"a"), {"type": "http.disconnect"})))


async def test_a_trickle_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never idle for long, and yet it would take forever."""
    monkeypatch.setattr(bodies, "START_SECONDS", 0.1)
    sent = 0

    async def client() -> AsyncIterator[Message]:
        nonlocal sent
        while True:
            await asyncio.sleep(0.01)
            sent += 1
            yield piece(b".")

    with pytest.raises(TooSlow, match="too slowly"):
        await read(request(client()), idle_seconds=10)
    assert sent < 50


async def test_a_slow_line_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is the rate, however long all of it takes."""
    monkeypatch.setattr(bodies, "START_SECONDS", 0.05)
    monkeypatch.setattr(bodies, "BYTES_PER_SECOND_MIN", 10)

    async def client() -> AsyncIterator[Message]:
        for n in range(20):
            yield piece(b"x" * 1_000, more=n < 19)
            await asyncio.sleep(0.01)  # all of it: four times what every body gets

    assert len(await read(request(client()), idle_seconds=PATIENCE)) == 20_000


async def test_only_waiting_for_the_client_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "START_SECONDS", 0.05)
    given = request(sending(piece(b"a"), piece(b"b", more=False)))
    got = b""
    async for chunk in bodies.chunks(given, 10):
        got += chunk
        await asyncio.sleep(0.1)  # we are busy, or there is no place
    assert got == b"ab"


CHUNKED = (b"transfer-encoding", b"chunked")


@pytest.mark.parametrize(
    ("headers", "left"),
    [
        ([], False),
        ([(b"content-length", b"0")], False),
        ([(b"content-length", b"65536")], False),
        ([(b"content-length", b"65537")], True),
        ([(b"content-length", b"9" * 100)], True),
        ([CHUNKED], True),
    ],
)
def test_a_long_or_chunked_body_is_left_over(
    headers: list[tuple[bytes, bytes]], left: bool
) -> None:
    assert bodies.is_left_over(request(sending(), *headers)) is left


# --- places ---------------------------------------------------------------------------------------
async def uncounted() -> Callable[[], Awaitable[None]]:
    """No account is refused for what it sent before."""

    async def uncount() -> None:
        """It was not counted."""

    return uncount


async def hold(budget: BodyBudget, account_id: str, until: asyncio.Event) -> None:
    async with BodySlot(budget, account_id, uncounted) as slot:
        await slot.acquire()
        await until.wait()


async def hold_places(
    budget: BodyBudget, over: asyncio.Event, *accounts: str
) -> list[asyncio.Task[None]]:
    """Bodies of these accounts in their places."""
    tasks = [asyncio.create_task(hold(budget, a, over)) for a in accounts]
    await asyncio.sleep(0)
    return tasks


@pytest.mark.parametrize(
    ("holders", "next_", "refusal"),
    [
        (["acc_1"] * OF_ONE, "acc_1", RateLimited),
        ([f"acc_{n // OF_ONE}" for n in range(bodies.LARGE_BODIES_MAX)], "acc_other", Overloaded),
    ],
    ids=["of one account", "of all"],
)
async def test_who_finds_no_place_is_refused_after_a_wait(
    monkeypatch: pytest.MonkeyPatch, holders: list[str], next_: str, refusal: type[Refusal]
) -> None:
    monkeypatch.setattr(bodies, "SLOT_WAIT_SECONDS", 0.05)
    budget, over = BodyBudget(), asyncio.Event()
    tasks = await hold_places(budget, over, *holders)
    with pytest.raises(refusal) as refused:
        await hold(budget, next_, over)
    assert not isinstance(refused.value, RateLimited) or refused.value.retry_after_seconds == 60
    over.set()
    if len(holders) == OF_ONE:
        await hold(budget, "acc_2", over)
    await asyncio.gather(*tasks)
    await hold(budget, next_, over)


async def test_a_place_is_free_once_its_body_is_gone() -> None:
    budget, over = BodyBudget(), asyncio.Event()
    tasks = await hold_places(budget, over, *["acc_1"] * (OF_ONE + 1))
    for task in tasks:
        assert not task.done()
    tasks[0].cancel()
    over.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert [task.cancelled() for task in tasks] == [True] + [False] * OF_ONE


async def test_a_large_body_is_taken_no_faster_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "LARGE_BYTES_PER_SECOND_MAX", 1_000)
    loop = asyncio.get_running_loop()
    began, pace = loop.time(), bodies.Pace()
    for size in (10, 20, 50):
        await pace.keep(size)
        assert loop.time() - began >= size / 1_000 - 0.001
