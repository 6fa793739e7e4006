"""Spend ceilings over HTTP (design: Spend ceilings)."""

from collections.abc import Callable

import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(bootstrap_credits=100)


@pytest.mark.rule("Additions max_credits")
def test_a_message_uses_no_more_than_it_may_until_it_may(caller: Caller) -> None:
    """A charge takes what the ceiling leaves."""
    script = [["start", "Work", [["charge", 1], ["charge", 1], ["charge", 1]]]]
    message = caller.send(script, max_credits=1.5, conversation="one")
    parked = caller.until_message(message["id"], status="blocked")
    assert (parked["reason"], parked["final"]) == ("out_of_credits", False)
    assert (parked["waits_for"], parked["max_credits"]) == ("max_credits", 1.5)
    assert parked["credits_used"] == 1.5
    stalled = caller.log(message["id"])[-1]
    assert stalled["outcome"] == "stalled_credits"
    assert "higher max_credits" in stalled["text"]

    path = f"/v1/messages/{message['id']}/recover"
    for request in ({}, {"json": {"max_credits": 1.5}}):
        assert caller.call("POST", path, **request).status_code == 200
        assert caller.get(message["id"])["status"] == "blocked", "it is no higher"
    answer = caller.call("POST", path, json={"max_credits": 3})
    assert [work["state"] for work in answer.json()["work"]] == ["watching"]
    done = caller.final(message["id"])
    assert (done["status"], done["credits_used"], done["max_credits"]) == ("completed", 2.5, 3)
    assert not {"waits_for", "resume_by"} & set(done)
    assert caller.credits() == 97.5


@pytest.mark.parametrize("amount", [0, -1, "2", True, 1e10])
def test_a_ceiling_is_a_number_above_zero(caller: Caller, amount: object) -> None:
    body = {"message": "hello", "max_credits": amount}
    refused = caller.refusal(400, "invalid_request", "POST", "/v1/messages", json=body)
    assert refused["problems"][0]["field"] == "max_credits"


@pytest.mark.rule("Additions max_credits_per_day")
def test_a_key_uses_no_more_in_a_day_than_it_may(
    server: AgentServer, callers: Callable[..., Caller]
) -> None:
    create = ("keys", "create", "--account", "owner@localhost", "--name", "few")
    made = server.command(*create, "--max-credits-per-day", "1.5")
    assert made["max_credits_per_day"] == 1.5
    few = callers(server, made["key"])
    assert few.call("GET", "/v1/me").json()["key"]["max_credits_per_day"] == 1.5
    message = few.send([["start", "Work", [["charge", 1], ["charge", 1], ["charge", 1]]]])
    parked = few.until_message(message["id"], status="blocked")
    assert (parked["waits_for"], parked["credits_used"]) == ("next_day", 1.5)
