"""A program that is an agent: what the others' models and tools do, in lines of JSON."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

ids = iter(range(1, 1_000_000))


def say(op: str, **fields: Any) -> None:
    print(json.dumps({"op": op, **fields}), flush=True)


def call(op: str, **fields: Any) -> Any:
    """Make a call and wait for its answer."""
    key = next(ids)
    say(op, id=key, **fields)
    answer = json.loads(sys.stdin.readline())
    assert answer["id"] == key
    return answer


def step(name: str, gate: str = "") -> str:
    """A recorded step; what it does leaves a trace."""
    answer = call("step", name=name, args=[gate])
    if "run" in answer:
        leave(f"tool.{name}.{gate} {answer['key']}" if gate else f"tool.{name}")
        if name == "draw":
            say("progress", id=answer["id"], text="Drawing chart.txt")
        if gate:
            pass_gate(gate)
        say("done", id=answer["id"], value={"draw": "drawn", "pay": "paid"}.get(name, "reserved"))
        answer = json.loads(sys.stdin.readline())
    return str(answer["value"])


def leave(trace: str) -> None:
    with Path(os.environ["TEST_TRACE"]).open("a") as file:
        file.write(f"{trace}\n")


def pass_gate(name: str) -> None:
    gates = Path(os.environ["TEST_GATES"])
    (gates / f"{name}.reached").touch()
    while not (gates / name).exists():
        time.sleep(0.02)


def turn(turn: dict[str, Any]) -> None:
    for running in turn["running"]:
        if call("join", job_id=running["job_id"])["value"]:
            return
    text = turn["message"]["text"]
    users = [*turn["state"].get("users", []), text]
    say("state", value={"users": users})
    said = f"You said: {' | '.join(users)}. Found: nothing."
    word = text.partition(" ")[0]
    if word == "ask":
        say("ask", question="Which colour?")
    elif word == "slowly":
        say("delta", text=said[:8])
        pass_gate("cmd.slowly")
        say("delta", text=said[8:])
        say("reply", text=said)
    elif word in ("draw", "order", "wait", "hang", "fail"):
        call("start", job=word, title=text, args={"text": text})
    else:
        say("reply", text=said)


def job(name: str, text: str) -> str:
    if name == "fail":
        say("fail", text="The order book is closed.")
        raise SystemExit
    if name == "draw":
        found = [step("draw")]
        call("write", path="chart.txt", text="|||")
    elif name == "order":
        for n in range(3):
            leave_once(n)
        found = [step("reserve"), step("pay", "cmd.pay")]
    else:
        leave("started" if name == "wait" else f"cmd.pid {os.getpid()}")
        pass_gate(f"cmd.{name}")
        found = ["waited"]
    users = [text, *(said["text"] for said in call("inbox")["value"])]
    return f"You said: {' | '.join(users)}. Found: {', '.join(found)}."


def leave_once(n: int) -> None:
    """In the place of a model's calls: a step of each."""
    answer = call("step", name="think", args=[n])
    if "run" in answer:
        leave(f"cmd.model.order.{n}")
        say("done", id=answer["id"], value=n)
        sys.stdin.readline()


first = json.loads(sys.stdin.readline())
assert first["v"] == 1
if first["op"] == "turn":
    turn(first["turn"])
else:
    print("a line for the log", file=sys.stderr)
    say("end", text=job(first["name"], first["args"]["text"]))
