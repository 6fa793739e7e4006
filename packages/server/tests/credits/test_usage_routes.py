"""The usage of an account (design: Usage)."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(bootstrap_credits=100)


@pytest.fixture(scope="module")
def used(server: AgentServer) -> dict[str, str]:
    """The names and ids of two keys of the account, after three messages and two jobs."""
    first = Caller(server)
    made = server.command("keys", "create", "--account", "owner@localhost", "--name", "second")
    second = Caller(server, made["key"])
    job = [["start", "Work", [["charge", 1.25]]]]
    for caller, message, conversation in (
        (first, job, "zoe"),
        (first, "hello", "zoe"),
        (second, job, "tom"),
    ):
        answer = caller.send(message, conversation=conversation)
        caller.final(answer["id"])
    default = first.http.get("/v1/me").json()["key"]["id"]
    first.close()
    second.close()
    return {"default": default, "second": made["id"]}


def lines(caller: Caller, **query: Any) -> list[dict[str, Any]]:
    answer = caller.call("GET", "/v1/usage", params=query)
    assert answer.status_code == 200, answer.text
    assert answer.json()["object"] == "list"
    found: list[dict[str, Any]] = answer.json()["data"]
    assert all(line["object"] == "usage" for line in found)
    return found


@pytest.mark.databases("sqlite", "postgres")
def test_a_day_has_the_work_of_all_keys(caller: Caller, used: dict[str, str]) -> None:
    [today] = lines(caller)
    assert (today["group"], today["name"]) == ("day", None)
    assert (today["messages"], today["jobs"], today["credits"]) == (3, 2, 2.5)
    assert lines(caller, to=today["id"]) == []
    [again] = lines(caller, **{"from": today["id"], "group_by": "day"})
    assert again == today


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions listUsage")
def test_usage_by_key_and_by_conversation(
    server: AgentServer, caller: Caller, callers: Callable[..., Caller], used: dict[str, str]
) -> None:
    by_key = {line["id"]: line for line in lines(caller, group_by="key")}
    assert set(by_key) == set(used.values())
    one, other = by_key[used["default"]], by_key[used["second"]]
    assert (one["name"], one["messages"], one["jobs"], one["credits"]) == ("default", 2, 1, 1.25)
    assert (other["name"], other["messages"], other["jobs"]) == ("second", 1, 1)

    for reader, other_name in (
        (caller, None),
        (callers(server, server.another_key("overseer", "read,read_all")), "tom"),
    ):
        by_name = {line["name"]: line for line in lines(reader, group_by="conversation")}
        assert {name: (line["messages"], line["credits"]) for name, line in by_name.items()} == {
            "zoe": (2, 1.25),
            other_name: (1, 1.25),
        }


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions listUsage")
def test_pages_lead_through_all_lines(caller: Caller, used: dict[str, str]) -> None:
    first = caller.call("GET", "/v1/usage?group_by=key&limit=1").json()
    assert first["has_more"] is True
    before = first["data"][0]["id"]
    rest = caller.call("GET", f"/v1/usage?group_by=key&limit=1&before={before}").json()
    assert rest["has_more"] is False
    ids = [line["id"] for line in (*first["data"], *rest["data"])]
    assert ids == sorted(used.values(), reverse=True)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("group_by=week", "group_by"),
        ("from=yesterday", "from"),
        ("to=2026-02-30", "to"),
        ("from=2026-01-31T00:00:00", "from"),
        ("from=2026-01-02&to=2026-01-02", "from"),
        ("from=2026-01-01&to=2026-04-04", "from"),
        ("limit=101", "limit"),
    ],
)
def test_a_range_that_cannot_be_summed_is_refused(caller: Caller, query: str, field: str) -> None:
    refused = caller.refusal(400, "invalid_request", "GET", f"/v1/usage?{query}")
    assert [problem["field"] for problem in refused["problems"]] == [field]


@pytest.mark.rule("Additions listUsage")
def test_another_account_has_its_own(
    server: AgentServer, callers: Callable[..., Caller], used: dict[str, str]
) -> None:
    assert lines(callers(server, server.new_key("other"))) == []
