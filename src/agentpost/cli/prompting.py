"""Lines that a person types: with history, editing and completion where the system has them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import escape, glob
from pathlib import Path
from typing import Final

from agentpost.cli import private_files

_HISTORY: Final = "chat_history"
_HISTORY_LINES: Final = 1000
_CONTINUES: Final = "\\"
_NEXT_LINE: Final = "… "


@contextmanager
def prompt(commands: Iterable[str]) -> Iterator[Callable[[str], str]]:
    """Yields what asks for a line with a sign before it; a ``\\`` at its end takes another line.

    What asks raises `EOFError` at the end of the input, and `KeyboardInterrupt` for Ctrl-C before
    anything is typed; after it, Ctrl-C only drops what was typed. Lines are remembered over the
    process in a file that only the person can read. From a pipe, lines are read without all that.
    """
    if not on_terminal():
        yield lambda sign: _joined(lambda _: _line_of_pipe(), sign)
        return
    _start(tuple(commands))
    try:
        yield lambda sign: _joined(_line, sign)
    finally:
        _keep()


def typed_path(text: str) -> Path:
    """The path that a person typed; a ``~`` that names no home folder stays as it is."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 - `Path.expanduser` raises then


def on_terminal() -> bool:
    """Whether a person types, and sees what is printed."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _joined(ask: Callable[[str], str], sign: str) -> str:
    lines = [ask(sign)]
    while lines[-1].endswith(_CONTINUES):
        lines[-1] = lines[-1].removesuffix(_CONTINUES)
        lines.append(ask(_NEXT_LINE))
    return "\n".join(lines)


def _line_of_pipe() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _line(sign: str) -> str:
    while True:
        try:
            return input(sign)
        except KeyboardInterrupt:
            print()
            if not _typed():
                raise


def _typed() -> str:
    try:
        import readline
    except ImportError:  # Windows: Ctrl-C leaves
        return ""
    return readline.get_line_buffer()


def _start(commands: tuple[str, ...]) -> None:
    try:
        import readline
    except ImportError:
        return
    with suppress(OSError):
        readline.read_history_file(private_files.state_folder() / _HISTORY)
    readline.set_history_length(_HISTORY_LINES)
    readline.set_completer_delims(" ")
    readline.set_completer(lambda begun, n: _nth(_completions(begun, commands), n))
    readline.parse_and_bind("tab: complete")


def _keep() -> None:
    try:
        import readline
    except ImportError:
        return
    lines = readline.get_current_history_length()
    kept = [readline.get_history_item(n + 1) for n in range(lines)][-_HISTORY_LINES:]
    with suppress(OSError):
        file = private_files.state_folder() / _HISTORY
        private_files.write(file, "".join(f"{line}\n" for line in kept))
    readline.set_completer(None)


def _completions(begun: str, commands: tuple[str, ...]) -> list[str]:
    """Commands, and paths of files behind ``/file``."""
    found = [word for word in commands if word.startswith(begun)]
    path = typed_path(begun)
    start = str(path) + ("/" if begun.endswith("/") else "")
    paths = glob(f"{escape(start)}*") if begun else []  # noqa: PTH207 - keeps what was typed
    return found + [f"{each}/" if Path(each).is_dir() else each for each in sorted(paths)]


def _nth(found: list[str], n: int) -> str | None:
    return found[n] if n < len(found) else None
