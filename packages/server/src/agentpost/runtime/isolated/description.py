"""What a server wants to know of an agent that it does not import: a process that ends at once says
it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from agentpost.agents import Turn, registry
from agentpost.author.description import MARK
from agentpost.processes.environment import worker_environment
from agentpost.processes.prefix import portable

_PROGRAM: Final = (
    "import json, os, sys; sys.path[:], environ = json.load(sys.stdin); os.environ.update(environ);"
    "from agentpost.author import description; description.say(sys.argv[1])"
)


def describe(spec: str, env: list[str], launch: Sequence[str] = ()) -> registry.Agent:
    """Like `registry.resolve`; the agent's function is not there. Raises `UnknownAgent`.

    Args:
        env: environment variables that its processes get besides the usual ones.
        launch: the words of a command that starts the process.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # of the processes that run its functions, too
    environ = worker_environment(os.environ, env, threads=1)
    sent_environ = {} if not launch else portable({**environ, "HOME": "/"})
    process = subprocess.run(  # noqa: S603 - our own program
        [*launch, sys.executable, "-P", "-c", _PROGRAM, spec],
        input=json.dumps([sys.path, sent_environ]),
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    _, mark, line = process.stdout.rpartition(MARK)
    if not mark:
        raise registry.UnknownAgent(
            f"AGENTPOST_AGENT={spec!r} cannot be imported: the process that tried it ended with"
            f" code {process.returncode}."
        )
    answer = json.loads(line)
    if "error" in answer:
        raise registry.UnknownAgent(answer["error"])
    examples = None if answer["examples"] is None else tuple(answer["examples"])
    return registry.Agent(answer["name"], _elsewhere, tuple(answer["imports"]), examples=examples)


async def _elsewhere(_: Turn) -> None:
    raise AssertionError("it runs in a process of its own")
