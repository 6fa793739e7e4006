"""Works over HTTP (spec: listWork, getWork; design: Additions)."""

from collections.abc import Callable

import pytest

from tests.e2e.caller import Caller
from tests.e2e.server import AgentServer


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Work.list", "listWork.limit", "listWork.order")
def test_the_list_is_newest_first_and_bounded(caller: Caller) -> None:
    titles = [f"Work {n}" for n in range(6)]
    for title in titles:
        caller.final(caller.send([["start", title, [["return", f"{title} is done. " * 30]]]])["id"])

    listed = caller.call("GET", "/v1/work?limit=4").json()
    assert listed["object"] == "list"
    assert [item["title"] for item in listed["data"]] == titles[:1:-1]
    item = listed["data"][0]
    assert item["object"] == "work"
    assert item["preview"].startswith("Work 5 is done.")
    assert len(item["preview"]) == 200
    assert item["link"].endswith(f"/chat/{item['work_id']}")
    assert listed["has_more"] is True
    rest = caller.call("GET", f"/v1/work?before={listed['data'][-1]['work_id']}").json()
    assert ([item["title"] for item in rest["data"]][:2], rest["has_more"]) == (
        titles[1::-1],
        False,
    )
    assert len(caller.call("GET", "/v1/work").json()["data"]) >= 6
    assert caller.call("GET", "/v1/work?limit=50").status_code == 200


@pytest.mark.rule("listWork.limit", "Limits limit")
@pytest.mark.parametrize("limit", ["0", "51", "-1", "+5", "1.0", "abc", "", "1_0", "٣", "9" * 30])
def test_a_bad_limit_is_refused(caller: Caller, limit: str) -> None:
    body = caller.refusal(400, "invalid_request", "GET", "/v1/work", params={"limit": limit})
    assert [problem["field"] for problem in body["problems"]] == ["limit"]


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Work.text", "Work.next_from_char", "getWork.from_char")
def test_the_text_is_paged_by_character(caller: Caller) -> None:
    text = "🌍" * 20_000 + "the end"
    script = [["return", "🌍", 20_000, "the end"]]
    message = caller.final(caller.send([["start", "Long", script]])["id"])
    work_id = message["jobs"][0]["work_id"]

    page = caller.work(work_id)
    assert (page["status"], len(page["text"]), page["next_from_char"]) == ("idle", 20_000, 20_000)
    rest = caller.work(work_id, page["next_from_char"])
    assert page["text"] + rest["text"] == text
    assert rest["next_from_char"] is None
    assert caller.work(work_id, 1_000_000)["text"] == ""
    caller.refusal(400, "invalid_request", "GET", f"/v1/work/{work_id}?from_char=-1")
    caller.refusal(400, "invalid_request", "GET", f"/v1/work/{work_id}?from_char=1_0")


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Work.files", "Limits work-files")
def test_the_newest_eight_files_are_shown(caller: Caller) -> None:
    job = [["write", f"{n}.txt", str(n)] for n in range(10)]
    message = caller.final(caller.send([["start", "Files", job]])["id"])
    work = caller.work(message["jobs"][0]["work_id"])

    assert {file["name"] for file in work["files"]} == {f"{n}.txt" for n in range(2, 10)}
    assert len(message["files"]) == len(message["jobs"][0]["files"]) == 10


@pytest.mark.rule("Job.work_id")
def test_a_later_job_goes_on_in_the_same_work(caller: Caller) -> None:
    job = [["remember", "k", "v"], ["write", "a.txt", "1"], ["return", "First."]]
    first = caller.final(caller.send([["start", "Same", job]], conversation="same")["id"])
    work_id = first["jobs"][0]["work_id"]
    again = [["files"], ["write", "a.txt", "22"], ["return", "Second."]]
    second = caller.final(
        caller.send([["see"], ["start", "Same", again, work_id]], conversation="same")["id"]
    )

    assert second["jobs"][0]["work_id"] == work_id
    assert f'["{work_id}", "Same", "First.", {{"k": "v"}}]' in second["reply"]
    work = caller.work(work_id)
    assert work["text"] == "Second."
    [file] = work["files"]
    assert (file["name"], file["size"]) == ("a.txt", 2)
    steps = [e.get("step") for e in caller.log(second["id"])]
    assert "files: a.txt" in steps


@pytest.mark.rule(
    "Work.status", "Reasons stopped", "Transitions 9", "Errors outcomes", "Additions stopWork"
)
def test_a_running_work_is_stopped_and_stays_stopped(caller: Caller, server: AgentServer) -> None:
    message = caller.send([["start", "Stop", [["write", "a.txt", "x"], ["gate", "stop"]]]])
    work_id = message["jobs"][0]["work_id"]
    server.await_gate("stop")
    assert caller.work(work_id)["status"] == "running"

    for _ in range(2):
        assert caller.call("POST", f"/v1/work/{work_id}/stop").json()["status"] == "idle"
    done = caller.final(message["id"])
    job = done["jobs"][0]
    assert (job["status"], job["reason"], job["final"]) == ("cancelled", "stopped", True)
    assert (done["status"], done["reason"]) == ("failed", "stopped")
    assert [file["name"] for file in job["files"]] == ["a.txt"], "files so far stay"
    states = [e["state"] for e in caller.log(message["id"]) if e["type"] == "state"]
    assert states == ["stopped"]


def test_an_agent_stops_work_by_a_message(caller: Caller, server: AgentServer) -> None:
    first = caller.send([["start", "Run", [["gate", "run"]]]], conversation="stops")
    server.await_gate("run")
    second = caller.send([["stop"]], conversation="stops")
    assert second["reply"] == "stopped: True"
    assert second["status"] == "completed"
    job = caller.final(first["id"])["jobs"][0]
    assert (job["status"], job["reason"]) == ("cancelled", "stopped")
    late = caller.send([["stop", job["job_id"]]], conversation="stops")
    assert late["reply"] == "stopped: False"
    joined = caller.send([["join", job["job_id"]]], conversation="stops")
    assert (joined["reply"], joined["jobs"]) == ("joined: False", []), "it has ended"


def test_an_agent_neither_joins_nor_stops_work_of_another_account(
    caller: Caller, server: AgentServer, callers: Callable[..., Caller]
) -> None:
    job_id = caller.send([["start", "Own", [["gate", "own"]]]])["jobs"][0]["job_id"]
    eve = callers(server, server.new_key("eve"))
    joined = eve.send([["join", job_id]])
    assert (joined["reply"], joined["jobs"]) == ("joined: False", [])
    assert eve.send([["stop", job_id]])["reply"] == "stopped: False"
    server.open_gate("own")


@pytest.mark.parametrize("path", ["/v1/work/%00", "/v1/files/wrk_1/a%00b", "/v1/webhooks/%00"])
def test_no_id_holds_a_nul(caller: Caller, path: str) -> None:
    caller.refusal(404, "not_found", "GET", path)
