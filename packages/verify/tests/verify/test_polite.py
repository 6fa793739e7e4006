"""How a visit behaves: within the budget, patient when told to wait, tidy, and hard to fool."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx2
import pytest

from agentpost_verify import running
from agentpost_verify.answers import Difference, Gone
from agentpost_verify.probe import Probe
from agentpost_verify.running import Group, Outcome, Result, run
from agentpost_verify.shapes import MESSAGE, problems
from tests.servers import free_port

URL = "http://server.test"
Results = list[Result]
Runner = Callable[[str], Results]
Answers = Callable[[httpx2.Request], httpx2.Response]


def caller(answers: Answers, pauses: list[float] | None = None) -> Probe:
    http = partial(httpx2.AsyncClient, transport=httpx2.MockTransport(answers))
    kept = pauses if pauses is not None else []
    return Probe(URL, "svc_key_1", "n", 1, kept.append, open_http=http)


def in_turn(*answers: httpx2.Response) -> Answers:
    left = iter(answers)
    return lambda _: next(left)


def budget(remaining: int, reset: int, status: int = 200, **headers: str) -> httpx2.Response:
    reported = {"ratelimit-remaining": str(remaining), "ratelimit-reset": str(reset), **headers}
    return httpx2.Response(status, headers=reported, json={})


UNTIMED: tuple[dict[str, str], ...] = ({}, {"retry-after": "soon"}, {"retry-after": "3600"})


# --- the budget -----------------------------------------------------------------------------------
def test_the_last_requests_of_the_minute_are_left_to_others() -> None:
    pauses: list[float] = []
    client = caller(in_turn(budget(6, 50), budget(5, 40), budget(599, 60)), pauses)
    client.call("GET", "/v1/me")
    client.call("GET", "/v1/me")
    assert pauses == []
    client.call("GET", "/v1/me")
    assert pauses == [41]


def test_a_limit_is_waited_for_as_told() -> None:
    pauses: list[float] = []
    limited = httpx2.Response(429, headers={"retry-after": "7"})
    client = caller(in_turn(limited, budget(9, 9)), pauses)
    assert client.call("GET", "/v1/me").status == 200
    assert pauses == [7]


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([budget(0, 3600)], "3601 s"),
        *(([httpx2.Response(429, headers=headers)], "rate limit") for headers in UNTIMED),
        ([httpx2.Response(429, headers={"retry-after": "1"})] * 2, "also after the pause"),
        ([httpx2.Response(503, json={"error": "unavailable"})], "switched off"),
    ],
)
def test_what_cannot_be_waited_for_proves_nothing(answers: list[httpx2.Response], why: str) -> None:
    client = caller(in_turn(*answers))
    if answers[0].status_code == 200:  # its window is longer than a minute
        client.call("GET", "/v1/me")
    with pytest.raises(match=why):
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
CHECKS = """
import pytest

from agentpost_verify.answers import Difference

{source}
"""


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Runs a group of these checks against an address where nothing listens."""
    (tmp_path / "checks").mkdir()
    (tmp_path / "pytest.ini").write_bytes((running.HERE / "pytest.ini").read_bytes())
    monkeypatch.setattr(running, "HERE", tmp_path)
    name = tmp_path.name  # a module is imported once in a process
    monkeypatch.setattr(running, "GROUPS", (Group(name.replace("_", "-"), "checks of a test"),))
    probe = Probe(f"http://127.0.0.1:{free_port()}", "svc_key_1", "n", 1, lambda _: None)

    def results_of(source: str) -> Results:
        (tmp_path / f"checks/{name}.py").write_text(CHECKS.format(source=source))
        results: list[Result] = []
        run(probe, running.GROUPS, results.append)
        return results

    return results_of


def test_an_assertion_says_what_was_expected_and_what_came(results: Runner) -> None:
    reports = results("""
def test_words():
    "Words say it. (Errors)"
    assert 1 + 1 == 3, "three"

def test_comparison():
    "The comparison says it. (Errors)"
    assert 1 + 1 == 3

def test_list():
    "A list is shown. (Errors)"
    assert "a" in ["b"], "an a"

def test_choice():
    "One of several. (Errors)"
    assert 2 in (3, 4)

def test_bound():
    "A bound. (Errors)"
    assert 2 > 3

def test_unlike():
    "Unlike. (Errors)"
    assert 2 != 2

def test_fine():
    "It holds. (Errors)"
""")
    assert [(each.check.name, each.outcome.value, each.expected, each.got) for each in reports] == [
        ("words", "failed", "three", "2"),
        ("comparison", "failed", "3", "2"),
        ("list", "failed", "an a", '["b"]'),
        ("choice", "failed", "3 or 4", "2"),
        ("bound", "failed", "> 3", "2"),
        ("unlike", "failed", "!= 2", "2"),
        ("fine", "proved", "", ""),
    ]


def test_a_check_that_trips_over_an_answer_proves_nothing(results: Runner) -> None:
    (result,) = results("""
def test_trips():
    "It trips. (Errors)"
    {}["id"]
""")
    assert result.outcome is Outcome.NOT_CHECKED
    assert "KeyError" in result.why


def test_a_fault_of_a_check_ends_the_run(results: Runner) -> None:
    with pytest.raises(RuntimeError, match="a fault"):
        results("""
def test_fault():
    "It is broken. (Errors)"
    raise RuntimeError("a fault")

def test_next():
    "It is not reached. (Errors)"
""")


def test_once_nobody_answers_the_rest_is_not_checked(results: Runner) -> None:
    reports = results("""
def test_first():
    "It holds. (Errors)"

def test_asks(probe):
    "It needs an answer. (Errors)"
    probe.call("GET", "/v1/me")

def test_third():
    "It would hold. (Errors)"
""")
    assert [each.outcome for each in reports] == [Outcome.PROVED, *[Outcome.NOT_CHECKED] * 2]
    assert "nothing answers" in reports[-1].why


def test_a_broken_sample_fails_once(results: Runner) -> None:
    """The first check to need it tells of the difference, the others that they could not look."""
    reports = results("""
@pytest.fixture(scope="session")
def sample():
    raise Difference("this", "that")

def test_looks(sample):
    "It looks. (Errors)"

def test_looks_too(sample):
    "It looks. (Errors)"
""")
    assert [each.outcome for each in reports] == [Outcome.FAILED, Outcome.NOT_CHECKED]
    assert reports[1].why == "what it needs is missing: expected this, got that"


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
