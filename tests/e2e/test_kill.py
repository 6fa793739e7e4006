"""kill -9 at any moment loses nothing and repeats nothing (design: Durable execution).

Each round sends messages, kills the server somewhere on the way and starts it again. What was
accepted must end by itself soon, every completed step having run once. The moments are drawn from
a fixed seed, so that a failure can be repeated.
"""

import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.e2e.agents import Script
from tests.e2e.caller import Caller, Json, kinds
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer
from tests.waiting import eventually

SETTINGS = {"bootstrap_credits": 1000, "running_jobs_max": 100}
ROUNDS = 4
ROUNDS_MAX = 12
SOON_SECONDS = 60.0
"""Far more than going on takes, also beside other tests; far less than any deadline."""
STEPS = 4


def job_of(name: str) -> Script:
    """Steps in worker processes and on the agent loop, progress, files, charges."""
    script: Script = []
    for n in range(STEPS):
        script.append(["step" if n % 2 else "step_here", f"{name}.{n}", 0.5])
        script.append(["progress", f"{name}.{n}"])
        script.append(["write", f"{n}.txt", f"{name} {n}", 0.25])
        script.append(["charge", 0.125])
    return [*script, ["build", "built.txt", name], ["return", f"{name} is done."]]


COST = STEPS * (0.5 + 0.25 + 0.125)


def check_job(caller: Caller, server: AgentServer, message: Json, name: str) -> None:
    """The job did everything once, in order."""
    done = caller.final(message["id"])
    assert done["status"] == "completed", done
    assert done["credits_used"] == COST
    names = [f"{n}.txt" for n in range(STEPS)]
    assert [file["name"] for file in done["files"]] == [*names, "built.txt"]
    for file in done["files"]:
        assert httpx2.get(file["url"]).status_code == 200
    entries = [e for e in caller.log(message["id"]) if e["type"] != "agent_reply"]
    reported = [part for n in range(STEPS) for part in (f"{name}.{n}", f"Wrote {n}.txt")]
    assert [e["step"] for e in entries[:-1]] == [*reported, "Wrote built.txt"]
    assert (entries[-1]["type"], entries[-1]["text"]) == ("result", f"{name} is done.")
    check_steps(server, name, STEPS)


def check_steps(server: AgentServer, name: str, steps: int) -> None:
    """Once a later step has begun, an earlier one never began again; each has one key."""
    began = [line.split() for line in server.trace() if line.startswith(f"{name}.")]
    numbers = [int(step.rpartition(".")[2]) for step, _ in began]
    assert numbers == sorted(numbers), "a completed step ran again"
    assert set(numbers) == set(range(steps))
    assert len({tuple(line) for line in began}) == steps, "a step that runs again keeps its key"


# --- chosen moments -------------------------------------------------------------------------------
def test_a_job_killed_inside_a_step_runs_that_step_again_with_the_same_key(
    caller: Caller, server: AgentServer
) -> None:
    job = [["step", "in.0", 1], ["step_gate", "in.1", "inside", 1], ["step", "in.2", 1]]
    message = caller.send([["start", "Inside", job]])
    server.await_gate("inside")
    server.kill()
    server.open_gate("inside")
    server.start()
    done = caller.final(message["id"], SOON_SECONDS)

    assert (done["status"], done["credits_used"]) == ("completed", 3)
    assert Counter(step for step in server.steps() if step.startswith("in.")) == {
        "in.0": 1,
        "in.1": 2,
        "in.2": 1,
    }
    check_steps(server, "in", 3)


def test_a_turn_killed_on_the_way_goes_on(caller: Caller, server: AgentServer) -> None:
    script: Script = [
        ["step", "turn.0"],
        ["write", "a.txt", "x"],
        ["start", "Once", [["gate", "once"]]],
        ["step_gate", "turn.1", "mid-turn"],
        ["reply", "said once"],
    ]
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(lost, caller, script, "turn")
        server.await_gate("mid-turn")
        server.kill()
        assert call.result() is None, "the connection broke"
    server.open_gate("mid-turn")
    server.open_gate("once")
    server.start()

    again = caller.post(script, key="turn")
    assert again.status_code == 200, "the message was accepted before the crash"
    done = caller.final(again.json()["id"], SOON_SECONDS)
    assert (done["status"], done["reply"]) == ("completed", "Once: running\n\nsaid once")
    assert len(done["jobs"]) == 1
    assert [file["name"] for file in done["files"]] == ["a.txt"]
    log = caller.log(done["id"])
    assert sorted(kinds(log)) == ["agent_reply", "progress", "result"]
    reply = next(entry for entry in log if entry["type"] == "agent_reply")
    assert reply["delivered_sync"] is False
    check_steps(server, "turn", 2)


def test_waiting_messages_run_after_a_crash(start_server: ServerMaker) -> None:
    server = start_server(busy_wait_seconds=60, turn_reply_seconds=0.1)
    caller = Caller(server)
    first = caller.send([["gate", "held"], ["reply", "0"]])
    waiting = [caller.send([["reply", str(n)]]) for n in range(1, 4)]
    queue = caller.post("later", key="later", conversation="other")
    server.kill()
    server.open_gate("held")
    server.start()

    ends = [caller.final(m["id"], SOON_SECONDS) for m in (first, *waiting)]
    assert [message["reply"] for message in ends] == ["0", "1", "2", "3"]
    again = caller.post("later", key="later", conversation="other")
    assert again.json()["id"] == queue.json()["id"]
    assert caller.final(queue.json()["id"])["reply"] == "You said: later"


def test_a_job_killed_where_its_step_has_called_back_goes_on(
    caller: Caller, server: AgentServer
) -> None:
    """The step tells again and charges once."""
    script: Script = [["step_calling", "back", "mid-step"], ["return", "ok"]]
    before = caller.credits()
    message = caller.send([["start", "Calls back", script]])
    server.await_gate("mid-step")
    server.restart()
    server.open_gate("mid-step")
    done = caller.final(message["id"], SOON_SECONDS)

    assert (done["status"], done["reason"]) == ("completed", None)
    assert (done["credits_used"], caller.credits()) == (2, before - 2), "charged once"
    assert server.steps().count("back") == 2
    reported = [e["step"] for e in caller.log(message["id"]) if e["type"] == "progress"]
    assert reported == ["back tells"] * 2


def test_a_turn_that_goes_another_way_is_interrupted(
    caller: Caller, server: AgentServer, pool: ThreadPoolExecutor
) -> None:
    script: Script = [["unrepeatable", "turning"], ["gate", "turned"], ["reply", "never"]]
    call = pool.submit(lost, caller, script, "turned")
    eventually(lambda: server.has_reached("turned"))
    server.open_gate("turning")
    server.restart()
    assert call.result() is None
    again = caller.post(script, key="turned", conversation="turned").json()
    done = caller.final(again["id"])
    assert (done["status"], done["reason"]) == ("failed", "turn_failed")
    assert [entry["reason"] for entry in caller.log(done["id"])] == ["interrupted"]


# --- random moments -------------------------------------------------------------------------------
def lost(caller: Caller, script: Script, key: str) -> httpx2.Response | None:
    """Send a message; None when the connection broke before the answer."""
    try:
        return caller.post(script, key=key, conversation=key)
    except httpx2.TransportError:
        return None


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as made:
        yield made


def test_killed_at_random_moments(
    caller: Caller, server: AgentServer, pool: ThreadPoolExecutor
) -> None:
    seeds = iter(range(ROUNDS_MAX))
    log = ""
    while log.count("job_takeover") < ROUNDS or "turn_takeover" not in log:
        seed = next(seeds, None)
        assert seed is not None, "no crash came while a turn and jobs were under way"
        kill_at_a_random_moment(caller, server, pool, seed)
        log = server.log_file.read_text()
    assert server.command("doctor") == {"ok": True, "findings": [], "warnings": []}
    moves = server.command("credits", "show", "owner@localhost")
    assert moves["credits"] == caller.credits()


def kill_at_a_random_moment(
    caller: Caller, server: AgentServer, pool: ThreadPoolExecutor, seed: int
) -> None:
    """Eight jobs, a crash among them, while the turn that starts the last one is under way; every
    job is done as if nothing had been."""
    before = caller.credits()
    chance = random.Random(seed)
    names = [f"round{seed}-{n}" for n in range(8)]
    scripts: dict[str, Script] = {name: [["start", name, job_of(name)]] for name in names}
    scripts[names[-1]].insert(0, ["gate", names[-1]])
    calls = {name: pool.submit(lost, caller, scripts[name], name) for name in names}
    begun = chance.randrange((len(names) - 1) * STEPS - 2)
    eventually(lambda: sum(step.startswith(f"round{seed}-") for step in server.steps()) >= begun)
    server.await_gate(names[-1])
    threading.Event().wait(chance.uniform(0, 0.02))  # anywhere between two steps
    server.restart()
    server.open_gate(names[-1])

    answers = {name: call.result() for name, call in calls.items()}
    messages = {}
    for name in names:
        again = caller.post(scripts[name], key=name, conversation=name)
        first = answers[name]
        if first is not None:
            assert again.status_code == 200, "what was answered was kept"
            assert again.json()["id"] == first.json()["id"]
        messages[name] = again.json()
    for name in names:
        check_job(caller, server, messages[name], name)
    assert caller.credits() == before - COST * len(names)


def test_a_recorded_output_is_kept(caller: Caller, server: AgentServer) -> None:
    """The one that did not fit counts after a kill, too; what was given is not asked for again."""
    schema = {"type": "object", "required": ["rows"]}
    held = ["step_gate", "output.0", "given"]
    job = [["output", {}, {"rows": 3}], held, ["ask", "Right?", {"choices": ["Yes", "No"]}]]
    message = caller.send([["start", "Work", job]], response_schema=schema)
    server.await_gate("given")
    server.restart()
    server.open_gate("given")

    done = caller.final(message["id"])
    assert (done["status"], done["output"]) == ("needs_input", {"rows": 3})
    said = [e["step"] for e in caller.log(message["id"]) if e["type"] == "progress"]
    assert said == ['$: "rows" is a required property']

    server.restart()
    answered = caller.send(answer_to=message["id"], answer="yes")
    assert answered["reply"] == f'["{message["id"]}", "Yes"]'
