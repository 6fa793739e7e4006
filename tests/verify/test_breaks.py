"""A deployment that breaks a rule is found out, by the checks that look at it and no others."""

import json
import threading
from collections.abc import Callable

import httpx2
import pytest

from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import KEY, AgentServer
from tests.servers import free_port
from tests.verify.bends import CASES, Case, after, form_of
from tests.verify.bent import Asked, Bend, Given, bent
from tests.verify.verifying import offline_server, second_key, verify


@pytest.fixture(scope="module")
def offline(start_server: ServerMaker) -> AgentServer:
    return offline_server(start_server)


@pytest.fixture(scope="module")
def other_key(plain_server: AgentServer) -> str:
    return second_key(plain_server)


@pytest.mark.parametrize("case", CASES, ids=form_of)
def test_a_broken_rule_is_found(
    case: Case, plain_server: AgentServer, offline: AgentServer, other_key: str
) -> None:
    server = offline if case.offline else plain_server
    options = ("--second-key", other_key) if "ownership" in case.groups else ()
    with bent(server.url, case.bend()) as proxy:
        told = verify(proxy.url, *case.groups, options=options)
    assert told.named("failed") == case.fails, told.unproved()
    assert told.code == 1
    for name in case.fails:
        assert told.check(name)["expected"]
        assert told.check(name)["got"]


def test_an_honest_proxy_changes_nothing(plain_server: AgentServer) -> None:
    groups = {group for case in CASES if not case.offline for group in case.groups}
    with bent(plain_server.url, Bend()) as proxy:
        told = verify(proxy.url, *sorted(groups - {"ownership"}))
    assert (told.named("failed"), told.code) == (set(), 0), told.unproved()


def test_waits_that_miss_each_other_prove_nothing(plain_server: AgentServer) -> None:
    """The second one may be late on its way: then both are answered, and rightly."""
    turn = threading.Lock()

    def one_by_one(asked: Asked) -> Given | None:
        if "/events?wait=3" in asked.path:
            with turn:
                return Given(200, {"content-type": "application/json"}, held(asked))
        return None

    def held(asked: Asked) -> bytes:
        headers = {"Authorization": f"Bearer {KEY}"}
        return httpx2.get(plain_server.url + asked.path, headers=headers, timeout=30).content

    with bent(plain_server.url, Bend(before=one_by_one)) as proxy:
        told = verify(proxy.url, "events")
    assert (told.named("failed"), told.code) == (set(), 0), told.unproved()
    assert told.check("events/one-at-a-time")["why"] == "the two calls did not meet"


def test_a_failure_names_its_request(plain_server: AgentServer) -> None:
    def say_so(asked: Asked, given: Given) -> None:
        if asked.is_to("GET", "/v1/work"):
            given.say([], 200)

    with bent(plain_server.url, after(say_so)()) as proxy:
        failed = verify(proxy.url, "work").check("work/fields")
    assert failed["expected"] == "status 200 with a JSON object"
    assert failed["request"] == "GET /v1/work"
    assert failed["request_id"].startswith("req_")


def test_a_message_that_never_ends_proves_nothing(plain_server: AgentServer) -> None:
    def never(asked: Asked, given: Given) -> None:
        body = given.json if given.status in (200, 201) and given.body[:1] == b"{" else {}
        if body.get("object") == "message":
            given.change(final=False, status="processing")

    with bent(plain_server.url, after(never)()) as proxy:
        told = verify(proxy.url, "reading", options=("--timeout", "1"))
    assert told.named("failed") == set()
    assert told.named("not_checked") == {"reading/final-at-once", "reading/final-stays",
                                         "reading/etag"}  # fmt: skip
    assert "processing after 1 s" in told.check("reading/etag")["why"]


# --- webhooks on their way ------------------------------------------------------------------------
def _unsigned(asked: Asked) -> Given | None:
    asked.headers = {n: v for n, v in asked.headers.items() if n.lower() != "webhook-signature"}
    return None


def _retouched(asked: Asked) -> Given | None:
    asked.body += b" "
    return None


def _lost(asked: Asked) -> Given | None:
    if asked.path.endswith("/chosen"):
        return Given(200, {}, b"")
    return None


def _renamed_jobs(asked: Asked) -> Given | None:
    if asked.path.endswith("/job"):
        asked.body = asked.body.replace(b'"title":"', b'"title":"Another ')
    return None


def _twice_elsewhere() -> Bend:
    """The other endpoint gets what is meant for the chosen one."""
    bend = Bend()

    def copy(asked: Asked) -> Given | None:
        if asked.path.endswith("/other"):
            asked.body += bend_body
        else:
            bend_body.extend(asked.body)
        return None

    bend_body = bytearray()
    bend.before = copy
    return bend


def _renamed_retries() -> Bend:
    """Each attempt has an id of its own."""
    count = iter(range(1_000))

    def rename(asked: Asked) -> Given | None:
        if asked.path.endswith("/flaky"):
            asked.headers = {n.lower(): v for n, v in asked.headers.items()}
            asked.headers["webhook-id"] = f"evt_{next(count)}"
        return None

    return Bend(before=rename)


@pytest.mark.parametrize(
    ("bend", "fails"),
    [
        (lambda: Bend(before=_unsigned), {"signed", "headers", "rotated"}),
        (lambda: Bend(before=_retouched), {"signed", "rotated"}),
        (lambda: Bend(before=_lost), {"delivered"}),
        (lambda: Bend(before=_renamed_jobs), {"job-event"}),
        (_twice_elsewhere, {"only-chosen", "rotated"}),
        (_renamed_retries, {"retried"}),
    ],
    ids=["unsigned", "retouched", "lost", "other-job", "elsewhere", "renamed"],
)
def test_a_broken_delivery_is_found(
    bend: Callable[[], Bend], fails: set[str], offline: AgentServer
) -> None:
    port = free_port()
    patience = "3" if fails == {"delivered"} else "30"
    with bent(f"http://127.0.0.1:{port}", bend()) as way:
        hooks = ("--hooks-url", f"{way.url}/hooks", "--hooks-port", str(port))
        told = verify(offline.url, "deliveries", options=(*hooks, "--timeout", patience))
    assert told.named("failed") == {f"deliveries/{name}" for name in fails}, told.unproved()


def test_an_event_that_differs_from_the_message_is_found(offline: AgentServer) -> None:
    def other_reply(asked: Asked, given: Given) -> None:
        if asked.path.startswith("/v1/messages/") and given.status == 200:
            given.change(reply="Something else")

    port = free_port()
    hooks = ("--hooks-url", f"http://127.0.0.1:{port}", "--hooks-port", str(port))
    with bent(offline.url, after(other_reply)(), rewrites=False) as proxy:
        told = verify(proxy.url, "deliveries", options=hooks)
    assert told.named("failed") == {"deliveries/same-as-read"}
    assert "Something else" in json.dumps(told.check("deliveries/same-as-read"))
