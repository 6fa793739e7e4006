"""The dearest call of each operation and door: refused by its counts before work is done, and never
holding the server's event loop for longer than 5 ms.

The calls come from the tables of operations and doors. `tests.e2e.loop_probe` records what held the
loop, in CPU time of its thread. How long another account waits is what `benchmarks/stalls.py`
measures.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

import httpx2
import pytest

from agentpost.api.app import OPERATIONS
from agentpost.domain.limits import MESSAGE_CHARACTERS_MAX, STREAMS_OF_ONE_MAX
from agentpost.doors.routes import DOORS
from benchmarks.worst_bodies import (
    FORM,
    Route,
    forms,
    large_bodies,
    largest_bodies,
    worst_bodies,
    worst_queries,
)
from tests.e2e import posting
from tests.e2e.caller import Caller
from tests.e2e.server import KEY, AgentServer

HOLD_MILLISECONDS_MAX = 5.0
TRIES = 4
"""The least hold of so many counts: memory may be collected, or a module loaded, in one of them."""
STREAMS, EVENT_STREAMS, MESSAGES = 100, 40, 20
LONG_MESSAGES = 50
LARGEST_ALLOWED = (
    *("files", "createMessage unknown fields", "createMessage answer "),
    *("schema properties", "schema old draft", "schema nested"),
    *(f"{path} {what}" for path in ("responses", "chat/completions") for what in ("parts", "uncl")),
)
"""Bodies that are no larger than a caller may send: what they ask for is done."""


class Outcome(NamedTuple):
    """The answer to a call; ``hold`` says what held the loop too long, "" when nothing did."""

    status: int
    text: str
    hold: str
    kind: str = ""
    route: Route = ("", "")


class ProbedServer:
    """A server and the record of what held its loop; ``quiet`` is another account's client."""

    def __init__(self, server: AgentServer) -> None:
        self.server = server
        self.client = client_of(server, KEY)
        self.quiet = client_of(server, server.new_key("quiet"))

    def hold_of(self, do: Callable[[], object]) -> str:
        """What held the loop longest while that was done and the quiet account answered; "" when
        it was for `HOLD_MILLISECONDS_MAX` at the most in one of the tries."""
        longest = ""
        for _ in range(TRIES):
            begin = self.server.trace_file.stat().st_size
            do()
            assert self.quiet.get("/v1/me").status_code == 200
            with self.server.trace_file.open("rb") as record:
                record.seek(begin)
                lines = record.read().decode().splitlines()
            longest = max(lines, key=milliseconds_of, default="0")
            if milliseconds_of(longest) <= HOLD_MILLISECONDS_MAX:
                return ""
        return longest

    def outcome(self, route: Route, body: bytes, media_type: str) -> Outcome:
        headers = {"Content-Type": media_type}
        if route[0] == "GET":
            headers["Accept"] = "application/json"  # no stream, which has no end
        answers: list[httpx2.Response] = []

        def call() -> None:
            answers.append(self.client.request(*route, content=body or None, headers=headers))

        hold = self.hold_of(call)
        return Outcome(answers[0].status_code, answers[0].text, hold)


def milliseconds_of(line: str) -> float:
    return float(line.split(maxsplit=1)[0])


def client_of(server: AgentServer, key: str) -> httpx2.Client:
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
    limits = httpx2.Limits(max_connections=None)
    return httpx2.Client(
        base_url=server.url, headers=headers, timeout=120, limits=limits, trust_env=False
    )


# Callbacks of uvloop cannot be timed.
SETTINGS = {"agent": "tests.e2e.loop_probe:agent", "without": ("uvloop",)}


@pytest.fixture(scope="module")
def probed(server: AgentServer) -> Iterator[ProbedServer]:
    probed = ProbedServer(server)
    with probed.client, probed.quiet:
        yield probed


def outcomes_of(probed: ProbedServer) -> dict[str, Outcome]:
    """What came of each call, by its name. Bodies are large: none is kept, or made again."""
    found = {}
    for make in (worst_bodies, large_bodies, largest_bodies, worst_queries):
        for name, route, body in make():
            media_type = FORM if name.startswith("form") else "application/json"
            outcome = probed.outcome(route, body, media_type)
            found[name] = outcome._replace(kind=make.__name__, route=route)
    return found


def test_the_dearest_calls_are_counted_and_hold_nothing(probed: ProbedServer) -> None:
    """One test: the calls take twenty seconds, and each process that runs tests would make them."""
    outcomes = outcomes_of(probed)
    check_that_each_operation_and_door_is_called(outcomes)
    check_that_no_call_holds_the_loop(outcomes)
    check_that_each_is_refused_in_the_form_of_its_door(outcomes)
    check_that_as_many_values_as_there_may_be_are_taken(outcomes)
    check_that_counts_are_told_before_the_items_are_looked_at(outcomes)
    check_that_calls_are_counted_before_an_sdk_has_them(outcomes)


def check_that_no_call_holds_the_loop(outcomes: dict[str, Outcome]) -> None:
    assert {name: each.hold for name, each in outcomes.items() if each.hold} == {}
    assert {name: each for name, each in outcomes.items() if each.status >= 500} == {}


def check_that_each_operation_and_door_is_called(outcomes: dict[str, Outcome]) -> None:
    called = {place(*each.route) for each in outcomes.values() if each.kind != "largest_bodies"}
    routes = [(each.method, each.path) for each in OPERATIONS]
    routes += [route for door in DOORS.values() for route in door.routes]
    assert [route for route in routes if place(*route) not in called] == []


def place(method: str, path: str) -> Route:
    """A route without what its parameters are called or filled with."""
    return method, re.sub(r"\{[^}]*\}|(?<=/)x(?=/|$)", "_", path.partition("?")[0])


def check_that_each_is_refused_in_the_form_of_its_door(outcomes: dict[str, Outcome]) -> None:
    worst = {name: each for name, each in outcomes.items() if each.kind == "worst_bodies"}
    assert {
        name: each
        for name, each in worst.items()
        if not name.startswith(LARGEST_ALLOWED)
        and (each.status not in (400, 404) and "over " not in each.text)
    } == {}


def check_that_as_many_values_as_there_may_be_are_taken(outcomes: dict[str, Outcome]) -> None:
    largest = {name: each for name, each in outcomes.items() if each.kind == "largest_bodies"}
    assert largest
    assert {
        name: each.text[:500]
        for name, each in largest.items()
        if each.status not in (200, 201)
        or ('"error":{' in each.text and not is_response(each.text))
        or '"isError":true' in each.text
    } == {}


def is_response(text: str) -> bool:
    """Whether a body was taken: the response that it made may have failed by the time it is told,
    since the agent makes nothing of such a schema."""
    return '"object":"response"' in text


def check_that_counts_are_told_before_the_items_are_looked_at(
    outcomes: dict[str, Outcome],
) -> None:
    for field in ("upload_ids list", "metadata object"):
        status, text, *_ = outcomes[f"createMessage {field}"]
        assert (status, text.count('"field"'), "has over" in text) == (400, 1, True), (field, text)


def check_that_calls_are_counted_before_an_sdk_has_them(outcomes: dict[str, Outcome]) -> None:
    texts = {name: each.text for name, each in outcomes.items() if name.startswith(("a2a", "mcp"))}
    assert {name: text[:500] for name, text in texts.items() if "has over" not in text} == {}


def test_no_page_of_long_texts_holds_the_loop(probed: ProbedServer) -> None:
    """All of them are on a page, or on the next ones."""
    text = '\u20ac"' * (MESSAGE_CHARACTERS_MAX // 2)
    ids = {send_message(probed.client, text, f"page-{n}") for n in range(LONG_MESSAGES)}

    def a2a_page(token: str) -> tuple[set[str], str]:
        params = {"pageSize": 100, "historyLength": 10, "pageToken": token}
        page = rpc(probed.client, "/a2a", "ListTasks", params)
        return {task["id"] for task in page["tasks"]}, page["nextPageToken"]

    def mcp_page(before: str) -> tuple[set[str], str]:
        arguments = {"limit": 50} | ({"before": before} if before else {})
        params = {"name": "list_messages", "arguments": arguments}
        page = rpc(probed.client, "/mcp", "tools/call", params)["structuredContent"]
        return {each["id"] for each in page["data"]}, page.get("next_before") or ""

    for page_of in (a2a_page, mcp_page):
        assert probed.hold_of(partial(page_of, "")) == ""
        place, listed = "", set[str]()
        while not ids <= listed:
            more, place = page_of(place)
            listed |= more
            assert place or ids <= listed
    path = "/v1/messages?limit=50"
    assert probed.hold_of(lambda: probed.client.get(path).raise_for_status()) == ""


def test_no_long_history_of_a_task_holds_the_loop(probed: ProbedServer) -> None:
    """A task tells the newest of its messages, as many as a page may have."""
    question = json.dumps([["ask", "\u20ac" * (MESSAGE_CHARACTERS_MAX - 100)]], ensure_ascii=False)
    place: dict[str, str] = {}
    for n in range(LONG_MESSAGES // 2):
        parts = [{"text": question}]
        message = {"messageId": f"history-{n}", "role": "ROLE_USER", "parts": parts, **place}
        task = rpc(probed.client, "/a2a", "SendMessage", {"message": message})["task"]
        place = {"taskId": task["id"], "contextId": task["contextId"]}
    params = {"id": place["taskId"]}
    read = partial(rpc, probed.client, "/a2a", "GetTask", params)
    assert read()["history"][-1]["messageId"] == task["history"][-1]["messageId"]
    assert probed.hold_of(read) == ""


def rpc(client: httpx2.Client, path: str, method: str, params: dict[str, Any]) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    text = client.post(path, json=body, headers={"A2A-Version": "1.0"}).text
    return json.loads(text.rpartition("data: ")[2])["result"]


def test_no_posted_file_holds_the_loop(server: AgentServer, probed: ProbedServer) -> None:
    holds = {}
    caller = Caller(server)
    for name, form in forms().items():

        def send(form: bytes = form) -> None:
            upload = posting.announce(caller, size=len(form))
            fields = posting.body_of(upload).removesuffix(b"--b--\r\n")
            assert posting.post_raw(upload, fields + form).status_code in (204, 400)

        holds[name] = probed.hold_of(send)
    caller.close()
    assert {name: hold for name, hold in holds.items() if hold} == {}


def test_streams_that_wake_at_once_do_not_hold_the_loop(
    server: AgentServer, probed: ProbedServer
) -> None:
    """Of one account, over many of its messages, which end at once."""
    numbers = iter(range(TRIES))

    def end_at_once() -> None:
        gate = f"gate-{next(numbers)}"
        message = json.dumps([["gate", gate]])
        with ExitStack() as until:
            client = until.enter_context(client_of(server, KEY))
            client.headers["Accept"] = "text/event-stream"
            ids = [send_message(probed.client, message, f"{gate}-{n}") for n in range(MESSAGES)]
            paths = [f"/v1/messages/{ids[n % MESSAGES]}/stream" for n in range(STREAMS)]
            streams = [until.enter_context(client.stream("GET", path)) for path in paths]
            for _ in range(EVENT_STREAMS):
                until.enter_context(client.stream("GET", "/v1/events"))
            server.open_gate(gate)
            assert all("event: end" in stream.read().decode() for stream in streams)

    assert probed.hold_of(end_at_once) == ""


def send_message(client: httpx2.Client, message: str, conversation: str) -> str:
    body = {"message": message, "conversation": conversation}
    answer = client.post("/v1/messages", params={"wait": 0}, json=body)
    assert answer.status_code == 201, answer.text
    message_id: str = answer.json()["id"]
    return message_id


def test_the_budget_is_asked_before_a_schema_is_looked_at(
    start_server: Callable[..., AgentServer],
) -> None:
    """One that is refused counts: an account cannot have one looked at after another."""
    server = start_server(messages_per_hour=1)
    [body] = [body for name, _, body in worst_bodies() if name == "schema pattern"]
    with client_of(server, KEY) as client:
        answers = [client.post("/v1/messages", content=body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [400, 429]


def test_streams_of_the_same_events_are_bounded(server: AgentServer) -> None:
    with ExitStack() as until:
        client = until.enter_context(client_of(server, KEY))
        client.headers["Accept"] = "text/event-stream"
        statuses = [
            until.enter_context(client.stream("GET", "/v1/events")).status_code
            for _ in range(STREAMS_OF_ONE_MAX + 1)
        ]
    assert statuses == [200] * STREAMS_OF_ONE_MAX + [429]
