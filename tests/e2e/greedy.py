"""An agent whose plain functions take all they can get: a message names one of them.

Gates as in `tests.e2e.agents`: a function says that it runs and waits for the test to let it end.
"""

import json
import os
import time
from pathlib import Path

from agentpost.agents import Job, Turn


async def agent(turn: Turn) -> None:
    """``read`` answers with the text of the attached files; anything else is a job."""
    if turn.message.text == "read":
        turn.reply("\n".join([await file.text() for file in turn.message.files]))
    else:
        await turn.start(work, title="Work", words=turn.message.text.split())


async def work(job: Job, words: list[str]) -> str:
    """One call of one plain function; what it returned, or the error it ended with."""
    try:
        match words:
            case ["hold", name]:
                return str(await job.step(hold, name))
            case ["hold", name, seconds]:
                return str(await job.step(hold, name, timeout=float(seconds)))
            case ["build", name]:
                return (await job.write("built.txt", hold, name)).name
            case ["build", name, seconds]:
                return (await job.write("built.txt", hold, name, timeout=float(seconds))).name
            case ["spin"]:
                return str(await job.step(spin))
            case ["hoard"]:
                return str(await job.step(hoard))
            case ["environment"]:
                return json.dumps(await job.step(environment))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise ValueError(words)


def hold(name: str) -> str:
    gate = Path(os.environ["TEST_GATES"]) / name
    gate.with_name(f"{name}.reached").touch()
    while not gate.exists():
        time.sleep(0.01)
    return name


def spin() -> int:
    """Compute for ever, in C."""
    return sum(range(10**15))


def hoard() -> int:
    """Ask for more memory than a worker may have."""
    return len(bytearray(2 * 1024**3))


def environment() -> dict[str, str]:
    return dict(os.environ)
