"""Makes the blocking client from the one for asyncio.

    python docs/client_sync.py

The two differ in nothing but the words of asyncio, so only one is written: every file of
`agentpost_client/_async` becomes one of `_sync`, but for `io.py`, which is written in both.
tests/house/test_generated.py fails when a file is not up to date.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "clients/python/src/agentpost_client"
BY_HAND = {"io.py"}
PURPOSE = "The blocking client, made from `agentpost_client._async` by docs/client_sync.py."
HEAD = "# Made by docs/client_sync.py from agentpost_client/_async/{name}; change that.\n"
WORDS = [
    (r"\bAwaitable\[((?:[^][]|\[(?:[^][]|\[[^][]*\])*\])*)\]", r"\1"),
    (r"import Awaitable, ", "import "),
    (r", Awaitable\b", ""),
    (r"\b_async\b", "_sync"),
    (r"\basync (def|with|for)\b", r"\1"),
    (r"(?<![\w\])])\(await ([\w.]+\([^()]*\))\)", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsyncGenerator\[([\w.]+), None\]", r"Generator[\1, None, None]"),
    (r"\b(Abstract)?Async([A-Z]\w*)", r"\1\2"),
    (r"\baclosing\b", "closing"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\b__a(enter|exit|iter|next)__\b", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"\ba(read|iter_bytes|iter_stream)\b", r"\1"),
]


def text(name: str) -> str:
    """The file of `_sync` with that name."""
    made = (PACKAGE / "_async" / name).read_text("utf-8")
    for pattern, word in WORDS:
        made = re.sub(pattern, word, made)
    if name == "__init__.py":
        return f'"""{PURPOSE}"""\n'
    return tidy(HEAD.format(name=name) + made, PACKAGE / "_sync" / name)


def names() -> list[str]:
    """The files that are made."""
    return sorted(
        path.name for path in (PACKAGE / "_async").glob("*.py") if path.name not in BY_HAND
    )


def tidy(made: str, path: Path) -> str:
    """Lines and imports as they are everywhere: words that are shorter move them."""
    for command in (
        ["check", "--quiet", "--fix", "--unsafe-fixes", "--select", "I,C416,F401,UP028,SIM117"],
        ["format", "--quiet"],
    ):
        done = subprocess.run(  # noqa: S603 - our own linter
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(path), "-"],
            input=made,
            capture_output=True,
            text=True,
            check=True,
        )
        made = done.stdout
    return made


if __name__ == "__main__":
    for name in names():
        (PACKAGE / "_sync" / name).write_text(text(name), "utf-8")
