"""The loop that sends webhooks, with real receivers (design: Sharing the way out)."""

import asyncio
import collections
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from agentpost.context import AppContext
from agentpost.domain.limits import WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX
from agentpost.egress.addresses import AllowList
from agentpost.egress.client import Egress
from agentpost.webhooks import concurrency, deliveries, dispatcher, endpoints
from agentpost.webhooks.dispatcher import Deliveries
from agentpost.webhooks.signing import signed_headers
from tests.egress.hostile import Request, Server, replies, serving
from tests.harness.databases import ON_SQLITE
from tests.waiting import PATIENCE, eventually_async


@dataclass
class Held:
    """Holds every request but the first ``free`` until the gate opens; counts those it holds."""

    free: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    now: int = 0
    most: int = 0

    async def __call__(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if self.free:
            self.free -= 1
            await replies(b"ok")(request, writer)
            return
        self.now += 1
        self.most = max(self.most, self.now)
        await self.gate.wait()
        self.now -= 1
        await replies(b"ok")(request, writer)


@asynccontextmanager
async def sending(ctx: AppContext) -> AsyncIterator[Deliveries]:
    """The loop, running until the end of the block. What a test holds back is waited for."""
    settings = ctx.settings.model_copy(update={"webhook_timeout_seconds": PATIENCE})
    egress = Egress(AllowList.parse(settings.egress_allow))
    loop = Deliveries(replace(ctx, settings=settings), egress, alone=True)
    await loop.start()
    await deliveries.wake_due(ctx)
    try:
        yield loop
    finally:
        await loop.stop()


async def endpoint(ctx: AppContext, account: str, server: Server) -> str:
    made = await endpoints.create(ctx, account, server.url(), None, None)
    return made.id


async def send(ctx: AppContext, account: str, endpoint_id: str, count: int) -> None:
    await asyncio.gather(*(deliveries.send_test(ctx, account, endpoint_id) for _ in range(count)))


async def statuses(ctx: AppContext, account: str, endpoint_id: str) -> set[tuple[str, int]]:
    """Status and attempts of what there is, each once."""
    found, _ = await deliveries.page(ctx, account, endpoint_id, 500, None, None)
    return {(each.status.value, each.attempts) for each in found}


async def test_everything_arrives_once(ctx: AppContext, account: str) -> None:
    async with serving(replies(b"ok")) as server, sending(ctx):
        targets = [await endpoint(ctx, account, server) for _ in range(3)]
        for target in targets:
            await send(ctx, account, target, 100)
        await eventually_async(lambda: len(server.requests) == 300)
    ids = [request.headers["webhook-id"] for request in server.requests]
    assert len(set(ids)) == len(ids) == 300
    for target in targets:
        assert await statuses(ctx, account, target) == {("delivered", 1)}


@ON_SQLITE
async def test_no_more_than_eight_at_once_and_nobody_waits(ctx: AppContext, account: str) -> None:
    held = Held()
    async with serving(held) as slow, serving(replies()) as good, sending(ctx):
        stuck = await endpoint(ctx, account, slow)
        free = await endpoint(ctx, account, good)
        await send(ctx, account, stuck, 60)
        await eventually_async(lambda: held.now == WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX)
        await send(ctx, account, free, 60)
        await eventually_async(lambda: len(good.requests) == 60)
        assert held.most == WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX
        held.gate.set()
        await eventually_async(lambda: len(slow.requests) == 60)
        assert held.most == WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX
    assert await statuses(ctx, account, stuck) == {("delivered", 1)}


@ON_SQLITE
async def test_whatever_an_answer_holds_can_be_kept(ctx: AppContext, account: str) -> None:
    """PostgreSQL takes neither U+0000 nor half of a surrogate pair."""
    answer = b"a\0b\xff\xed\xa0\x80\x1b[31m" + "é\U0001f600".encode() * 500
    async with serving(replies(answer, "500 N\0o")) as odd, serving(replies(answer)) as fine:
        async with sending(ctx):
            for server, status in ((odd, "pending"), (fine, "delivered")):
                target = await endpoint(ctx, account, server)
                await send(ctx, account, target, 1)
                await await_status(ctx, account, target, status, 1)
        (kept,), _ = await deliveries.page(ctx, account, target, 1, None, None)
    assert kept.last_response is not None
    assert kept.last_response.startswith("a\ufffdb\ufffd")
    assert len(kept.last_response) <= 1_024


def few_slots(monkeypatch: pytest.MonkeyPatch, quick: int, slow: int) -> None:
    """So that a handful of attempts fills the way out."""
    monkeypatch.setattr(concurrency, "QUICK_ATTEMPTS_MAX", quick)
    monkeypatch.setattr(concurrency, "SLOW_ATTEMPTS_MAX", slow)


@ON_SQLITE
async def test_slow_receivers_leave_the_places_of_the_quick(
    ctx: AppContext, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has heard of the slow ones before; their backlogs would fill the way out twice."""
    few_slots(monkeypatch, quick=6, slow=4)
    held = Held()
    async with serving(held) as slow, serving(replies()) as good, sending(ctx):
        stuck = [await endpoint(ctx, account, slow) for _ in range(5)]
        fine = await endpoint(ctx, account, good)
        for target in stuck:
            await send(ctx, account, target, 20)
        await send(ctx, account, fine, 60)
        await eventually_async(lambda: len(good.requests) == 60)
        # Two of each endpoint until it is known how slow they are, half a second later; the first
        # to be known may have taken all slow places by then.
        assert held.most <= 4 + 4 * concurrency.PROBES_MAX
        held.gate.set()
        await eventually_async(lambda: len(slow.requests) == 100)
    for target in stuck:
        assert await statuses(ctx, account, target) == {("delivered", 1)}


@ON_SQLITE
async def test_slow_receivers_share_what_they_have(
    ctx: AppContext, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The backlog of the first does not keep the second waiting. `test_concurrency.py` has the
    exact shares: on a busy machine an endpoint that seems quick for a moment changes them."""
    few_slots(monkeypatch, quick=6, slow=4)
    monkeypatch.setattr(concurrency, "SLOW_SECONDS", 0.05)
    monkeypatch.setattr(dispatcher, "SLOW_SECONDS", 0.05)
    ended: collections.Counter[str] = collections.Counter()
    begun: list[str] = []

    async def slowly(request: Request, writer: asyncio.StreamWriter) -> None:
        path = request.line.split()[1]
        if min(ended["/a"], ended["/b"]) >= 4:  # both have shown how slow they are
            begun.append(path)
        await asyncio.sleep(0.2)
        ended[path] += 1
        await replies()(request, writer)

    async with serving(slowly) as server, sending(ctx):
        targets = [
            (await endpoints.create(ctx, account, server.url(path), None, None)).id
            for path in ("/a", "/b")
        ]
        await send(ctx, account, targets[0], 60)
        await eventually_async(lambda: len(server.requests) > 4)
        await send(ctx, account, targets[1], 40)
        await eventually_async(lambda: len(begun) >= 12)
    assert begun[:12].count("/b") >= 3, "half of them, on a quiet machine"


@ON_SQLITE
async def test_who_fails_at_once_is_in_nobodys_way(
    ctx: AppContext, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure is no reason to wait behind those that hang."""
    few_slots(monkeypatch, quick=4, slow=2)
    held = Held()
    async with serving(held) as slow, serving(replies(status="500 No")) as failing, sending(ctx):
        stuck = await endpoint(ctx, account, slow)
        await send(ctx, account, stuck, 20)
        await eventually_async(lambda: held.now == 2)
        target = await endpoint(ctx, account, failing)
        await send(ctx, account, target, 40)
        await eventually_async(lambda: len(failing.requests) == 40)
        assert held.most == 2
        held.gate.set()


@ON_SQLITE
async def test_who_was_slow_and_is_quick_again_gets_its_places_back(
    ctx: AppContext, account: str
) -> None:
    held = Held()
    async with serving(held) as server, sending(ctx):
        target = await endpoint(ctx, account, server)
        await send(ctx, account, target, 20)
        await eventually_async(lambda: held.now == WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX)
        held.gate.set()
        await send(ctx, account, target, 300)
        await eventually_async(lambda: len(server.requests) == 320)
    assert await statuses(ctx, account, target) == {("delivered", 1)}


@ON_SQLITE
async def test_stopping_gives_back_what_is_on_its_way(ctx: AppContext, account: str) -> None:
    held = Held()
    async with serving(held) as server:
        async with sending(ctx):
            target = await endpoint(ctx, account, server)
            await send(ctx, account, target, 12)
            await eventually_async(lambda: held.now == WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX)
        assert await statuses(ctx, account, target) == {("pending", 0)}
        wanted = dict.fromkeys(await deliveries.due_endpoints(ctx), 100)
        claimed = await deliveries.record_and_claim(ctx, [], [], wanted)
        assert len(claimed) == 12
        held.gate.set()


@ON_SQLITE
async def test_a_drain_records_what_is_on_its_way_and_sends_no_more(
    ctx: AppContext, account: str
) -> None:
    held = Held()
    async with serving(held) as server:
        async with sending(ctx) as loop:
            target = await endpoint(ctx, account, server)
            await send(ctx, account, target, WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX + 4)
            await eventually_async(lambda: held.now == WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX)
            await loop.claim_no_more()
            await send(ctx, account, target, 1)
            ended = asyncio.create_task(loop.attempts_ended())
            held.gate.set()
            await ended
            assert loop.under_way == 0
        assert len(server.requests) == WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX
    found, _ = await deliveries.page(ctx, account, target, 500, None, None)
    counted = collections.Counter((each.status.value, each.attempts) for each in found)
    assert counted == {("delivered", 1): WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX, ("pending", 0): 5}


@ON_SQLITE
async def test_a_rotated_secret_signs_what_was_claimed_before(
    ctx: AppContext, account: str
) -> None:
    """A quick receiver gets more claimed ahead: those claims are read anew."""
    held = Held(free=100)
    async with serving(held) as server:
        target = await endpoint(ctx, account, server)
        await send(ctx, account, target, 200)
        async with sending(ctx):
            await eventually_async(lambda: held.now == WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX)
            stored = (await endpoints.get(ctx, account, target))[0].secret
            old = ctx.cipher.decrypt(target, stored)
            new = (await endpoints.rotate(ctx, account, target)).secret
            held.gate.set()
            await eventually_async(lambda: len(server.requests) == 200)
    early = server.requests[: 100 + WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX]
    late = server.requests[100 + WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX :]
    assert {signed_by(old, request) for request in early} == {True}
    assert {signed_by(new, request) for request in late} == {True}


def signed_by(secret: str, request: Request) -> bool:
    """Whether that secret made the signature; the test server lowers the case of headers."""
    at = int(request.headers["webhook-timestamp"])
    made = signed_headers([secret], request.headers["webhook-id"], at, request.body)
    return made["webhook-signature"].lower() == request.headers["webhook-signature"]


async def await_status(
    ctx: AppContext, account: str, endpoint_id: str, status: str, attempts: int
) -> None:
    """Wait until the only delivery has that status after that many attempts."""
    async with asyncio.timeout(PATIENCE):
        while await statuses(ctx, account, endpoint_id) != {(status, attempts)}:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("failures", [1, 3])
async def test_a_failed_commit_loses_no_outcome(
    ctx: AppContext, account: str, failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was sent is recorded later; it is not sent again."""
    monkeypatch.setattr(dispatcher, "PAUSE_SECONDS", 0.01)
    real = deliveries.record_and_claim
    broken: list[object] = []

    async def record_and_claim(ctx: AppContext, done: list[object], *rest: object) -> object:
        if done and len(broken) < failures:
            broken.append(done)
            raise OSError("the disk is full")
        return await real(ctx, done, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(deliveries, "record_and_claim", record_and_claim)
    async with serving(replies()) as server, sending(ctx):
        target = await endpoint(ctx, account, server)
        await send(ctx, account, target, 1)
        await await_status(ctx, account, target, "delivered", 1)
    assert len(broken) == failures
    assert len(server.requests) == 1
