"""Render everything the built-in agent makes from real inputs: ``make gallery``.

Each entry is a message to the agent: it is understood, made and checked as on a server, then drawn
as a picture in this folder; README.md shows them all. ``ARGS`` are words that the names of the
wanted entries contain. Of workbooks the rows that a server's preview shows are drawn.
"""

from __future__ import annotations

import asyncio
import io
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from agentpost.agents.base import File
from agentpost_offline.turn import agent
from tests.agents.fakes import FakeJob, FakeTurn, file, utterance

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

from drawn import Unseen, drawn  # noqa: E402
from entries import PARTS, Entry  # noqa: E402

WIDTH, LARGEST = 1200, 150_000


def made(entry: Entry, root: Path) -> list[File]:
    """The files that the agent makes of the entry's message, the main one first."""

    async def run() -> list[File]:
        turn = FakeTurn(utterance(entry.said, *(file(FOLDER / "inputs" / n) for n in entry.inputs)))
        await agent(turn)
        if len(turn.started) != 1:
            raise SystemExit(f"{entry.name}: {turn.text} {turn.questions}")
        started = turn.started[0]
        job = FakeJob(root)
        text = await started.fn(job, **started.args)
        sys.stdout.write(f"\n{entry.name}: {text}\n")
        return list(job.written.values())

    return asyncio.run(run())


def small(image: Image.Image) -> bytes:
    """The picture as a PNG of at most `LARGEST` bytes, in fewer colours or smaller."""
    for width in (WIDTH, 1000, 800, 640, 480):
        scaled = image.convert("RGB")
        scaled.thumbnail((width, 4 * width), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        scaled.quantize(128).save(buffer, "PNG", optimize=True)
        if buffer.tell() <= LARGEST:
            break
    return buffer.getvalue()


def page() -> str:
    """The page that shows all pictures."""
    lines = [
        "# What the built-in agent makes",
        "",
        "Made by `make gallery` from the messages and the files in [inputs](inputs).",
    ]
    for title, entries in PARTS.items():
        lines += ["", f"## {title}"]
        for entry in entries:
            if not (FOLDER / f"{entry.name}.png").exists():
                continue
            inputs = f" *({', '.join(entry.inputs)})*" if entry.inputs else ""
            lines += ["", f"> {entry.said}{inputs}", "", f"![{entry.name}]({entry.name}.png)"]
    return "\n".join(lines) + "\n"


def main(words: list[str]) -> None:
    """Render the entries whose names contain one of the words; all without words."""
    for entry in (entry for entries in PARTS.values() for entry in entries):
        if words and not any(word in entry.name for word in words):
            continue
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as root:
            try:
                data = small(drawn(made(entry, Path(root)), entry, Path(root)))
            except Unseen as error:
                sys.stdout.write(f"{entry.name}: not drawn: {error}\n")
                continue
        (FOLDER / f"{entry.name}.png").write_bytes(data)
        took = time.perf_counter() - began
        sys.stdout.write(f"{entry.name}: {len(data) // 1024} kB, {took:.1f} s\n")
    (FOLDER / "README.md").write_text(page(), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
