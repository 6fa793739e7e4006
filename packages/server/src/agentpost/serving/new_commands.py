"""`agentpost new`: a folder with an agent, its test and how to run it."""

import json
import keyword
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Annotated, Final

import typer

from agentpost.cli.commands import command
from agentpost.cli.errors import say
from agentpost.cli.printing import print_text

_REQUIRED: Final = ("agentpost-client", "agentpost-agents", "agentpost", "pytest")
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
    assert done.status == "completed", done.error
    assert done.reply == "I am counting."
    assert done.text == "4 different words."
    assert done.files["words.txt"] == b"be\\nnot\\nor\\nto"


def test_it_survives_a_crash() -> None:
    done = run(agent, "to be", crash=crash_after("step"))
    assert done.status == "completed", done.error
"""
_NEXT = """
  python -m venv .venv && source .venv/bin/activate
  pip install -r requirements.txt
  python -m pytest
  agentpost dev"""
_README = """# {title}

```
$ python -m venv .venv && source .venv/bin/activate
$ pip install -r requirements.txt
$ python -m pytest
$ agentpost dev
```

`agentpost dev` prints an address and a key, and reloads `agent.py` on save. In another terminal:

```
$ source .venv/bin/activate
$ export AGENTPOST_URL=http://127.0.0.1:8080 AGENTPOST_KEY=the-key
$ agentpost send "to be or not to be"
```

To keep a server running: `agentpost serve --agent agent:agent`.
"""
_GITIGNORE = """.agentpost/
.pytest_cache/
.venv/
__pycache__/
"""


@command("new", "agentpost new my-agent", "agentpost new agents/invoices")
def new(
    folder: Annotated[Path, typer.Argument(help="Folder to create; its name is the agent's.")],
) -> None:
    """Create a folder with an agent, its test and how to run it."""
    problem = _problem(folder)
    if problem:
        say(problem)
        raise typer.Exit(1)
    files = {
        "agent.py": _AGENT.format(title=folder.name),
        "test_agent.py": _TEST,
        "requirements.txt": "".join(f"{_requirement(name)}\n" for name in _REQUIRED),
        "README.md": _README.format(title=folder.name),
        ".gitignore": _GITIGNORE,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        say(f"cannot create {folder}: {error.strerror or error}")
        raise typer.Exit(1) from None
    print_text(f"Created {folder} with {', '.join(files)}. Next:\n")
    print_text(f"  cd {folder}{_NEXT}")


def _requirement(name: str) -> str:
    """It from where it was installed: a folder, a file, a repository, or the index."""
    try:
        origin = json.loads(distribution(name).read_text("direct_url.json") or "null")
    except PackageNotFoundError:
        origin = None
    if origin is None:  # it came from the package index
        return name
    url, repository = origin["url"], origin.get("vcs_info")
    if repository is not None:
        url = f"{repository['vcs']}+{url}@{repository['commit_id']}"
    if "subdirectory" in origin:
        url = f"{url}#subdirectory={origin['subdirectory']}"
    return f"{name} @ {url}"


def _problem(folder: Path) -> str | None:
    """Why that folder cannot be created; nothing is ever overwritten."""
    name = folder.name
    if not _NAME.fullmatch(name):
        return (
            f"{name!r} cannot be the name of an agent: use letters, digits, - and _, beginning with"
            " a letter, and at most 64 characters"
        )
    if keyword.iskeyword(name) or name in sys.stdlib_module_names:
        return f"{name!r} is a keyword or a module of Python; choose another name"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        return f"{folder} exists and is not empty; choose another name"
    return None
