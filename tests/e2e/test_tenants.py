"""A stranger, a tenant, a second key and an owner at every operation, door and page.

The calls come from the tables of the server (`tests.e2e.actors`), so a new one is tried without
being written down here. What belongs to whom: docs/api.md, Keys and scopes.
"""

import json
import re
from collections.abc import Callable, Iterator

import httpx2
import pytest

from tests.e2e.actors import (
    MARK,
    OF_ITS_KEY,
    Call,
    Things,
    of_a2a,
    of_api,
    of_mcp,
    of_openai,
    of_pages,
)
from tests.e2e.caller import Caller
from tests.e2e.server import ACCOUNT, AgentServer
from tests.waiting import eventually

DOORS = {"api": of_api, "openai": of_openai, "a2a": of_a2a, "mcp": of_mcp}
RPC = ("/a2a", "/mcp")
HEADERS = {"Accept": "application/json, text/event-stream", "A2A-Version": "1.0"}
NOT_READY = ("createMessage: upload_ids", "file_id of an input")
"""An upload that is not the account's is one that is not ready (spec: createMessage)."""
OF_ACCOUNT = {
    *("listWork", "listWebhookEndpoints"),
    *("GET /openai/v1/files", "/mcp list_work", "/mcp resources/list"),
}
"""Lists of what belongs to the account: each of its keys sees all of it."""
TELLS_NOTHING = {"getAccount", "GET /openai/v1/models"}
"""What has no parameter and is no list of things."""
ENDED = {"/a2a CancelTask", "/a2a SubscribeToTask", "/a2a SendStreamingMessage of a task"}
"""Refused for the owner as well, with another status: the task has ended."""
SUCCESS = (200, 201)
SETTINGS: dict[str, object] = {}
"""The tests look at all that the server has."""


@pytest.fixture(scope="module")
def tenant(server: AgentServer) -> Iterator[Caller]:
    made = Caller(server, server.new_key("tenant"))
    yield made
    made.close()


def cursors(*readers: Caller) -> dict[Caller, str]:
    """Where the events begin that each will read."""
    return {each: each.call("GET", "/v1/events").json()["cursor"] for each in readers}


def ask(caller: Caller, call: Call, cursor: str = "") -> tuple[int, str]:
    """The status of an answer, of the one inside where that is JSON-RPC; its headers and body."""
    query = {"listEvents": {"cursor": cursor}, "listUsage": {"group_by": "conversation"}}
    answer = caller.http.request(
        call.method,
        call.path,
        headers=HEADERS if call.path in RPC else {},
        params=query.get(call.name) if cursor else None,
        **call.request,
    )
    text, status = f"{dict(answer.headers)}\n{answer.text}", answer.status_code
    if status == 200 and call.path in RPC:
        inner = json.loads(answer.text.rpartition("data: ")[2] or answer.text)
        if "error" in inner or inner["result"].get("isError"):
            status = 404 if re.search("not_found|TASK_NOT_FOUND", answer.text) else 400
    return status, text


def ids_in(text: str, things: Things, names: set[str]) -> set[str]:
    """The names of the things whose ids stand in a text."""
    return {name for name in names if "_" in things.values[name] and things.values[name] in text}


def lists_first(calls: list[Call]) -> list[Call]:
    """The list of requests tells later what the caller itself has named."""
    return sorted(calls, key=lambda each: not each.is_list)


def check_refused(call: Call, status: int, text: str) -> None:
    """It names what the caller may not see: not there, and not a word about it."""
    assert status == (409 if call.name in NOT_READY else 404), f"{call.name}: {text}"
    assert MARK not in text, call.name


@pytest.mark.parametrize("door", DOORS)
def test_a_stranger_and_a_tenant_find_nothing_and_the_owner_all_of_it(
    server: AgentServer, caller: Caller, callers: Callable[..., Caller], tenant: Caller, door: str
) -> None:
    begin = cursors(caller, tenant)
    things = Things(caller)
    calls = list(DOORS[door](things))
    stranger = callers(server, None)
    for call in calls:
        status, text = ask(stranger, call)
        assert (status, MARK in text) == (401, False), call.name
    for call in lists_first(calls):
        status, text = ask(tenant, call, begin[tenant])
        if call.named:
            check_refused(call, status, text)
            continue
        assert status in SUCCESS, f"{call.name}: {text}"
        assert MARK not in text, call.name
        assert not ids_in(text, things, set(things.values) - call.named), call.name
    for call in calls:  # nobody has changed anything
        status, text = ask(caller, call, begin[caller])
        assert status in SUCCESS or (status == 400 and call.name in ENDED), f"{call.name}: {text}"
        if call.is_list and call.name not in TELLS_NOTHING:
            assert MARK in text or ids_in(text, things, set(things.values)), call.name


@pytest.mark.parametrize("door", DOORS)
def test_a_second_key_finds_what_is_the_accounts(
    server: AgentServer, caller: Caller, callers: Callable[..., Caller], door: str
) -> None:
    second = callers(server, server.another_key("second"))
    begin = cursors(second)
    things = Things(caller)
    calls = list(DOORS[door](things))
    for call in lists_first(calls):
        status, text = ask(second, call, begin[second])
        if call.named & OF_ITS_KEY:
            check_refused(call, status, text)
            continue
        assert status in SUCCESS, f"{call.name}: {text}"
        if call.is_list and call.name not in TELLS_NOTHING:
            shown = MARK in text or bool(ids_in(text, things, set(things.values)))
            assert shown == (call.name in OF_ACCOUNT), f"{call.name}: {text}"
            assert not ids_in(text, things, OF_ITS_KEY), call.name
    for call in calls:
        if call.method == "GET" and call.named and call.named <= OF_ITS_KEY:
            assert ask(caller, call)[0] == 200, f"{call.name} has lost something"


# --- the web app ----------------------------------------------------------------------------------
COMPLETE = "POST /chat/uploads/{upload_id}/complete"
"""Answers a script: 200 with an error."""


UNNAMED = {"POST /chat/uploads", "POST /sessions", "POST /logout"}
"""Forms without a field for a thing."""
LACKING = {"POST /chat/examples", "GET /chat/{work_id}/frame/{path:path}"}
"""What the things do not have: the agent has no examples, the file is no page."""
SECTIONS = ("messages", "keys", "webhooks", "schedules", "users")
SHOWING = {f"GET /dashboard/{each}" for each in SECTIONS}
SHOWING |= {"GET /chat", "GET /chat/{chat_id}", "GET /dashboard/messages/{message_id}"}
"""Where the owner reads the mark, so that its absence elsewhere means something."""


def visitor(server: AgentServer, cookies: httpx2.Cookies | None = None) -> httpx2.Client:
    """A browser that nobody has signed in with, or one with these cookies."""
    headers = {"Accept": "text/html"}
    return httpx2.Client(base_url=server.url, headers=headers, cookies=cookies, trust_env=False)


def browser(server: AgentServer, account: str) -> httpx2.Client:
    """Of the account's own user, signed in."""
    link = server.command("login-link", account)["url"]
    with visitor(server) as made:
        signed_in = made.post(link)
    assert signed_in.status_code == 303
    return visitor(server, signed_in.cookies)


def test_pages_show_their_account_and_no_other(
    server: AgentServer, caller: Caller, tenant: Caller
) -> None:
    with (
        visitor(server) as stranger,
        browser(server, "tenant@example.com") as foreigner,
        browser(server, ACCOUNT),
        browser(server, ACCOUNT) as owner,
    ):
        things = Things(caller)
        calls = list(of_pages(things))
        for call in calls:
            answer = stranger.request(call.method, call.path, **call.request)
            assert (answer.status_code, MARK in answer.text) == (401, False), call.name
        for call in calls:
            answer = foreigner.request(call.method, call.path, **call.request)
            text = f"{answer.headers}\n{answer.text}"
            assert MARK not in text, call.name
            if call.named and call.name != COMPLETE:
                assert answer.status_code == 404, call.name
            elif call.name == COMPLETE:
                assert "error" in answer.json()
            elif call.method == "GET":
                assert not ids_in(text, things, set(things.values)), call.name
            else:
                assert call.name in UNNAMED or answer.status_code in (404, 422), call.name
        for call in calls:  # nobody has changed anything
            if call.name == "POST /logout":
                continue  # the form before has ended all sessions
            answer = owner.request(call.method, call.path, **call.request)
            expected = (404,) if call.name in LACKING else (200, 204, 303, 422)
            assert answer.status_code in expected, f"{call.name}: {answer.text[-2000:]}"
            if call.name in SHOWING:
                assert MARK in answer.text, call.name
    # One of the operator's forms has switched off the API, which the next tests need.
    server.command("maintenance", "off")
    eventually(lambda: caller.http.get("/v1/me").status_code == 200)
