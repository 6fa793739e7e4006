"""How a visit behaves: within the budget, patient when told to wait, tidy, and hard to fool."""

import json
from collections.abc import Callable, Iterator
from functools import partial

import httpx2
import pytest

from agentpost.verify.caller import Caller
from agentpost.verify.check import Check, Group
from agentpost.verify.probe import Options, Probe
from agentpost.verify.runner import Outcome, Result, run
from agentpost.verify.shapes import MESSAGE, problems
from agentpost.verify.verdicts import Difference, Gone, NotChecked
from agentpost.verify.wire import Wire
from tests.servers import free_port

URL = "http://server.test"
Answers = Callable[[httpx2.Request], httpx2.Response]


@pytest.fixture(autouse=True)
def no_wires_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every wire a test has opened is closed after it."""
    opened: list[Wire] = []
    begin = Wire.__init__

    def remember(self: Wire, open_http: Callable[..., httpx2.AsyncClient]) -> None:
        begin(self, open_http)
        opened.append(self)

    monkeypatch.setattr(Wire, "__init__", remember)
    yield
    for each in opened:
        each.close()


def caller(answers: Answers, pauses: list[float] | None = None) -> Caller:
    wire = Wire(partial(httpx2.AsyncClient, transport=httpx2.MockTransport(answers)))
    kept = pauses if pauses is not None else []
    return Caller(wire, URL, "svc_key_1", [], kept.append)


def in_turn(*answers: httpx2.Response) -> Answers:
    left = iter(answers)
    return lambda _: next(left)


def budget(remaining: int, reset: int, status: int = 200, **headers: str) -> httpx2.Response:
    reported = {"ratelimit-remaining": str(remaining), "ratelimit-reset": str(reset), **headers}
    return httpx2.Response(status, headers=reported, json={})


# --- the budget -----------------------------------------------------------------------------------
def test_the_last_requests_of_the_minute_are_left_to_others() -> None:
    pauses: list[float] = []
    client = caller(in_turn(budget(6, 50), budget(5, 40), budget(599, 60)), pauses)
    client.call("GET", "/v1/me")
    client.call("GET", "/v1/me")
    assert pauses == []
    client.call("GET", "/v1/me")
    assert pauses == [41]


def test_a_window_longer_than_a_minute_is_not_waited_for() -> None:
    client = caller(in_turn(budget(0, 3600)))
    client.call("GET", "/v1/me")
    with pytest.raises(NotChecked, match="3600 s"):
        client.call("GET", "/v1/me")


def test_a_limit_is_waited_for_as_told() -> None:
    pauses: list[float] = []
    limited = httpx2.Response(429, headers={"retry-after": "7"})
    client = caller(in_turn(limited, budget(9, 9)), pauses)
    assert client.call("GET", "/v1/me").status == 200
    assert pauses == [7]


@pytest.mark.parametrize("headers", [{}, {"retry-after": "soon"}, {"retry-after": "3600"}])
def test_a_limit_that_cannot_be_waited_for_proves_nothing(headers: dict[str, str]) -> None:
    client = caller(in_turn(httpx2.Response(429, headers=headers)))
    with pytest.raises(NotChecked, match="rate limit"):
        client.call("GET", "/v1/me")


def test_a_limit_hit_twice_proves_nothing() -> None:
    limited = [httpx2.Response(429, headers={"retry-after": "1"}) for _ in range(2)]
    with pytest.raises(NotChecked, match="also after the pause"):
        caller(in_turn(*limited)).call("GET", "/v1/me")


def test_an_api_that_is_switched_off_is_not_judged() -> None:
    client = caller(in_turn(httpx2.Response(503, json={"error": "unavailable"})))
    with pytest.raises(NotChecked, match="switched off"):
        client.call("GET", "/v1/me")


# --- no answer ------------------------------------------------------------------------------------
def test_silence_is_a_difference_and_an_absent_server_is_not() -> None:
    def silent(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadTimeout("", request=request)

    def absent(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    with pytest.raises(Difference, match="silence"):
        caller(silent).call("GET", "/v1/me")
    with pytest.raises(Gone):
        caller(absent).call("GET", "/v1/me")
    with pytest.raises(Difference):
        caller(absent).fetch("http://files.test/f?sig=secret")


def test_the_key_goes_to_the_api_only_and_signatures_are_not_shown() -> None:
    asked: list[httpx2.Request] = []

    def note(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200)

    client = caller(note)
    client.call("GET", "/v1/me")
    reported = client.fetch("http://files.test/f?sig=secret")
    client.post_form("http://uploads.test/", {"policy": "p"}, b"data")
    assert [request.headers.get("authorization") for request in asked] == [
        "Bearer svc_key_1",
        None,
        None,
    ]
    assert reported.line == "GET http://files.test/f"


# --- carrying out ---------------------------------------------------------------------------------
def probe() -> Probe:
    """Of a place where nobody listens."""
    url = f"http://127.0.0.1:{free_port()}"
    return Probe(Options(url, "svc_key_1", "nonce", 1, lambda _: None))


def results(*checks: Callable[[Probe], None]) -> list[Result]:
    group = Group("g", "", tuple(Check(str(n), "", "", each) for n, each in enumerate(checks)))
    return list(run(probe(), [group]))


def test_a_check_that_trips_over_an_answer_proves_nothing() -> None:
    def trips(_: Probe) -> None:
        raise KeyError("id")

    (result,) = results(trips)
    assert result.outcome is Outcome.NOT_CHECKED
    assert "KeyError" in result.why


def test_once_nobody_answers_the_rest_is_not_checked() -> None:
    ran: list[str] = []

    def asks(v: Probe) -> None:
        v.caller.call("GET", "/v1/me")

    reported = results(lambda _: ran.append("first"), asks, lambda _: ran.append("third"))
    assert [each.outcome for each in reported] == [Outcome.PROVED, *[Outcome.NOT_CHECKED] * 2]
    assert "nothing answers" in reported[-1].why
    assert ran == ["first"]


def test_a_broken_sample_fails_once() -> None:
    """The first check to need it tells of the difference, the others that they could not look."""

    def looks(v: Probe) -> None:
        def make() -> None:
            raise Difference("this", "that")

        v.sample("sample", make)

    reported = results(looks, looks)
    assert [each.outcome for each in reported] == [Outcome.FAILED, Outcome.NOT_CHECKED]
    assert reported[1].why == "the sample it needs is missing: expected this, got that"


# --- shapes ---------------------------------------------------------------------------------------
MINIMAL = {
    "id": "msg_1",
    "object": "message",
    "status": "completed",
    "final": True,
    "jobs": [],
    "files": [],
    "notes": [],
    "credits_used": 0,
    "created_at": "2026-01-31T00:00:00.000000Z",
    "updated_at": "2026-01-31T00:00:00.000000Z",
}


def test_unknown_fields_are_allowed_and_nulls_may_be_missing() -> None:
    assert list(problems(MESSAGE, {**MINIMAL, "reply": None, "new": [1]})) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"id": "1"}, "id is not an id that begins with msg_"),
        ({"status": "done"}, "status is not 'processing' or"),
        ({"final": "yes"}, "final is not true or false"),
        ({"final": None}, "final is not true or false"),
        ({"credits_used": True}, "credits_used is not a number"),
        ({"created_at": "2026-01-31T00:00:00Z"}, "created_at is not a UTC time"),
        ({"jobs": [{"job_id": "exe_12"}]}, "jobs.0.kind is missing"),
        ({"notes": [1]}, "notes.0 is not a string"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, object], problem: str) -> None:
    found = list(problems(MESSAGE, json.loads(json.dumps({**MINIMAL, **change}))))
    assert found[0].startswith(problem)
