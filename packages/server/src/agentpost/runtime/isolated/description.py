"""What a server wants to know of an agent that it does not import: a process that ends at once says
it."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from agentpost.agents import Turn, registry
from agentpost.author.description import MARK
from agentpost.author.frames import PROTOCOL
from agentpost.processes.environment import OWN, Interpreter, worker_environment
from agentpost.processes.prefix import portable
from agentpost.version import __version__

_PROGRAM: Final = f"""
import json, os, sys
search, environ = json.load(sys.stdin)
sys.path[:] = search["path"] if "path" in search else search["folders"] + sys.path
os.environ.update(environ)
try:
    from agentpost.author import description
except ImportError as error:
    print({MARK!r} + json.dumps({{"missing": str(error)}}))
else:
    description.say(sys.argv[1])
"""


def describe(
    spec: str, env: list[str], launch: Sequence[str] = (), interpreter: Interpreter = OWN
) -> registry.Agent:
    """Like `registry.resolve`; the agent's function is not there. Raises `UnknownAgent`.

    Args:
        env: environment variables that its processes get besides the usual ones.
        launch: the words of a command that starts the process.
        interpreter: what runs it.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # of the processes that run its functions, too
    environ = worker_environment(os.environ, env, threads=1)
    sent_environ = {} if not launch else portable({**environ, "HOME": "/"})
    try:
        process = subprocess.run(  # noqa: S603 - our own program
            [*launch, interpreter.path, "-P", "-c", _PROGRAM, spec],
            input=json.dumps([interpreter.search(), sent_environ]),
            env=environ,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    except OSError as error:
        raise registry.UnknownAgent(
            f"AGENTPOST_AGENT_PYTHON={interpreter.path} cannot be run: {error.strerror}."
        ) from None
    _, mark, line = process.stdout.rpartition(MARK)
    if not mark:
        by = f" by {interpreter.program}" if interpreter.program else ""
        raise registry.UnknownAgent(
            f"AGENTPOST_AGENT={spec!r} cannot be imported{by}: the process that tried it ended with"
            f" code {process.returncode}."
        )
    answer = json.loads(line)
    if interpreter.program:
        _check_library(answer, interpreter.program)
    if "error" in answer:
        raise registry.UnknownAgent(answer["error"])
    examples = None if answer["examples"] is None else tuple(answer["examples"])
    return registry.Agent(answer["name"], _elsewhere, tuple(answer["imports"]), examples=examples)


def _check_library(answer: dict[str, Any], program: str) -> None:
    """Raise `UnknownAgent` unless the interpreter has a library that this server can talk to."""
    major, minor, _ = __version__.split(".")
    install = f"{program} -m pip install 'agentpost-agents=={major}.{minor}.*'"
    if "missing" in answer:
        raise registry.UnknownAgent(
            f"AGENTPOST_AGENT_PYTHON={program}: it has no agentpost-agents that can be imported"
            f" ({answer['missing']}). Install it: {install}"
        )
    if answer.get("protocol") != PROTOCOL:
        raise registry.UnknownAgent(
            f"AGENTPOST_AGENT_PYTHON={program}: its agentpost-agents does not fit this server"
            f" (protocol {answer.get('protocol')}, not {PROTOCOL}). Install another one: {install}"
        )


async def _elsewhere(_: Turn) -> None:
    raise AssertionError("it runs in a process of its own")
