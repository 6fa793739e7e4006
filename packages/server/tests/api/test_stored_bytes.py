"""An account whose storage is full: every kind of file says so in its own way (`stored_bytes_max`).

Each test has an account of its own with room for ten bytes; in the end the doctor counts.
"""

import base64
import json
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.posting import announce, complete, post
from tests.e2e.receivers import receiving
from tests.e2e.server import ACCOUNT, AgentServer

MOST = 10
FULL = "the account's storage has no space for it ({used} of 10 bytes are used)"
ADVICE = (
    "Delete works you no longer need, which makes space within a minute, or wait until messages"
    " with files expire"
)


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """A site whose every path is a file of six bytes."""
    with receiving() as site:
        site.body = b"six..6"
        yield site.url.removesuffix("/hook")


@pytest.fixture(scope="module")
def server(start_server: ServerMaker, origin: str) -> Iterator[AgentServer]:
    server = start_server(egress_allow=origin.partition("//")[2], stored_bytes_max=MOST)
    yield server
    assert server.command("doctor", "--full")["findings"] == []


@pytest.fixture
def limited(
    server: AgentServer, callers: Callable[..., Caller], request: pytest.FixtureRequest
) -> Caller:
    """A caller of an account that has stored nothing."""
    return callers(server, server.new_key(account_of(request).partition("@")[0]))


def account_of(request: pytest.FixtureRequest) -> str:
    return f"{request.node.originalname.replace('_', '-')}@example.com"


def inline(data: bytes, name: str) -> Json:
    return {"base64": base64.b64encode(data).decode(), "name": name}


def names_seen(message: Json) -> list[str]:
    """The files the agent saw."""
    what = json.loads(message["reply"])
    assert what["notes"] == message["notes"]
    return [file["name"] for file in what["files"]]


def fill(caller: Caller, size: int = MOST) -> None:
    caller.send(files=[inline(b"x" * size, "full.txt")])


def test_an_inline_file(limited: Caller) -> None:
    files = [inline(b"six..6", "a.txt"), inline(b"five!", "b.txt"), inline(b"four", "c.txt")]
    message = limited.send([["see"]], key="once", files=files)
    assert message["notes"] == [f"b.txt: skipped, {FULL.format(used=6)}."]
    assert names_seen(message) == ["a.txt", "c.txt"]
    again = limited.post([["see"]], key="once", files=files)
    assert (again.status_code, again.json()["id"]) == (200, message["id"])
    assert again.json()["notes"] == message["notes"]


def test_a_file_by_url(limited: Caller, origin: str) -> None:
    files = [{"url": f"{origin}/a.txt"}, {"url": f"{origin}/b.txt"}]
    sent = limited.send([["see"]], files=[*files, inline(b"four", "c.txt")])
    message = limited.final(sent["id"])
    assert message["notes"] == [f"b.txt: skipped, {FULL.format(used=10)}."]
    assert names_seen(message) == ["a.txt", "c.txt"]


def test_an_upload(limited: Caller, server: AgentServer, request: pytest.FixtureRequest) -> None:
    made = announce(limited, size=7)
    assert post(made, b"seven..").status_code == 204
    fill(limited, 4)
    path = f"/v1/uploads/{made['upload_id']}/complete"
    body = {"filename": "b.csv", "size": 7}
    refused = limited.refusal(413, "too_large", "POST", path)
    assert refused["message"] == (
        "The account's storage has no space for this upload (4 of 10 bytes are used)."
        f" {ADVICE}; then call again."
    )
    assert (
        limited.refusal(413, "too_large", "POST", "/v1/uploads", json=body)["message"]
        == (refused["message"])
    )
    server.command("limits", "set", account_of(request), "--stored-bytes", "11")
    assert complete(limited, made).json()["status"] == "ready"
    message = limited.send([["see"]], upload_ids=[made["upload_id"]])
    assert names_seen(message) == ["a.csv"]


def test_a_file_of_a_job(limited: Caller) -> None:
    fill(limited)
    message = limited.send([["start", "w", [["write", "a.txt", "x", 1.5], ["return", "no"]]]])
    failed = limited.final(message["id"])
    said = f"a.txt was not saved: {FULL.format(used=10)}. {ADVICE}."
    assert (failed["status"], failed["files"], failed["credits_used"]) == ("failed", [], 0)
    assert [e["text"] for e in limited.log(message["id"]) if e["type"] == "result"] == [said]
    assert limited.credits() == 100, "what was held for it is given back"


def test_a_job_may_go_on_without_the_file(limited: Caller) -> None:
    fill(limited, 9)
    script = [["write_if_room", "a.txt", "12"], ["write", "b.txt", "1"], ["return", "done"]]
    message = limited.final(limited.send([["start", "w", script]])["id"])
    assert (message["status"], [f["name"] for f in message["files"]]) == ("completed", ["b.txt"])
    steps = [entry.get("step") for entry in limited.log(message["id"])]
    assert f"StorageFull: a.txt was not saved: {FULL.format(used=9)}. {ADVICE}." in steps


def test_a_file_of_a_reply(limited: Caller) -> None:
    fill(limited, 9)
    message = limited.send([["write_if_room", "a.txt", "12"], ["write", "b.txt", "1"]])
    assert message["reply"] == f"StorageFull: a.txt was not saved: {FULL.format(used=9)}. {ADVICE}."
    assert [file["name"] for file in message["files"]] == ["b.txt"]
    assert limited.send([["write", "c.txt", "1"]])["status"] == "failed"


def test_a_recorded_refusal_is_the_same_after_a_kill(
    start_server: ServerMaker, callers: Callable[..., Caller]
) -> None:
    """What a job did after it must be what it does again, although there is room now."""
    server = start_server(stored_bytes_max=MOST)
    caller = callers(server)
    fill(caller)
    script = [["write_if_room", "a.txt", "x"], ["gate", "full"], ["return", "done"]]
    message = caller.send([["start", "w", script]])
    server.await_gate("full")
    server.kill()
    server.command("limits", "set", ACCOUNT, "--stored-bytes", "0")
    server.start()
    server.open_gate("full")
    done = caller.final(message["id"])
    assert (done["status"], done["files"]) == ("completed", [])
    steps = [entry.get("step", "") for entry in caller.log(message["id"])]
    assert sum(step.startswith("StorageFull: ") for step in steps) == 1
