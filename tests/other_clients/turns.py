"""Three turns of a conversation, the third of which needs the first two."""

import json
from collections.abc import Callable, Sequence

JOB = [
    ["progress", "reading"], ["write", "out/report.txt", "all is well"], ["return", "It is done."],
]  # fmt: skip
REPORT = json.dumps([["start", "Report", JOB]])
SEE = json.dumps([["see"]])
MESSAGES = ("hello", REPORT, SEE)


def take_turns(name: str, ask: Callable[[Sequence[str]], str]) -> None:
    """Hold the conversation; ``ask`` gets all that was said, the user's words first, and returns
    the answer."""
    said: list[str] = []
    for message in MESSAGES:
        said.append(message)
        said.append(ask(said))
    check_turns(said[1::2])
    print(f"{name}: three turns")


def check_turns(answers: Sequence[str]) -> None:
    """Raise unless they are the agent's answers in one conversation."""
    first, second, third = answers
    assert first == "You said: hello", first
    assert second.startswith("Report: running\n\nIt is done.\n\n[report.txt](http"), second
    roles = [role for role, _ in json.loads(third)["history"]]
    assert roles == ["user", "agent", "user", "agent", "job"], roles
