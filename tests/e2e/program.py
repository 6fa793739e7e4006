"""The program of `test_programs.py`. The first word of a message says what it does; with `stay` as
the last one it waits for the next run, else it ends without a word."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

GATES = Path(os.environ["TEST_GATES"])
HELD = {"out": {"stderr": subprocess.DEVNULL}, "error": {"stdout": subprocess.DEVNULL}}
"""Which pipes a child does not get, so that it holds the other one."""
WRITES = """while :; do echo '{"op": "delta", "text": "."}'; echo log >&2; sleep 0.05; done"""
LAST_WORDS = """sleep 0.2; echo '{"op": "reply", "text": "the last words"}'"""
stubborn = False


def say(**op: Any) -> None:
    print(json.dumps(op), flush=True)


def child(script: str, **options: Any) -> None:
    subprocess.Popen(["sh", "-c", script], stdin=subprocess.DEVNULL, **options)


def act(word: str, rest: list[str]) -> None:
    global stubborn
    match word:
        case "leave":
            child("sleep 60", start_new_session=rest[0] == "session", **HELD.get(rest[0], {}))
        case "writes":
            child(WRITES)
        case "lets":
            child(LAST_WORDS)
        case "killed":
            child("sleep 60")
            os.kill(os.getpid(), signal.SIGKILL)
        case "burns":
            child("sleep 60", start_new_session=True)
            begun = time.process_time()
            while time.process_time() < begun + float(rest[0]):
                pass
        case "waits":
            (GATES / f"{rest[0]}.reached").write_text(str(os.getpid()))
            while not (GATES / rest[0]).exists():
                time.sleep(0.01)
        case "starts":
            say(op="start", id=1, job="any", title="A job", args=" ".join(rest))
            sys.stdin.readline()
        case "unread":
            say(op="step", id=1, name="any")
            sys.stdin.readline()
            say(op="done", id=1, value=1)
        case "stubborn":
            stubborn = True


for line in sys.stdin:
    first = json.loads(line)
    text = first["turn"]["message"]["text"] if first["op"] == "turn" else first["args"]
    word, *rest = text.split()
    print(f"it was asked: {text}", file=sys.stderr, flush=True)
    if first["op"] == "turn":
        say(op="reply", text=str(os.getpid()))
    act(word, rest)
    if rest[-1:] != ["stay"]:
        break
    end = json.dumps({"op": "fail" if word == "fails" else "end", "text": "", "stay": True})
    print(end, *(["a stray line"] if word == "strays" else []), sep="\n", flush=True)
    if word == "dies":
        sys.exit(3)
while stubborn:
    signal.pause()
