"""The account (spec: getAccount)."""

from collections.abc import Callable

import pytest

from tests.e2e.caller import Caller
from tests.e2e.server import AgentServer

SETTINGS = {"bootstrap_credits": 12.5, "running_jobs_max": 3, "requests_per_minute": 500}


@pytest.mark.rule(
    "Account.object",
    "Account.email",
    "Account.plan",
    "Account.agent",
    "Account.limits",
    "getAccount.answers",
)
def test_whose_key_it_is_and_what_is_left(caller: Caller) -> None:
    account = caller.call("GET", "/v1/me").json()

    assert account["object"] == "account"
    assert account["email"] == "owner@localhost"
    assert account["plan"] == "self_hosted"
    assert account["credits"] == 12.5
    assert account["agent"] == {"name": "agents"}
    assert account["key"]["id"].startswith("key_")
    assert account["key"]["name"] == "default"
    assert account["limits"] == {"running_jobs": 3, "requests_per_minute": 500}


@pytest.mark.rule("Message.credits_used", "Account.credits")
def test_credits_on_hold_are_not_left(caller: Caller, server: AgentServer) -> None:
    message = caller.send([["start", "Hold", [["step_gate", "held", "held", 2], ["charge", 0.25]]]])
    server.await_gate("held")
    assert caller.credits() == 10.5
    assert caller.get(message["id"])["credits_used"] == 0

    server.open_gate("held")
    assert caller.final(message["id"])["credits_used"] == 2.25
    assert caller.credits() == 10.25


@pytest.mark.rule("Account.user_id", "Account.key")
def test_each_key_is_named(
    caller: Caller, server: AgentServer, callers: Callable[..., Caller]
) -> None:
    made = server.command("keys", "create", "--account", "owner@localhost", "--name", "Zoë")
    account = callers(server, made["key"]).call("GET", "/v1/me").json()
    scopes = ["send", "read", "admin"]
    assert account["key"] == {
        "id": made["id"],
        "name": "Zoë",
        "scopes": scopes,
        "max_credits_per_day": None,
    }
    assert account["user_id"] == caller.call("GET", "/v1/me").json()["user_id"]


@pytest.mark.rule("Account.name")
def test_an_account_has_its_owners_name(
    server: AgentServer, callers: Callable[..., Caller]
) -> None:
    email = "zoe@example.com"
    server.command("accounts", "create", "--email", email, "--name", "Zoë Miller")
    key = server.command("keys", "create", "--account", email, "--name", "k")["key"]
    account = callers(server, key).call("GET", "/v1/me").json()
    assert (account["name"], account["email"]) == ("Zoë Miller", email)
