"""A deployment that breaks a rule is found out, by the checks that look at it and no others."""

import json
import threading
from collections.abc import Callable

import httpx2
import pytest

from agentpost_verify.checks import events
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import KEY, AgentServer
from tests.servers import free_port
from tests.verify.mutated import Mutation, ProxiedRequest, ProxiedResponse, bent
from tests.verify.mutations import BATCHES, Batch, after, all_of
from tests.verify.verifying import offline_server, second_key, verify

HELD_SECONDS = 0.2
"""How long most servers here hold back an empty page of a log, instead of a second."""
HOLDS = {"agentpost.following.long_polls.EVENTS_WAIT_SECONDS_MIN": HELD_SECONDS}


@pytest.fixture(scope="module")
def offline(start_server: ServerMaker) -> AgentServer:
    return offline_server(start_server, constants=HOLDS)


@pytest.fixture(scope="module")
def quick(start_server: ServerMaker) -> AgentServer:
    return start_server(constants=HOLDS)


@pytest.fixture(scope="module")
def other_key(quick: AgentServer) -> str:
    return second_key(quick)


@pytest.fixture
def held_shortly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks expect what those servers do."""
    monkeypatch.setattr(events, "LEAST_SECONDS", HELD_SECONDS - 0.01)


@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: batch.name)
def test_broken_rules_are_found(
    batch: Batch, request: pytest.FixtureRequest, other_key: str
) -> None:
    name = "offline" if batch.offline else "plain_server" if batch.real_time else "quick"
    if not batch.real_time:
        request.getfixturevalue("held_shortly")
    server: AgentServer = request.getfixturevalue(name)
    options = ("--second-key", other_key) if "ownership" in batch.groups else ()
    with bent(server.url, batch.mutation()) as proxy:
        reported = verify(proxy.url, *batch.groups, options=options)
    assert reported.names("failed") == batch.fails, reported.unproved()
    assert reported.code == 1
    for name in batch.fails:
        assert reported.check(name)["expected"]
        assert reported.check(name)["got"]


@pytest.mark.usefixtures("held_shortly")
def test_an_honest_proxy_changes_nothing(quick: AgentServer) -> None:
    groups = {group for batch in BATCHES if not batch.offline for group in batch.groups}
    with bent(quick.url, Mutation()) as proxy:
        reported = verify(proxy.url, *sorted(groups - {"ownership"}))
    assert (reported.names("failed"), reported.code) == (set(), 0), reported.unproved()


@pytest.mark.usefixtures("held_shortly")
def test_waits_that_miss_each_other_prove_nothing(quick: AgentServer) -> None:
    """The second one may be late on its way: then both are answered, and rightly."""
    turn = threading.Lock()

    def one_by_one(request: ProxiedRequest) -> ProxiedResponse | None:
        if "/events?wait=3" in request.path:
            with turn:
                return ProxiedResponse(200, {"content-type": "application/json"}, held(request))
        return None

    def held(request: ProxiedRequest) -> bytes:
        headers = {"Authorization": f"Bearer {KEY}"}
        return httpx2.get(quick.url + request.path, headers=headers, timeout=30).content

    with bent(quick.url, Mutation(before=one_by_one)) as proxy:
        reported = verify(proxy.url, "events")
    assert (reported.names("failed"), reported.code) == (set(), 0), reported.unproved()
    assert reported.check("events/one-at-a-time")["why"] == "the two calls did not meet"


def test_a_failure_names_its_request(quick: AgentServer) -> None:
    def say_so(request: ProxiedRequest, response: ProxiedResponse) -> None:
        if request.is_to("GET", "/v1/work"):
            response.say([], 200)

    with bent(quick.url, after(say_so)()) as proxy:
        failed = verify(proxy.url, "work").check("work/fields")
    assert failed["expected"] == "status 200 with a JSON object"
    assert failed["request"] == "GET /v1/work"
    assert failed["request_id"].startswith("req_")


def test_a_message_that_never_ends_proves_nothing(quick: AgentServer) -> None:
    def never(request: ProxiedRequest, response: ProxiedResponse) -> None:
        body = response.json if response.status in (200, 201) and response.body[:1] == b"{" else {}
        if body.get("object") == "message":
            response.change(final=False, status="processing")

    with bent(quick.url, after(never)()) as proxy:
        reported = verify(proxy.url, "reading", options=("--timeout", "1"))
    assert reported.names("failed") == set()
    assert reported.names("not_checked") == {"reading/final-at-once", "reading/final-stays",
                                         "reading/etag"}  # fmt: skip
    assert "processing after 1 s" in reported.check("reading/etag")["why"]


# --- webhooks on their way ------------------------------------------------------------------------
def _unsigned(request: ProxiedRequest) -> ProxiedResponse | None:
    request.headers = {n: v for n, v in request.headers.items() if n.lower() != "webhook-signature"}
    return None


def _retouched(request: ProxiedRequest) -> ProxiedResponse | None:
    request.body += b" "
    return None


def _lost(request: ProxiedRequest) -> ProxiedResponse | None:
    if request.path.endswith("/chosen"):
        return ProxiedResponse(200, {}, b"")
    return None


def _renamed_jobs(request: ProxiedRequest) -> ProxiedResponse | None:
    if request.path.endswith("/job"):
        request.body = request.body.replace(b'"title":"', b'"title":"Another ')
    return None


def _twice_elsewhere() -> Mutation:
    """The other endpoint gets what is meant for the chosen one."""
    mutation = Mutation()

    def copy(request: ProxiedRequest) -> ProxiedResponse | None:
        if request.path.endswith("/other"):
            request.body += bend_body
        else:
            bend_body.extend(request.body)
        return None

    bend_body = bytearray()
    mutation.before = copy
    return mutation


def _renamed_retries() -> Mutation:
    """Each attempt has an id of its own."""
    count = iter(range(1_000))

    def rename(request: ProxiedRequest) -> ProxiedResponse | None:
        if request.path.endswith("/flaky"):
            request.headers = {n.lower(): v for n, v in request.headers.items()}
            request.headers["webhook-id"] = f"evt_{next(count)}"
        return None

    return Mutation(before=rename)


@pytest.mark.parametrize(
    ("mutation", "fails"),
    [
        (
            lambda: all_of(
                Mutation(before=_unsigned), Mutation(before=_renamed_jobs), _renamed_retries()
            ),
            {"signed", "headers", "rotated", "job-event", "retried"},
        ),
        (lambda: Mutation(before=_retouched), {"signed", "rotated"}),
        (lambda: Mutation(before=_lost), {"delivered"}),
        (_twice_elsewhere, {"only-chosen", "rotated"}),
    ],
    ids=["unsigned+other-job+renamed", "retouched", "lost", "elsewhere"],
)
def test_a_broken_delivery_is_found(
    mutation: Callable[[], Mutation], fails: set[str], offline: AgentServer
) -> None:
    port = free_port()
    patience = "3" if fails == {"delivered"} else "30"
    with bent(f"http://127.0.0.1:{port}", mutation()) as egress:
        hooks = ("--hooks-url", f"{egress.url}/hooks", "--hooks-port", str(port))
        reported = verify(offline.url, "deliveries", options=(*hooks, "--timeout", patience))
    assert reported.names("failed") == {f"deliveries/{name}" for name in fails}, reported.unproved()


def test_an_event_that_differs_from_the_message_is_found(offline: AgentServer) -> None:
    def other_reply(request: ProxiedRequest, response: ProxiedResponse) -> None:
        if request.path.startswith("/v1/messages/") and response.status == 200:
            response.change(reply="Something else")

    port = free_port()
    hooks = ("--hooks-url", f"http://127.0.0.1:{port}", "--hooks-port", str(port))
    with bent(offline.url, after(other_reply)(), rewrites=False) as proxy:
        reported = verify(proxy.url, "deliveries", options=hooks)
    assert reported.names("failed") == {"deliveries/same-as-read"}
    assert "Something else" in json.dumps(reported.check("deliveries/same-as-read"))
