"""What a visit takes away at its end, and what it must not touch."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from agentpost.cli import app
from agentpost.clock import new_id
from agentpost.domain import ids
from agentpost_verify import cleanup
from agentpost_verify.answers import Exchange
from agentpost_verify.cleanup import is_new_work, leave
from agentpost_verify.probe import WORK_LIST_MAX, Probe
from tests.e2e.server import KEY, AgentServer
from tests.verify.mutated import Mutation, ProxiedRequest, ProxiedResponse, bent

OWN = {"kind": "execution", "role": "execution"}
OLD = [f"wrk_{number:03}" for number in range(WORK_LIST_MAX, 0, -1)]
"""A whole list of works, newest first."""
ODD, ODD_QUOTED = "../webhooks/whe_1?\ud800", "..%2Fwebhooks%2Fwhe_1%3F%3F"
"""An id that must not lead to another resource, and as it is in a path."""
Json = dict[str, Any]


@dataclass
class Deployment:
    """Lists ``works``, answers whatever else ``answer`` says, and notes what was deleted."""

    works: list[str]
    listing: int = 200
    deleted: list[str] = field(default_factory=list)
    broken: Callable[[ProxiedRequest], ProxiedResponse | None] = lambda _: None

    def __call__(self, asked: ProxiedRequest) -> ProxiedResponse | None:
        broken = self.broken(asked)
        if broken is not None:
            return broken
        if asked.is_to("GET", "/v1/work"):
            data = [{"work_id": each} for each in self.works]
            return json_response({"object": "list", "data": data}, self.listing)
        if asked.is_to("POST", "/v1/messages"):
            return json_response(
                {"id": "msg_1", "object": "message", "final": True, "jobs": []}, 201
            )
        if asked.method == "DELETE":
            self.deleted.append(asked.path.rpartition("/")[2])
            return json_response({"deleted": True})
        return json_response({"error": "not_found"}, 404)


def json_response(body: Json, status: int = 200) -> ProxiedResponse:
    return ProxiedResponse(status, {"content-type": "application/json"}, json.dumps(body).encode())


@pytest.fixture
def deployment() -> Deployment:
    return Deployment([])


@pytest.fixture
def probe(deployment: Deployment) -> Iterator[Probe]:
    with bent("http://127.0.0.1:1", Mutation(before=deployment)) as proxy:
        yield Probe(proxy.url, "svc_key_1", "nonce", 1, lambda _: None)


def started(probe: Probe, *works: str) -> None:
    """A message whose jobs ran in these works."""
    jobs = [{**OWN, "work_id": each} for each in works]
    probe.messages["msg_2"] = {"final": True, "jobs": jobs}


# --- works ----------------------------------------------------------------------------------------
def test_a_work_made_since_is_deleted_and_those_of_others_are_left_alone(
    probe: Probe, deployment: Deployment
) -> None:
    deployment.works = ["wrk_before"]
    probe.send("Hello")
    deployment.works = ["wrk_1", "wrk_joined", "wrk_refused", "wrk_before"]
    started(probe, "wrk_1", "wrk_before")
    probe.messages["msg_2"]["jobs"] += [
        {**OWN, "role": "follow_up", "work_id": "wrk_joined"},
        {**OWN, "kind": "refusal", "work_id": "wrk_refused"},
    ]
    assert (leave(probe), deployment.deleted) == ([], ["wrk_1"])


@pytest.mark.parametrize(
    ("before", "now", "work", "is_deleted"),
    [
        (OLD, OLD, "wrk_000", False),
        # Others have deleted a work meanwhile, or the list is by the latest use.
        (OLD, ["wrk_000", *OLD[1:]], "wrk_000", False),
        (OLD, ["wrk_100", *OLD[:-1]], "wrk_100", True),
        # Such as the home of a conversation, in which a job may run as well.
        ([], [], "wrk_home", False),
        ([], [ODD], ODD, True),
    ],
    ids=["below the end", "comes up into the list", "new of many", "never shown", "odd id"],
)
def test_a_work_is_deleted_when_it_is_certainly_new(
    probe: Probe,
    deployment: Deployment,
    before: list[str],
    now: list[str],
    work: str,
    is_deleted: bool,
) -> None:
    deployment.works = before
    probe.send("Hello")
    deployment.works = now
    started(probe, work)
    path = ODD_QUOTED if work == ODD else work
    expected = ([], [path]) if is_deleted else ([work], [])
    assert (leave(probe), deployment.deleted) == expected


@pytest.mark.parametrize(
    "break_",
    [
        lambda asked: json_response({"error": "internal"}, 500),
        lambda asked: json_response({"data": "none"}),
        lambda asked: json_response({"data": [{}]}),
        lambda asked: ProxiedResponse(200, {"content-encoding": "gzip"}, b"no gzip"),
    ],
    ids=["500", "no-list", "no-ids", "unreadable"],
)
def test_without_the_first_list_no_work_is_deleted(
    break_: Callable[[ProxiedRequest], ProxiedResponse], probe: Probe, deployment: Deployment
) -> None:
    deployment.broken = lambda asked: break_(asked) if asked.is_to("GET", "/v1/work") else None
    probe.send("Hello")
    deployment.broken = lambda _: None
    deployment.works = ["wrk_1"]
    started(probe, "wrk_1")
    assert (leave(probe), deployment.deleted) == (["wrk_1"], [])


def test_without_a_last_list_no_work_is_deleted(probe: Probe, deployment: Deployment) -> None:
    probe.send("Hello")
    deployment.listing = 500
    started(probe, "wrk_1")
    assert (leave(probe), deployment.deleted) == (["wrk_1"], [])


@pytest.mark.parametrize(
    ("before", "now", "new"),
    [
        ("cba", "dcb", True),
        ("cab", "dca", False),  # the ids do not sort by time
        ("cba", "cda", False),  # the list is not by age
        ("dca", "bdc", False),  # sorts before one that was known
        ("cba", "d", False),  # nothing of before to compare with
    ],
)
def test_a_list_that_was_cut_off_proves_newness_by_order(
    before: str, now: str, new: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleanup, "WORK_LIST_MAX", len(before))
    work = next(each for each in now if each not in before)
    assert is_new_work(work, list(before), list(now)) is new


def test_ids_of_this_server_sort_by_time() -> None:
    made = [new_id(ids.WORK, now) for now in range(WORK_LIST_MAX, 0, -1)]
    since = new_id(ids.WORK, WORK_LIST_MAX + 1)
    assert is_new_work(since, made, [since, *made])


# --- surprises ------------------------------------------------------------------------------------
def test_a_surprise_stops_nothing_and_what_stays_is_reported(
    probe: Probe, deployment: Deployment
) -> None:
    """The look after a DELETE that found nothing meets an API that is switched off."""

    def broken(asked: ProxiedRequest) -> ProxiedResponse | None:
        if asked.path != "/v1/webhooks/whe_1":
            return None
        unavailable = json_response({"error": "unavailable"}, 503)
        return unavailable if asked.method == "GET" else json_response({"error": "not_found"}, 404)

    probe.send("Hello")
    deployment.works = ["wrk_1"]
    deployment.broken = broken
    probe.endpoints += ["whe_1", "whe_2"]
    started(probe, "wrk_1")
    assert leave(probe) == ["whe_1"]
    assert deployment.deleted == ["whe_2", "wrk_1"]


def test_an_unreadable_message_leaves_what_was_known_of_it(
    probe: Probe, deployment: Deployment
) -> None:
    probe.send("Hello")
    deployment.works = ["wrk_1"]
    started(probe, "wrk_1")
    probe.messages["msg_2"]["final"] = False
    probe.messages["msg_3"] = {"final": True, "jobs": 7}
    assert (leave(probe), deployment.deleted) == ([], ["wrk_1"])


@pytest.mark.parametrize(
    ("headers", "body"),
    [({}, b"[" * 100_000), ({"ratelimit-remaining": "9" * 5_000}, b"{}")],
    ids=["deep", "long"],
)
def test_absurd_answers_are_no_surprise(
    headers: dict[str, str], body: bytes, probe: Probe, deployment: Deployment
) -> None:
    probe.endpoints.append("whe_1")
    deployment.broken = lambda _: ProxiedResponse(500, headers, body)
    assert leave(probe) == ["whe_1"]


def test_who_is_gone_is_asked_once(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    call = probe.call

    def remember(method: str, path: str) -> Exchange:
        asked.append(method)
        return call(method, path)

    probe.url = "http://127.0.0.1:1"
    monkeypatch.setattr(probe, "call", remember)
    probe.endpoints += ["whe_1", "whe_2"]
    assert leave(probe) == ["whe_1", "whe_2"]
    assert len(asked) == 1


def test_a_person_is_reported_what_is_left(plain_server: AgentServer) -> None:
    """No endpoint can be removed: first there seems to be none, then the API is off."""
    removed: set[str] = set()

    def broken(asked: ProxiedRequest) -> ProxiedResponse | None:
        if asked.method == "DELETE":
            removed.add(asked.path)
            return json_response({"error": "not_found"}, 404)
        return json_response({"error": "unavailable"}, 503) if asked.path in removed else None

    with bent(plain_server.url, Mutation(before=broken)) as proxy:
        arguments = ["verify", "--url", proxy.url, "--key", KEY, "--only", "webhooks"]
        reported = CliRunner().invoke(app, arguments)
    for path in removed:  # the server is shared by the tests of this run
        httpx2.delete(plain_server.url + path, headers={"Authorization": f"Bearer {KEY}"})
    assert reported.exit_code in (0, 1), reported.output
    assert "Traceback" not in reported.output
    left = {path.rpartition("/")[2] for path in removed}
    lines = {line for line in reported.stdout.splitlines() if line.startswith("left behind: ")}
    assert lines
    assert lines <= {f"left behind: {each}" for each in left}
