"""`agentpost new`: a folder with an agent, its test and how to run it."""

from __future__ import annotations

import keyword
import re
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from agentpost.cli.errors import say
from agentpost.cli.printing import print_text

EXAMPLES: Final = {
    "new": """
        agentpost new my-agent
        agentpost new agents/invoices
    """,
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_AGENT = '''"""{title}: counts the words of a message."""

from agentpost.agents import Job, Turn


async def agent(turn: Turn) -> None:
    """Answer a message, or start a job for it."""
    started = await turn.start(count, title="Count the words", text=turn.message.text)
    turn.reply(f"Not now: {{started.reason}}." if started.reason else "I am counting.")


async def count(job: Job, text: str) -> str:
    """Runs for as long as it takes, also over restarts of the server."""
    words = await job.step(different_words, text)
    await job.write("words.txt", "\\n".join(words))
    return f"{{len(words)}} different words."


def different_words(text: str) -> list[str]:
    """A step: what it returns is recorded, so it never runs again."""
    return sorted(set(text.split()))
'''
_TEST = """from agentpost.testing import crash_after, run

from agent import agent


def test_it_counts() -> None:
    done = run(agent, "to be or not to be")
    assert (done.status, done.reply) == ("completed", "I am counting.")
    assert done.text == "4 different words."
    assert done.files["words.txt"] == b"be\\nnot\\nor\\nto"


def test_it_survives_a_crash() -> None:
    assert run(agent, "to be", crash=crash_after("step")).status == "completed"
"""
_REQUIREMENTS = "agentpost\npytest\n"
_README = """# {title}

```
$ pip install -r requirements.txt
$ python -m pytest
$ agentpost dev
```

`agentpost dev` prints an address and a key, and takes `agent.py` up again whenever it is saved. In
another terminal:

```
$ export AGENTPOST_URL=http://127.0.0.1:8080 AGENTPOST_KEY=the-key
$ agentpost send "to be or not to be"
```

A server that is to stay is started with `agentpost serve --agent agent:agent`.
"""
_FILES: Final = {
    "agent.py": _AGENT,
    "test_agent.py": _TEST,
    "requirements.txt": _REQUIREMENTS,
    "README.md": _README,
}


def attach(app: typer.Typer) -> None:
    """Add the command."""
    app.command("new")(new)


def new(
    folder: Annotated[Path, typer.Argument(help="The folder to make; its name is the agent's.")],
) -> None:
    """Make a folder with an agent, its test and how to run it."""
    problem = _problem(folder)
    if problem:
        say(problem)
        raise typer.Exit(1)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in _FILES.items():
            made = text.format(title=folder.name) if name in ("agent.py", "README.md") else text
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(made)
    except OSError as error:
        say(f"{folder} cannot be made: {error.strerror or error}")
        raise typer.Exit(1) from None
    print_text(f"Made {folder} with {', '.join(_FILES)}. Next:\n")
    print_text(f"  cd {folder}\n  python -m pytest\n  agentpost dev")


def _problem(folder: Path) -> str | None:
    """Why that folder cannot be made; nothing is ever overwritten."""
    name = folder.name
    if not _NAME.fullmatch(name):
        return (
            f"{name!r} cannot be the name of an agent: use letters, digits, - and _, beginning with"
            " a letter, and at most 64 characters"
        )
    if keyword.iskeyword(name) or name in sys.stdlib_module_names:
        return f"{name!r} is a word of Python or one of its modules; choose another name"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        return f"{folder} exists and is not empty; choose another name"
    return None
