"""Where a list goes on: made from the table of operations, so that a new list is in it."""

import re
from collections.abc import Callable
from functools import partial
from urllib.parse import urlencode

import pytest

from agentpost.api.app import OPERATIONS
from agentpost.api.operation import Operation, Text
from agentpost.domain import ids
from tests.e2e.caller import Caller, Json
from tests.e2e.server import AgentServer
from tests.waiting import eventually

CallerMaker = Callable[..., Caller]
PLACES = ("before", "cursor")
LISTS = [(each, text) for each in OPERATIONS for text in each.texts if text.name in PLACES]


@pytest.fixture
def stranger(server: AgentServer, callers: CallerMaker) -> Caller:
    """A caller of another account."""
    made: Caller = callers(server, server.new_key("places"))
    return made


@pytest.fixture
def colleague(server: AgentServer, callers: CallerMaker) -> Caller:
    """Another key of the first key's account."""
    made: Caller = callers(server, server.another_key("colleague"))
    return made


def path(operation: Operation, caller: Caller) -> str:
    """The path of a list that the caller has."""
    place = operation.path
    if "{message_id}" in place:
        return place.replace("{message_id}", caller.send("hi")["id"])
    return place.replace("{endpoint_id}", endpoint(caller)) if "{" in place else place


def endpoint(caller: Caller) -> str:
    made: list[Json] = caller.call("GET", "/v1/webhooks").json()["data"]
    if not made:
        url = {"url": "https://example.com/x"}
        made = [caller.call("POST", "/v1/webhooks", json=url).json()]
    return str(made[0]["id"])


def own_ids(caller: Caller) -> dict[str, str]:
    """The id of something that the caller has, of each kind that a list may be continued at."""
    cursor = caller.call("GET", "/v1/events").json()["cursor"]
    sent = caller.call("POST", "/v1/messages", json={"message": "hi"})
    caller.final(caller.send([["start", "Work", [["return", "Done."]]]])["id"])
    schedule = {"cron": "0 0 1 1 *", "message": {"message": "hi"}}
    events = caller.call("GET", f"/v1/events?cursor={cursor}&wait=20").json()["data"]
    used = caller.call("GET", "/v1/usage?group_by=key").json()["data"]
    return {
        ids.MESSAGE: sent.json()["id"],
        ids.REQUEST: sent.headers["request-id"],
        ids.SCHEDULE: caller.call("POST", "/v1/schedules", json=schedule).json()["id"],
        ids.EVENT: events[0]["id"],
        ids.WORK: caller.call("GET", "/v1/work").json()["data"][0]["work_id"],
        ids.KEY: used[0]["id"],
    }


def refusal(caller: Caller, url: str, place: Text, value: str) -> str:
    """What is wrong with the place; empty when it is taken."""
    asked = urlencode({place.name: value})
    answer = caller.call("GET", f"{url}{'&' if '?' in url else '?'}{asked}")
    if answer.status_code == 200:
        return ""
    assert answer.status_code == 400, answer.text
    body = answer.json()
    if place.name == "cursor":
        return str(body["error"])
    return ", ".join(problem["field"] for problem in body["problems"])


def test_a_list_with_more_says_how_to_go_on() -> None:
    for operation in OPERATIONS:
        if "has_more" in operation.answer.__struct_fields__:
            names = {text.name for text in operation.texts}
            assert names & set(PLACES), operation.id
    assert all(text.pattern for _, text in LISTS if text.name == "before")


@pytest.mark.parametrize(
    ("operation", "place"), LISTS, ids=lambda each: getattr(each, "id", None) or each.name
)
def test_nonsense_is_no_place(caller: Caller, operation: Operation, place: Text) -> None:
    """An empty page, or the first one again, would hide the mistake."""
    expected, url = "bad_cursor" if place.name == "cursor" else place.name, path(operation, caller)
    for value in ("", "nonsense", "msg_1", "1", "\0", "null"):
        if (place.name, value) != ("cursor", ""):  # the beginning
            assert refusal(caller, url, place, value) == expected, value


def test_what_others_have_is_no_place(caller: Caller, stranger: Caller, colleague: Caller) -> None:
    theirs, of_key, own = own_ids(stranger), own_ids(colleague), own_ids(caller)
    for operation, place in LISTS:
        url = path(operation, caller)
        if place.name == "cursor":
            theirs_at = path(operation, stranger).replace("/stream", "/events")
            foreign = stranger.call("GET", theirs_at).json()["cursor"]
            assert refusal(caller, url, place, foreign) == "bad_cursor", operation.id
            continue
        prefix = next(p for p in own if re.search(f"\\^{p}", place.pattern or ""))
        if prefix == ids.KEY:
            url += "?group_by=key"
        foreign, mine = theirs[prefix], own[prefix]
        # A request is logged within a second.
        said = eventually(partial(refusal, caller, url, place, foreign))
        assert said == place.name, operation.id
        assert refusal(caller, url, place, mine) == "", operation.id
        gone = mine[:-1] + ("0" if mine[-1] != "0" else "1")
        assert refusal(caller, url, place, gone) == "", "it may have been deleted since"
        if prefix in (ids.MESSAGE, ids.SCHEDULE):
            assert refusal(caller, url, place, of_key[prefix]) == place.name, operation.id


def test_a_key_that_sees_its_own_requests_goes_on_at_those(
    server: AgentServer, caller: Caller, callers: CallerMaker
) -> None:
    reader = callers(server, server.another_key("reader", "read"))
    place = Text("before", "")
    other = caller.call("GET", "/v1/me").headers["request-id"]
    assert eventually(lambda: refusal(reader, "/v1/requests", place, other)) == "before"
    assert refusal(caller, "/v1/requests", place, other) == ""
