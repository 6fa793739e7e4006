"""Schedules over HTTP (design: Schedules)."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer
from tests.forking import SetClock
from tests.waiting import eventually

MESSAGE = {"message": " hello ", "metadata": {"a": "b"}, "max_credits": 2.5}
PATH = "/v1/schedules"


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> SetClock:
    """The server's."""
    return SetClock(tmp_path_factory.mktemp("clock") / "clock")


@pytest.fixture(scope="module")
def server(start_server: ServerMaker, clock: SetClock) -> AgentServer:
    return start_server(sweep_seconds=0.2, clock=clock.file)


def make(caller: Caller, **fields: Any) -> dict[str, Any]:
    answer = caller.call("POST", PATH, json={"message": MESSAGE, **fields})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


@pytest.mark.rule(
    "Additions createSchedule",
    "Additions listSchedules",
    "Additions getSchedule",
    "Additions updateSchedule",
    "Additions deleteSchedule",
)
def test_a_schedule_is_made_read_paused_and_deleted(caller: Caller) -> None:
    made = make(caller, cron="30 9 * * 1-5", timezone="Europe/Berlin")
    assert made["object"] == "schedule"
    assert (made["status"], made["missed"], made["missed_runs"]) == ("active", "skip", 0)
    assert made["message"] == {**MESSAGE, "message": "hello"}
    assert made["last_run"] is None
    one = f"{PATH}/{made['id']}"
    assert caller.call("GET", one).json() == made
    assert made in caller.call("GET", PATH).json()["data"]

    paused = caller.call("PATCH", one, json={"paused": True}).json()
    assert (paused["status"], paused["next_run_at"]) == ("paused", None)
    assert caller.call("PATCH", one, json={"paused": False}).json() == made
    gone = caller.call("DELETE", one)
    assert gone.json() == {"object": "schedule", "id": made["id"], "deleted": True}
    caller.refusal(404, "not_found", "GET", one)
    caller.refusal(404, "not_found", "DELETE", one)


def test_the_webhook_endpoint_of_a_schedule_is_the_accounts(caller: Caller) -> None:
    message = {"message": "hello", "webhook_endpoint_id": f"whe_{'0' * 32}"}
    body = {"message": message, "cron": "0 0 1 1 *"}
    caller.refusal(404, "not_found", "POST", PATH, json=body)
    assert message not in [each["message"] for each in caller.call("GET", PATH).json()["data"]]


@pytest.mark.rule("Additions createSchedule", "Additions createSchedule-once")
def test_the_message_is_sent_at_its_time_and_the_run_names_it(
    caller: Caller, clock: SetClock
) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    schema = {"properties": {"rows": {"not": {"const": None}}}}
    message = {**MESSAGE, "message": '[["output", {"rows": 3}]]', "response_schema": schema}
    made = make(caller, at=soon.isoformat(), message=message)
    assert made["message"] == message
    clock.set(3_600)
    one = f"{PATH}/{made['id']}"
    ended = eventually(
        lambda: (found := caller.call("GET", one).json())["status"] == "ended" and found,
        what="the run",
    )
    assert ended
    assert ended["last_run"]["outcome"] == "sent"
    assert ended["last_run"]["planned_at"] == made["next_run_at"]
    message = caller.final(ended["last_run"]["message_id"])
    assert (message["status"], message["metadata"]) == ("completed", {"a": "b"})
    assert (message["max_credits"], message["output"]) == (2.5, {"rows": 3})


def test_a_schedule_of_an_earlier_version_runs_with_its_heavier_pattern(
    server: AgentServer, caller: Caller, clock: SetClock
) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=clock.seconds + 3_600)
    message = {"message": '[["output", "b"]]', "response_schema": {"maxLength": 9}}
    made = make(caller, at=soon.isoformat(), message=message)
    heavy = json.dumps({"pattern": "(b|" + r"\\w" * 50 + ")"})[1:-1]
    server.execute(
        f"UPDATE schedules SET message_json = replace(message_json, '\"maxLength\": 9', '{heavy}')"
        f" WHERE id = '{made['id']}'"
    )
    clock.set(clock.seconds + 3_600)
    run = eventually(lambda: caller.call("GET", f"{PATH}/{made['id']}").json()["last_run"])
    assert (run["outcome"], run["error"]) == ("sent", None)
    assert caller.final(run["message_id"])["output"] == "b"


@pytest.mark.rule("Additions createSchedule")
@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({}, "invalid_request", "cron"),
        ({"cron": "* * * * *", "at": "2030-01-01T00:00:00Z"}, "invalid_request", "cron"),
        ({"cron": "0 0 30 2 *"}, "invalid_request", "cron"),
        ({"at": "2020-01-01T00:00:00Z"}, "invalid_request", "at"),
        ({"at": "2030-01-01T00:00:00"}, "invalid_request", "at"),
        ({"at": "9999-12-31T23:59:59-23:59"}, "invalid_request", "at"),
        ({"at": "2999-01-01T00:00:00Z"}, "invalid_request", "at"),
        ({"cron": "* * * * *", "timezone": "Berlin"}, "invalid_request", "timezone"),
        ({"cron": "* * * * *", "missed": "all"}, "invalid_request", "missed"),
        ({"cron": "* * * * *", "message": {}}, "invalid_request", "message.message"),
        (
            {"cron": "* * * * *", "message": {"message": "x", "response_schema": {"type": 5}}},
            "invalid_request",
            "message.response_schema",
        ),
        ({"cron": "* * * * *", "message": {"message": " "}}, "empty_message", None),
        ({"cron": "* * * * *", "message": {"message": "x" * 20_001}}, "too_long", None),
    ],
)
def test_what_cannot_be_planned_is_refused(
    caller: Caller, fields: dict[str, Any], code: str, field: str | None
) -> None:
    refused = caller.refusal(400, code, "POST", PATH, json={"message": MESSAGE, **fields})
    if field is not None:
        assert [problem["field"] for problem in refused["problems"]] == [field]
