"""What happens in a history from outside: clients, operators and faults, drawn from its number.

They are data, so that a history that fails can be repeated with fewer of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

SECONDS = 14.0
"""For how long things happen; then everything is left to come to its end."""
ACTIONS: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("step", (0, 0, 1, 2)),
    ("step", (0, 0, 1, 2)),
    ("charging", (0,)),
    ("refused", (0, 1)),
    ("write", (0, 1)),
    ("charge", (1, 2)),
    ("progress", (0,)),
    ("inbox", (0, 1, 5)),
    ("sleep", (0.1, 2, 5)),
    ("ask", (0,)),
    ("fail", (0,)),
)


@dataclass(frozen=True, slots=True)
class Operation:
    """``do`` happens ``at`` so many seconds, with ``given``."""

    n: int
    at: float
    do: str
    given: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.n:3}  at {self.at:7.3f}  {self.do} {json.dumps(self.given)}"


def drawn(rng: Random) -> list[Operation]:
    """The operations of a history, in the order of their times."""
    made = [("send", _message(rng)) for _ in range(rng.randint(1, 4))]
    others = [_OTHERS[rng.randrange(len(_OTHERS))] for _ in range(rng.randint(0, 3))]
    faults = [_FAULTS[rng.randrange(len(_FAULTS))] for _ in range(rng.randint(1, 3))]
    made += [(name, _GIVEN.get(name, lambda _: {})(rng)) for name in (*others, *faults)]
    times = sorted(round(rng.random() ** 2 * SECONDS, 3) for _ in made)
    first = made[0]
    rng.shuffle(made)
    made.insert(0, made.pop(made.index(first)))  # nothing can happen before there is a message
    return [Operation(n, at, *it) for n, (at, it) in enumerate(zip(times, made, strict=True))]


def _message(rng: Random) -> dict[str, Any]:
    plan: dict[str, Any] = {}
    if rng.random() < 0.3:
        plan["steps"] = rng.randint(1, 2)
    for name, chance in (("join", 0.4), ("stop", 0.1), ("ask", 0.1), ("write", 0.15)):
        if rng.random() < chance:
            plan[name] = True
    if rng.random() < 0.05:
        plan["raises"] = True
    plan["jobs"] = [
        [_action(rng) for _ in range(rng.randint(0, 3))] for _ in range(rng.choice((0, 1, 1, 1, 2)))
    ]
    return {
        "plan": plan,
        "conversation": rng.choice(("", "", "other")),
        "key": rng.choice((None, "k1", "k2", "k3")),
        "busy": rng.choice(("wait", "wait", "fail", "queue")),
        "wait": rng.choice((0, 0, 1, 30)),
        "patience": rng.choice((2.0, 10.0)),
    }


def _action(rng: Random) -> list[Any]:
    name, values = rng.choice(ACTIONS)
    return [name, rng.choice(values)]


_OTHERS = ("send_again", "send_again", "cancel", "stop_work", "top_up", "schedule", "redeliver",
           "recover", "look", "look")  # fmt: skip
_FAULTS = ("crash", "crash", "crash", "freeze", "freeze", "receiver", "jump")
_GIVEN = {
    "send_again": lambda rng: {"n": rng.randrange(10)},
    "cancel": lambda rng: {"n": rng.randrange(10)},
    "stop_work": lambda rng: {"n": rng.randrange(10)},
    "redeliver": lambda rng: {"n": rng.randrange(10)},
    "recover": lambda rng: {"n": rng.randrange(10)},
    "top_up": lambda rng: {"amount": rng.randint(1, 5)},
    "schedule": lambda rng: {"in": rng.choice((1, 3)), "plan": _message(rng)["plan"]},
    "crash": lambda rng: {
        "node": rng.randrange(2),
        "commits": rng.randint(0, 12),
        "when": rng.choice(("before", "after")),
        "again": rng.choice((0.5, 2.0, 6.0)),
        "fails": rng.choice((0, 0, 2, 4, 5)),
    },
    "freeze": lambda rng: {"node": rng.randrange(2), "seconds": rng.choice((1.5, 5.0, 6.0, 8.0))},
    "receiver": lambda rng: {"mode": rng.choice(("up", "down", "failing", "slow"))},
    "jump": lambda rng: {"seconds": rng.choice((-30, -2, 5, 130, 3_600, 86_400))},
}
