"""Run a program that a model wrote, in an interpreter that has no files, network or environment.

Monty interprets a part of Python and makes no system call; the one function it is given collects
texts. Its process is below the worker process of the step: both have the limits of a worker.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from agentpost.agents.base import File
from agentpost.domain.text import UNSTORABLE, storable_json
from agentpost.extraction import Unreadable

SECONDS: Final = 10.0
"""How long a program may compute."""
STEP_SECONDS: Final = 60.0
"""How long the step may take, with the reading of the files."""
MEMORY_BYTES: Final = 128 * 2**20
PRINTED_BYTES: Final = 20_000
WRITTEN_CHARACTERS: Final = 300_000
"""What a program may write, in all its files: it is kept in the record of the step."""
_WRITTEN_BYTES: Final = 900_000
"""The same as JSON: a record has at most 1 MiB."""
_WRITES: Final = 100
_LIMITS: Final[Any] = {
    "max_feed_duration_secs": SECONDS,
    "max_memory": MEMORY_BYTES,
    "max_suspensions": 2 * _WRITES,
}


def run(code: str, files: Sequence[File]) -> dict[str, Any]:
    """Run it, with the text of the files, in a worker process; ``said`` is what it printed and its
    last value or its error, ``files`` what it wrote."""
    from agentpost.extraction.reading import text_of

    texts: dict[str, str] = {}
    for file in files:
        try:
            texts[file.name] = text_of(file)
        except Unreadable as error:
            return {"said": f"{file.name} cannot be read: {error}", "files": {}}
    return interpret(code, texts)


def interpret(code: str, texts: dict[str, str]) -> dict[str, Any]:
    """`run` with the texts of the files, by their names."""
    from pydantic_monty import CollectString, Monty, MontyError

    files = _Files()
    output = CollectString(PRINTED_BYTES)
    with (
        Monty(max_processes=1, request_timeout=2 * SECONDS) as pool,
        pool.checkout(limits=_LIMITS, os_policy={"sleep": "zero"}) as session,
    ):
        try:
            value = session.feed_run(
                code,
                inputs={"files": texts},
                external_lookup={"write_file": files.add},
                print_callback=output,
            )
        except MontyError as error:
            # With its place in the program, as Python shows it.
            text = str(error.display() if hasattr(error, "display") else error)[-4_000:]
            return {"said": storable_json(f"{output.output}{text}"), "files": {}}
    value_text = "" if value is None else f"{value!r}"[:PRINTED_BYTES]
    return {"said": storable_json(f"{output.output}{value_text}"), "files": files.texts}


class _Files:
    """What the program writes."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def add(self, path: str, text: str) -> None:
        """The function ``write_file`` of the program; raises `ValueError` for too much."""
        if not isinstance(path, str) or not isinstance(text, str):
            raise TypeError("write_file takes a path and a text, both strings")
        if UNSTORABLE.search(path + text):
            raise ValueError("a text may have no U+0000 and no half of a surrogate pair")
        self.texts[path] = text
        if len(self.texts) > _WRITES or sum(map(len, self.texts.values())) > WRITTEN_CHARACTERS:
            raise ValueError(
                f"a program may write {_WRITES} files with {WRITTEN_CHARACTERS} characters in all"
            )
        if len(json.dumps(self.texts, ensure_ascii=False).encode()) > _WRITTEN_BYTES:
            raise ValueError(f"a program may write {_WRITTEN_BYTES:,} bytes in all")
