"""Two API nodes on one database answer as one: limits, idempotency, keys, the switch. What does not
fit the other one, each says of itself."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.conformance.test_ratelimit import redis_url
from tests.e2e.caller import Caller
from tests.e2e.server import ACCOUNT, AgentServer
from tests.forking import SetClock
from tests.servers import Postgres
from tests.waiting import PATIENCE, PROMPT, eventually, holds_after

__all__ = ["redis_url"]
REQUESTS, MESSAGES = 60, 10
OFTEN = {
    "agentpost.nodes.heartbeat._COMPARED_BEATS": 1,
    "agentpost.nodes.heartbeat.BEAT_SECONDS": 0.1,
    # A Redis that answers late on a busy machine would be counted as gone.
    "agentpost.ratelimit.redis._TIMEOUT_SECONDS": PATIENCE,
}


@pytest.fixture(scope="module")
def two_nodes(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory, redis_url: str
) -> Iterator[list[Caller]]:
    """Callers of two API nodes, each with a clock that can be set."""
    home = tmp_path_factory.mktemp("nodes")
    with postgres.database(postgres.schema()) as url, ExitStack() as ends:
        settings = {"database_url": url, "redis_url": redis_url, "constants": OFTEN}
        callers: list[Caller] = []
        for name in ("one", "two"):
            clock = SetClock(home / f"{name}.clock").file
            node = AgentServer(home / name, role="api", clock=clock, **settings).start()
            ends.callback(node.stop)
            callers.append(Caller(node))
            ends.callback(callers[-1].close)
        yield callers


def statuses(callers: list[Caller], count: int, call: Callable[[Caller], int]) -> Counter[int]:
    """That many calls at once, by turns to each node."""
    with ThreadPoolExecutor(8) as pool:
        return Counter(pool.map(lambda n: call(callers[n % len(callers)]), range(count)))


def test_with_redis_two_nodes_let_in_exactly_what_one_would(
    two_nodes: list[Caller], callers: Callable[..., Caller]
) -> None:
    limits = {"requests_per_minute": REQUESTS, "messages_per_hour": MESSAGES}
    key = two_nodes[0].server.new_key("limited", **limits)
    limited = [callers(node.server, key) for node in two_nodes]

    sent = statuses(limited, 16, lambda c: c.post("x").status_code)
    assert sent == {201: MESSAGES, 429: 16 - MESSAGES}
    again = statuses(limited, 8, lambda c: c.post("x", key="one").status_code)
    assert again == {429: 8}, "a refused message takes no place"

    left = REQUESTS - 16 - 8
    read = statuses(limited, left + 10, lambda c: c.call("GET", "/v1/me").status_code)
    assert read == {200: left, 429: 10}


def test_one_key_makes_one_message_over_both_nodes(two_nodes: list[Caller]) -> None:
    callers = two_nodes
    for key in ("first", "second", "third"):
        sent = statuses(callers, 20, lambda c, k=key: c.post("once", key=k).status_code)  # type: ignore[misc]
        assert sent == {201: 1, 200: 19}
    mixed = [
        callers[n % 2].post(f"variant {n % 4 // 2}", key="mixed").status_code for n in range(8)
    ]
    assert Counter(mixed) == {201: 1, 200: 3, 409: 4}


def test_a_key_revoked_on_one_node_is_refused_by_the_other(
    two_nodes: list[Caller], callers: Callable[..., Caller]
) -> None:
    one, two = two_nodes
    made = one.server.command("keys", "create", "--account", ACCOUNT, "--name", "both")
    revoked = [callers(node.server, made["key"]) for node in (one, two)]
    for caller in revoked:
        assert caller.call("GET", "/v1/me").status_code == 200
    one.server.command("keys", "revoke", made["id"])
    for caller in revoked:
        holds_after(lambda c=caller: c.call("GET", "/v1/me").status_code == 401, 1.1)  # type: ignore[misc]

    def codes() -> set[int]:
        return {caller.http.get("/v1/me").status_code for caller in (one, two)}

    one.server.command("maintenance", "on")
    eventually(lambda: codes() == {503}, PROMPT)
    one.server.command("maintenance", "off")
    eventually(lambda: codes() == {200}, PROMPT)


def test_a_node_with_a_wrong_clock_says_so(two_nodes: list[Caller]) -> None:
    """Here by which it would end the other's turns (a turn has two minutes)."""
    one, two = (caller.server for caller in two_nodes)
    assert two.clock is not None
    clock = SetClock(two.clock)

    def degraded() -> object:
        return two.readiness()[1].get("degraded")

    clock.set(200.0)
    try:
        eventually(lambda: degraded() == ["clock"], PATIENCE)
        ahead = [node["clock_ahead_seconds"] for node in one.command("nodes")["data"]]
        assert [seconds > 190 for seconds in ahead] == [False, True]
        (found,) = (each for each in one.findings() if each["state"] == "clock")
        assert "seconds ahead of the database's" in found["problem"]
        said = [line for line in two.log_lines() if '"store_degraded"' in line]
        assert "ahead of the database's" in said[0]
        assert not [line for line in one.log_lines() if '"clock"' in line]
    finally:
        clock.set(0.0)
    eventually(lambda: degraded() is None, PATIENCE)


def test_several_nodes_without_an_address_in_common_say_so(two_nodes: list[Caller]) -> None:
    for server in [caller.server for caller in two_nodes]:

        def warned(server: AgentServer = server) -> list[str]:
            return [line for line in server.log_lines() if "AGENTPOST_BASE_URL is not set" in line]

        (warning,) = eventually(warned, PATIENCE)  # once each has seen the other
        assert server.url in warning
    assert "base_url" in {each["id"] for each in two_nodes[0].server.findings()}
