"""An agent whose steps look what they may do to the server that started them."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentpost.agents import File, Job, Turn
from agentpost.author import frames

HANG = "import time; time.sleep(600)"


async def agent(turn: Turn) -> None:
    word, _, folder = turn.message.text.partition(" ")
    if word == "here":
        assert turn.message.files
        data, pid = folder.split()
        turn.reply(repr(look(await lent(turn.message.files[0]), data, int(pid))))
        return
    given = turn.message.files[0] if turn.message.files else None
    if word == "text":
        assert given is not None
        turn.reply(await given.text())
    else:
        await turn.start(work, title=word, how=word, given=given, folder=folder)


async def lent(file: File) -> File:
    """The file where this process can read it."""
    return replace(file, local_path=await file.path())


async def work(job: Job, how: str, given: File | None, folder: str) -> str:
    match how:
        case "write":
            await job.write("bytes.txt", b"x" * 1_000_000)
            await job.write("path.txt", made_below())
            await job.write("coroutine.txt", made_here)  # type: ignore[arg-type]
            return how
        case "write-link":
            await job.write("link.txt", made_link(f"{folder}/agentpost.db"))
        case "write-lie":
            lie(job, f"{folder}/agentpost.db")
            await job.write("lie.txt", Path("anything"))
        case "hang-here":
            hang(folder)
    data = os.environ["AGENTPOST_DATA_DIR"]
    match how:
        case "look":
            return repr(await job.step(look, given, data, os.getpid()))
        case "make":
            await job.write("plain.txt", made)
            await job.write("path.txt", made_below)
        case "link":
            await job.write("link.txt", made_link, f"{data}/agentpost.db")
        case "hang":
            await job.step(hang, folder)
    return how


def look(file: File, data: str, server: int) -> dict[str, Any]:
    """Everything that a hostile step would try first."""
    return {
        "user": [os.getuid(), os.getgid(), os.getgroups()],
        "text": file.local.read_text(),
        "database": refused(lambda: Path(data, "agentpost.db").read_bytes()),
        "blobs": refused(lambda: list(Path(data, "blobs").iterdir())),
        "environment": refused(lambda: Path(f"/proc/{server}/environ").read_bytes()),
        "memory": refused(lambda: Path(f"/proc/{server}/mem").open("rb")),
        "descriptors": refused(lambda: list(Path(f"/proc/{server}/fd").iterdir())),
        "signal": refused(lambda: os.kill(server, signal.SIGKILL)),
        "root": refused(lambda: os.setuid(0)),
        "secrets": [name for name in os.environ if name.startswith("AGENTPOST")],
        "written": Path(tempfile.mkstemp()[1]).write_text("mine"),
    }


def refused(act: Any) -> str:
    try:
        act()
    except OSError as error:
        return type(error).__name__
    return "done"


def made() -> str:
    return "made here"


def made_below() -> Path:
    made = Path(tempfile.mkdtemp()) / "below.txt"
    made.write_text("made below")
    return made


def made_link(target: str) -> Path:
    """A name in its own folder that leads to what only the server can read."""
    link = Path(tempfile.mkdtemp()) / "link.txt"
    link.symlink_to(target)
    return link


async def made_here() -> bytes | str | Path:
    return made_below()


def lie(job: Job, target: str) -> None:
    """Let the process name a file of the server's as contents of its own."""
    frames.contents_frame = lambda _: {"path": target}  # type: ignore[assignment]
    frames.request_frame.__globals__["contents_frame"] = frames.contents_frame


def hang(notes: str) -> None:
    """With a program that has left the group and the session."""
    child = subprocess.Popen([sys.executable, "-c", HANG], start_new_session=True)
    Path(notes, "pids.new").write_text(f"{os.getpid()} {child.pid} {os.getppid()}")
    Path(notes, "pids.new").rename(Path(notes, "pids"))
    time.sleep(600)
