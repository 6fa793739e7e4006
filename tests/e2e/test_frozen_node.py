"""A node that was frozen and wakes up runs nothing that went on elsewhere (design: A node that
stood still).

A stopped process does not beat, so another node takes its work over. Woken, it is in the middle of
a function whose next step has long been recorded by the other one.
"""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.e2e.caller import Caller
from tests.e2e.cluster import Cluster, cluster
from tests.e2e.server import AgentServer
from tests.freezing import freeze
from tests.waiting import PROMPT, eventually

__all__ = ["cluster"]
TAKE_OVER_SECONDS = 60.0
CallerMaker = Callable[..., Caller]


def test_a_woken_node_runs_no_step_of_a_job_that_went_on_elsewhere(
    cluster: Cluster, callers: CallerMaker
) -> None:
    """Whatever kind of step comes next, nor does it try one again that has failed."""
    # The jobs run on a worker that we can freeze without freezing what we ask.
    caller, first = callers(cluster.start("api")), cluster.start("worker")
    next_calls = {
        "plain": [["step", "plain.1"], ["step", "plain.2"]],
        "here": [["step_here", "here.1"], ["step_here", "here.2"]],
        "write": [
            ["build_marked", "a.txt", "write.1"],
            ["build_marked_here", "b.txt", "write.2"],
        ],
    }
    script: list[list[object]] = [
        ["start", kind, [["step", f"{kind}.0"], ["gate", kind], *calls, ["return", "ok"]]]
        for kind, calls in next_calls.items()
    ]
    fails: list[list[object]] = [["step_failing_once", "fails.0", "fails"], ["return", "ok"]]
    message = caller.send([*script, ["start", "fails", fails]])
    for gate in (*next_calls, "fails"):
        first.await_gate(gate)
    [(owner,)] = cluster.rows("SELECT DISTINCT node FROM jobs")
    cluster.start("worker")
    with freeze(first.pid):
        for gate in (*next_calls, "fails"):
            first.open_gate(gate)
        assert caller.final(message["id"], TAKE_OVER_SECONDS)["status"] == "completed"
    eventually(lambda: stopped_runs(first) == 1 + len(next_calls), what="the end of its runs")
    assert (owner,) not in cluster.rows("SELECT node FROM jobs")
    steps = first.steps()
    # Of the one that fails: once here, then twice on the other node, a failing try and a good one.
    once = [f"{kind}.{n}" for kind in next_calls for n in range(3)]
    assert sorted(steps) == sorted([*once, *["fails.0"] * 3])


def stopped_runs(node: AgentServer) -> int:
    """How many jobs it has noticed not to be its own, by a step of theirs or when it looked."""
    ends = ('"run_stopped"', '"job_aborted"', '"run_not_owned"')
    found = [json.loads(line) for line in node.log_lines() if any(end in line for end in ends)]
    return len({line.get("job_id") or line.get("owner") for line in found})


def test_a_woken_node_runs_no_step_of_a_turn_that_ended_elsewhere(
    cluster: Cluster, callers: CallerMaker
) -> None:
    first, other = cluster.start(), cluster.start()
    caller = callers(first)
    script: list[list[object]] = [["step", "f.0"], ["gate", "g"], ["step", "f.1"], ["reply", "ok"]]
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(caller.post, script)
        first.await_gate("g")
        with freeze(first.pid):
            first.open_gate("g")
            eventually(
                lambda: cluster.rows("SELECT turn_state FROM messages") == [("ended",)],
                TAKE_OVER_SECONDS,
            )
        # Nobody gave the frozen node notice of the end: awake again, it looks by itself.
        assert call.result(PROMPT).json()["reply"] == "ok"
    eventually(lambda: "run_stopped" in first.log_tail() or "run_not_owned" in first.log_tail())
    assert other.steps() == ["f.0", "f.1"]


def test_a_woken_node_whose_job_nobody_took_goes_on(cluster: Cluster, callers: CallerMaker) -> None:
    caller, only = callers(cluster.start("api")), cluster.start("worker")
    script: list[list[object]] = [["gate", "g"], ["step", "f.0"], ["return", "ok"]]
    message = caller.send([["start", "Work", script]])
    only.await_gate("g")
    with freeze(only.pid):
        # The other node beats on and sees it dead, but runs no jobs itself.
        eventually(lambda: cluster.rows("SELECT count(*) FROM nodes") == [(1,)], TAKE_OVER_SECONDS)
        only.open_gate("g")
    assert caller.final(message["id"], TAKE_OVER_SECONDS)["status"] == "completed"
    assert only.steps() == ["f.0"]
